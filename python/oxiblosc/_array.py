"""Open arrays and frames."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _dtype, _index, _oxiblosc
from ._attrs import Attributes
from ._editor import Editor
from ._params import threads
from ._tasks import run

# Fewer bytes of blocks are decoded sooner on this thread than they are given to others.
_FEW_BYTES = 512 << 10


def _place(place: Any) -> Any:
    return place if isinstance(place, (bytes, str)) or not isinstance(place, os.PathLike) else os.fspath(place)


class _Opened:
    """What arrays and frames have in common."""

    #: How it was opened: checksums, open_ended and cache_bytes.
    _options: tuple[bool, bool, int | None] = (False, False, None)

    def __init__(self, reader: _oxiblosc.Reader, place: Any, mode: str, nthreads: int) -> None:
        self._reader, self._place, self._mode, self._nthreads = reader, place, mode, nthreads

    @property
    def attrs(self) -> Attributes:
        """The attributes (`vlmeta` of python-blosc2). With mode "a" they can be changed, each change a commit."""
        return Attributes(
            self._reader.vlmetalayer_names, self._reader.vlmetalayer, self._set_attribute if self._mode == "a" else None
        )

    vlmeta = attrs

    @property
    def meta(self) -> dict[str, bytes]:
        """The metalayers of the header, as they are stored."""
        return self._reader.metalayers()

    @property
    def info(self) -> dict[str, Any]:
        """Everything that header and index say."""
        return {**self._reader.frame_info(), **(self._reader.array_info() or {})}

    @property
    def cbytes(self) -> int:
        """Bytes of the chunks as they are stored."""
        return self._reader.frame_info()["cbytes"]

    @property
    def nchunks(self) -> int:
        """Number of chunks."""
        return self._reader.frame_info()["nchunks"]

    @property
    def urlpath(self) -> Any:
        """The path, URL, bytes or file object that was opened."""
        return self._place

    def get_chunk(self, number: int) -> bytes:
        """The bytes of a chunk as they are stored."""
        return self._reader.encoded_chunk(operator.index(number))

    def refresh(self) -> bool:
        """Sees what others have committed since it was opened; whether there was anything."""
        changed = self._reader.refresh()
        self._read_layout()
        return changed

    def verify(self, progress: Any = None) -> dict[str, Any]:
        """See `oxiblosc.verify`."""
        return self._reader.verify(progress)

    def edit(self) -> Editor:
        """Changes that are committed together, as a context manager; afterwards this object sees them."""
        return Editor(self._place, self._nthreads, self._after_commit)

    def _changed(self) -> Editor:
        if self._mode != "a":
            raise ValueError('opened for reading only: open it with mode="a" to change it')
        return self.edit()

    def _set_attribute(self, name: str, content: bytes | None) -> None:
        with self._changed() as editor:
            editor._set_attribute(name, content)

    def _after_commit(self, place: Any) -> None:
        if isinstance(place, bytes):
            # A frame in memory is another one after a commit.
            self._place = place
            self._reader = _oxiblosc.Reader(place, self._nthreads, *self._options)
            self._read_layout()
        else:
            self.refresh()

    def _read_layout(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Does nothing; files are closed when nothing uses them any more."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self._place, "read"):
            raise TypeError("an array that was opened from a file object cannot be pickled")
        return {"place": self._place, "mode": self._mode, "nthreads": self._nthreads, "options": self._options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._options = state["options"]
        reader = _oxiblosc.Reader(state["place"], state["nthreads"], *self._options)
        _Opened.__init__(self, reader, state["place"], state["mode"], state["nthreads"])
        self._read_layout()


class Array(_Opened):
    """An array that is read as it is indexed.

    `array[key]` takes what NumPy takes, and returns what NumPy would: slices with steps, an ellipsis, new axes, lists,
    arrays of integers, boolean masks. Only the blocks that hold the items are read and decoded, on all processors and
    without the interpreter lock. Any number of threads may use one array.
    """

    def __init__(self, reader: _oxiblosc.Reader, place: Any, mode: str, nthreads: int) -> None:
        super().__init__(reader, place, mode, nthreads)
        self._read_layout()

    def _read_layout(self) -> None:
        info = self._reader.array_info()
        if info is None:
            raise TypeError("it is no longer an array")
        #: The shape as it was when the array was opened or last refreshed.
        self.shape: tuple[int, ...] = info["shape"]
        #: The shape of a chunk.
        self.chunks: tuple[int, ...] = info["chunks"]
        #: The shape of a block.
        self.blocks: tuple[int, ...] = info["blocks"]
        #: The dtype of the items.
        self.dtype: np.dtype[Any] = _dtype.parse(info["dtype"], info["itemsize"])
        #: Bytes of all items.
        self.nbytes: int = info["nbytes"]
        block_bytes = max(int(np.prod(self.blocks, dtype=object)) * info["itemsize"], 1) if self.blocks else 1
        self._few_blocks = _FEW_BYTES // block_bytes if self._is_near() else 0
        #: A reader without threads, when it is first needed.
        self._small: _oxiblosc.Reader | None = None

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of items."""
        return int(np.prod(self.shape, dtype=object)) if self.shape else 1

    @property
    def itemsize(self) -> int:
        """Bytes of an item."""
        return self.dtype.itemsize

    @property
    def cratio(self) -> float:
        """How many times fewer bytes are stored."""
        cbytes = self.cbytes
        return self.nbytes / cbytes if cbytes else float("inf")

    def __getitem__(self, key: Any) -> Any:
        reader = self._reader
        if self._few_blocks and self._touches_few(key):
            if self._small is None:
                self._small = self._without_threads()
            reader = self._small
        items = reader.get(key, self.dtype)
        return items if items is not NotImplemented else self._get(key, None)

    def _is_near(self) -> bool:
        """Whether opening it once more costs next to nothing."""
        place = self._place
        return self._nthreads != 1 and (isinstance(place, bytes) or isinstance(place, str) and "://" not in place)

    def _without_threads(self) -> _oxiblosc.Reader:
        """A reader of the same frame. If others have committed meanwhile, the one that is open."""
        small = _oxiblosc.Reader(self._place, 1, *self._options)
        same = small.frame_info() == self._reader.frame_info() and small.array_info() == self._reader.array_info()
        return small if same else self._reader

    def _touches_few(self, key: Any) -> bool:
        """Whether a key of integers and slices, one for each axis, lies within a few blocks."""
        if type(key) is not tuple:
            key = (key,)
        if len(key) != len(self.shape):
            return False
        most = self._few_blocks
        for part, n, block in zip(key, self.shape, self.blocks, strict=True):
            if type(part) is slice:
                start, stop, _ = part.indices(n)
                most //= abs(stop - start) // max(block, 1) + 1
            elif type(part) is not int:
                return False
        return most > 0

    def _get(self, key: Any, cancel: Any) -> Any:
        """Any key; on whatever thread."""
        if isinstance(key, str) or isinstance(key, list) and key and all(isinstance(k, str) for k in key):
            # Fields of a structured dtype.
            return self._get(..., cancel)[key]
        cover = _index.covering(key, self.shape)
        if cover.points is not None:
            coordinates, shape = cover.points
            return self._reader.points(coordinates, self.dtype, cancel).reshape(shape)
        return self._reader.orthogonal(cover.parts, self.dtype, cancel)[cover.local]

    async def read(self, key: Any = ...) -> Any:
        """As `array[key]`, while other tasks go on. If the task is cancelled, the work ends too."""
        return await run(self._get, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        with self._changed() as editor:
            editor[key] = value

    def append(self, values: Any, axis: int = 0) -> int:
        """Adds rows along an axis, as one commit; returns the number of items. See `Editor.append`."""
        with self._changed() as editor:
            editor.append(values, axis)
        return self.size

    def resize(self, newshape: tuple[int, ...]) -> None:
        """Gives the array another shape, as one commit. New items are zero."""
        with self._changed() as editor:
            editor.resize(newshape)

    def iterchunks(self) -> Iterator[tuple[tuple[slice, ...], Any]]:
        """The chunks one after the other: where each is, and its items."""
        for index in np.ndindex(*(-(-n // c) for n, c in zip(self.shape, self.chunks, strict=True))):
            where = tuple(
                slice(i * c, min((i + 1) * c, n)) for i, c, n in zip(index, self.chunks, self.shape, strict=True)
            )
            yield where, self[where]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("an array in a file cannot be used without reading it")
        items = np.asarray(self[...])
        return items if dtype is None else items.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        # A chunk is read once for all its rows.
        for start in range(0, self.shape[0], max(self.chunks[0], 1)):
            yield from self[start : start + max(self.chunks[0], 1)]

    def __repr__(self) -> str:
        return f"<oxiblosc.Array shape={self.shape} dtype={self.dtype} chunks={self.chunks} blocks={self.blocks}>"


class Frame(_Opened):
    """A frame that is no array: items of `typesize` bytes, in chunks. Its items are bytes, as those of an `SChunk`."""

    def __init__(self, reader: _oxiblosc.Reader, place: Any, mode: str, nthreads: int) -> None:
        super().__init__(reader, place, mode, nthreads)
        self._read_layout()

    def _read_layout(self) -> None:
        info = self._reader.frame_info()
        #: Decoded bytes.
        self.nbytes: int = info["nbytes"]
        #: Bytes of an item.
        self.typesize: int = info["typesize"]
        #: Decoded bytes of every chunk but the last; `None` when they differ.
        self.chunksize: int | None = info["chunksize"]
        self._items: int = info["nitems"]

    def __len__(self) -> int:
        """Number of whole items."""
        return self._items

    def __getitem__(self, key: int | slice) -> bytes:
        return self._get(key, None)

    def _get(self, key: Any, cancel: Any) -> bytes:
        if key is Ellipsis:
            key = slice(None)
        if isinstance(key, slice):
            start, stop, step = key.indices(self._items)
            members = range(start, stop, step)
            if not members:
                return b""
            low, high = min(members[0], members[-1]), max(members[0], members[-1]) + 1
            data = self._reader.items(low, high, cancel)
            if step != 1:
                data = data.reshape(-1, self.typesize)[:: step if step > 0 else step]
            return data.tobytes()
        index = operator.index(key)
        if not -self._items <= index < self._items:
            raise IndexError(f"index {index} is out of bounds for {self._items} items")
        index %= self._items
        return self._reader.items(index, index + 1, cancel).tobytes()

    async def read(self, key: int | slice = slice(None)) -> bytes:
        """As `frame[key]`, while other tasks go on."""
        return await run(self._get, key)

    def as_array(self, dtype: Any = None) -> np.ndarray[Any, Any]:
        """All items as an array, without a copy; of bytes, or of a dtype."""
        items = self._reader.items(0, self._items)
        return items if dtype is None else items.view(dtype)

    def decompress_chunk(self, number: int) -> bytes:
        """The decoded bytes of a chunk."""
        return self._reader.chunk(operator.index(number)).tobytes()

    def chunks(self) -> Iterator[np.ndarray[Any, np.dtype[np.uint8]]]:
        """The decoded chunks in order, as arrays of bytes; the next ones are read and decoded meanwhile."""
        return self._reader.chunks()

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._reader.chunks():
            data = chunk.tobytes()
            for start in range(0, len(data) - len(data) % self.typesize, self.typesize):
                yield data[start : start + self.typesize]

    def append(self, data: Any) -> int:
        """Adds bytes at the end, as one commit; returns the number of chunks."""
        with self._changed() as editor:
            editor.append(data)
        return self.nchunks

    append_data = append

    def update_chunk(self, number: int, data: Any) -> None:
        """Replaces the items of a chunk, as one commit."""
        with self._changed() as editor:
            editor.update_chunk(number, data)

    def __repr__(self) -> str:
        return f"<oxiblosc.Frame nbytes={self.nbytes} typesize={self.typesize} nchunks={self.nchunks}>"


def open(  # noqa: A001
    urlpath: Any,
    mode: str = "r",
    *,
    nthreads: int | None = None,
    checksums: bool = False,
    open_ended: bool = False,
    cache_bytes: int | None = None,
) -> Array | Frame:
    """Opens a frame: an `Array` if there is an array in it, else a `Frame`.

    `urlpath` is a path, the URL of an object (`s3://bucket/key`, `gs://`, `az://`, `https://`), `bytes`, or a file
    object with `read` and `seek`. A directory, or a URL that ends in a slash, is a sparse frame. With `mode="a"` it can
    be changed, and every change is a commit; see also `edit`. `checksums` compares chunks with their checksums before
    they are decoded, where a frame has them. `open_ended` takes frames that are still being written. `cache_bytes` is
    how many bytes of decoded blocks are kept, 16 MiB by default for what is across a network, and none otherwise.
    """
    return _open(urlpath, mode, nthreads, checksums, open_ended, cache_bytes, None)


def _open(urlpath: Any, mode: str, nthreads: Any, checksums: bool, open_ended: bool, cache: Any, cancel: Any) -> Any:
    if mode not in ("r", "a", "r+"):
        raise ValueError(f'mode is {mode!r}, expected "r" or "a"; `save` and `writer` make new files')
    place = _place(bytes(urlpath) if isinstance(urlpath, (bytearray, memoryview)) else urlpath)
    count = threads(nthreads)
    reader = _oxiblosc.Reader(place, count, checksums, open_ended, cache, cancel)
    kind = Array if reader.is_array else Frame
    opened = kind(reader, place, "r" if mode == "r" else "a", count)
    opened._options = (checksums, open_ended, cache)
    return opened
