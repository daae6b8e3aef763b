"""The other side of the interoperability tests: the reference implementations, driven over stdin and stdout.

One process serves a whole test, because starting Python and importing the libraries costs more than most requests.
A request is one line of JSON, {"op": NAME, "args": {...}, "blobs": [LENGTH, ...]}, followed by the bytes of its blobs;
the answer has the same shape with {"ok": VALUE} or {"error": TEXT}. Requests are answered in order.
"""

import importlib
import json
import os
import sys
import traceback

# A library that prints to stdout (or a C library that does) must not end up in the protocol.
REQUESTS = os.fdopen(os.dup(0), "rb", buffering=1 << 20)
ANSWERS = os.fdopen(os.dup(1), "wb", buffering=1 << 20)
os.dup2(2, 1)

# Operations by module; a module is imported when its first operation is asked for.
MODULES = (
    "chunks",
    "frames",
    "blosc1",
    "hdf5",
    "zarr_store",
    "vl_blocks",
    "frame_edits",
    "nd",
    "nd_codecs",
    "exported",
)


def find(op):
    """The function for an operation called MODULE.NAME."""
    module, _, name = op.partition(".")
    if module not in MODULES:
        raise ValueError(f"no module serves {op!r}")
    return getattr(importlib.import_module(module), name)


def main():
    while line := REQUESTS.readline():
        request = json.loads(line)
        blobs = [REQUESTS.read(length) for length in request["blobs"]]
        try:
            result = find(request["op"])(*blobs, **request["args"])
            # An operation returns a value, or a value and the blobs that go with it.
            value, out = result if isinstance(result, tuple) else (result, [])
            head = {"ok": value, "blobs": [len(blob) for blob in out]}
        except Exception as error:
            if os.environ.get("OXIBLOSC_INTEROP_TRACE"):
                traceback.print_exc()
            out = []
            head = {"error": f"{type(error).__name__}: {error}", "blobs": []}
        # Bytes, such as those of a metalayer, go in hexadecimal.
        ANSWERS.write(json.dumps(head, default=bytes.hex).encode() + b"\n")
        for blob in out:
            ANSWERS.write(blob)
        ANSWERS.flush()


if __name__ == "__main__":
    main()
