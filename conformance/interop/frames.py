"""Frames of C-Blosc2, in memory, in files and in directories."""

import blosc2

from params import cparams


def write(data, case, path=None):
    """A frame made by C-Blosc2; returns the frame (unless it went to a file) and its chunks one by one."""
    params = cparams(case)
    schunk = blosc2.SChunk(
        chunksize=case["chunksize"],
        contiguous=case.get("contiguous", True),
        urlpath=path,
        mode="w",
        cparams=params,
        dparams={"nthreads": 1},
        meta=case.get("meta", {}),
    )
    chunksize = case["chunksize"]
    for start in range(0, len(data), chunksize):
        schunk.append_data(data[start : start + chunksize])
    for name, value in case.get("vlmeta", {}).items():
        schunk.vlmeta[name] = value
    chunks = [schunk.get_chunk(i) for i in range(schunk.nchunks)]
    # Slicing with an empty range is an error in python-blosc2, so an empty frame reads back by definition.
    back = (schunk[:] if schunk.nbytes else b"") == data
    info = facts(schunk) | {"reads_back": back}
    if path is not None:
        return info, chunks
    return info, [schunk.to_cframe(), *chunks]


def read(frame):
    """All bytes of a frame given as bytes."""
    schunk = blosc2.schunk_from_cframe(frame)
    return facts(schunk), [schunk[:] if schunk.nbytes else b""]


def read_file(path):
    """All bytes of a frame in a file, read lazily (that is, block by block)."""
    schunk = blosc2.open(path, mode="r")
    return facts(schunk), [schunk[:] if schunk.nbytes else b""]


def read_chunks(path):
    """All bytes of a frame in a file or directory, chunk by chunk."""
    schunk = blosc2.open(path, mode="r", dparams={"nthreads": 1})
    return facts(schunk), [b"".join(schunk.decompress_chunk(i) for i in range(schunk.nchunks))]


def read_items(path, ranges):
    """Ranges of items of a frame in a file."""
    schunk = blosc2.open(path, mode="r")
    return None, [schunk[start:stop] for start, stop in ranges]


def facts(schunk):
    """What C-Blosc2 says about a frame."""
    return {
        "nchunks": schunk.nchunks,
        "nbytes": schunk.nbytes,
        "cbytes": schunk.cbytes,
        "typesize": schunk.typesize,
        "chunksize": schunk.chunksize,
        "codec": getattr(schunk.cparams.codec, "value", schunk.cparams.codec),
        "level": schunk.cparams.clevel,
        "meta": {name: schunk.meta[name] for name in schunk.meta},
        "vlmeta": {name: schunk.vlmeta[name] for name in schunk.vlmeta},
    }
