"""Frames with the codec rle in python-blosc2, on four threads.

python frames.py write DATA FRAME
python frames.py read FRAME DATA
"""

import sys
from pathlib import Path

import blosc2
import blosc2_rle


def write(data, frame):
    Path(frame).unlink(missing_ok=True)
    schunk = blosc2.SChunk(
        chunksize=1 << 16,
        data=Path(data).read_bytes(),
        urlpath=frame,
        contiguous=True,
        cparams=blosc2.CParams(codec=blosc2_rle.ID, filters=[blosc2.Filter.NOFILTER], typesize=1, nthreads=4),
    )
    print(f"{schunk.nbytes} bytes in {schunk.nchunks} chunks, {schunk.cratio:.1f} times smaller")


def read(frame, data):
    schunk = blosc2.open(frame, mode="r", dparams=blosc2.DParams(nthreads=4))
    Path(data).write_bytes(schunk[:])


if __name__ == "__main__":
    blosc2_rle.register()
    {"write": write, "read": read}[sys.argv[1]](*sys.argv[2:])
