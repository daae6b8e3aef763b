"""Arrays that several processes fill."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _dtype, _oxiblosc
from ._array import _place
from ._params import encoding, lengths, threads, warn


class SharedArray:
    """An array in a directory or under a prefix of objects, filled by any number of processes on any machines.

    Each writes the chunks it owns and knows nothing of the others; when all are written, any one of them commits. Until
    then there is no array. Whoever is late is told: `write` and `commit` raise `AlreadyExistsError` after the commit of
    another. A chunk may be written again before the commit; the last one counts, so a task that was lost can be
    repeated.

    It can be pickled: what travels is the URL and the plan, and every process opens it on its own.
    """

    def __init__(
        self,
        urlpath: Any,
        dtype: Any = None,
        shape: Sequence[int] | None = None,
        *,
        chunks: Sequence[int] | int | None = None,
        blocks: Sequence[int] | int | None = None,
        replace: bool = False,
        **params: Any,
    ) -> None:
        """With a dtype and a shape an array is begun, or joined if it was begun with the same parameters.

        With neither it is joined. `replace` puts it in the place of the array that is there, at the commit.
        """
        place = _place(urlpath)
        if isinstance(place, (bytes, bytearray)) or not isinstance(place, str):
            raise TypeError("a shared array is in a directory or under a prefix of objects")
        self._place, self._nthreads = place, threads(params.get("nthreads"))
        self._process = os.getpid()
        if dtype is None or shape is None:
            if dtype is not None or shape is not None or chunks is not None or blocks is not None:
                raise ValueError("give both dtype and shape, or neither")
            raise ValueError("use SharedArray.join for an array that was begun elsewhere")
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        given = [int(n) for n in shape]
        layout = (
            _dtype.text(self.dtype),
            self.dtype.itemsize,
            given,
            lengths("chunks", chunks, len(given)),
            lengths("blocks", blocks, len(given)),
        )
        made = encoding(params, typesize=self.dtype.itemsize)
        warn(made, in_frame=True, of_array=True)
        self._writer = _oxiblosc.SharedWriter.create(place, made, layout, replace)
        #: Whether others had begun it. Of several that begin one array at the same time exactly one finds `False`.
        self.has_joined: bool = self._writer.has_joined
        self.shape, self.chunks, self.blocks = self._writer.shapes()

    @classmethod
    def join(cls, urlpath: Any, dtype: Any, *, nthreads: int | None = None) -> SharedArray:
        """Joins those who fill an array that was begun elsewhere."""
        this = cls.__new__(cls)
        this.__setstate__({"place": _place(urlpath), "dtype": np.dtype(dtype), "nthreads": threads(nthreads)})
        return this

    @staticmethod
    def clear(urlpath: Any) -> int:
        """Removes what writers have left that will not commit any more; returns the number of files."""
        return _oxiblosc.SharedWriter.clear(_place(urlpath))

    @property
    def grid(self) -> tuple[int, ...]:
        """How many chunks there are along each axis."""
        return tuple(-(-n // c) for n, c in zip(self.shape, self.chunks, strict=True))

    def window(self, index: int | Sequence[int]) -> tuple[slice, ...]:
        """Which items a chunk holds."""
        where: Any = np.unravel_index(index, self.grid) if isinstance(index, (int, np.integer)) else index
        return tuple(
            slice(int(i) * c, min((int(i) + 1) * c, n)) for i, c, n in zip(where, self.chunks, self.shape, strict=True)
        )

    def write(self, index: int | Sequence[int], block: Any) -> None:
        """Writes the chunk with this number, or with these indices in the grid of chunks."""
        if not isinstance(index, (int, np.integer)):
            index = int(np.ravel_multi_index(tuple(index), self.grid)) if self.grid else 0
        window = self.window(index)
        expected = tuple(part.stop - part.start for part in window)
        block = np.asarray(_dtype.unmasked(block), self.dtype)
        if block.shape != expected:
            raise ValueError(f"chunk {index} has the shape {expected}, but this block is of shape {block.shape}")
        self._native().write(int(index), _dtype.as_bytes(block))

    def commit(self, missing: str | None = None) -> dict[str, Any]:
        """Makes the array visible. `missing` says what chunks hold that nobody has written: "zero", "nan", "uninit"."""
        return self._native().commit(missing)

    def _native(self) -> _oxiblosc.SharedWriter:
        if self._process != os.getpid():
            # The threads of the parent have stayed behind.
            self._writer = _oxiblosc.SharedWriter.open(self._place, self._nthreads)
            self._process = os.getpid()
        return self._writer

    def __getstate__(self) -> dict[str, Any]:
        place = self._place if "://" in self._place else os.path.abspath(self._place)
        return {"place": place, "dtype": self.dtype, "nthreads": self._nthreads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._place, self.dtype, self._nthreads = state["place"], state["dtype"], state["nthreads"]
        self._process = os.getpid()
        self._writer = _oxiblosc.SharedWriter.open(self._place, self._nthreads)
        self.has_joined = True
        self.shape, self.chunks, self.blocks = self._writer.shapes()

    def __repr__(self) -> str:
        return f"<oxiblosc.SharedArray {self._place} shape={self.shape} dtype={self.dtype} chunks={self.chunks}>"
