"""What NumPy means by an index.

Integers, slices and an ellipsis are handled by the native part. Everything else is here: the items that an index
touches are read once, as the smallest orthogonal selection or as single points, and NumPy puts them in order.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np


class Covering:
    """An orthogonal selection that covers an index, and the index within what it selects."""

    def __init__(self, parts: list[Any], local: tuple[Any, ...], points: Any = None) -> None:
        #: One part for each axis: `(start, step, count)`, or sorted indices.
        self.parts = parts
        #: The index into the array that the selection gives, whose axes are those of the array.
        self.local = local
        #: If the axes are all indexed by arrays, the coordinates, and the shape of the result.
        self.points = points


def _integers(part: Any) -> Any:
    """An array of integers or booleans, or an integer."""
    if isinstance(part, (bool, np.bool_)):
        return np.asarray(part)
    if isinstance(part, (int, np.integer)):
        return operator.index(part)
    array = part if isinstance(part, np.ndarray) else np.asarray(part)
    if array.size == 0 and not isinstance(part, np.ndarray):
        return array.astype(np.intp)
    if array.dtype != np.bool_ and not np.issubdtype(array.dtype, np.integer):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are "
            "valid indices"
        )
    return operator.index(array[()]) if array.ndim == 0 and array.dtype != np.bool_ else array


def _checked(indices: Any, axis: int, length: int) -> Any:
    """Indices of an axis, none of which is negative."""
    indices = indices.astype(np.int64, copy=False)
    wrong = (indices < -length) | (indices >= length)
    if wrong.any():
        index = int(indices[wrong].flat[0])
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {length}")
    return np.where(indices < 0, indices + length, indices)


def covering(key: Any, shape: tuple[int, ...]) -> Covering:
    """What has to be read for `array[key]`, for an array of this shape."""
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = [k if k is None or k is Ellipsis or isinstance(k, slice) else _integers(k) for k in keys]
    if sum(k is Ellipsis for k in keys) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")

    def axes_of(k: Any) -> int:
        if k is None or k is Ellipsis:
            return 0
        return k.ndim if isinstance(k, np.ndarray) and k.dtype == np.bool_ else 1

    given = sum(axes_of(k) for k in keys)
    if given > len(shape):
        raise IndexError(f"too many indices for array: array is {len(shape)}-dimensional, but {given} were indexed")
    rest = len(shape) - given
    # The axes that are not mentioned come last, without being named in the index.
    implicit = not any(k is Ellipsis for k in keys)
    if implicit:
        keys.append(Ellipsis)

    parts: list[Any] = []
    local: list[Any] = []
    advanced: list[Any] = []
    for k in keys:
        axis = len(parts)
        if k is None:
            local.append(None)
        elif k is Ellipsis:
            parts.extend((0, 1, n) for n in shape[axis : axis + rest])
            if not implicit:
                local.append(Ellipsis)
        elif isinstance(k, slice):
            start, stop, step = k.indices(shape[axis])
            parts.append((start, step, len(range(start, stop, step))))
            local.append(slice(None))
        elif isinstance(k, int):
            length = shape[axis]
            if not -length <= k < length:
                raise IndexError(f"index {k} is out of bounds for axis {axis} with size {length}")
            parts.append((k % length, 1, 1))
            local.append(0)
            advanced.append(np.asarray(k % length))
        elif k.dtype == np.bool_:
            if k.ndim == 0:
                # A scalar that adds an axis of length 1 or 0.
                local.append(k)
                advanced.append(None)
                continue
            for i, n in enumerate(k.shape):
                if n != shape[axis + i]:
                    raise IndexError(
                        f"boolean index did not match indexed array along axis {axis + i}; size of axis is "
                        f"{shape[axis + i]} but size of corresponding boolean axis is {n}"
                    )
            for indices in k.nonzero():
                members, inverse = np.unique(indices, return_inverse=True)
                parts.append(members.astype(np.int64))
                local.append(inverse.reshape(indices.shape))
                advanced.append(indices)
        else:
            indices = _checked(k, axis, shape[axis])
            members, inverse = np.unique(indices, return_inverse=True)
            parts.append(members)
            local.append(inverse.reshape(indices.shape))
            advanced.append(indices)
    try:
        np.broadcast_shapes(*(np.shape(a) for a in advanced if a is not None))
    except ValueError:
        found = " ".join(str(np.shape(a)) for a in advanced if a is not None)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {found}"
        ) from None
    return Covering(parts, tuple(local), _points(keys, parts, advanced, shape))


def _points(keys: list[Any], parts: list[Any], advanced: list[Any], shape: tuple[int, ...]) -> Any:
    """The coordinates, where every axis is indexed by an array and the points are far fewer than their covering."""
    if len(shape) < 2 or len(advanced) != len(shape) or any(a is None for a in advanced):
        return None
    if any(k is None or isinstance(k, slice) for k in keys):
        return None
    arrays = np.broadcast_arrays(*advanced)
    cover = 1
    for part in parts:
        cover *= part[2] if isinstance(part, tuple) else len(part)
    if arrays[0].size == 0 or cover <= 4 * arrays[0].size:
        return None
    coordinates = np.stack([a.reshape(-1) for a in arrays], axis=-1).reshape(-1)
    return np.ascontiguousarray(coordinates, np.int64), arrays[0].shape


def is_basic(key: Any) -> bool:
    """Whether a key has only integers, slices and an ellipsis."""
    keys = key if isinstance(key, tuple) else (key,)
    return all(
        k is Ellipsis or isinstance(k, (slice, int, np.integer)) and not isinstance(k, (bool, np.bool_)) for k in keys
    )


def result_shape(key: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what a basic key selects. NumPy says so, of an array that takes no memory."""
    return np.broadcast_to(np.int8(0), shape)[key].shape
