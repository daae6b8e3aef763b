"""Parameters for encoding, with the names of python-blosc2."""

from __future__ import annotations

import enum
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any

from . import _oxiblosc


class Codec(enum.IntEnum):
    """The codecs of Blosc2. Registered ones go by their ids and names."""

    BLOSCLZ = 0
    LZ4 = 1
    LZ4HC = 2
    ZLIB = 4
    ZSTD = 5
    NDLZ = 32
    ZFP_ACC = 33
    ZFP_PREC = 34
    ZFP_RATE = 35


class Filter(enum.IntEnum):
    """The filters of Blosc2. Registered ones go by their ids and names."""

    NOFILTER = 0
    SHUFFLE = 1
    BITSHUFFLE = 2
    DELTA = 3
    TRUNC_PREC = 4
    NDCELL = 32
    NDMEAN = 33
    BYTEDELTA = 35
    INT_TRUNC = 36


class SplitMode(enum.IntEnum):
    """Whether a block is split into one stream for each byte of an item."""

    ALWAYS_SPLIT = 1
    NEVER_SPLIT = 2
    AUTO_SPLIT = 3
    FORWARD_COMPAT_SPLIT = 4


DEFAULTS: dict[str, Any] = {
    "codec": Codec.ZSTD,
    "codec_meta": 0,
    "clevel": 5,
    "filters": (Filter.SHUFFLE,),
    "filters_meta": (),
    "typesize": 1,
    "blocksize": 0,
    "chunksize": 0,
    "splitmode": SplitMode.AUTO_SPLIT,
    "use_dict": False,
    "nthreads": 0,
    "checksums": False,
}


def _plugin(value: Any) -> int | str:
    """An id or a name, of an enum of this package or of python-blosc2 too."""
    value = getattr(value, "value", value)
    return value if isinstance(value, str) else int(value)


def _number(name: str, value: Any, least: int, most: int = 2**31 - 1) -> int:
    value = int(value)
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}, expected {least} to {most}")
    return value


def encoding(params: dict[str, Any], *, typesize: int | None = None) -> dict[str, Any]:
    """The dictionary that the native part takes.

    `cparams` may be among the parameters: a dictionary, or the `CParams` of python-blosc2.
    """
    params = dict(params)
    given = params.pop("cparams", None)
    if given is not None:
        if not isinstance(given, dict):
            given = {name: getattr(given, name) for name in vars(given)}
        given = {name: value for name, value in given.items() if name != "tuner"}
        params = {**given, **params}
    unknown = params.keys() - DEFAULTS.keys()
    if unknown:
        raise TypeError(f"unknown parameters: {', '.join(sorted(unknown))}")
    full = {**DEFAULTS, **{name: value for name, value in params.items() if value is not None}}
    if typesize is not None:
        full["typesize"] = typesize
    filters = full["filters"]
    if isinstance(filters, (str, int, enum.Enum)):
        filters = [filters]
    metas = full["filters_meta"]
    metas = [metas] if isinstance(metas, int) else list(metas)
    return {
        "codec": _plugin(full["codec"]),
        "codec_meta": _number("codec_meta", full["codec_meta"], 0, 255),
        "clevel": _number("clevel", full["clevel"], 0, 9),
        "filters": [_plugin(name) for name in filters],
        "filters_meta": [_number("filters_meta", meta, -128, 255) & 0xFF for meta in metas],
        "typesize": _number("typesize", full["typesize"], 1),
        "blocksize": _number("blocksize", full["blocksize"], 0),
        "chunksize": _number("chunksize", full["chunksize"], 0),
        "splitmode": int(getattr(full["splitmode"], "value", full["splitmode"])),
        "use_dict": bool(full["use_dict"]),
        "nthreads": threads(full["nthreads"]),
        "checksums": bool(full["checksums"]),
        "blosc1": False,
    }


def warn(made: dict[str, Any], *, in_frame: bool, of_array: bool) -> None:
    """Warns of what other software gets wrong with these parameters, at the line that called this package."""
    frame: FrameType | None = sys._getframe()
    level = 1
    while frame is not None and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    for text in _oxiblosc.warnings(made, in_frame, of_array):
        warnings.warn(text, UserWarning, stacklevel=level)


def threads(nthreads: int | None) -> int:
    """The number of threads; 0 for one for each processor."""
    nthreads = 0 if nthreads is None else int(nthreads)
    if nthreads < 0:
        raise ValueError(f"nthreads is {nthreads}, expected at least 0")
    return nthreads


def lengths(name: str, value: int | Sequence[int] | None, ndim: int) -> list[int] | None:
    """A shape of chunks or blocks; one number stands for an array of one dimension."""
    if value is None:
        return None
    value = [value] if isinstance(value, int) else [int(n) for n in value]
    if len(value) != ndim:
        raise ValueError(f"{name} has {len(value)} dimensions, expected {ndim}")
    return value
