"""Zarr: its codec `blosc` done by this engine, and a codec for chunks of Blosc2.

    zarr.config.set({"codecs.blosc": "oxiblosc.zarr.BloscCodec"})

Arrays that were written with either engine are read by the other.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from zarr.abc.codec import BytesBytesCodec
from zarr.codecs.blosc import BloscCodec as _ZarrBloscCodec
from zarr.registry import register_codec

from . import _oxiblosc
from ._dtype import buffer
from ._params import encoding

_SHUFFLES = {"noshuffle": [], "shuffle": [1], "bitshuffle": [2]}


class BloscCodec(_ZarrBloscCodec):
    """The codec `blosc` of Zarr, with chunks that C-Blosc reads and writes too.

    Zarr runs many of these at a time, so that each works on one thread.
    """

    def _encoding(self) -> dict[str, Any]:
        if self.cname.value == "snappy":
            raise ValueError("this engine reads snappy and does not write it")
        made = encoding(
            {
                "codec": self.cname.value,
                "clevel": self.clevel,
                "filters": _SHUFFLES[self.shuffle.value],
                "blocksize": self.blocksize,
                "nthreads": 1,
            },
            typesize=self.typesize if self.typesize <= 255 else 1,
        )
        made["blosc1"] = True
        # As C-Blosc does by itself.
        made["splitmode"] = 4
        return made

    def _decode_sync(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        decoded = _oxiblosc.decompress(buffer(chunk_bytes.as_numpy_array()), 1)
        return chunk_spec.prototype.buffer.from_bytes(decoded)

    def _encode_sync(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        chunk = _oxiblosc.compress(buffer(chunk_bytes.as_numpy_array()), self._encoding())
        return chunk_spec.prototype.buffer.from_bytes(chunk)


@dataclass(frozen=True)
class Blosc2Codec(BytesBytesCodec):
    """Chunks of Blosc2, with any of its codecs and up to six filters; Zarr knows it as `oxiblosc`.

    `typesize` is that of the array unless it is given.
    """

    is_fixed_size = False

    codec: str = "zstd"
    clevel: int = 5
    filters: tuple[str, ...] = field(default=("shuffle",))
    typesize: int | None = None
    blocksize: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "filters", tuple(self.filters))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Blosc2Codec:
        """The codec of the metadata of an array."""
        return cls(**data.get("configuration", {}))

    def to_dict(self) -> dict[str, Any]:
        """What is stored in the metadata of an array."""
        configuration = {
            "codec": self.codec,
            "clevel": self.clevel,
            "filters": list(self.filters),
            "typesize": self.typesize,
            "blocksize": self.blocksize,
        }
        return {"name": "oxiblosc", "configuration": configuration}

    def evolve_from_array_spec(self, array_spec: Any) -> Blosc2Codec:
        """The codec for an array of this dtype."""
        if self.typesize is not None:
            return self
        size = getattr(array_spec.dtype, "item_size", None) or 1
        return Blosc2Codec(self.codec, self.clevel, self.filters, int(size), self.blocksize)

    def _decode_sync(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        decoded = _oxiblosc.decompress(buffer(chunk_bytes.as_numpy_array()), 1)
        return chunk_spec.prototype.buffer.from_bytes(decoded)

    def _encode_sync(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        params = {
            "codec": self.codec,
            "clevel": self.clevel,
            "filters": list(self.filters),
            "blocksize": self.blocksize,
            "nthreads": 1,
        }
        data = buffer(np.asarray(chunk_bytes.as_numpy_array()))
        return chunk_spec.prototype.buffer.from_bytes(
            _oxiblosc.compress(data, encoding(params, typesize=self.typesize or 1))
        )

    async def _decode_single(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        return await asyncio.to_thread(self._decode_sync, chunk_bytes, chunk_spec)

    async def _encode_single(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        return await asyncio.to_thread(self._encode_sync, chunk_bytes, chunk_spec)

    def compute_encoded_size(self, _input_byte_length: int, _chunk_spec: Any) -> int:
        """Not known before."""
        raise NotImplementedError


register_codec("oxiblosc", Blosc2Codec)
register_codec("blosc", BloscCodec)
