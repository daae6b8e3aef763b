"""Work for asyncio, on threads."""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import _oxiblosc

_lock = threading.Lock()
_executor: tuple[int, ThreadPoolExecutor] | None = None


def _threads() -> ThreadPoolExecutor:
    """Threads that wait for the library, which does the work on its own: many may wait at a time."""
    global _executor
    with _lock:
        # A forked child has none of the threads of its parent.
        if _executor is None or _executor[0] != os.getpid():
            _executor = (os.getpid(), ThreadPoolExecutor(64, thread_name_prefix="oxiblosc"))
        return _executor[1]


async def run(work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls `work(*args, cancel)` on a thread. If the task is cancelled, the work is told."""
    cancel = _oxiblosc.Cancel()
    call = functools.partial(work, *args, cancel, **kwargs)
    try:
        return await asyncio.get_running_loop().run_in_executor(_threads(), call)
    except asyncio.CancelledError:
        cancel.cancel()
        raise
