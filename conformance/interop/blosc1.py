"""Chunks of Blosc 1, through python-blosc 1 and through numcodecs, which carry different copies of C-Blosc."""

import blosc
import numcodecs.blosc

blosc.set_nthreads(1)
numcodecs.blosc.use_threads = False


def compress_each(*buffers, cases):
    """One chunk per buffer and case. A case has by ("blosc" or "numcodecs"), codec (name), level, shuffle (0 to 2),
    typesize and blocksize (0 for automatic)."""
    return None, [compress(data, case) for data, case in zip(buffers, cases, strict=True)]


def compress(data, case):
    if case["by"] == "blosc":
        blosc.set_blocksize(case["blocksize"])
        return blosc.compress(data, case["typesize"], case["level"], case["shuffle"], case["codec"])
    # numcodecs takes the type size from the item size of the buffer.
    items = memoryview(data)
    if case["typesize"] > 1:
        items = items.cast("B").cast({2: "H", 4: "I", 8: "Q"}[case["typesize"]])
    return numcodecs.blosc.compress(
        items, case["codec"].encode(), case["level"], case["shuffle"], case["blocksize"]
    )


def decompress_each(*chunks):
    """What both libraries make of chunks; they must agree."""
    out = []
    for chunk in chunks:
        one, other = blosc.decompress(chunk), bytes(numcodecs.blosc.decompress(chunk))
        if one != other:
            raise ValueError("python-blosc and numcodecs decode a chunk differently")
        out.append(one)
    return None, out
