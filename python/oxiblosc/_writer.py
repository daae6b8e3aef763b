"""Writing new arrays and frames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _dtype, _oxiblosc
from ._array import Array, _place
from ._attrs import Attributes, pack
from ._errors import ClosedError
from ._params import encoding, lengths, warn
from ._tasks import run

# As many bytes are taken at a time: often enough for Ctrl-C and for progress.
_PIECE = 16 << 20


class Writer:
    """Takes rows or bytes, and writes them as they come.

    As a context manager it finishes the array at the end of the block, and only then it appears. If the block is left
    by an exception, nothing remains.
    """

    def __init__(self, urlpath: Any, dtype: Any, shape: Any, chunks: Any, blocks: Any, contiguous: Any, params: Any):
        self.dtype: np.dtype[Any] | None = None if dtype is None else np.dtype(dtype)
        #: What was written, when it is finished: shape, nbytes, cbytes, nchunks and frame_len.
        self.summary: dict[str, Any] | None = None
        place = _place(urlpath)
        if contiguous is None:
            contiguous = not (isinstance(place, str) and place.endswith("/"))
        if self.dtype is None:
            if shape is not None or chunks is not None or blocks is not None:
                raise ValueError("an array needs a dtype")
            self.shape: tuple[int, ...] | None = None
            made = encoding(params)
            array = None
        else:
            self.shape = tuple(int(n) for n in (shape if shape is not None else (-1,)))
            made = encoding(params, typesize=self.dtype.itemsize)
            ndim = len(self.shape)
            array = (
                _dtype.text(self.dtype),
                self.dtype.itemsize,
                list(self.shape),
                lengths("chunks", chunks, ndim),
                lengths("blocks", blocks, ndim),
            )
        warn(made, in_frame=True, of_array=array is not None)
        self._attributes: dict[str, bytes] = {}
        self._writer: _oxiblosc.Writer | None = _oxiblosc.Writer(place, made, array, contiguous)

    def _open(self) -> _oxiblosc.Writer:
        if self._writer is None:
            raise ClosedError("the writer is closed")
        return self._writer

    def _bytes(self, rows: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
        if self.dtype is None or self.shape is None:
            return _dtype.buffer(rows)
        rows = np.asarray(_dtype.unmasked(rows), self.dtype)
        row = self.shape[1:]
        if rows.shape != row and rows.shape[1:] != row and rows.shape != self.shape:
            raise ValueError(f"rows have the shape {row}, but these are of shape {rows.shape}")
        return _dtype.as_bytes(rows)

    def write(self, rows: Any, progress: Any = None) -> None:
        """Takes rows: an array whose shape is that of the rows with their number before it, or a single row.

        A frame takes any object with a buffer. `progress(done, total)` is called with bytes.
        """
        self._write(self._bytes(rows), progress, None)

    def _write(self, data: Any, progress: Any, cancel: Any) -> None:
        writer = self._open()
        for start in range(0, len(data), _PIECE):
            writer.write(data[start : start + _PIECE], cancel)
            if progress is not None:
                progress(min(start + _PIECE, len(data)), len(data))

    async def awrite(self, rows: Any) -> None:
        """As `write`, while other tasks go on."""
        await run(self._write, self._bytes(rows), None)

    @property
    def attrs(self) -> Attributes:
        """The attributes, until the end."""
        return Attributes(lambda: list(self._attributes), self._attributes.get, self._set_attribute)

    vlmeta = attrs

    def _set_attribute(self, name: str, content: bytes | None) -> None:
        if content is None:
            raise TypeError("an attribute of an array that is being written cannot be removed")
        self._open().set_vlmetalayer(name, content)
        self._attributes[name] = content

    def close(self) -> None:
        """Finishes the array: now it appears. After an error it may be called again."""
        self._close(None)

    def _close(self, cancel: Any) -> None:
        if self._writer is not None:
            self.summary = self._writer.finish(cancel)
            self._writer = None

    def abort(self) -> None:
        """Gives the array up and removes what was written."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.abort()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            self.abort()
            return
        try:
            self.close()
        except BaseException:
            self.abort()
            raise

    async def __aenter__(self) -> Writer:
        return self

    async def __aexit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:
            self.abort()
            return
        try:
            await run(self._close)
        except BaseException:
            self.abort()
            raise


def writer(
    urlpath: Any,
    *,
    dtype: Any = None,
    shape: Sequence[int] | None = None,
    chunks: Sequence[int] | int | None = None,
    blocks: Sequence[int] | int | None = None,
    contiguous: bool | None = None,
    **params: Any,
) -> Writer:
    """A writer of an array of `dtype` and `shape`, whose first length may be -1: as many rows as will come.

    Without a dtype it takes bytes, and writes a frame. `urlpath` is a path, a URL, or a file object with `write`, which
    need not be able to do anything else. With `contiguous=False`, or a slash at the end, it is a directory or the
    prefix of objects. `chunks` and `blocks` are chosen where they are not given. Other parameters are those of
    python-blosc2: `codec`, `clevel`, `filters`, `filters_meta`, `splitmode`, `use_dict`, `codec_meta`, `nthreads`, or
    all of them as `cparams`; for frames also `typesize`, `blocksize` and `chunksize`. `checksums=True` adds a checksum
    for each chunk.
    """
    return Writer(urlpath, dtype, shape, chunks, blocks, contiguous, params)


def _prepared(
    urlpath: Any, array: Any, chunks: Any, blocks: Any, contiguous: Any, attrs: Any, params: Any
) -> tuple[Writer, Any]:
    if isinstance(array, (bytes, bytearray, memoryview)):
        made = Writer(urlpath, None, None, chunks, blocks, contiguous, params)
        data: Any = _dtype.buffer(array)
    else:
        if not isinstance(array, Array):
            array = np.asarray(_dtype.unmasked(array))
        made = Writer(urlpath, array.dtype, array.shape, chunks, blocks, contiguous, params)
        data = array if isinstance(array, Array) and array.ndim else _dtype.as_bytes(np.asarray(array))
    try:
        for name, value in (attrs or {}).items():
            made._set_attribute(name, pack(value))
    except BaseException:
        made.abort()
        raise
    return made, data


def _save(made: Writer, data: Any, progress: Any, cancel: Any) -> dict[str, Any]:
    try:
        if isinstance(data, Array):
            rows = data.chunks[0]
            for start in range(0, data.shape[0], rows):
                made._write(_dtype.as_bytes(data[start : start + rows]), None, cancel)
                if progress is not None:
                    progress(min(start + rows, data.shape[0]) * (data.nbytes // data.shape[0]), data.nbytes)
        else:
            made._write(data, progress, cancel)
        made._close(cancel)
    except BaseException:
        made.abort()
        raise
    assert made.summary is not None
    return made.summary


def save(
    urlpath: str | os.PathLike[str] | Any,
    array: Any,
    *,
    chunks: Sequence[int] | int | None = None,
    blocks: Sequence[int] | int | None = None,
    contiguous: bool | None = None,
    attrs: Mapping[str, Any] | None = None,
    progress: Any = None,
    **params: Any,
) -> dict[str, Any]:
    """Writes an array, or bytes as a frame, and returns what was written; see `writer` for the parameters.

    `array` is anything that NumPy takes, or an open `Array`, which is copied without being in memory as a whole.
    """
    made, data = _prepared(urlpath, array, chunks, blocks, contiguous, attrs, params)
    return _save(made, data, progress, None)


def to_bytes(array: Any, **params: Any) -> bytes:
    """The bytes of a frame that holds an array, as `to_cframe` of python-blosc2; `open` takes them."""
    names = ("chunks", "blocks", "attrs")
    given = {name: params.pop(name, None) for name in names}
    made, data = _prepared(None, array, given["chunks"], given["blocks"], True, given["attrs"], params)
    native = made._open()
    _save(made, data, None, None)
    return native.to_bytes()
