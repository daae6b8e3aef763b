"""Times the same work with oxiblosc, python-blosc2 and numcodecs, in one run.

    python benches/compare.py [--mib 64] [--rounds 5] [--threads 2]

Rounds alternate between the libraries, and the least time of each counts. Arrays have the same chunks and blocks, and
the same codec, level and filters. numcodecs compresses chunk by chunk, in memory. The output is a table for the page.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import tempfile
import time
from collections.abc import Callable

import blosc2
import numcodecs
import numcodecs.blosc
import numpy as np
import oxiblosc


def arrays(mib: int) -> dict[str, np.ndarray]:
    """Five arrays of about as many MiB."""
    rng = np.random.default_rng(1)
    side = int(math.sqrt(mib * (1 << 20) / 4))
    count = side * side
    x = np.linspace(0, 20, side, dtype="f4")
    return {
        "steps": np.cumsum(rng.integers(-3, 4, count), dtype="i4").reshape(side, side),
        "field": (np.sin(x)[:, None] * np.cos(x * 1.3) * 1000 + rng.normal(0, 0.01, (side, side))).astype("f4"),
        "counts": rng.poisson(2, count).astype("i4").reshape(side, side),
        "times": np.cumsum(rng.integers(900, 1100, count // 2), dtype="i8").reshape(side // 2, -1)[:, : side // 2],
        "noise": rng.standard_normal(count).astype("f4").reshape(side, side),
    }


def least(rounds: int, work: dict[str, Callable[[], object]]) -> dict[str, float]:
    """The least seconds of each, in rounds that alternate."""
    times = dict.fromkeys(work, math.inf)
    for _ in range(rounds):
        for name, call in work.items():
            begin = time.perf_counter()
            call()
            times[name] = min(times[name], time.perf_counter() - begin)
    return times


def parsed(description: str | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    options = parsed(__doc__)
    threads = options.threads
    blosc2.set_nthreads(threads)
    numcodecs.blosc.use_threads = True
    numcodecs.blosc.set_nthreads(threads)
    ratios: dict[str, list[float]] = {"python-blosc2": [], "numcodecs": []}
    print("| array, work | oxiblosc, ms | python-blosc2, ms | ratio | numcodecs, ms | ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as directory:
        for name, array in arrays(options.mib).items():
            array = np.ascontiguousarray(array)
            rng = np.random.default_rng(2)
            corners = [tuple(int(n) for n in rng.integers(0, np.array(array.shape) - 64)) for _ in range(100)]
            slices = [(slice(i, i + 64), slice(j, j + 64)) for i, j in corners]
            chunks, blocks = (512, 1024), (64, 256)
            ours, theirs = (str(pathlib.Path(directory, f"{name}-{who}.b2nd")) for who in ("ours", "theirs"))
            params = {"codec": blosc2.Codec.ZSTD, "clevel": 1, "filters": [blosc2.Filter.SHUFFLE], "nthreads": threads}
            codec = numcodecs.Blosc("zstd", clevel=1, shuffle=1)
            flat = array.reshape(-1)
            step = 512 * 1024

            def write_theirs(array=array, theirs=theirs, params=params, chunks=chunks, blocks=blocks):
                cparams = {**params, "typesize": array.itemsize}
                blosc2.asarray(array, urlpath=theirs, mode="w", chunks=chunks, blocks=blocks, cparams=cparams)

            def encode(flat=flat, codec=codec, step=step):
                return [codec.encode(flat[i : i + step]) for i in range(0, len(flat), step)]

            write = least(options.rounds, {
                "oxiblosc": lambda: oxiblosc.save(ours, array, chunks=chunks, blocks=blocks, **params),
                "python-blosc2": write_theirs,
                "numcodecs": encode,
            })  # fmt: skip
            encoded = encode()

            def decode(flat=flat, codec=codec, step=step, encoded=encoded):
                out = np.empty_like(flat)
                for k, chunk in enumerate(encoded):
                    codec.decode(chunk, out[k * step : (k + 1) * step])
                return out

            # Each reads the file that python-blosc2 has written.
            one = oxiblosc.open(theirs, nthreads=threads)
            other = blosc2.open(theirs, mode="r", dparams={"nthreads": threads})
            assert np.array_equal(one[...], array) and np.array_equal(other[...], array)
            read = least(options.rounds, {
                "oxiblosc": lambda: one[...], "python-blosc2": lambda: other[...], "numcodecs": decode,
            })  # fmt: skip
            some = least(options.rounds, {
                "oxiblosc": lambda: [one[where] for where in slices],
                "python-blosc2": lambda: [other[where] for where in slices],
            })  # fmt: skip
            for work, times in (("write", write), ("read", read), ("100 slices", some)):
                cells = []
                for who in ratios:
                    if who in times:
                        ratio = times[who] / times["oxiblosc"]
                        # What numcodecs does is less: it neither writes a file nor knows of items.
                        ratios[who].append(ratio)
                        cells.append(f"{times[who] * 1000:.1f} | {ratio:.2f}")
                    else:
                        cells.append(" | ")
                print(f"| {name}, {work} | {times['oxiblosc'] * 1000:.1f} | " + " | ".join(cells) + " |", flush=True)
        print(indexing(pathlib.Path(directory)))
    for who, found in ratios.items():
        mean = math.exp(sum(map(math.log, found)) / len(found))
        print(f"\nGeometric mean against {who}: {mean:.2f}, least {min(found):.2f}.", end="")
    print()


def indexing(directory: pathlib.Path) -> str:
    """What a call costs: 100 items of a block that is stored as it is."""
    path = str(directory / "small.b2nd")
    oxiblosc.save(path, np.arange(100.0), clevel=0)
    one, other = oxiblosc.open(path, nthreads=1), blosc2.open(path, mode="r", dparams={"nthreads": 1})
    times = least(5, {
        "oxiblosc": lambda: [one[:] for _ in range(1000)], "python-blosc2": lambda: [other[:] for _ in range(1000)],
    })  # fmt: skip
    ours, theirs = times["oxiblosc"], times["python-blosc2"]
    return f"| 1000 slices of 100 items | {ours * 1000:.1f} | {theirs * 1000:.1f} | {theirs / ours:.2f} |  |  |"


if __name__ == "__main__":
    main()
