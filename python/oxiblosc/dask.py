"""Dask: arrays whose chunks are those of Dask, read and written by as many workers as there are."""

from __future__ import annotations

import collections
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._array import Array
from ._array import open as _open
from ._errors import AlreadyExistsError
from ._shared import SharedArray


#: As many arrays stay open in a process, with what each caches; the one used least recently is dropped.
_MOST_OPEN = 16
_open_arrays: collections.OrderedDict[tuple[Any, ...], Array] = collections.OrderedDict()
_lock = threading.Lock()


class _Source:
    """An array that every process opens on its own, once: each task has its own copy of this."""

    def __init__(self, urlpath: str, nthreads: int, array: Array) -> None:
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim
        # An array that was written anew since is another one.
        self._key = (urlpath, nthreads, array.shape, str(array.dtype), array.cbytes)

    def __getitem__(self, key: Any) -> Any:
        urlpath, nthreads, *_ = self._key
        with _lock:
            array = _open_arrays.get(self._key)
            if array is not None:
                _open_arrays.move_to_end(self._key)
        if array is None:
            opened = _open(urlpath, nthreads=nthreads)
            if not isinstance(opened, Array):
                raise TypeError(f"{urlpath}: there is no array in the frame")
            with _lock:
                # Of several threads that have opened it, all use the first.
                array = _open_arrays.setdefault(self._key, opened)
                while len(_open_arrays) > _MOST_OPEN:
                    _open_arrays.popitem(last=False)
        return array[key]

    def __dask_tokenize__(self) -> Any:
        from dask.base import tokenize

        return tokenize(self._key)


def from_url(urlpath: str, *, chunks: Any = None, nthreads: int = 1) -> Any:
    """An array of Dask. Its chunks are those of the array unless others are given.

    Every task reads with `nthreads` threads: one by default, since Dask runs as many tasks as there are processors.
    """
    import dask.array as da

    array = _open(urlpath, nthreads=nthreads)
    if not isinstance(array, Array):
        raise TypeError(f"{urlpath}: there is no array in the frame")
    source = _Source(str(urlpath), nthreads, array)
    name = "oxiblosc-" + source.__dask_tokenize__()
    meta = np.empty((0,) * array.ndim, array.dtype)
    dask_chunks = da.core.normalize_chunks(array.chunks if chunks is None else chunks, array.shape, dtype=array.dtype)
    return da.map_blocks(_read_block, source=source, chunks=dask_chunks, dtype=array.dtype, meta=meta, name=name)


def _read_block(source: _Source, block_info: Any = None) -> Any:
    where = tuple(slice(start, stop) for start, stop in block_info[None]["array-location"])
    return source[where]


def to_url(
    x: Any,
    urlpath: str,
    *,
    chunks: tuple[int, ...] | None = None,
    blocks: tuple[int, ...] | None = None,
    attrs: Mapping[str, Any] | None = None,
    replace: bool = False,
    resume: bool = False,
    compute: bool = True,
    **params: Any,
) -> Any:
    """Writes an array of Dask to a directory, or under a prefix of objects.

    Workers write the chunks they compute and know nothing of each other; one task at the end commits, and only then is
    there an array. If the job fails there is none. A task that Dask repeats, because its worker was lost, writes its
    chunk again, with the same result.

    Of two jobs that write to one URL the second gets `AlreadyExistsError`, so that an array never has chunks of both.
    A job that was killed leaves its chunks: `resume=True` goes on from there, with the same shapes and parameters and
    the same data, and `SharedArray.clear` removes them.

    The array gets the chunks of `x` unless others are given; then `x` is rechunked. `compute=False` returns a delayed
    value instead.
    """
    import dask
    from dask.delayed import delayed

    if chunks is None:
        chunks = tuple(lengths[0] if lengths else 1 for lengths in x.chunks)
    chunks = tuple(max(1, c) for c in chunks)
    x = x.rechunk(chunks)
    # Begun here: every worker then joins the same plan.
    target = SharedArray(
        urlpath, x.dtype, x.shape, chunks=chunks, blocks=blocks, replace=replace, **{"nthreads": 1, **params}
    )
    if target.has_joined and not resume:
        raise AlreadyExistsError(
            f"{urlpath}: another job writes here, or was killed: resume=True goes on, SharedArray.clear removes its chunks"
        )
    blocks_of_x = x.to_delayed()
    write = delayed(_write, pure=False)
    written = [write(target, index, blocks_of_x[index]) for index in np.ndindex(*x.numblocks)]
    done = delayed(_commit, pure=False)(target, _gathered(written), dict(attrs or {}))
    if not compute:
        return done
    try:
        return dask.compute(done)[0]
    except BaseException:
        if not target.has_joined:
            # Nobody else writes here; what is left of this job would stand in the way of the next.
            SharedArray.clear(urlpath)
        raise


def _write(target: SharedArray, index: tuple[int, ...], block: Any) -> int:
    target.write(index, block)
    return 1


def _gathered(written: list[Any]) -> Any:
    """One value that depends on all: a tree, so that no task has a million arguments."""
    from dask.delayed import delayed

    while len(written) > 64:
        written = [delayed(sum)(written[i : i + 64]) for i in range(0, len(written), 64)]
    return delayed(sum)(written)


def _commit(target: SharedArray, written: int, attrs: dict[str, Any]) -> dict[str, Any]:
    summary = target.commit()
    if attrs:
        from ._editor import edit

        with edit(target._place) as editor:
            editor.attrs.update(attrs)
    return summary
