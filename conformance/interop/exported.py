"""Codecs and filters of ours that C-Blosc2 loads from shared libraries."""

import blosc2
import numpy as np

from params import cparams

THREADS = 8


def register():
    """Names and ids alone: C-Blosc2 asks the packages blosc2_NAME for their libraries."""
    blosc2.register_codec("oxirle", 231)
    blosc2.register_filter(232, name="oxixor")
    return None


def write(data, case):
    """A frame made on many threads, what they read back from it, and the bytes that it takes."""
    schunk = blosc2.SChunk(
        chunksize=case["chunksize"],
        contiguous=True,
        cparams=cparams(case) | {"nthreads": THREADS},
        dparams={"nthreads": THREADS},
        # Where a plugin finds its parameters.
        meta={"oxiblosc_plugins": case["params"]} if "params" in case else None,
    )
    for start in range(0, len(data), case["chunksize"]):
        schunk.append_data(data[start : start + case["chunksize"]])
    return schunk.cbytes, [schunk.to_cframe(), schunk[:]]


def read(frame):
    """All bytes of a frame, read on many threads."""
    schunk = blosc2.schunk_from_cframe(frame, copy=True)
    schunk.dparams = blosc2.DParams(nthreads=THREADS)
    return None, [schunk[:]]


def write_array(data, case):
    """An array made on many threads, and what they read back from it."""
    array = np.frombuffer(data, dtype=case["dtype"]).reshape(case["shape"])
    # The type size follows from the dtype.
    params = {name: value for name, value in cparams(case).items() if name not in ("typesize", "blocksize")}
    out = blosc2.asarray(
        array, chunks=case["chunks"], blocks=case["blocks"], cparams=params | {"nthreads": THREADS}
    )
    return None, [out.to_cframe(), out[...].tobytes()]


def read_array(frame):
    """The items of an array in C order."""
    return None, [blosc2.ndarray_from_cframe(frame)[...].tobytes()]


def chunk(data, case):
    """A chunk that belongs to no frame, and what is read back from it."""
    made = blosc2.compress2(data, **cparams(case))
    return None, [made, blosc2.decompress2(made, nthreads=1)]
