"""Attributes: variable-length metalayers that hold msgpack, as python-blosc2 reads and writes them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import msgpack  # type: ignore[import-untyped]
import numpy as np

from ._errors import DamagedError

# The extension types of python-blosc2.
_COMPLEX, _SET, _NDARRAY = 44, 45, 46


def _default(value: Any) -> Any:
    if isinstance(value, tuple):
        return ["__tuple__", *value]
    if isinstance(value, (complex, np.complexfloating)):
        return msgpack.ExtType(_COMPLEX, struct.pack(">dd", float(value.real), float(value.imag)))
    if isinstance(value, (set, frozenset)):
        return msgpack.ExtType(_SET, pack(list(value)))
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        payload = {"dtype": value.dtype.str, "shape": list(value.shape), "data": value.tobytes()}
        return msgpack.ExtType(_NDARRAY, pack(payload))
    if isinstance(value, (np.bool_, np.integer, np.floating, np.bytes_, np.str_)):
        return value.item()
    raise TypeError(f"an attribute cannot hold {type(value).__name__}")


def pack(value: Any) -> bytes:
    """The msgpack of a value."""
    return msgpack.packb(value, default=_default, strict_types=True, use_bin_type=True)


def _list(value: list[Any]) -> Any:
    return tuple(value[1:]) if value and isinstance(value[0], str) and value[0] == "__tuple__" else value


def _extension(code: int, data: bytes) -> Any:
    if code == _COMPLEX:
        return complex(*struct.unpack(">dd", data))
    if code == _SET:
        return set(unpack(data))
    if code == _NDARRAY:
        value = unpack(data)
        if "data" in value:
            return np.frombuffer(value["data"], np.dtype(value["dtype"])).reshape(value["shape"])
        return value
    # Objects of python-blosc2: reading one must not run or fetch anything.
    return msgpack.ExtType(code, data)


def unpack(content: bytes) -> Any:
    """The value of some msgpack. Nothing is run or fetched, whatever it says."""
    try:
        return msgpack.unpackb(content, list_hook=_list, ext_hook=_extension, strict_map_key=False)
    except Exception as error:
        raise DamagedError(f"an attribute is not msgpack: {error}") from error


class Attributes(MutableMapping[str, Any]):
    """The attributes of a frame or array, as a mapping.

    Those of an open array can be changed if it was opened to be changed; each change is a commit of its own. Those of
    an editor or writer are committed with the rest.
    """

    def __init__(
        self,
        names: Callable[[], list[str]],
        get: Callable[[str], bytes | None] | None,
        put: Callable[[str, bytes | None], None] | None,
    ) -> None:
        self._names, self._get, self._put = names, get, put

    def __getitem__(self, name: str) -> Any:
        content = None if self._get is None else self._get(name)
        if content is None:
            raise KeyError(name)
        return unpack(content)

    def __setitem__(self, name: str, value: Any) -> None:
        if self._put is None:
            raise TypeError('opened for reading only: open it with mode="a" to change attributes')
        self._put(name, pack(value))

    def __delitem__(self, name: str) -> None:
        if self._put is None:
            raise TypeError('opened for reading only: open it with mode="a" to change attributes')
        if name not in self._names():
            raise KeyError(name)
        self._put(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __repr__(self) -> str:
        return f"Attributes({dict(self)!r})"
