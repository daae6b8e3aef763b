"""Chunks of C-Blosc2."""

import blosc2

from params import cparams


def compress(data, case):
    """A chunk made by C-Blosc2, and whether it can read it back itself (it cannot always: delta tails, for one)."""
    chunk = blosc2.compress2(data, **cparams(case))
    return reads_back(chunk, data), [chunk]


def decompress(chunk):
    """What C-Blosc2 makes of a chunk."""
    return None, [blosc2.decompress2(chunk, nthreads=1)]


def decompress_each(*chunks):
    """What C-Blosc2 makes of many chunks."""
    return None, [blosc2.decompress2(chunk, nthreads=1) for chunk in chunks]


def compress_each(*buffers, cases):
    """One chunk per buffer and case, each with whether C-Blosc2 can read it back."""
    chunks = [blosc2.compress2(data, **cparams(case)) for data, case in zip(buffers, cases, strict=True)]
    return [reads_back(chunk, data) for chunk, data in zip(chunks, buffers)], chunks


def reads_back(chunk, data):
    try:
        return blosc2.decompress2(chunk, nthreads=1) == data
    except Exception:
        return False


def versions():
    """Versions of python-blosc2 and of the C library in it."""
    return {"python": blosc2.__version__, "c": blosc2.blosclib_version}
