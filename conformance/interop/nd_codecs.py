"""Arrays of C-Blosc2 whose codecs know the shape of a block."""

import blosc2
import numpy as np

from params import cparams


def write(data, case):
    """An array made by C-Blosc2, what it reads back from it, and the sizes of its chunks."""
    array = np.frombuffer(data, dtype=case["dtype"]).reshape(case["shape"])
    out = blosc2.asarray(array, chunks=case["chunks"], blocks=case["blocks"], cparams=settings(case))
    sizes = [len(out.schunk.get_chunk(i)) for i in range(out.schunk.nchunks)]
    return sizes, [out.to_cframe(), out[...].tobytes()]


def read(frame):
    """The items of an array in C order."""
    return None, [blosc2.ndarray_from_cframe(frame)[...].tobytes()]


def settings(case):
    # The type size follows from the dtype.
    return {name: value for name, value in cparams(case).items() if name not in ("typesize", "blocksize")}
