"""Results so large that they are decoded into memory of NumPy's."""

from __future__ import annotations

import io

import blosc2
import numpy as np
import oxiblosc
import pytest

SHAPE = (1003, 2051)


@pytest.fixture(scope="module")
def expected():
    """16 MiB, of which some chunks are zeros and some repeat a value."""
    array = np.random.default_rng(1).integers(0, 1 << 40, SHAPE)
    array[100:400] = 0
    array[600:750] = 7
    return array


@pytest.fixture(scope="module")
def paths(expected, tmp_path_factory):
    """The same array, contiguous and sparse, and as python-blosc2 writes it."""
    directory = tmp_path_factory.mktemp("large")
    names = [str(directory / name) for name in ("contiguous", "sparse", "theirs.b2nd")]
    layout = {"chunks": (50, 600), "blocks": (10, 100)}
    oxiblosc.save(names[0], expected, **layout)
    oxiblosc.save(names[1], expected, contiguous=False, **layout)
    blosc2.asarray(expected, urlpath=names[2], mode="w", **layout)
    return names


KEYS = [
    np.s_[...],
    np.s_[1:, :-1],
    np.s_[::-1],
    np.s_[::1, 5::2],
    np.s_[:, ::-1],
    np.s_[list(range(0, 1003, 2))],
    np.s_[:, [2050, 3, 3, *range(700)]],
    np.s_[np.arange(1003) % 3 > 0],
]


@pytest.mark.parametrize("nthreads", [1, 2, 5])
def test_selections_are_those_of_numpy(expected, paths, nthreads):
    for path in paths:
        array = oxiblosc.open(path, nthreads=nthreads)
        for key in KEYS:
            found = array[key]
            assert found.dtype == expected.dtype and found.flags.writeable
            assert np.array_equal(found, expected[key]), (path, key)


def test_other_sources(expected, paths):
    data = open(paths[0], "rb").read()
    for source in (data, io.BytesIO(data)):
        assert np.array_equal(oxiblosc.open(source)[...], expected)


def test_results_belong_to_whoever_has_them(expected, paths):
    array = oxiblosc.open(paths[0])
    first, second = array[...], array[...]
    first[:] = 1
    del array
    assert np.array_equal(second, expected)


@pytest.mark.parametrize("dtype", ["u1", "<f4", ">i2", "c16", "S5", "M8[ns]", "?"])
def test_dtypes(dtype):
    data = np.random.default_rng(2).integers(0, 255, 6 << 20, dtype="u1")
    size = np.dtype(dtype).itemsize
    if dtype == "?":
        data &= 1
    expected = data[: len(data) // size * size].view(dtype)
    found = oxiblosc.open(oxiblosc.to_bytes(expected))[...]
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()


def test_damage_is_an_error(expected):
    frame = bytearray(oxiblosc.to_bytes(expected, chunks=(50, 600), blocks=(10, 100), checksums=True))
    frame[len(frame) // 2 : len(frame) // 2 + 4000] = bytes(4000)
    array = oxiblosc.open(bytes(frame), checksums=True)
    with pytest.raises(oxiblosc.DamagedError, match="chunk"):
        array[...]
    assert np.array_equal(array[:400], expected[:400])
