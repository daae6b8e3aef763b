"""Four processes of Dask write an array to an S3 server on loopback and read it again, in little memory.

    python cluster/dask_s3.py [--mib 256] [--no-kill]

Half-way through the writing one of them is killed. Memory is the proportional set size of all four together, sampled
ten times a second. At the end two jobs write to one URL at the same time.
"""

from __future__ import annotations

import argparse
import math
import os
import pathlib
import signal
import sys
import threading
import time

import boto3
import dask
import dask.array as da
import distributed
import numpy as np
import oxiblosc
import psutil
from oxiblosc.dask import from_url, to_url

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
import s3  # noqa: E402

#: The most that all workers together may have resident.
LIMIT = 1536 << 20
WORKERS = 4
CHUNK = 2048


class Memory:
    """The most memory that processes have had together."""

    def __init__(self, processes) -> None:
        self._processes, self._ended, self.peak = processes, threading.Event(), 0
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def _sample(self) -> None:
        while not self._ended.wait(0.1):
            total = 0
            try:
                for process in self._processes():
                    total += process.memory_full_info().pss
            except psutil.Error:
                # One has just ended.
                continue
            self.peak = max(self.peak, total)

    def stop(self) -> int:
        self._ended.set()
        self._thread.join()
        return self.peak


def block(block_info=None) -> np.ndarray:
    """The items of a chunk. They depend on its place alone, so that a task that is repeated makes the same."""
    where = block_info[None]
    shape = tuple(stop - start for start, stop in where["array-location"])
    rng = np.random.default_rng(where["chunk-location"])
    return rng.integers(0, 1000, shape, dtype="i4")


def made(side: int) -> da.Array:
    lengths = tuple(min(CHUNK, side - start) for start in range(0, side, CHUNK))
    return da.map_blocks(block, chunks=(lengths, lengths), dtype="i4", meta=np.empty((0, 0), "i4"))


def means(side: int) -> tuple[np.ndarray, np.ndarray]:
    """What NumPy makes of the same items. Sums of integers are exact, in whatever order."""
    columns, rows = np.zeros(side, "i8"), np.zeros(side, "i8")
    for i, top in enumerate(range(0, side, CHUNK)):
        for j, left in enumerate(range(0, side, CHUNK)):
            place = {"array-location": [(top, min(top + CHUNK, side)), (left, min(left + CHUNK, side))]}
            items = block({None: {**place, "chunk-location": (i, j)}})
            columns[left : left + items.shape[1]] += items.sum(axis=0, dtype="i8")
            rows[top : top + items.shape[0]] += items.sum(axis=1, dtype="i8")
    return columns / side, rows / side


def report(what: str, mib: float, seconds: float, peak: int) -> None:
    print(
        f"{what}: {seconds:.1f} s, {mib / seconds:.0f} MiB/s, at most {peak / (1 << 20):.0f} MiB resident", flush=True
    )


def kill_one(client: distributed.Client, written, half: int) -> None:
    """Kills a worker once half of the chunks are written."""
    victim = sorted(client.run(os.getpid).values())[0]
    while written() < half:
        time.sleep(0.1)
    os.kill(victim, signal.SIGKILL)


def race(url: str) -> str:
    """Two jobs with different items write to one URL."""
    outcomes: list[object] = [None, None]

    def job(number: int) -> None:
        x = da.full((400, 400), number, chunks=(50, 50), dtype="i4")
        try:
            outcomes[number] = to_url(x, url)
        except Exception as error:
            outcomes[number] = error

    jobs = [threading.Thread(target=job, args=(number,)) for number in (0, 1)]
    for thread in jobs:
        thread.start()
    for thread in jobs:
        thread.join()
    winners = [number for number in (0, 1) if isinstance(outcomes[number], dict)]
    assert len(winners) == 1, outcomes
    loser = outcomes[1 - winners[0]]
    assert isinstance(loser, oxiblosc.AlreadyExistsError) and str(loser), repr(loser)
    assert np.all(oxiblosc.open(url)[...] == winners[0])
    return str(loser)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mib", type=int, default=256)
    parser.add_argument("--no-kill", action="store_true")
    options = parser.parse_args()
    # A little more, so that the chunks at the edges are cut.
    side = math.isqrt((options.mib << 20) // 4) + 5
    with s3.running() as server:
        os.environ.update(s3.settings(server))
        client_of_s3 = boto3.client("s3")
        client_of_s3.create_bucket(Bucket="cluster")
        pages = client_of_s3.get_paginator("list_objects_v2")

        def written() -> int:
            found = pages.paginate(Bucket="cluster", Prefix="array/")
            return sum(key["Key"].endswith(".chunk") for page in found for key in page.get("Contents", []))

        settings = {"distributed.worker.memory.terminate": False, "distributed.comm.timeouts.connect": "60s"}
        with (
            dask.config.set(settings),
            distributed.LocalCluster(
                n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            client.wait_for_workers(WORKERS)
            here = psutil.Process()

            def workers():
                # The server and the tracker of resources are children too.
                return [child for child in here.children(recursive=True) if "spawn_main" in " ".join(child.cmdline())]

            x = made(side)
            chunks = math.prod(x.numblocks)
            memory, begin = Memory(workers), time.perf_counter()
            if not options.no_kill:
                killer = threading.Thread(target=kill_one, args=(client, written, chunks // 2))
                killer.start()
            summary = to_url(x, "s3://cluster/array/", codec="lz4", filters=["bitshuffle"])
            if not options.no_kill:
                killer.join()
            wrote, wrote_memory = time.perf_counter() - begin, memory.stop()
            assert summary["nchunks"] == chunks
            mib = x.nbytes / (1 << 20)
            stored = summary["cbytes"] / (1 << 20)
            print(f"{mib:.0f} MiB in {chunks} chunks, {stored:.0f} MiB stored; {WORKERS} workers")
            report("write", mib, wrote, wrote_memory)

            memory, begin = Memory(workers), time.perf_counter()
            y = from_url("s3://cluster/array/")
            by_columns, by_rows = dask.compute(y.mean(axis=0), y.mean(axis=1))
            read, read_memory = time.perf_counter() - begin, memory.stop()
            report("read and mean", mib, read, read_memory)
            columns, rows = means(side)
            assert np.array_equal(by_columns, columns) and np.array_equal(by_rows, rows)
            told = race("s3://cluster/raced/")
        print(f"the second of two jobs is told: {told}")
        assert max(wrote_memory, read_memory) <= LIMIT, "too much memory"


if __name__ == "__main__":
    main()
