"""Data for the tests."""

from __future__ import annotations

import numpy as np


def sample(rng: np.random.Generator, shape: tuple[int, ...], dtype) -> np.ndarray:
    """Items of any dtype, no two of which are likely to be equal."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    if dtype.fields is not None:
        items = np.zeros(count, dtype)
        for name in dtype.names:
            items[name] = sample(rng, (count,), dtype[name])
        return items.reshape(shape)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        items = rng.integers(info.min, info.max, count, dtype=dtype.newbyteorder("="), endpoint=True)
    elif dtype.kind == "f":
        items = rng.standard_normal(count)
    elif dtype.kind == "c":
        items = rng.standard_normal(count) + 1j * rng.standard_normal(count)
    elif dtype.kind == "b":
        items = rng.integers(0, 2, count)
    elif dtype.kind == "M" or dtype.kind == "m":
        items = rng.integers(0, 10**9, count)
    else:
        width = dtype.itemsize // (4 if dtype.kind == "U" else 1)
        items = [str(int(n))[:width] for n in rng.integers(0, 10**9, count)]
    return np.asarray(items).astype(dtype).reshape(shape)
