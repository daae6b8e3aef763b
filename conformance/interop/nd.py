"""Arrays of C-Blosc2 (b2nd), next to the same arrays of NumPy.

A model is a NumPy array given as its bytes in C order, with `shape` and `dtype`. A selection has an entry for each axis:
an index, {"slice": [START, STOP, STEP]} or {"list": [INDEX, ...]}; or it is {"points": [[INDEX, ...], ...]}. Lists on
several axes are orthogonal.
"""

import ast

import blosc2
import numpy as np

from params import cparams


def write(data, path, shape, dtype, chunks, blocks, case, contiguous):
    """Writes a model with C-Blosc2."""
    array = model(data, shape, dtype)
    params = {name: value for name, value in cparams(case).items() if name not in ("blocksize", "typesize")}
    blosc2.asarray(
        array, chunks=chunks, blocks=blocks, cparams=params, urlpath=path, mode="w", contiguous=contiguous
    )


def look(data, path, shape, dtype, selections):
    """What NumPy makes of selections, each with its shape and whether C-Blosc2 makes the same of the array in a file."""
    expected = model(data, shape, dtype)
    stored = blosc2.open(path, mode="r", dparams={"nthreads": 1})
    # python-blosc2 makes a structure with one field of a dtype like V7.
    typed = stored.dtype == expected.dtype or stored.dtype == np.dtype([("f0", expected.dtype)])
    told = [list(stored.shape), typed, same(stored[...], expected)]
    copy = blosc2.ndarray_from_cframe(stored.to_cframe())
    told.append(same(copy[...], expected))
    answers, blobs = [], []
    for selection in selections:
        items = select(expected, selection)
        answers.append({"shape": list(items.shape), "agrees": agrees(stored, selection, items)})
        blobs.append(items.tobytes())
    return {"whole": told, "selections": answers}, blobs


def apply(data, *values, shape, dtype, steps, path=None):
    """A model after some steps, which are also applied to the array in a file if there is one.

    A step is ["set", SELECTION] or ["append", AXIS], which take the next of the values, or ["resize", SHAPE].
    """
    array = model(data, shape, dtype)
    stored = None if path is None else blosc2.open(path, mode="a", dparams={"nthreads": 1})
    values = iter(values)
    for name, argument in steps:
        before = array
        if name == "set":
            items = np.frombuffer(next(values), array.dtype)
            array = replaced(array, argument, items)
        elif name == "resize":
            array = resized(array, argument)
        elif name == "append":
            items = np.frombuffer(next(values), array.dtype)
            row = int(np.prod([n for axis, n in enumerate(array.shape) if axis != argument], dtype=np.int64))
            added = [n if axis != argument else items.size // row for axis, n in enumerate(array.shape)]
            array = np.concatenate([array, items.reshape(added)], axis=argument, dtype=array.dtype)
        else:
            raise ValueError(name)
        if stored is not None:
            array = store(stored, name, argument, before, array)
    return list(array.shape), [array.tobytes()]


def store(stored, name, argument, before, array):
    """One step on an array of C-Blosc2; the result as it is there."""
    if name == "set":
        key = np.index_exp[tuple(entry(axis) for axis in argument)] if argument else ()
        stored[key] = np.array(select(array, argument), order="C").view(stored.dtype)
        return array
    stored.resize(array.shape)
    if name == "append":
        start = before.shape[argument]
        key = tuple(slice(start, None) if axis == argument else slice(None) for axis in range(array.ndim))
        if array[key].size:
            stored[key] = np.ascontiguousarray(array[key]).view(stored.dtype)
        return array
    # Where an array was larger before, C-Blosc2 lets its old items reappear: they are what counts then.
    now = stored[...]
    kept = tuple(slice(0, min(old, new)) for old, new in zip(before.shape, array.shape, strict=True))
    if not same(now[kept], before[kept]):
        raise AssertionError("resizing with C-Blosc2 has changed items that stay")
    return np.array(now, order="C").view(array.dtype)


def model(data, shape, dtype):
    return np.frombuffer(data, as_dtype(dtype)).reshape(shape).copy()


def as_dtype(text):
    return np.dtype(ast.literal_eval(text) if text.startswith("[") else text)


def same(found, expected):
    # A single string comes without its padding.
    found = np.asarray(found, dtype=expected.dtype if expected.dtype.kind in "SU" else None)
    return found.shape == expected.shape and found.tobytes() == expected.tobytes()


def entry(axis):
    """One entry of a selection as NumPy takes it."""
    if isinstance(axis, dict):
        return slice(*axis["slice"]) if "slice" in axis else axis["list"]
    return axis


def select(array, selection):
    """The selected items. Axes are taken from the last one on, so that those that vanish shift nothing."""
    if isinstance(selection, dict):
        points = np.array(selection["points"], dtype=np.int64).reshape(len(selection["points"]), array.ndim)
        return array[tuple(points.T)] if array.ndim else np.repeat(array, len(points))
    for axis in reversed(range(len(selection))):
        chosen = entry(selection[axis])
        if isinstance(chosen, list):
            chosen = np.array(chosen, dtype=np.int64)
        # An ellipsis keeps a single item an array, and a single string its padding.
        array = array[(slice(None),) * axis + (chosen, ...)]
    return array


def replaced(array, selection, items):
    """With other items. Of several for one place, the last stays."""
    places = select(np.arange(array.size).reshape(array.shape), selection)
    flat = array.reshape(-1).copy()
    for place, item in zip(places.reshape(-1), range(items.size), strict=True):
        flat[place] = items[item]
    return flat.reshape(array.shape)


def resized(array, shape):
    """With another shape; new items are zero."""
    out = np.frombuffer(bytes(int(np.prod(shape, dtype=np.int64)) * array.itemsize), array.dtype).reshape(shape).copy()
    kept = tuple(slice(0, min(old, new)) for old, new in zip(array.shape, shape, strict=True))
    out[kept] = array[kept]
    return out


def agrees(stored, selection, expected):
    """Whether C-Blosc2 selects the same."""
    if isinstance(selection, dict):
        points = np.array(selection["points"], dtype=np.int64)
        if stored.ndim == 0 or expected.size == 0:
            return True
        return same(stored.get_fselection_numpy(tuple(points.T)), expected)
    entries = [entry(axis) for axis in selection]
    if any(isinstance(chosen, list) for chosen in entries):
        if expected.size == 0:
            return True
        lists = []
        for axis, length in enumerate(stored.shape):
            chosen = entries[axis] if axis < len(entries) else slice(None)
            if isinstance(chosen, slice):
                chosen = list(range(*chosen.indices(length)))
            chosen = [chosen] if isinstance(chosen, int) else chosen
            lists.append([index % length for index in chosen])
        found = stored.get_oselection_numpy(lists)
        return same(np.asarray(found).reshape(expected.shape), expected)
    return same(stored[tuple(entries)], expected)
