"""Chunks inside HDF5 files, through h5py and the Blosc and Blosc2 filters of hdf5plugin.

The Blosc filter (32001) stores Blosc 1 chunks; the Blosc2 filter (32026) stores a contiguous frame per HDF5 chunk,
which is a b2nd array when the data set has more than one dimension.
"""

import io

import h5py
import hdf5plugin
import numpy as np


def compression(settings):
    """The filter for settings with plugin ("blosc" or "blosc2"), codec (name), level and shuffle (0 to 2)."""
    if settings["plugin"] == "blosc":
        return hdf5plugin.Blosc(settings["codec"], settings["level"], settings["shuffle"])
    return hdf5plugin.Blosc2(settings["codec"], settings["level"], settings["shuffle"])


def array(data, settings):
    return np.frombuffer(data, settings["dtype"]).reshape(settings["shape"])


def write(data, settings):
    """Writes a data set and returns its chunks as they are in the file, each with its position and filter mask: 0 when
    the filter was applied, as it is not when the result would be larger."""
    file = io.BytesIO()
    with h5py.File(file, "w") as h5:
        h5.create_dataset(
            "data",
            data=array(data, settings),
            chunks=tuple(settings["chunks"]),
            compression=compression(settings),
        )
    places, chunks = [], []
    with h5py.File(file, "r") as h5:
        dataset = h5["data"].id
        for i in range(dataset.get_num_chunks()):
            offset = dataset.get_chunk_info(i).chunk_offset
            mask, chunk = dataset.read_direct_chunk(offset)
            places.append([offset, mask])
            chunks.append(chunk)
    return places, chunks


def read(*chunks, settings, offsets):
    """Puts chunks into a data set as they are and returns what h5py reads from it."""
    file = io.BytesIO()
    with h5py.File(file, "w") as h5:
        dataset = h5.create_dataset(
            "data",
            shape=tuple(settings["shape"]),
            dtype=settings["dtype"],
            chunks=tuple(settings["chunks"]),
            compression=compression(settings),
        )
        for offset, chunk in zip(offsets, chunks, strict=True):
            dataset.id.write_direct_chunk(tuple(offset), chunk)
    with h5py.File(file, "r") as h5:
        return None, [h5["data"][...].tobytes()]
