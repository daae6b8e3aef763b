"""Reads a frame with python-blosc2 and writes another one with the same plugins; see peer.rs.

    peer.py INPUT SETTINGS DATA OUTPUT

Writes what INPUT holds to OUTPUT.read, and a frame of DATA to OUTPUT.frame.
"""

import json
import pathlib
import sys

import blosc2

source, settings, data, output = sys.argv[1:]
settings = json.loads(settings)
data = pathlib.Path(data).read_bytes()
frame = pathlib.Path(source).read_bytes()
cparams = settings["cparams"]
cparams["filters"] = [blosc2.Filter(f) if f in blosc2.Filter._value2member_map_ else f for f in cparams["filters"]]
codec = cparams["codec"]
cparams["codec"] = blosc2.Codec(codec) if codec in blosc2.Codec._value2member_map_ else codec

if settings["array"] is None:
    # Slices leave out what follows the last whole item; chunks do not.
    schunk = blosc2.schunk_from_cframe(frame)
    read = b"".join(schunk.decompress_chunk(i) for i in range(schunk.nchunks))
    size = settings["chunksize"]
    schunk = blosc2.SChunk(chunksize=size, cparams=cparams)
    for start in range(0, len(data), size):
        schunk.append_data(data[start : start + size])
    written = schunk.to_cframe()
else:
    import numpy as np

    array = settings["array"]
    read = blosc2.ndarray_from_cframe(frame)[...].tobytes()
    items = np.frombuffer(data, dtype=array["dtype"]).reshape(array["shape"])
    cparams.pop("typesize")
    cparams.pop("blocksize")
    written = blosc2.asarray(items, chunks=array["chunks"], blocks=array["blocks"], cparams=cparams).to_cframe()
pathlib.Path(output + ".read").write_bytes(read)
pathlib.Path(output + ".frame").write_bytes(written)
