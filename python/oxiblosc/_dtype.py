"""Dtypes as arrays store them, and the bytes of arrays."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from ._errors import DamagedError, InvalidInputError


def parse(text: str | None, itemsize: int) -> np.dtype[Any]:
    """The dtype that an array stores. Items without a known type are opaque bytes."""
    if text is None:
        return np.dtype(f"V{itemsize}")
    try:
        try:
            dtype = np.dtype(text)
        except TypeError:
            # Fields without a name are the gaps of aligned ones.
            dtype = np.lib.format.descr_to_dtype(_tuples(ast.literal_eval(text)))
    except Exception as error:
        # What NumPy raises for a text that it does not understand is anything, an IndexError for "()".
        raise DamagedError(f"the dtype of the array cannot be understood: {text[:200]!r}") from error
    if dtype.hasobject or dtype.itemsize != itemsize:
        # Objects have no meaning in a file.
        return np.dtype(f"V{itemsize}")
    return dtype


def _tuples(value: Any) -> Any:
    if isinstance(value, list):
        return [tuple(_tuples(part) if isinstance(part, list) else part for part in field) for field in value]
    return value


def text(dtype: np.dtype[Any]) -> str:
    """The dtype as arrays store it: `<f4`, `[('a', '<i4'), ('b', '<f8')]`."""
    if dtype.hasobject:
        raise InvalidInputError(f"items of dtype {dtype} are Python objects, which cannot be stored")
    if dtype.subdtype is not None:
        raise InvalidInputError(f"{dtype} is an array type: make its dimensions those of the array")
    return str(dtype.descr) if dtype.kind == "V" and dtype.fields is not None else dtype.str


def unmasked(values: Any) -> Any:
    """The values, unless they have a mask, which `np.asarray` would drop without a word."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("frames and arrays have no masks: fill the masked array first, with .filled()")
    return values


def as_bytes(array: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The bytes of the items in C order; without a copy if they lie like that already."""
    array = np.ascontiguousarray(array)
    if array.size == 0 or array.itemsize == 0:
        return np.empty(0, np.uint8)
    # By way of opaque items, as not every dtype can be viewed as bytes.
    return array.reshape(-1).view(np.dtype(f"V{array.itemsize}")).view(np.uint8)


def buffer(data: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The bytes of any object with a buffer, or of an array."""
    if isinstance(data, np.ndarray):
        return as_bytes(unmasked(data))
    view = memoryview(data)
    if view.nbytes == 0:
        return np.empty(0, np.uint8)
    return np.frombuffer(view if view.c_contiguous else view.tobytes(), np.uint8)
