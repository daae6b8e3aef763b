"""Dask: arrays whose chunks are those of Dask, read and written by as many workers as there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._array import Array
from ._array import open as _open
from ._shared import SharedArray


class _Source:
    """An array that every worker opens on its own, once."""

    def __init__(self, urlpath: str, nthreads: int, array: Array | None = None) -> None:
        self._urlpath, self._nthreads, self._array = urlpath, nthreads, array

    def __getitem__(self, key: Any) -> Any:
        if self._array is None:
            array = _open(self._urlpath, nthreads=self._nthreads)
            if not isinstance(array, Array):
                raise TypeError(f"{self._urlpath}: there is no array in the frame")
            self._array = array
        return self._array[key]

    def __getstate__(self) -> tuple[str, int]:
        return self._urlpath, self._nthreads

    def __setstate__(self, state: tuple[str, int]) -> None:
        self._urlpath, self._nthreads = state
        self._array = None

    def __dask_tokenize__(self) -> Any:
        from dask.base import tokenize

        array = self._array
        return tokenize(self._urlpath, None if array is None else (array.shape, str(array.dtype), array.cbytes))


def from_url(urlpath: str, *, chunks: Any = None, nthreads: int = 1) -> Any:
    """An array of Dask. Its chunks are those of the array unless others are given.

    Every task reads with `nthreads` threads: one by default, since Dask runs as many tasks as there are processors.
    """
    import dask.array as da

    array = _open(urlpath, nthreads=nthreads)
    if not isinstance(array, Array):
        raise TypeError(f"{urlpath}: there is no array in the frame")
    source = _Source(str(urlpath), nthreads, array)
    source.shape, source.dtype, source.ndim = array.shape, array.dtype, array.ndim  # type: ignore[attr-defined]
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
    compute: bool = True,
    **params: Any,
) -> Any:
    """Writes an array of Dask to a directory, or under a prefix of objects.

    Workers write the chunks they compute and know nothing of each other; one task at the end commits, and only then is
    there an array. If the job fails there is none; the same call again goes on from what is there, and
    `SharedArray.clear` removes it. A task that Dask repeats writes its chunk again, with the same result. Of two jobs
    that write to one URL with the same plan both may go on, and the second to commit gets `AlreadyExistsError`.

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
    blocks_of_x = x.to_delayed()
    write = delayed(_write, pure=False)
    written = [write(target, index, blocks_of_x[index]) for index in np.ndindex(*x.numblocks)]
    done = delayed(_commit, pure=False)(target, _gathered(written), dict(attrs or {}))
    return dask.compute(done)[0] if compute else done


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
