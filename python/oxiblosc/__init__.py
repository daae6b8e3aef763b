"""Blosc2 for NumPy: arrays and frames in files, directories and object stores.

>>> import numpy as np, oxiblosc
>>> oxiblosc.save("numbers.b2nd", np.arange(1_000_000).reshape(1000, 1000))["shape"]
(1000, 1000)
>>> oxiblosc.open("numbers.b2nd")[10, ::250]
array([10000, 10250, 10500, 10750])
"""

from . import aio
from ._array import Array, Frame, open  # noqa: A004
from ._attrs import Attributes
from ._editor import Editor, edit
from ._errors import *  # noqa: F403
from ._errors import __all__ as _errors
from ._oxiblosc import __version__
from ._params import Codec, Filter, SplitMode
from ._shared import SharedArray
from ._tools import (
    codecs,
    compact,
    compress,
    decompress,
    filters,
    info,
    load_plugin,
    recover,
    register_codec,
    register_filter,
    seal,
    tune,
    verify,
)
from ._writer import Writer, save, to_bytes, writer

__all__ = [
    *_errors,
    "Array",
    "Attributes",
    "Codec",
    "Editor",
    "Filter",
    "Frame",
    "SharedArray",
    "SplitMode",
    "Writer",
    "__version__",
    "aio",
    "codecs",
    "compact",
    "compress",
    "decompress",
    "edit",
    "filters",
    "info",
    "load_plugin",
    "open",
    "recover",
    "register_codec",
    "register_filter",
    "save",
    "seal",
    "to_bytes",
    "tune",
    "verify",
    "writer",
]
