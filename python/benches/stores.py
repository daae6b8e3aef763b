"""Times Zarr stores with two engines behind `blosc`, and slices of an array in S3, in one run.

    python benches/stores.py [--mib 64] [--rounds 5] [--threads 2]

Zarr arrays lie in a directory, and both engines read what numcodecs has written. The S3 server is on loopback, with a
proxy before it, in processes of their own; it delays each response, as a network would. Rounds alternate, and the least
time of each counts. The output are tables for the page.
"""

from __future__ import annotations

import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import blosc2
import numpy as np
import oxiblosc
import oxiblosc.zarr  # registers its codecs
import zarr
from compare import arrays, least

TESTS = str(pathlib.Path(__file__).parent.parent / "tests")
sys.path.insert(0, TESTS)
import s3  # noqa: E402

ENGINES = {"oxiblosc": "oxiblosc.zarr.BloscCodec", "numcodecs": "zarr.codecs.blosc.BloscCodec"}
#: Milliseconds by which responses are late.
DELAYS = (0, 20, 100)
SIDE = 64

#: Runs until its standard input ends.
PROXIES = f"""
import sys
sys.path.insert(0, {TESTS!r})
import s3
proxies = []
for delay in sys.argv[2:]:
    proxy = s3.Proxy(sys.argv[1])
    proxy.delay = int(delay) / 1000
    proxies.append(proxy)
    print(proxy.url, flush=True)
sys.stdin.read()
"""


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


def far_slices(options: argparse.Namespace) -> None:
    import boto3

    array = np.ascontiguousarray(arrays(options.mib)["field"])
    rng = np.random.default_rng(3)
    corners = [tuple(int(n) for n in rng.integers(0, np.array(array.shape) - SIDE)) for _ in range(20)]
    slices = [(slice(i, i + SIDE), slice(j, j + SIDE)) for i, j in corners]
    ratios: list[float] = []
    print("\n| delay, work | oxiblosc, ms | python-blosc2, ms | ratio |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as directory, s3.running() as server:
        path = os.path.join(directory, "field.b2nd")
        oxiblosc.save(path, array, chunks=(512, 1024), blocks=(64, 256), codec="zstd", clevel=1)
        client = boto3.client("s3", region_name=s3.REGION, endpoint_url=server, aws_access_key_id="key",
                              aws_secret_access_key="secret")  # fmt: skip
        client.create_bucket(Bucket="far")
        client.upload_file(path, "far", "field.b2nd")
        program = [sys.executable, "-c", PROXIES, server, *map(str, DELAYS)]
        with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as proxies:
            try:
                for delay in DELAYS:
                    compare_slices(proxies.stdout.readline().strip(), delay, array, slices, options, ratios)
            finally:
                proxies.stdin.close()
    print(summary("python-blosc2", ratios))


def compare_slices(
    url: str, delay: int, array: np.ndarray, slices: list[Any], options: argparse.Namespace, ratios: list[float]
) -> None:
    os.environ.update(s3.settings(url))
    address = "s3://far/field.b2nd"

    # As much memory for both, and as many threads.
    def ours() -> Any:
        return oxiblosc.open(address, cache_bytes=256 << 20, nthreads=options.threads)

    def theirs() -> Any:
        return blosc2.open(address, mode="r", lazy=True, storage_options={"endpoint_url": url})

    first = slices[0]
    assert np.array_equal(ours()[first], array[first]) and np.array_equal(theirs()[first], array[first])
    rounds = max(3, options.rounds // 2)
    times = {
        "open and one slice": least(rounds, {"ours": lambda: ours()[first], "theirs": lambda: theirs()[first]}),
        f"open and {len(slices)} slices": least(rounds, {
            "ours": lambda: [one[where] for one in [ours()] for where in slices],
            "theirs": lambda: [one[where] for one in [theirs()] for where in slices],
        }),
    }  # fmt: skip
    for work, found in times.items():
        ratios.append(found["theirs"] / found["ours"])
        print(
            f"| {delay} ms, {work} | {found['ours'] * 1000:.0f} | {found['theirs'] * 1000:.0f} | {ratios[-1]:.2f} |",
            flush=True,
        )


def summary(who: str, ratios: list[float]) -> str:
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    return f"\nGeometric mean against {who}: {mean:.2f}, least {min(ratios):.2f}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    blosc2.set_nthreads(options.threads)
    zarr_stores(options)
    far_slices(options)


if __name__ == "__main__":
    main()
