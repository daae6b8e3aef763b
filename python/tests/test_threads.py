"""Many threads, many processes, and asyncio."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oxiblosc
import pytest


@pytest.fixture
def array(tmp_path, rng):
    expected = rng.integers(0, 1000, (400, 300))
    oxiblosc.save(tmp_path / "a", expected, chunks=(64, 64), blocks=(16, 16), attrs={"n": 3})
    return oxiblosc.open(tmp_path / "a"), expected


def test_sixteen_threads_on_one_array(array):
    array, expected = array
    failures = []
    barrier = threading.Barrier(16)

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            barrier.wait()
            for _ in range(60):
                i, j = rng.integers(0, 300, 2)
                assert np.array_equal(array[i : i + 50, j:], expected[i : i + 50, j:])
                assert np.array_equal(array[[i, j], 3], expected[[i, j], 3])
                assert array[i, j % 300] == expected[i, j % 300]
                assert array.attrs["n"] == 3
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_threads_share_writers_and_editors(tmp_path):
    with oxiblosc.writer(tmp_path / "w", dtype="i8", shape=(-1, 10)) as writer, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: writer.write(np.full((5, 10), i)), range(100)))
    found = oxiblosc.open(tmp_path / "w")[...]
    assert found.shape == (500, 10) and sorted(found[::5, 0]) == list(range(100))
    with oxiblosc.edit(tmp_path / "w") as editor, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: editor.__setitem__(i, -i), range(50)))
    assert np.array_equal(oxiblosc.open(tmp_path / "w")[:50, 3], -np.arange(50))


def _sum(array, queue):
    array = array if isinstance(array, oxiblosc.Array) else oxiblosc.open(array)
    queue.put((os.getpid(), int(array[...].sum()), int(array[5, ::2].sum())))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("what", ["path", "array"])
def test_processes(array, method, what):
    array, expected = array
    # The threads of this process run already.
    assert np.array_equal(array[...], expected)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    given = array if what == "array" else array.urlpath
    workers = [context.Process(target=_sum, args=(given, queue)) for _ in range(3)]
    for worker in workers:
        worker.start()
    found = [queue.get(timeout=60) for _ in workers]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert len({pid for pid, *_ in found}) == 3 and os.getpid() not in {pid for pid, *_ in found}
    assert {(whole, row) for _, whole, row in found} == {(expected.sum(), expected[5, ::2].sum())}
    assert np.array_equal(array[1], expected[1])


def _write(path, queue):
    oxiblosc.save(path, np.arange(1_000_000), codec="lz4")
    queue.put(int(oxiblosc.open(path)[...].sum()))


def test_a_forked_child_writes(tmp_path):
    oxiblosc.save(tmp_path / "parent", np.arange(1_000_000))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    worker = context.Process(target=_write, args=(tmp_path / "child", queue))
    worker.start()
    assert queue.get(timeout=60) == 499999500000
    worker.join(60)
    assert worker.exitcode == 0


def _use(writer, queue):
    try:
        writer.write(np.zeros(3))
    except Exception as error:
        queue.put(type(error).__name__)


def test_a_writer_stays_with_its_process(tmp_path):
    with oxiblosc.writer(tmp_path / "a", dtype="f8", shape=(3,)) as writer:
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        worker = context.Process(target=_use, args=(writer, queue))
        worker.start()
        assert queue.get(timeout=60) == "ForkError"
        worker.join(60)
        writer.write([1, 2, 3])
    assert np.array_equal(oxiblosc.open(tmp_path / "a")[:], [1, 2, 3])


def test_pickles(array):
    array, expected = array
    back = pickle.loads(pickle.dumps(array))
    assert np.array_equal(back[3], expected[3]) and back.chunks == array.chunks
    frame = oxiblosc.open(oxiblosc.to_bytes(expected))
    assert np.array_equal(pickle.loads(pickle.dumps(frame))[...], expected)


def test_asyncio(tmp_path, rng):
    expected = rng.standard_normal((500, 40))

    async def main():
        await oxiblosc.aio.save(tmp_path / "a", expected, chunks=(50, 40), attrs={"x": 1})
        async with await oxiblosc.aio.open(tmp_path / "a") as array:
            parts = await asyncio.gather(*(array.read(slice(i, i + 50)) for i in range(0, 500, 50)))
            assert np.array_equal(np.concatenate(parts), expected)
            assert np.array_equal(await array.read(([1, 5], [2, 3])), expected[[1, 5], [2, 3]])
            assert np.array_equal(await array.read(), expected)
            with pytest.raises(IndexError):
                await array.read(500)
        async with oxiblosc.writer(tmp_path / "b", dtype="f8", shape=(-1, 40)) as writer:
            for part in parts:
                await writer.awrite(part)
        assert (await oxiblosc.aio.verify(tmp_path / "b"))["ok"]
        with pytest.raises(KeyError):
            async with oxiblosc.writer(tmp_path / "c", dtype="f8") as writer:
                await writer.awrite(expected[0])
                raise KeyError
        assert len(await oxiblosc.aio.tune(expected, budget=0)) == 1
        frame = await oxiblosc.aio.open(oxiblosc.to_bytes(expected))
        assert np.array_equal(await frame.read(), expected)
        with pytest.raises(FileNotFoundError):
            await oxiblosc.aio.open(tmp_path / "c")

    asyncio.run(main())
    assert np.array_equal(oxiblosc.open(tmp_path / "b")[...], expected)


def test_a_task_that_is_cancelled_ends_its_work(tmp_path):
    import time

    calls = []

    def slow(data, out, meta, typesize):
        calls.append(time.monotonic())
        time.sleep(0.02)
        return 0

    name = "slow-to-cancel"
    if name not in oxiblosc.codecs():
        oxiblosc.register_codec(name, 232, slow, slow)

    async def main():
        task = asyncio.ensure_future(
            oxiblosc.aio.save(tmp_path / "a", np.arange(4_000_000), codec=name, chunks=(5000,), blocks=(1000,))
        )
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    # What the workers have begun they bring to an end.
    time.sleep(2)
    count = len(calls)
    time.sleep(0.5)
    assert not (tmp_path / "a").exists() and 0 < count < 4000 and len(calls) == count
