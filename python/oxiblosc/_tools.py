"""Buffers, maintenance and plugins."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _dtype, _oxiblosc
from ._array import Array, _open, _place, open  # noqa: A004
from ._params import Codec, Filter, _number, encoding, threads, warn


def compress(data: Any, typesize: int | None = None, clevel: int = 5, **params: Any) -> bytes:
    """Compresses a buffer of up to 2 GiB to a chunk, as `compress2` of python-blosc2.

    `typesize` is that of the items of an array, or of the format of a buffer, unless it is given. With `blosc1=True` it
    is a chunk that C-Blosc 1 and numcodecs read.
    """
    if typesize is None:
        typesize = max(data.dtype.itemsize if isinstance(data, np.ndarray) else memoryview(data).itemsize, 1)
    blosc1 = params.pop("blosc1", False)
    made = encoding({**params, "clevel": clevel}, typesize=typesize)
    made["blosc1"] = bool(blosc1)
    warn(made, in_frame=False, of_array=False)
    return _oxiblosc.compress(_dtype.buffer(data), made)


def decompress(chunk: Any, nthreads: int | None = None) -> bytes:
    """Decodes a chunk of Blosc2 or Blosc 1, as `decompress2` of python-blosc2."""
    return _oxiblosc.decompress(_dtype.buffer(chunk), threads(nthreads))


def info(urlpath: Any, **options: Any) -> dict[str, Any]:
    """What header, index and trailer say of a frame, without decoding a chunk; see `open` for the options."""
    opened = open(urlpath, **options)
    found = opened.info
    if isinstance(opened, Array):
        found["dtype"] = opened.dtype
    found["attributes"] = list(opened.attrs)
    found["metalayers"] = list(opened.meta)
    return found


def verify(
    urlpath: Any,
    *,
    nthreads: int | None = None,
    open_ended: bool = False,
    progress: Callable[[int, int], Any] | None = None,
) -> dict[str, Any]:
    """Reads a whole frame, and compares it with its checksums, totals and fingerprint.

    `ok` says whether all is well; `findings` are texts, and `bad_chunks` numbers. `progress(done, total)` is called
    with bytes.
    """
    return _open(urlpath, "r", nthreads, False, open_ended, None, None)._reader.verify(progress)


def recover(urlpath: Any, destination: Any, *, progress: Callable[[int, int], Any] | None = None) -> dict[str, Any]:
    """Makes a new frame of what can be read of a damaged or unfinished one, and says what was saved and lost."""
    return _oxiblosc.recover(_place(urlpath), _place(destination), progress)


def seal(
    path: str | os.PathLike[str], *, progress: Callable[[int, int], Any] | None = None
) -> dict[str, Any]:
    """Completes a frame in a file whose writer has ended without doing so, in place."""
    return _oxiblosc.seal(_place(path), progress)


def compact(urlpath: Any, *, progress: Callable[[int, int], Any] | None = None) -> int:
    """Removes the holes that changes have left.

    A file or directory is written anew; the bytes of its chunks are returned. Under a prefix of objects, those that
    are not used any more are deleted, without calls of `progress`; their number is returned.
    """
    return _oxiblosc.compact(_place(urlpath), progress)


def tune(
    data: Any,
    *,
    typesize: int | None = None,
    clevels: Sequence[int] = (1, 5, 9),
    sample_bytes: int = 4 << 20,
    max_error: float | None = None,
    budget: float | None = None,
    nthreads: int = 1,
    progress: Callable[[int, int], Any] | None = None,
) -> list[dict[str, Any]]:
    """Tries codecs and filters on a sample of the data, as `oxiblosc tune` does; the best ratio comes first.

    Each result has parameters that `save` takes under `params`, the `ratio`, and the speeds `encode` and `decode` in
    bytes per second. `recommended_for` lists what it is the best for, of `"a network of 100 MB/s"`, `"a disk of 1
    GB/s"`, `"memory, 10 GB/s"` and `"the smallest result"`; if there is anything, `threads` lists numbers of threads
    with the speeds that they reach.

    `data` is an array, a buffer, or an open `Array`. Codecs and filters that were loaded or registered are tried, too;
    lossy ones are not, but `max_error` lets floats change by this part of themselves, as in 0.001. `budget` is the time
    in seconds, after which the best so far is good enough. The blocks of a chunk are spread over `nthreads`; 0 stands
    for one for each processor. `progress(done, total)` is called with numbers of combinations; `total` grows when
    sizes of blocks and chunks are tried for the best ones.
    """
    return _tune(data, typesize, clevels, sample_bytes, max_error, budget, nthreads, progress)


def _tune(
    data: Any,
    typesize: int | None,
    clevels: Sequence[int],
    sample_bytes: int,
    max_error: float | None,
    budget: float | None,
    nthreads: int,
    progress: Callable[[int, int], Any] | None,
    cancel: Any = None,
) -> list[dict[str, Any]]:
    if isinstance(data, Array):
        rows = max(1, min(len(data), sample_bytes * len(data) // max(data.nbytes, 1))) if data.ndim else 1
        data = data[:rows] if data.ndim else np.asarray(data[...])
    is_array = isinstance(data, np.ndarray)
    if typesize is None:
        typesize = max(data.dtype.itemsize if is_array else memoryview(data).itemsize, 1)
    typesize = _number("typesize", typesize, 1)
    has_shape = is_array and data.dtype.itemsize == typesize and not data.dtype.hasobject
    search = {
        "typesize": typesize,
        "array": (list(data.shape), _dtype.text(data.dtype)) if has_shape else None,
        "sample_bytes": int(sample_bytes),
        "clevels": [int(level) for level in clevels],
        "max_error": None if max_error is None else float(max_error),
        "budget": None if budget is None else float(budget),
        "nthreads": threads(nthreads),
    }
    found = _oxiblosc.tune(_dtype.buffer(data), search, progress, cancel)
    return [_tuned(result, {} if has_shape else {"typesize": search["typesize"]}) for result in found]


def _tuned(result: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """A result as users see it, of one as the native part gives it."""
    names = ("codec", "codec_meta", "clevel", "filters", "filters_meta", "blocksize", "chunksize")
    given = {name: result.pop(name) for name in names}
    given["codec"] = _member(Codec, given["codec"])
    given["filters"] = [_member(Filter, number) for number in given["filters"]]
    # What is left out is as it would be anyway.
    always = ("codec", "clevel", "filters")
    given["filters_meta"] = given["filters_meta"] if any(given["filters_meta"]) else None
    usual = {name: value for name, value in given.items() if name in always or value}
    speeds = [{"threads": n, "encode": encode, "decode": decode} for n, encode, decode in result.pop("threads")]
    return {"params": {**usual, **params}, **result, "threads": speeds}


def _member(kind: type[Codec] | type[Filter], number: int) -> int:
    """The name of a number, if it has one."""
    return kind(number) if number in kind.__members__.values() else number


def load_plugin(path: str | os.PathLike[str]) -> tuple[str, int, str]:
    """Loads a codec or filter from a library that was made with the macros of `oxiblosc-export`.

    Returns its kind, id and name, which `codec` and `filters` then take. The library runs as part of this program.
    """
    return _oxiblosc.load_plugin(os.fspath(path))


def register_codec(
    codec_name: str,
    id: int,  # noqa: A002
    encoder: Callable[[Any, Any, int, int], int],
    decoder: Callable[[Any, Any, int, int], int],
    version: int = 1,
) -> None:
    """Registers a codec that is written in Python, with an id from 160 to 255.

    `encoder(input, output, meta, typesize)` takes and fills arrays of bytes and returns the number of bytes written,
    or 0 if the block is to be stored; `decoder` likewise. They hold the interpreter lock, so that blocks are done one
    after the other whatever the number of threads.
    """
    _oxiblosc.register_codec(codec_name, id, encoder, decoder, version)


def register_filter(
    filter_name: str,
    id: int,  # noqa: A002
    forward: Callable[[Any, Any, int, int], Any],
    backward: Callable[[Any, Any, int, int], Any],
) -> None:
    """Registers a filter that is written in Python, with an id from 160 to 255.

    `forward(input, output, meta, typesize)` takes and fills arrays of bytes of one length. It must lose nothing. They
    hold the interpreter lock, as codecs in Python do.
    """
    _oxiblosc.register_filter(filter_name, id, forward, backward)


def codecs() -> dict[str, int]:
    """The names and ids of all codecs."""
    return _oxiblosc.codecs()


def filters() -> dict[str, int]:
    """The names and ids of all filters."""
    return _oxiblosc.filters()
