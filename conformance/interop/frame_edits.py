"""Changing frames in files with C-Blosc2, and reading them chunk by chunk."""

import os

import blosc2
import numpy as np


def create(path, case):
    """An empty frame in a file, or in a directory."""
    blosc2.SChunk(
        chunksize=case["chunksize"],
        contiguous=case["contiguous"],
        urlpath=path,
        mode="w",
        cparams={"typesize": case["typesize"], "nthreads": 1},
        dparams={"nthreads": 1},
        meta=case.get("meta", {}),
    )


def edit(*blobs, path, steps, in_memory=False):
    """Applies steps [NAME, NUMBER] in order; those that need data take the next blob."""
    if in_memory:
        with open(path, "rb") as file:
            schunk = blosc2.schunk_from_cframe(file.read(), copy=True)
    else:
        schunk = blosc2.open(path, mode="a")
    data = iter(blobs)
    for name, i in steps:
        if name == "append":
            schunk.append_data(next(data))
        elif name == "insert":
            schunk.insert_data(i, next(data), True)
        elif name == "update":
            schunk.update_data(i, next(data), True)
        elif name == "delete":
            schunk.delete_chunk(i)
        elif name == "vlmeta":
            schunk.vlmeta[f"v{i}"] = next(data)
        elif name == "meta":
            # In place: the content must not grow.
            schunk.meta["m"] = bytes(next(data))
        elif name == "reorder":
            schunk.reorder_offsets(np.arange(schunk.nchunks, dtype=np.int64)[::-1].copy())
        elif name == "delete_vlmeta":
            del schunk.vlmeta[f"v{i}"]
        else:
            raise ValueError(name)
    if in_memory:
        with open(path, "wb") as file:
            file.write(schunk.to_cframe())


def sample(path, chunks):
    """Some chunks of a frame, decoded, lazily from the file and, if it is one, from a copy of it in memory."""
    schunk = blosc2.open(path, mode="r")
    lazily = [schunk.decompress_chunk(i) for i in chunks]
    same = True
    if os.path.isfile(path):
        with open(path, "rb") as file:
            copy = blosc2.schunk_from_cframe(file.read(), copy=True)
        same = lazily == [copy.decompress_chunk(i) for i in chunks]
    return {"nchunks": schunk.nchunks, "nbytes": schunk.nbytes, "same_in_memory": same}, lazily


def chunks(path):
    """Every chunk of a frame, decoded, first lazily from the file and then from a copy in memory."""
    schunk = blosc2.open(path, mode="r")
    lazily = [schunk.decompress_chunk(i) for i in range(schunk.nchunks)]
    copy = blosc2.schunk_from_cframe(schunk.to_cframe(), copy=True)
    same = lazily == [copy.decompress_chunk(i) for i in range(copy.nchunks)]
    vlmeta = {name: list(schunk.vlmeta[name]) for name in schunk.vlmeta}
    return {"nbytes": schunk.nbytes, "same_in_memory": same, "vlmeta": vlmeta}, lazily
