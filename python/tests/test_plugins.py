"""Codecs and filters of others."""

from __future__ import annotations

import _thread
import asyncio
import os
import threading
import time

import numpy as np
import oxiblosc
import pytest


def encode(data, out, meta, typesize):
    """Run lengths of bytes."""
    edges = np.flatnonzero(np.diff(data)) + 1
    starts = np.concatenate([[0], edges])
    lengths = np.diff(np.concatenate([starts, [len(data)]]))
    if len(starts) * 5 > len(out):
        return 0
    packed = np.zeros((len(starts), 5), "u1")
    packed[:, 0] = data[starts]
    packed[:, 1:] = lengths.astype("<u4").view("u1").reshape(-1, 4)
    out[: packed.size] = packed.reshape(-1)
    return packed.size


def decode(data, out, meta, typesize):
    packed = data.reshape(-1, 5)
    lengths = np.ascontiguousarray(packed[:, 1:]).view("<u4").reshape(-1)
    out[:] = np.repeat(packed[:, 0], lengths)
    return len(out)


def test_a_codec_in_python():
    oxiblosc.register_codec("run-lengths", 210, encode, decode)
    expected = np.repeat(np.arange(100, dtype="i4"), 5000)
    frame = oxiblosc.to_bytes(expected, codec="run-lengths", filters=["shuffle"])
    assert frame == oxiblosc.to_bytes(expected, codec=210) and len(frame) < expected.nbytes / 100
    assert np.array_equal(oxiblosc.open(frame)[...], expected)
    random = np.random.default_rng(1).integers(0, 256, 100_000, "u1")
    assert np.array_equal(oxiblosc.open(oxiblosc.to_bytes(random, codec=210))[...], random)
    assert oxiblosc.codecs()["run-lengths"] == 210
    chunk = oxiblosc.compress(expected, codec="run-lengths")
    assert oxiblosc.decompress(chunk) == expected.tobytes()


def test_a_filter_in_python():
    def flip(data, out, meta, typesize):
        out[:] = data ^ meta

    oxiblosc.register_filter("flip", 211, flip, flip)
    expected = np.arange(100_000, dtype="u2")
    frame = oxiblosc.to_bytes(expected, filters=["flip", "shuffle"], filters_meta=[85, 0])
    assert np.array_equal(oxiblosc.open(frame)[...], expected)
    assert oxiblosc.info(frame)["filters"][-2:] == [211, 1] and oxiblosc.info(frame)["filters_meta"][-2:] == [85, 0]
    assert oxiblosc.filters()["flip"] == 211


def test_their_exceptions_arrive():
    def broken(data, out, meta, typesize):
        raise LookupError("lost the plot")

    oxiblosc.register_codec("broken", 212, broken, broken)
    with pytest.raises(LookupError, match="lost the plot"):
        oxiblosc.to_bytes(np.random.default_rng(1).random(1000), codec="broken")
    oxiblosc.register_codec("nonsense", 213, lambda *_: 10**9, lambda *_: 0)
    with pytest.raises(oxiblosc.OxibloscError, match="claims to have written"):
        oxiblosc.to_bytes(np.random.default_rng(1).random(1000), codec="nonsense")


def test_a_library():
    """The codec of `export/example-codec`, which the tests in Rust build."""
    path = os.environ.get("OXIBLOSC_TEST_PLUGIN", "")
    if not os.path.exists(path):
        pytest.skip("OXIBLOSC_TEST_PLUGIN names no library")
    assert oxiblosc.load_plugin(path) == ("codec", 231, "oxirle")
    expected = np.repeat(np.arange(100, dtype="i4"), 5000)
    frame = oxiblosc.to_bytes(expected, codec="oxirle")
    assert len(frame) < expected.nbytes / 10 and np.array_equal(oxiblosc.open(frame)[...], expected)
    assert 231 in {result["params"]["codec"] for result in oxiblosc.tune(expected, clevels=[1])}


def test_what_is_refused(tmp_path):
    with pytest.raises(oxiblosc.OxibloscError):
        oxiblosc.register_codec("zstd", 214, encode, decode)
    with pytest.raises(oxiblosc.OxibloscError):
        oxiblosc.register_codec("mine", 33, encode, decode)
    with pytest.raises(oxiblosc.OxibloscError):
        oxiblosc.register_filter("not a name", 215, encode, decode)
    with pytest.raises(oxiblosc.OxibloscError, match="cannot be opened"):
        oxiblosc.load_plugin(tmp_path / "none.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(oxiblosc.OxibloscError, match="cannot be loaded"):
        oxiblosc.load_plugin(tmp_path / "text.so")


def test_a_frame_without_its_codec():
    frame = bytearray(oxiblosc.to_bytes(np.random.default_rng(1).integers(0, 9, 100_000), codec="lz4"))
    chunks = oxiblosc.compress(np.arange(1000), codec="lz4")
    assert oxiblosc.decompress(chunks)
    with pytest.raises(LookupError):
        oxiblosc.to_bytes(np.arange(10), codec=254)
    assert oxiblosc.info(bytes(frame))["missing_plugins"] == []


def test_tuning():
    data = np.cumsum(np.random.default_rng(1).integers(-2, 3, 200_000)).astype("i4")
    seen = []
    results = oxiblosc.tune(data, clevels=(1, 9), sample_bytes=200_000, progress=lambda *now: seen.append(now))
    assert seen[-1][0] == seen[-1][1] == len(results) and results[0]["ratio"] == max(r["ratio"] for r in results)
    best = results[0]["params"]
    assert len(oxiblosc.to_bytes(data, **best)) < len(oxiblosc.to_bytes(data, codec="blosclz", filters=[]))
    assert oxiblosc.tune(oxiblosc.open(oxiblosc.to_bytes(data)), clevels=(1,), sample_bytes=10_000)
    assert results == sorted(results, key=lambda result: -result["ratio"])
    purposes = [purpose for result in results for purpose in result["recommended_for"]]
    assert sorted(purposes) == PURPOSES
    assert "the smallest result" in results[0]["recommended_for"]
    for result in results:
        assert oxiblosc.open(oxiblosc.to_bytes(data, **result["params"]))[...].tobytes() == data.tobytes()
        assert result["encode"] > 0 and result["decode"] > 0
        assert bool(result["recommended_for"]) or result["threads"] == []


PURPOSES = ["a disk of 1 GB/s", "a network of 100 MB/s", "memory, 10 GB/s", "the smallest result"]


def test_tuning_of_buffers_and_arrays():
    data = (np.arange(300_000) // 7).astype("i4")
    # A frame of bytes needs the type size, and blocks and chunks have sizes.
    results = oxiblosc.tune(data.tobytes(), typesize=4, clevels=[1], nthreads=2)
    assert all(result["params"]["typesize"] == 4 for result in results)
    assert any("blocksize" in result["params"] for result in results)
    best = results[0]["params"]
    assert bytes(oxiblosc.open(oxiblosc.to_bytes(data.tobytes(), **best))[:]) == data.tobytes()
    # Those of arrays are shapes, which are chosen by other rules; but there is a codec for them.
    steps = np.add.outer(np.arange(600) // 8, np.arange(500) // 8).astype("u1")
    results = oxiblosc.tune(steps, clevels=[1])
    assert not any({"blocksize", "chunksize", "typesize"} & result["params"].keys() for result in results)
    ndlz = [result["params"] for result in results if result["params"]["codec"] == oxiblosc.Codec.NDLZ]
    assert sorted(params["codec_meta"] for params in ndlz) == [4, 8]
    assert (oxiblosc.open(oxiblosc.to_bytes(steps, **ndlz[0]))[...] == steps).all()


def test_tuning_with_loss_and_with_a_budget():
    data = np.sqrt(np.arange(100_000, dtype="f4")) + 1
    assert not any(oxiblosc.Filter.TRUNC_PREC in r["params"]["filters"] for r in oxiblosc.tune(data, clevels=[1]))
    best = oxiblosc.tune(data, clevels=[1], max_error=0.001)[0]["params"]
    assert best["filters"][0] == oxiblosc.Filter.TRUNC_PREC and best["filters_meta"][0] == 10
    back = oxiblosc.open(oxiblosc.to_bytes(data, **best))[...]
    assert (back != data).any() and (np.abs(back - data) <= 0.001 * data).all()
    with pytest.raises(ValueError, match="floats of 4 or 8 bytes"):
        oxiblosc.tune(data.astype("i4"), max_error=0.1)
    with pytest.raises(ValueError, match="between 0 and 1"):
        oxiblosc.tune(data, max_error=2)
    with pytest.raises(ValueError, match="nothing to compress"):
        oxiblosc.tune(b"")
    with pytest.raises(ValueError, match="budget is -1"):
        oxiblosc.tune(data, budget=-1)
    (only,) = oxiblosc.tune(data, budget=0)
    assert sorted(only["recommended_for"]) == PURPOSES and only["params"]["clevel"] == 1


def test_tuning_tries_what_was_registered():
    def forward(source, output, meta, typesize):
        items = source.view("u2")
        output.view("u2")[:] = items - (np.arange(len(items)) * 7919).astype("u2")

    def backward(source, output, meta, typesize):
        items = source.view("u2")
        output.view("u2")[:] = items + (np.arange(len(items)) * 7919).astype("u2")

    oxiblosc.register_filter("py_tuned_ramp", 236, forward, backward)
    oxiblosc.register_codec("py_tuned_store", 237, lambda *_: 0, lambda *_: 0)
    data = (np.arange(100_000) * 7919).astype("u2")
    results = oxiblosc.tune(data, clevels=[1])
    assert 237 in {result["params"]["codec"] for result in results}
    # With it all blocks are zeros.
    assert 236 in results[0]["params"]["filters"] and results[0]["ratio"] > 100


def test_tuning_can_be_stopped():
    data = np.random.default_rng(1).integers(0, 99, 4 << 20).astype("u1")

    def stop(done, total):
        raise ZeroDivisionError(f"{done} of {total}")

    with pytest.raises(ZeroDivisionError, match="of"):
        oxiblosc.tune(data, clevels=[9], progress=stop)

    # As Ctrl-C does, also while a codec in Python runs.
    oxiblosc.register_codec("py_slow_store", 238, lambda *_: time.sleep(0.02) or 0, lambda *_: 0)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        oxiblosc.tune(data, clevels=[9])
        time.sleep(60)
    assert time.monotonic() - begin < 30


def test_a_task_that_tunes_can_be_cancelled():
    data = np.random.default_rng(2).integers(0, 99, 4 << 20).astype("u1")
    seen = []

    async def main():
        task = asyncio.ensure_future(oxiblosc.aio.tune(data, clevels=[9], progress=lambda *now: seen.append(now)))
        while not seen:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    time.sleep(0.5)
    count = len(seen)
    time.sleep(0.5)
    assert len(seen) == count
    # The total is not known from the start, and nobody is told that it is 0.
    assert all(done < total for done, total in seen)
