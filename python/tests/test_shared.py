"""Arrays that several processes fill."""

from __future__ import annotations

import multiprocessing
import pickle

import blosc2
import numpy as np
import oxiblosc
import pytest


def _fill(shared, numbers, queue):
    try:
        for number in numbers:
            window = shared.window(number)
            rows = np.arange(*window[0].indices(10**6)).reshape(-1, 1)
            columns = np.arange(*window[1].indices(10**6))
            shared.write(number, rows * 1000 + columns)
        queue.put(None)
    except BaseException as error:
        queue.put(repr(error))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_fill_an_array(tmp_path, method):
    path = tmp_path / "a.b2nd"
    shared = oxiblosc.SharedArray(path, "i8", (105, 77), chunks=(20, 30), codec="lz4", nthreads=1)
    assert shared.grid == (6, 3) and shared.window((5, 2)) == (slice(100, 105), slice(60, 77))
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    workers = [context.Process(target=_fill, args=(shared, range(k, 18, 3), queue)) for k in range(3)]
    for worker in workers:
        worker.start()
    assert [queue.get(timeout=60) for _ in workers] == [None] * 3
    for worker in workers:
        worker.join(60)
    with pytest.raises(FileNotFoundError):
        oxiblosc.open(path)
    assert shared.commit()["nchunks"] == 18
    expected = np.arange(105).reshape(-1, 1) * 1000 + np.arange(77)
    assert np.array_equal(oxiblosc.open(path)[...], expected)
    assert np.array_equal(blosc2.open(str(path), mode="r")[:], expected)
    with pytest.raises(FileExistsError):
        shared.write((0, 0), np.zeros((20, 30)))
    with pytest.raises(FileExistsError):
        oxiblosc.SharedArray(path, "i8", (105, 77), chunks=(20, 30))


def test_missing_chunks(tmp_path):
    path = tmp_path / "a"
    shared = oxiblosc.SharedArray(path, "f4", (10,), chunks=(4,))
    shared.write(1, np.ones(4))
    other = pickle.loads(pickle.dumps(shared))
    other.write(1, np.full(4, 2))
    with pytest.raises(oxiblosc.UnfinishedError):
        other.commit()
    with pytest.raises(ValueError, match="missing"):
        other.commit("nothing")
    other.commit("zero")
    assert np.array_equal(oxiblosc.open(path)[...], [0, 0, 0, 0, 2, 2, 2, 2, 0, 0])
    with pytest.raises(FileExistsError):
        shared.commit()


def test_replacing_and_clearing(tmp_path):
    path = tmp_path / "a"
    oxiblosc.save(path, np.arange(10), contiguous=False)
    shared = oxiblosc.SharedArray(path, "i8", (4,), chunks=(4,), replace=True)
    shared.write(0, [1, 2, 3, 4])
    assert len(oxiblosc.open(path)) == 10
    shared.commit()
    assert np.array_equal(oxiblosc.open(path)[...], [1, 2, 3, 4])
    left = oxiblosc.SharedArray(tmp_path / "b", "i8", (4,), chunks=(2,))
    left.write(0, [1, 2])
    assert oxiblosc.SharedArray.clear(tmp_path / "b") > 0
    with pytest.raises(oxiblosc.OxibloscError):
        left.write(1, [1, 2])
    joined = oxiblosc.SharedArray(tmp_path / "c", "i8", (4,), chunks=(2,))
    with pytest.raises(ValueError, match="shape"):
        joined.write(0, [1, 2, 3])
    oxiblosc.SharedArray.join(tmp_path / "c", "i8").write(0, [5, 6])
    joined.write((1,), [7, 8])
    joined.commit()
    assert np.array_equal(oxiblosc.open(tmp_path / "c")[...], [5, 6, 7, 8])
