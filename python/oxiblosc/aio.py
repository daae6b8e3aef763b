"""The functions that take long, for asyncio: other tasks go on, and a task that is cancelled ends its work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _oxiblosc
from ._array import Array, Frame, _open, _place
from ._tasks import run
from ._tools import _tune
from ._writer import Writer, _prepared, _save, writer


async def open(  # noqa: A001
    urlpath: Any,
    mode: str = "r",
    *,
    nthreads: int | None = None,
    checksums: bool = False,
    open_ended: bool = False,
    cache_bytes: int | None = None,
) -> Array | Frame:
    """As `oxiblosc.open`. Then `await array.read(key)`."""
    return await run(_open, urlpath, mode, nthreads, checksums, open_ended, cache_bytes)


async def save(urlpath: Any, array: Any, **params: Any) -> dict[str, Any]:
    """As `oxiblosc.save`."""

    def work(cancel: Any) -> dict[str, Any]:
        own = {name: params.pop(name, None) for name in ("chunks", "blocks", "contiguous", "attrs", "progress")}
        made, data = _prepared(urlpath, array, own["chunks"], own["blocks"], own["contiguous"], own["attrs"], params)
        return _save(made, data, own["progress"], cancel)

    return await run(work)


async def verify(urlpath: Any, **options: Any) -> dict[str, Any]:
    """As `oxiblosc.verify`."""

    def work(cancel: Any) -> dict[str, Any]:
        opened = _open(urlpath, "r", options.get("nthreads"), False, options.get("open_ended", False), None, cancel)
        return opened._reader.verify(options.get("progress"), cancel)

    return await run(work)


async def recover(urlpath: Any, destination: Any, *, progress: Any = None) -> dict[str, Any]:
    """As `oxiblosc.recover`."""
    return await run(_oxiblosc.recover, _place(urlpath), _place(destination), progress)


async def seal(path: Any, *, progress: Any = None) -> dict[str, Any]:
    """As `oxiblosc.seal`."""
    return await run(_oxiblosc.seal, _place(path), progress)


async def compact(urlpath: Any, *, progress: Any = None) -> int:
    """As `oxiblosc.compact`."""
    return await run(_oxiblosc.compact, _place(urlpath), progress)


async def tune(
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
    """As `oxiblosc.tune`."""
    return await run(_tune, data, typesize, clevels, sample_bytes, max_error, budget, nthreads, progress)


__all__ = ["Writer", "compact", "open", "recover", "save", "seal", "tune", "verify", "writer"]
