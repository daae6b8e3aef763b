"""Measures codecs in C-Blosc2, on one thread.

Each line of standard input has a file, type size, codec, its meta byte, level, block size, and the filters with their meta
bytes. Each line of standard output has the compressed bytes, and the shortest processor time of compression and
decompression in seconds.
"""

import sys
import time

import blosc2

PATIENCE = 0.4


def fastest(work):
    begun, best = time.process_time(), float("inf")
    while best == float("inf") or time.process_time() - begun < PATIENCE:
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def known(enum, value):
    """Ids that python-blosc2 has no name for are passed as they are."""
    try:
        return enum(value)
    except ValueError:
        return value


for name, id in (("brotli", 224), ("pco", 225)):
    blosc2.register_codec(name, id)
for line in sys.stdin:
    path, *numbers = line.rstrip("\n").split("\t")
    typesize, codec, meta, level, blocksize, *filters = map(int, numbers)
    filters = filters + [0] * (12 - len(filters))
    with open(path, "rb") as file:
        data = file.read()
    cparams = {
        "codec": known(blosc2.Codec, codec),
        "codec_meta": meta,
        "clevel": level,
        "typesize": typesize,
        "blocksize": blocksize,
        "filters": [known(blosc2.Filter, id) for id in filters[::2]],
        "filters_meta": filters[1::2],
        "nthreads": 1,
    }
    chunk = blosc2.compress2(data, **cparams)
    if blosc2.decompress2(chunk, nthreads=1) != data:
        sys.exit(f"{path} does not come back")
    write = fastest(lambda: blosc2.compress2(data, **cparams))
    read = fastest(lambda: blosc2.decompress2(chunk, nthreads=1))
    print(len(chunk), write, read, flush=True)
