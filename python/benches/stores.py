"""Times Zarr stores with two engines behind `blosc`, and reading of an array in S3, in one run.

    python benches/stores.py [--mib 64] [--rounds 5] [--threads 2]

Zarr arrays lie in a directory, and both engines read what numcodecs has written. The S3 server is on loopback, with a
proxy before it, in processes of their own; it delays each response, as a network would, and has the objects in memory, as
the server takes 20 ms to copy one for each range. Rounds alternate, and the least time of each counts. The output are
tables for the page.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import blosc2
import numpy as np
import oxiblosc
import oxiblosc.aio
import oxiblosc.zarr  # registers its codecs
import zarr
import zarr.api.asynchronous
from compare import arrays, least, parsed

TESTS = str(pathlib.Path(__file__).parent.parent / "tests")
sys.path.insert(0, TESTS)
import s3  # noqa: E402

ENGINES = {"oxiblosc": "oxiblosc.zarr.BloscCodec", "numcodecs": "zarr.codecs.blosc.BloscCodec"}
#: Milliseconds by which responses are late.
DELAYS = (0, 20, 100)
SIDE = 64

#: Answers with what a proxy has taken since it was last asked, until its standard input ends.
PROXIES = f"""
import sys
sys.path.insert(0, {TESTS!r})
import s3
from http.server import ThreadingHTTPServer
# Else connections that are opened at once are dropped, and tried again after a second.
ThreadingHTTPServer.request_queue_size = 128
proxies = []
for delay in sys.argv[2:]:
    proxy = s3.Proxy(sys.argv[1])
    proxy.delay = int(delay) / 1000
    proxy.keeps = True
    proxies.append(proxy)
    print(proxy.url, flush=True)
for number in sys.stdin:
    print(*proxies[int(number)].taken(), flush=True)
"""


class Proxies:
    """Proxies before a server in a process of their own, one for each delay."""

    def __init__(self, server: str) -> None:
        program = [sys.executable, "-c", PROXIES, server, *map(str, DELAYS)]
        self._process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.urls = [self._process.stdout.readline().strip() for _ in DELAYS]

    def taken(self, number: int) -> tuple[int, int]:
        """Requests, and bytes of responses, of this proxy since the last call."""
        print(number, file=self._process.stdin, flush=True)
        requests, nbytes = self._process.stdout.readline().split()
        return int(requests), int(nbytes)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def engine(name: str) -> Any:
    """Zarr with this engine behind `blosc`."""
    return zarr.config.set({"codecs.blosc": ENGINES[name]})


def zarr_stores(options: argparse.Namespace) -> None:
    zarr.config.set({"threading.max_workers": options.threads})
    ratios: list[float] = []
    print("| array, work | oxiblosc, ms | numcodecs, ms | ratio |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as directory:
        for name, array in arrays(options.mib).items():
            array = np.ascontiguousarray(array)

            def create(who: str, array: np.ndarray = array, name: str = name) -> Any:
                codec = zarr.registry.get_codec_class("blosc")(cname="zstd", clevel=1, shuffle="shuffle")
                return zarr.create_array(
                    os.path.join(directory, f"{name}-{who}"), shape=array.shape, chunks=(512, 1024), dtype=array.dtype,
                    compressors=codec, overwrite=True,
                )  # fmt: skip

            def written(who: str, array: np.ndarray = array, create: Callable[[str], Any] = create) -> Any:
                with engine(who):
                    create(who)[...] = array

            write = least(options.rounds, {who: lambda who=who, written=written: written(who) for who in ENGINES})
            opened = {}
            for who in ENGINES:
                with engine(who):
                    opened[who] = zarr.open_array(os.path.join(directory, f"{name}-numcodecs"), mode="r")
                codec = opened[who].compressors[0]
                assert f"{type(codec).__module__}.{type(codec).__name__}" == ENGINES[who]
                assert np.array_equal(opened[who][...], array)
            read = least(options.rounds, {who: lambda who=who, opened=opened: opened[who][...] for who in ENGINES})
            for work, times in (("write", write), ("read", read)):
                ratios.append(times["numcodecs"] / times["oxiblosc"])
                ours, theirs = times["oxiblosc"] * 1000, times["numcodecs"] * 1000
                print(f"| {name}, {work} | {ours:.1f} | {theirs:.1f} | {theirs / ours:.2f} |", flush=True)
    print(summary("numcodecs", ratios))


def far_away(options: argparse.Namespace) -> None:
    import boto3

    array = np.ascontiguousarray(arrays(options.mib)["field"])
    rng = np.random.default_rng(3)
    corners = [tuple(int(n) for n in rng.integers(0, np.array(array.shape) - SIDE)) for _ in range(20)]
    slices = [(slice(i, i + SIDE), slice(j, j + SIDE)) for i, j in corners]
    with tempfile.TemporaryDirectory() as directory, s3.running() as server:
        path = pathlib.Path(directory)
        oxiblosc.save(path / "field.b2nd", array, chunks=(512, 1024), blocks=(64, 256), codec="zstd", clevel=1)
        # What is a chunk and its blocks there is a shard and its chunks here.
        codec = zarr.codecs.BloscCodec(cname="zstd", clevel=1, shuffle="shuffle")
        zarr.create_array(
            path / "field.zarr", shape=array.shape, shards=(512, 1024), chunks=(64, 256), dtype=array.dtype,
            compressors=codec,
        )[...] = array  # fmt: skip
        client = boto3.client("s3", region_name=s3.REGION, endpoint_url=server, aws_access_key_id="key",
                              aws_secret_access_key="secret")  # fmt: skip
        client.create_bucket(Bucket="far")
        for file in sorted(path.rglob("*")):
            if file.is_file():
                client.upload_file(str(file), "far", str(file.relative_to(path)))
        proxies = Proxies(server)
        try:
            compare_far(proxies, array, slices, options)
        finally:
            proxies.close()


def compare_far(proxies: Proxies, array: np.ndarray, slices: list[Any], options: argparse.Namespace) -> None:
    ratios: dict[str, list[float]] = {"python-blosc2": [], "zarr": []}
    # One loop for all that is asynchronous: connections of zarr-python stay open from one opening to the next, as they
    # do without asyncio. Its codecs get as many threads as there.
    loop = asyncio.new_event_loop()
    loop.set_default_executor(ThreadPoolExecutor(options.threads))
    print("\nIn milliseconds, with requests and megabytes of responses.\n")
    print("| delay, work | oxiblosc | python-blosc2 | zarr, sharded | ratios |\n|---|---:|---:|---:|---:|")
    for number, (delay, url) in enumerate(zip(DELAYS, proxies.urls, strict=True)):
        os.environ.update(s3.settings(url))
        storage = {"endpoint_url": url}
        # As much memory for both packages of Blosc2, and as many threads for all.
        ours = {"cache_bytes": 256 << 20, "nthreads": options.threads}
        openers: dict[str, Callable[[], Any]] = {
            "oxiblosc": lambda ours=ours: oxiblosc.open("s3://far/field.b2nd", **ours),
            "python-blosc2": lambda storage=storage: blosc2.open(
                "s3://far/field.b2nd", mode="r", lazy=True, storage_options=storage
            ),
            "zarr": lambda storage=storage: zarr.open_array("s3://far/field.zarr", mode="r", storage_options=storage),
        }

        async def ours_at_once(ours: Any = ours) -> list[Any]:
            one = await oxiblosc.aio.open("s3://far/field.b2nd", **ours)
            return await asyncio.gather(*(one.read(where) for where in slices))

        async def zarr_at_once(storage: Any = storage) -> list[Any]:
            one = await zarr.api.asynchronous.open_array(store="s3://far/field.zarr", mode="r", storage_options=storage)
            return await asyncio.gather(*(one.getitem(where) for where in slices))

        # python-blosc2 reads an array under a lock: on threads, and with `afetch`, slices come one after the other too.
        # What is timed is its loop.
        at_once: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {"oxiblosc": ours_at_once, "zarr": zarr_at_once}
        works: dict[str, Callable[[Any], Any]] = {
            "open and one slice": lambda one: one[slices[0]],
            f"open and {len(slices)} slices": lambda one: [one[where] for where in slices],
            f"open and {len(slices)} slices at once": lambda one: [one[where] for where in slices],
            "open and all": lambda one: one[...],
        }
        for work, of in works.items():
            cells, found = [], {}
            calls = {who: lambda opener=opener, of=of: of(opener()) for who, opener in openers.items()}
            if work.endswith("at once"):
                for who, begin in at_once.items():
                    calls[who] = lambda begin=begin: loop.run_until_complete(begin())
            times = least(max(3, options.rounds // 2), calls)
            for who, call in calls.items():
                proxies.taken(number)
                found[who] = call()
                requests, nbytes = proxies.taken(number)
                cells.append(f"{times[who] * 1000:.0f} ({requests}, {nbytes / 1e6:.2f})")
            expected = of(array)
            assert all(np.array_equal(expected, read) for read in found.values())
            for who, all_of_them in ratios.items():
                all_of_them.append(times[who] / times["oxiblosc"])
            both = ", ".join(f"{all_of_them[-1]:.2f}" for all_of_them in ratios.values())
            print(f"| {delay} ms, {work} | {' | '.join(cells)} | {both} |", flush=True)
    for who, all_of_them in ratios.items():
        print(summary(who, all_of_them))


def summary(who: str, ratios: list[float]) -> str:
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"\nGeometric mean against {who}: {mean:.2f}, least {min(ratios):.2f}."


def main() -> None:
    options = parsed(__doc__)
    blosc2.set_nthreads(options.threads)
    zarr_stores(options)
    far_away(options)


if __name__ == "__main__":
    main()
