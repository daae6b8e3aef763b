"""Writes an HDF5 file whose chunks are compressed by oxiblosc, and reads it with h5py and hdf5plugin.

pip install h5py hdf5plugin
python h5py_chunks.py
"""

import os
import tempfile

import h5py
import hdf5plugin
import numpy as np
import oxiblosc

data = np.cumsum(np.random.default_rng(0).integers(-5, 6, (1000, 800)), axis=1).astype("i4")
path = os.path.join(tempfile.mkdtemp(), "data.h5")

with h5py.File(path, "w") as file:
    dataset = file.create_dataset("data", data.shape, data.dtype, chunks=(250, 400), **hdf5plugin.Blosc2())
    for i in range(0, 1000, 250):
        for j in range(0, 800, 400):
            # The Blosc2 filter of HDF5 keeps each chunk as a frame with one chunk.
            frame = oxiblosc.to_bytes(data[i : i + 250, j : j + 400], chunks=(250, 400), codec="zstd")
            dataset.id.write_direct_chunk((i, j), frame)

with h5py.File(path) as file:
    assert np.array_equal(file["data"][...], data)
    stored = file["data"].id.read_direct_chunk((250, 400))[1]
assert np.array_equal(oxiblosc.open(stored)[...], data[250:500, 400:])
print(f"{os.path.getsize(path)} bytes, {data.nbytes} decoded")
