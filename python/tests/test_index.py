"""Every index means what it means to NumPy."""

from __future__ import annotations

import numpy as np
import oxiblosc
import pytest
from samples import sample

DTYPES = ["u1", "<i2", ">i4", "<i8", "<f4", ">f8", "<c8", "?", "S3", "<U2", "<M8[s]", [("a", "<i4"), ("b", "<f8")]]
SELECTIONS = 2000


def shapes(rng: np.random.Generator) -> tuple[int, ...]:
    ndim = int(rng.choice([0, 1, 1, 2, 2, 3, 3, 4, 5]))
    most = {0: 1, 1: 300, 2: 40, 3: 14, 4: 8, 5: 5}[ndim]
    return tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, most, ndim, endpoint=True))


def index(rng: np.random.Generator, shape: tuple[int, ...]):
    """A random index of any kind that NumPy allows."""
    kind = rng.random()
    if kind < 0.05:
        return rng.random(shape) < rng.random()
    if kind < 0.1 and shape:
        # Points.
        count = int(rng.integers(0, 20))
        if all(shape):
            return tuple(rng.integers(-n, n, count) for n in shape)
    keys: list = []
    axis = 0
    upto = int(rng.integers(0, len(shape) + 1))
    while axis < upto:
        n = shape[axis]
        choice = rng.random()
        if choice < 0.4:
            bounds = [None if rng.random() < 0.3 else int(rng.integers(-n - 2, n + 3)) for _ in range(2)]
            step = None if rng.random() < 0.4 else int(rng.choice([-7, -3, -2, -1, 1, 2, 3, 5]))
            keys.append(slice(*bounds, step))
        elif choice < 0.6 and n:
            i = int(rng.integers(-n, n))
            keys.append(rng.choice([0, 1]) and np.int64(i) or i)
        elif choice < 0.75 and n:
            picks = rng.integers(-n, n, int(rng.integers(1, 6)))
            if any(isinstance(k, (list, np.ndarray)) for k in keys):
                # Lists of several axes go together, so they have to fit.
                picks = picks[:1]
            keys.append(picks.tolist() if rng.random() < 0.5 else picks.astype(rng.choice(["i1", "i4", "i8"])))
        elif choice < 0.8 and n and not any(isinstance(k, (list, np.ndarray)) for k in keys):
            keys.append(rng.integers(-n, n, (2, 3)))
        elif choice < 0.87:
            mask = rng.random(n) < 0.5
            if any(isinstance(k, (list, np.ndarray)) for k in keys):
                keys.append(slice(None))
            else:
                keys.append(mask.tolist() if n and rng.random() < 0.3 else mask)
        elif choice < 0.92 and axis + 2 <= upto and not any(isinstance(k, (list, np.ndarray)) for k in keys):
            keys.append(rng.random(shape[axis : axis + 2]) < 0.3)
            axis += 1
        else:
            keys.append(slice(None))
        axis += 1
    if rng.random() < 0.3:
        keys.insert(int(rng.integers(0, len(keys) + 1)), Ellipsis)
    if rng.random() < 0.15:
        keys.insert(int(rng.integers(0, len(keys) + 1)), None)
    return keys[0] if len(keys) == 1 and rng.random() < 0.5 else tuple(keys)


def outcome(array, key):
    try:
        return array[key]
    except IndexError as error:
        return error


def same(found, expected, key):
    if isinstance(expected, IndexError):
        assert isinstance(found, IndexError), f"{key!r}: {found!r}, but NumPy says {expected}"
        return
    assert not isinstance(found, Exception), f"{key!r}: {found!r}"
    assert type(found) is type(expected), f"{key!r}: {type(found)} {type(expected)}"
    assert found.shape == expected.shape and found.dtype == expected.dtype, f"{key!r}: {found.shape} {expected.shape}"
    assert found.tobytes() == expected.tobytes(), f"{key!r}"


def test_random_selections(rng):
    arrays = 0
    done = 0
    while done < SELECTIONS:
        shape = shapes(rng)
        dtype = DTYPES[arrays % len(DTYPES)]
        expected = sample(rng, shape, dtype)
        arrays += 1
        chunks = [max(1, int(rng.integers(1, n + 1))) if n else 1 for n in shape]
        blocks = [max(1, int(rng.integers(1, c + 1))) for c in chunks]
        frame = oxiblosc.to_bytes(expected, chunks=chunks, blocks=blocks, codec="lz4", clevel=1)
        array = oxiblosc.open(frame, nthreads=int(rng.integers(1, 3)))
        assert array.shape == shape and array.dtype == expected.dtype
        for _ in range(10):
            key = index(rng, shape)
            same(outcome(array, key), outcome(expected, key), key)
            done += 1


def test_assignment_as_in_numpy(rng):
    for round in range(150):
        shape = shapes(rng)
        expected = sample(rng, shape, "<i4")
        chunks = [max(1, int(rng.integers(1, n + 1))) if n else 1 for n in shape]
        array = oxiblosc.open(oxiblosc.to_bytes(expected, chunks=chunks), mode="a")
        for _ in range(3):
            key = index(rng, shape)
            if np.asarray(key, object).ndim and any(k is None for k in (key if isinstance(key, tuple) else (key,))):
                continue
            selected = outcome(expected, key)
            if isinstance(selected, IndexError):
                continue
            value = int(rng.integers(0, 1000)) if rng.random() < 0.5 else sample(rng, np.shape(selected), "<i4")
            expected[key] = value
            array[key] = value
            assert np.array_equal(array[...], expected), f"{round}: {key!r}"


@pytest.mark.parametrize(
    "key",
    [
        5, -6, (0, 7), (0, 0, 0), (..., ...), 1.5, "x", [7], ([0], [9]), (slice(None), [True]),
        np.ones((5, 8), bool), [0.5], ([0, 1], [0, 1, 2]), slice(None, None, 0), 10**30, ([1, 2], np.ones(7, bool)),
    ],
)  # fmt: skip
def test_what_numpy_refuses_is_refused(key):
    expected = np.arange(35).reshape(5, 7)
    array = oxiblosc.open(oxiblosc.to_bytes(expected))
    with pytest.raises((IndexError, ValueError)) as theirs:
        expected[key]
    with pytest.raises((IndexError, ValueError)) as ours:
        array[key]
    assert type(ours.value) is type(theirs.value) or key == "x"


def test_results_are_arrays_of_their_own():
    array = oxiblosc.open(oxiblosc.to_bytes(np.arange(12).reshape(3, 4)))
    first = array[1:]
    first[...] = 0
    assert first.flags.writeable and array[1, 0] == 4
    # The memory is that into which the items were decoded.
    assert first.base is not None and first.base.dtype == np.uint8
    assert type(first.base.base).__name__ == "PySliceContainer"


def test_protocols():
    expected = np.arange(60, dtype="f4").reshape(12, 5)
    array = oxiblosc.open(oxiblosc.to_bytes(expected, chunks=(5, 5)))
    assert len(array) == 12 and array.ndim == 2 and array.size == 60 and array.nbytes == 240 and array.itemsize == 4
    assert array.chunks == (5, 5) and array.cbytes > 0
    assert np.array_equal(np.asarray(array), expected)
    assert np.array_equal(np.array(array, "f8"), expected.astype("f8"))
    assert np.array_equal(np.stack(list(array)), expected)
    assert np.mean(array) == expected.mean()
    rebuilt = np.zeros_like(expected)
    for where, items in array.iterchunks():
        rebuilt[where] = items
    assert np.array_equal(rebuilt, expected)
    scalar = oxiblosc.open(oxiblosc.to_bytes(np.float32(3)))
    assert scalar[()] == 3 and scalar[...].shape == ()
    with pytest.raises(TypeError):
        len(scalar)
