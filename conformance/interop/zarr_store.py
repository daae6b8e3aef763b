"""Zarr stores whose chunks are Blosc 1 chunks, through zarr-python, in both versions of the format."""

import numpy as np
import zarr
from zarr.storage import MemoryStore


def create(store, settings):
    """An empty array for settings with format (2 or 3), dtype, shape, chunks, codec (name), level and shuffle (name)."""
    if settings["format"] == 2:
        from numcodecs import Blosc

        shuffle = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}[settings["shuffle"]]
        compressor = Blosc(settings["codec"], settings["level"], shuffle)
    else:
        from zarr.codecs import BloscCodec

        itemsize = np.dtype(settings["dtype"]).itemsize
        compressor = BloscCodec(
            typesize=itemsize, cname=settings["codec"], clevel=settings["level"], shuffle=settings["shuffle"]
        )
    return zarr.create_array(
        store,
        shape=tuple(settings["shape"]),
        chunks=tuple(settings["chunks"]),
        dtype=settings["dtype"],
        compressors=[compressor],
        zarr_format=settings["format"],
        fill_value=0,
    )


def write(data, settings):
    """Writes an array and returns the keys and contents of its chunks, which are padded to full size at the edges."""
    contents = {}
    array = create(MemoryStore(contents), settings)
    array[...] = np.frombuffer(data, settings["dtype"]).reshape(settings["shape"])
    keys = sorted(key for key in contents if not key.split("/")[-1].startswith((".z", "zarr.json")))
    return keys, [contents[key].to_bytes() for key in keys]


def read(*chunks, settings, keys):
    """Replaces the chunks of an array and returns what zarr-python reads from it."""
    contents = {}
    store = MemoryStore(contents)
    array = create(store, settings)
    # Any buffer type of the library will do; the one it stores the metadata in is at hand.
    buffer = type(next(iter(contents.values())))
    for key, chunk in zip(keys, chunks, strict=True):
        contents[key] = buffer.from_bytes(chunk)
    return None, [array[...].tobytes()]
