"""Chunks with variable-length blocks, through the C interface of C-Blosc2: Python has no door to them."""

import ctypes
from pathlib import Path

import blosc2

from params import cparams

LIBRARY = ctypes.CDLL(str(next(Path(blosc2.__file__).parent.glob("lib/libblosc2.so*"))))
LIBRARY.blosc2_create_cctx.restype = ctypes.c_void_p
LIBRARY.blosc2_create_dctx.restype = ctypes.c_void_p
LIBRARY.blosc2_free_ctx.argtypes = [ctypes.c_void_p]
LIBC = ctypes.CDLL(None)
LIBC.free.argtypes = [ctypes.c_void_p]


class CParams(ctypes.Structure):
    """`blosc2_cparams` of blosc2.h, version 3.3.5."""

    _fields_ = [
        ("compcode", ctypes.c_uint8),
        ("compcode_meta", ctypes.c_uint8),
        ("clevel", ctypes.c_uint8),
        ("use_dict", ctypes.c_int),
        ("typesize", ctypes.c_int32),
        ("nthreads", ctypes.c_int16),
        ("blocksize", ctypes.c_int32),
        ("splitmode", ctypes.c_int32),
        ("schunk", ctypes.c_void_p),
        ("filters", ctypes.c_uint8 * 6),
        ("filters_meta", ctypes.c_uint8 * 6),
        ("prefilter", ctypes.c_void_p),
        ("preparams", ctypes.c_void_p),
        ("tuner_params", ctypes.c_void_p),
        ("tuner_id", ctypes.c_int),
        ("instr_codec", ctypes.c_bool),
        ("codec_params", ctypes.c_void_p),
        ("filter_params", ctypes.c_void_p * 6),
    ]


class DParams(ctypes.Structure):
    """`blosc2_dparams` of blosc2.h, version 3.3.5."""

    _fields_ = [
        ("nthreads", ctypes.c_int16),
        ("schunk", ctypes.c_void_p),
        ("postfilter", ctypes.c_void_p),
        ("postparams", ctypes.c_void_p),
        ("typesize", ctypes.c_int32),
    ]


def number(value):
    return int(getattr(value, "value", value))


def compress(*blocks, case):
    """A chunk with one block per buffer."""
    settings = cparams(case)
    native = CParams(
        compcode=number(settings["codec"]),
        compcode_meta=settings["codec_meta"],
        clevel=settings["clevel"],
        use_dict=int(settings["use_dict"]),
        typesize=settings["typesize"],
        nthreads=1,
        splitmode=number(settings["splitmode"]),
        filters=(ctypes.c_uint8 * 6)(*map(number, settings["filters"])),
        filters_meta=(ctypes.c_uint8 * 6)(*settings["filters_meta"]),
    )
    sources = (ctypes.c_char_p * len(blocks))(*blocks)
    sizes = (ctypes.c_int32 * len(blocks))(*map(len, blocks))
    # It writes past a buffer that is too small instead of saying so; nothing here comes near this.
    room = 2 * sum(sizes) + 64 * len(blocks) + (1 << 17)
    out = ctypes.create_string_buffer(room)
    context = ctypes.c_void_p(LIBRARY.blosc2_create_cctx(native))
    try:
        length = LIBRARY.blosc2_vlcompress_ctx(context, sources, sizes, len(blocks), out, room)
    finally:
        LIBRARY.blosc2_free_ctx(context)
    if length <= 0:
        raise ValueError(f"blosc2_vlcompress_ctx returned {length}")
    return None, [out.raw[:length]]


def decompress(chunk):
    """The blocks of a chunk."""
    count = ctypes.c_int32()
    code = LIBRARY.blosc2_vlchunk_get_nblocks(chunk, len(chunk), ctypes.byref(count))
    if code < 0:
        raise ValueError(f"blosc2_vlchunk_get_nblocks returned {code}")
    buffers = (ctypes.c_void_p * count.value)()
    sizes = (ctypes.c_int32 * count.value)()
    context = ctypes.c_void_p(LIBRARY.blosc2_create_dctx(DParams(nthreads=1, typesize=8)))
    try:
        code = LIBRARY.blosc2_vldecompress_ctx(context, chunk, len(chunk), buffers, sizes, count)
    finally:
        LIBRARY.blosc2_free_ctx(context)
    if code < 0:
        raise ValueError(f"blosc2_vldecompress_ctx returned {code}")
    blocks = []
    for buffer, size in zip(buffers, sizes):
        blocks.append(ctypes.string_at(buffer, size))
        LIBC.free(buffer)
    return None, blocks
