"""Damaged files are exceptions, and never the end of the interpreter."""

from __future__ import annotations

import asyncio
import os
import pathlib
import subprocess
import sys
import time
import zlib

import numpy as np
import oxiblosc
import pytest

DATA = pathlib.Path(__file__).parents[2] / "conformance" / "data"
FILES = 1000


def originals() -> list[bytes]:
    found = [p for p in sorted(DATA.rglob("*")) if p.is_file() and p.suffix in (".b2frame", ".b2nd", ".bin")]
    return [p.read_bytes() for p in found if p.stat().st_size < 100_000]


def damaged(rng: np.random.Generator, data: bytes) -> bytes:
    kind = rng.random()
    if kind < 0.2:
        return data[: int(rng.integers(0, len(data)))]
    changed = bytearray(data)
    # Most damage is in the header, where it does most.
    most = len(changed) if kind < 0.6 else min(len(changed), 200)
    for _ in range(int(rng.integers(1, 8))):
        changed[int(rng.integers(0, most))] = int(rng.integers(0, 256))
    return bytes(changed)


def test_damaged_files(rng):
    files = originals()
    assert len(files) > 100
    outcomes = {"read": 0, "refused": 0}
    for i in range(FILES):
        data = damaged(rng, files[i % len(files)])
        try:
            opened = oxiblosc.open(data, nthreads=1)
            opened.info, dict(opened.attrs), opened.meta
            if opened.nbytes < 50_000_000:
                opened[...]
            outcomes["read"] += 1
        except (oxiblosc.OxibloscError, MemoryError):
            outcomes["refused"] += 1
        try:
            assert isinstance(oxiblosc.verify(data)["ok"], bool)
        except oxiblosc.OxibloscError:
            pass
        try:
            oxiblosc.decompress(data)
        except (oxiblosc.OxibloscError, MemoryError):
            pass
    assert outcomes["refused"] > 200 and sum(outcomes.values()) == FILES, outcomes


def test_damaged_arrays_of_files(rng, tmp_path):
    expected = np.arange(3000, dtype="f8").reshape(50, 60)
    whole = oxiblosc.to_bytes(expected, chunks=(20, 20), checksums=True)
    path = tmp_path / "a"
    for _ in range(200):
        path.write_bytes(damaged(rng, whole))
        try:
            array = oxiblosc.open(path, checksums=True)
            assert array[...].nbytes == array.nbytes
            array[::7, [1, 2]]
        except (oxiblosc.OxibloscError, IndexError):
            pass


def test_recovery(tmp_path):
    expected = np.arange(100_000).reshape(100, 1000)
    path, cut, again = tmp_path / "a", tmp_path / "cut", tmp_path / "again"
    oxiblosc.save(path, expected, chunks=(10, 1000), clevel=1)
    data = bytearray(path.read_bytes())
    cut.write_bytes(data[: len(data) // 2])
    with pytest.raises(oxiblosc.OxibloscError):
        oxiblosc.open(cut)
    seen = []
    report = oxiblosc.recover(cut, again, progress=lambda *now: seen.append(now))
    assert report["found"] == "cut" and report["chunks"] >= 3 and seen
    saved = report["chunks"] * 10
    assert np.array_equal(oxiblosc.open(again)[:saved], expected[:saved]) and not oxiblosc.open(again)[saved:].any()

    # A directory without its index.
    sparse = tmp_path / "sparse"
    oxiblosc.save(sparse, expected, chunks=(10, 1000), contiguous=False)
    (sparse / "chunks.b2frame").unlink()
    seen.clear()
    report = oxiblosc.recover(sparse, tmp_path / "found", progress=lambda *now: seen.append(now))
    assert np.array_equal(oxiblosc.open(tmp_path / "found").as_array("i8"), expected.reshape(-1))
    assert seen[-1][0] == seen[-1][1] == sum(file.stat().st_size for file in sparse.iterdir())

    # One chunk in the middle.
    middle = len(data) // 2
    data[middle : middle + 20] = b"\xff" * 20
    path.write_bytes(data)
    report = oxiblosc.verify(path)
    assert not report["ok"] and report["findings"] and len(report["bad_chunks"]) >= 1
    report = oxiblosc.recover(path, again)
    assert report["found"] == "whole" and report["lost_nbytes"] == 80_000 * len(report["replaced"])
    with pytest.raises(oxiblosc.DamagedError):
        oxiblosc.recover(b"nothing at all" * 10, again)


def test_recovery_ends_when_it_is_stopped(tmp_path):
    def encode(source, target, meta, typesize):
        packed = np.frombuffer(zlib.compress(source), np.uint8)
        target[: len(packed)] = packed
        return len(packed)

    def decode(source, target, meta, typesize):
        time.sleep(0.005)
        data = np.frombuffer(zlib.decompress(source), np.uint8)
        target[: len(data)] = data
        return len(data)

    class Stop(Exception):
        pass

    def stop(done, total):
        assert 0 < total and 0 <= done < total
        raise Stop

    oxiblosc.register_codec("slow", 201, encode, decode)
    data = np.arange(100_000)
    for name, contiguous in (("file", True), ("sparse", False)):
        oxiblosc.save(tmp_path / name, data, chunks=(1000,), blocks=(1000,), codec=201, contiguous=contiguous)
    (tmp_path / "sparse" / "chunks.b2frame").unlink()
    for name in ("file", "sparse"):
        with pytest.raises(Stop):
            oxiblosc.recover(tmp_path / name, tmp_path / "stopped", progress=stop)

        async def cancelled(name=name):
            await asyncio.wait_for(oxiblosc.aio.recover(tmp_path / name, tmp_path / "stopped"), 0.1)

        with pytest.raises(asyncio.TimeoutError):
            asyncio.run(cancelled())
    deadline = time.monotonic() + 10
    while any("stopped" in name for name in os.listdir(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert sorted(os.listdir(tmp_path)) == ["file", "sparse"]
    assert np.array_equal(oxiblosc.open(tmp_path / "file")[...], data)


def test_kinds_of_exceptions(tmp_path):
    with pytest.raises(FileNotFoundError, match="no-such-file") as raised:
        oxiblosc.open(tmp_path / "no-such-file")
    assert isinstance(raised.value, oxiblosc.OxibloscError)
    (tmp_path / "text").write_text("certainly not a frame, but long enough for one\n" * 3)
    with pytest.raises(ValueError, match="not a Blosc2 frame") as raised:
        oxiblosc.open(tmp_path / "text")
    assert isinstance(raised.value, oxiblosc.DamagedError)
    with pytest.raises(oxiblosc.DamagedError):
        oxiblosc.decompress(b"x" * 40)
    with pytest.raises(LookupError, match="codec"):
        oxiblosc.to_bytes(np.arange(10), codec=222)
    sealed = oxiblosc.to_bytes(np.arange(10))
    (tmp_path / "a").write_bytes(sealed)
    assert oxiblosc.seal(tmp_path / "a")["found"] == "whole"


INTERRUPTED = """
import _thread, threading, time, numpy as np, oxiblosc, sys
class Slow:
    def read(self, n=-1):
        time.sleep(0.3)
        raise OSError("still here")
    def seek(self, *a): time.sleep(0.05)
    def tell(self): return 10**9
def encode(data, out, meta, typesize):
    time.sleep(0.02)
    return 0
oxiblosc.register_codec("slow", 200, encode, encode)
threading.Timer(1, _thread.interrupt_main).start()
begin = time.time()
try:
    oxiblosc.save(sys.argv[1], np.arange(5_000_000), codec="slow", chunks=20_000, blocks=2000)
except KeyboardInterrupt:
    assert time.time() - begin < 8, time.time() - begin
    print("interrupted")
"""


def test_ctrl_c_ends_long_work(tmp_path):
    path = tmp_path / "a"
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, path], capture_output=True, text=True, timeout=60)
    assert done.stdout == "interrupted\n", done.stderr
    assert not path.exists() and list(tmp_path.iterdir()) == []
