"""Changing arrays and frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _dtype, _index, _oxiblosc
from ._attrs import Attributes
from ._errors import ClosedError
from ._params import threads


class Editor:
    """Changes an array or frame in a file, in a directory, under a prefix of objects, or in bytes.

    As a context manager it commits at the end of the block: all changes become visible together. If the block is left
    by an exception, none does. Rows that were appended go behind those that others have committed meanwhile; any other
    change then is a `ConflictError`, and is to be made again.
    """

    def __init__(self, urlpath: Any, nthreads: int | None = None, after: Callable[[Any], None] | None = None) -> None:
        self._place, self._after = urlpath, after
        self._editor: _oxiblosc.Editor | None = _oxiblosc.Editor(urlpath, threads(nthreads))
        self._written: dict[str, bytes | None] = {}
        self._stored: _oxiblosc.Reader | None = None

    def _open(self) -> _oxiblosc.Editor:
        if self._editor is None:
            raise ClosedError("the editor is closed")
        return self._editor

    def _layout(self) -> tuple[tuple[int, ...], np.dtype[Any]]:
        layout = self._open().layout()
        if layout is None:
            raise TypeError("a frame that is no array has no shape and no dtype")
        shape, dtype, itemsize = layout
        return shape, _dtype.parse(dtype, itemsize)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, with all changes."""
        return self._layout()[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype."""
        return self._layout()[1]

    def _read(self, cover: _index.Covering, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        lengths = [part[2] if isinstance(part, tuple) else len(part) for part in cover.parts]
        return np.ndarray(lengths, dtype, self._open().read(cover.parts))

    def __getitem__(self, key: Any) -> Any:
        shape, dtype = self._layout()
        cover = _index.covering(key, shape)
        return self._read(cover, dtype)[cover.local]

    def __setitem__(self, key: Any, value: Any) -> None:
        shape, dtype = self._layout()
        cover = _index.covering(key, shape)
        value = _dtype.unmasked(value)
        if _index.is_basic(key):
            selected = _index.result_shape(key, shape)
            values = np.broadcast_to(_leading(np.asarray(value, dtype), len(selected)), selected)
        else:
            # What lies between the items of an index of arrays is written as it was.
            values = self._read(cover, dtype)
            values[cover.local] = value
        self._open().write(cover.parts, _dtype.as_bytes(values))

    def append(self, values: Any, axis: int = 0) -> None:
        """Adds rows along an axis: an array of the same rank, or a single row. To a frame, bytes."""
        if self._open().layout() is None:
            self._open().append(_dtype.buffer(values))
            return
        shape, dtype = self._layout()
        values = np.asarray(_dtype.unmasked(values), dtype)
        axis = range(len(shape))[axis]
        if values.ndim == len(shape) - 1:
            values = np.expand_dims(values, axis)
        rows = [n for i, n in enumerate(values.shape) if i != axis]
        if values.ndim != len(shape) or rows != [n for i, n in enumerate(shape) if i != axis]:
            raise ValueError(f"cannot append values of shape {values.shape} to an array of shape {shape}")
        if values.size == 0:
            # No bytes say how many rows there are.
            self._open().resize([n + values.shape[i] * (i == axis) for i, n in enumerate(shape)])
            return
        self._open().append(_dtype.as_bytes(values), axis)

    def resize(self, newshape: tuple[int, ...] | int) -> None:
        """Gives the array another shape of the same rank. New items are zero."""
        newshape = (newshape,) if isinstance(newshape, int) else newshape
        if any(n < 0 for n in newshape):
            raise ValueError(f"the shape is {tuple(newshape)}: lengths are at least 0")
        self._open().resize([int(n) for n in newshape])

    def update_chunk(self, number: int, data: Any) -> None:
        """Replaces the items of a chunk of a frame."""
        self._open().update_chunk(number, _dtype.buffer(data))

    def delete_chunk(self, number: int) -> None:
        """Removes a chunk of a frame."""
        self._open().delete_chunk(number)

    @property
    def attrs(self) -> Attributes:
        """The attributes, with all changes; committed with the rest."""
        return Attributes(self._attribute_names, self._attribute, self._set_attribute)

    vlmeta = attrs

    def _committed(self) -> _oxiblosc.Reader:
        if self._stored is None:
            self._stored = _oxiblosc.Reader(self._place, 1)
        return self._stored

    def _attribute_names(self) -> list[str]:
        names = dict.fromkeys(self._committed().vlmetalayer_names())
        for name, content in self._written.items():
            if content is None:
                names.pop(name, None)
            else:
                names[name] = None
        return list(names)

    def _attribute(self, name: str) -> bytes | None:
        return self._written[name] if name in self._written else self._committed().vlmetalayer(name)

    def _set_attribute(self, name: str, content: bytes | None) -> None:
        self._open().set_vlmetalayer(name, content)
        self._written[name] = content

    def commit(self) -> None:
        """Makes all changes visible together."""
        self._open().commit()
        self._written, self._stored = {}, None
        if isinstance(self._place, (bytes, bytearray, memoryview)):
            self._place = self._open().to_bytes()

    def to_bytes(self) -> bytes:
        """The frame as it was last committed, if it was opened from bytes."""
        return self._open().to_bytes()

    def close(self) -> None:
        """Ends the editor. What is not committed is given up."""
        editor, self._editor = self._editor, None
        if editor is not None:
            editor.close()

    def __enter__(self) -> Editor:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            if kind is None and self._editor is not None:
                self.commit()
        finally:
            self.close()
        if kind is None and self._after is not None:
            self._after(self._place)


def _leading(values: np.ndarray[Any, Any], ndim: int) -> np.ndarray[Any, Any]:
    """As NumPy does when it assigns: axes of length 1 that are too many at the front do not count."""
    while values.ndim > ndim and values.shape[0] == 1:
        values = values[0]
    return values


def edit(urlpath: Any, *, nthreads: int | None = None) -> Editor:
    """Opens an array or frame to change it; see `Editor`."""
    return Editor(urlpath, nthreads)
