"""Changes and commits."""

from __future__ import annotations

import blosc2
import numpy as np
import oxiblosc
import pytest


@pytest.fixture(params=["file", "directory", "bytes"])
def place(request, tmp_path):
    """An array of 20 by 30 items in each kind of place."""
    expected = np.arange(600, dtype="i4").reshape(20, 30)
    if request.param == "bytes":
        return oxiblosc.to_bytes(expected, chunks=(8, 8)), expected
    path = str(tmp_path / "a.b2nd")
    oxiblosc.save(path, expected, chunks=(8, 8), contiguous=request.param == "file")
    return path, expected


def test_an_array_that_is_changed(place):
    place, expected = place
    array = oxiblosc.open(place, mode="a")
    array[3:5, ::2] = 7
    expected[3:5, ::2] = 7
    array[[1, 5, 1], [0, 1, 2]] = [10, 11, 12]
    expected[[1, 5, 1], [0, 1, 2]] = [10, 11, 12]
    array[expected > 500] = -1
    expected[expected > 500] = -1
    array[-1] = np.arange(30)
    expected[-1] = np.arange(30)
    assert np.array_equal(array[...], expected)
    assert array.append(np.ones((3, 30))) == 23 * 30
    array.append(np.arange(23).reshape(23, 1), axis=1)
    expected = np.hstack([np.vstack([expected, np.ones((3, 30), "i4")]), np.arange(23, dtype="i4").reshape(23, 1)])
    assert array.shape == (23, 31) and np.array_equal(array[...], expected)
    array.resize((10, 40))
    grown = np.zeros((10, 40), "i4")
    grown[:, :31] = expected[:10]
    assert np.array_equal(array[...], grown)
    array.attrs["a"] = {"x": (1, 2)}
    array.attrs["b"] = 1
    del array.attrs["b"]
    assert dict(array.attrs) == {"a": {"x": (1, 2)}} and "b" not in array.attrs
    with pytest.raises(KeyError):
        del array.attrs["b"]
    if isinstance(place, str):
        found = blosc2.open(place, mode="r")
        assert np.array_equal(found[:], grown) and found.schunk.vlmeta["a"] == {"x": (1, 2)}
    else:
        assert np.array_equal(blosc2.ndarray_from_cframe(array.urlpath)[:], grown)


def test_rows_without_items(tmp_path):
    path = str(tmp_path / "a.b2nd")
    oxiblosc.save(path, np.zeros((8, 0, 3)), chunks=(4, 1, 3))
    array = oxiblosc.open(path, mode="a")
    array.append(np.zeros((17, 0, 3)))
    assert array.shape == (25, 0, 3)
    array.append(np.zeros((25, 2, 3)), axis=1)
    assert array.shape == (25, 2, 3) and not array[...].any()


def test_aligned_fields(tmp_path):
    dtype = np.dtype([("a", "u1"), ("b", "f8"), ("c", "i2", (3,)), ("d", [("e", "u1"), ("f", "i4")])], align=True)
    expected = np.zeros(50, dtype)
    expected["a"], expected["b"], expected["c"], expected["d"]["f"] = 1, np.arange(50), 2, 3
    path = str(tmp_path / "a.b2nd")
    oxiblosc.save(path, expected)
    array = oxiblosc.open(path, mode="a")
    assert array.dtype == dtype and array[...].dtype == dtype
    array.append(expected)
    array[0] = expected[7]
    assert np.array_equal(array[50:], expected) and array[0] == expected[7]


def test_checksums_are_no_attribute(tmp_path):
    oxiblosc.save(tmp_path / "a", np.arange(10), checksums=True, attrs={"a": 1})
    array = oxiblosc.open(tmp_path / "a", mode="a")
    assert dict(array.attrs) == {"a": 1} and "oxiblosc_checksums" not in array.attrs
    assert oxiblosc.info(tmp_path / "a")["attributes"] == ["a"]
    oxiblosc.save(tmp_path / "b", np.arange(10), attrs=array.attrs)
    assert dict(oxiblosc.open(tmp_path / "b").attrs) == {"a": 1}
    with array.edit() as editor:
        assert dict(editor.attrs) == {"a": 1}
        editor.attrs.clear()
    assert not array.attrs and oxiblosc.open(tmp_path / "a", checksums=True)[3] == 3


def test_reading_only(place):
    array = oxiblosc.open(place[0])
    for change in (
        lambda: array.__setitem__(0, 1),
        lambda: array.append(np.zeros((1, 30))),
        lambda: array.resize((1, 1)),
        lambda: array.attrs.__setitem__("x", 1),
    ):
        with pytest.raises((ValueError, TypeError), match="reading only"):
            change()


def test_a_block_is_one_commit(place):
    place, expected = place
    if isinstance(place, bytes):
        return
    reader = oxiblosc.open(place)
    with oxiblosc.edit(place) as editor:
        editor[0] = 5
        editor.append(np.zeros((2, 30)))
        editor.attrs["n"] = 1
        assert editor.shape == (22, 30) and editor[0, 0] == 5 and editor.attrs["n"] == 1
        assert np.array_equal(editor[-3:, :2], [[570, 571], [0, 0], [0, 0]])
        assert np.array_equal(oxiblosc.open(place)[...], expected)
    assert reader.refresh() and reader.shape == (22, 30) and reader[0, 0] == 5 and reader.attrs["n"] == 1
    with pytest.raises(ZeroDivisionError), oxiblosc.edit(place) as editor:
        editor[...] = 9
        1 / 0
    assert reader[0, 0] == 5 and oxiblosc.open(place)[0, 0] == 5 and oxiblosc.verify(place)["ok"]


def test_what_does_not_fit(place):
    array = oxiblosc.open(place[0], mode="a")
    with pytest.raises(ValueError):
        array[0:2] = np.zeros(7)
    with pytest.raises(IndexError):
        array[99] = 0
    with pytest.raises(ValueError):
        array.append(np.zeros((2, 7)))
    with pytest.raises(ValueError):
        array.resize((1, 2, 3))
    with pytest.raises(ValueError):
        array.resize((-1, 2))
    with pytest.raises(TypeError):
        array.attrs["x"] = object()
    assert np.array_equal(array[...], place[1])


def test_two_editors_of_a_file(tmp_path):
    path = tmp_path / "a"
    oxiblosc.save(path, np.arange(10))
    with oxiblosc.edit(path), pytest.raises(OSError):
        oxiblosc.edit(path)
    with oxiblosc.edit(path) as editor:
        editor[0] = 3
    assert oxiblosc.open(path)[0] == 3


def test_frames(tmp_path):
    path = tmp_path / "f"
    oxiblosc.save(path, b"0123456789" * 100, chunksize=100)
    frame = oxiblosc.open(path, mode="a")
    frame.append(b"more")
    frame.update_chunk(1, b"x" * 100)
    frame.attrs["n"] = [1]
    expected = b"0123456789" * 10 + b"x" * 100 + b"0123456789" * 80 + b"more"
    assert frame[:] == expected and blosc2.open(str(path), mode="r")[:] == expected and frame.attrs["n"] == [1]
    with oxiblosc.edit(path) as editor:
        editor.delete_chunk(0)
    assert oxiblosc.open(path)[:] == expected[100:]


def test_compacting(tmp_path):
    path = tmp_path / "a"
    oxiblosc.save(path, np.random.default_rng(1).standard_normal(100_000), chunks=10_000)
    array = oxiblosc.open(path, mode="a")
    for start in range(0, 100_000, 10_000):
        array[start : start + 10_000] = 1.5
    before = path.stat().st_size
    oxiblosc.compact(path)
    assert path.stat().st_size < before / 10 and np.all(oxiblosc.open(path)[:] == 1.5)
