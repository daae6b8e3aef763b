"""Writers: what they leave, and what they do not."""

from __future__ import annotations

import asyncio
import io
import os
import warnings

import blosc2
import numpy as np
import oxiblosc
import pytest


class WriteOnly:
    """All that a writer may ask of a file object."""

    def __init__(self):
        self.data = bytearray()

    def write(self, data):
        assert type(data) is bytes
        self.data += data
        return len(data)


class Broken(WriteOnly):
    def write(self, data):
        raise ConnectionAbortedError("the pipe has burst")


def test_rows(rng, tmp_path):
    path = tmp_path / "rows.b2nd"
    expected = rng.standard_normal((1000, 64)).astype("f4")
    with oxiblosc.writer(path, dtype="f4", shape=(-1, 64)) as w:
        w.write(expected[:10])
        w.write(expected[10])
        w.attrs["unit"] = "K"
        w.write(expected[11:])
        assert not path.exists()
    assert w.summary["shape"] == (1000, 64)
    assert np.array_equal(oxiblosc.open(path)[...], expected) and oxiblosc.open(path).attrs["unit"] == "K"
    found = blosc2.open(str(path), mode="r")
    assert np.array_equal(found[:], expected) and found.schunk.vlmeta["unit"] == "K"
    with pytest.raises(oxiblosc.ClosedError):
        w.write(expected)


@pytest.mark.parametrize("contiguous", [True, False])
def test_an_exception_leaves_nothing(tmp_path, contiguous):
    path = tmp_path / "rows.b2nd"
    with pytest.raises(ZeroDivisionError), oxiblosc.writer(path, dtype="f4", shape=(-1,), contiguous=contiguous) as w:
        w.write(np.zeros(10_000_000, "f4"))
        1 / 0
    assert os.listdir(tmp_path) == []
    # An array that is there stays as it is.
    oxiblosc.save(path, np.arange(5), contiguous=contiguous)
    with pytest.raises(ZeroDivisionError), oxiblosc.writer(path, dtype="f4", contiguous=contiguous) as w:
        1 / 0
    assert np.array_equal(oxiblosc.open(path)[:], np.arange(5))
    with pytest.raises(oxiblosc.InvalidInputError), oxiblosc.writer(tmp_path / "x", dtype="i4", shape=(10,)) as w:
        w.write(np.zeros(10, "i4"))
        w.write(np.zeros(1, "i4"))
    with pytest.raises(oxiblosc.OxibloscError), oxiblosc.writer(tmp_path / "x", dtype="i4", shape=(10,)) as w:
        w.write(np.zeros(3, "i4"))
    assert os.listdir(tmp_path) == ["rows.b2nd"]


def test_file_objects(rng):
    expected = rng.integers(0, 9, (100, 30))
    target = WriteOnly()
    oxiblosc.save(target, expected)
    assert np.array_equal(oxiblosc.open(bytes(target.data))[:], expected)
    file = io.BytesIO()
    with oxiblosc.writer(file, dtype=expected.dtype, shape=(-1, 30)) as w:
        for row in expected:
            w.write(row)
    assert np.array_equal(oxiblosc.open(file)[:], expected)
    assert np.array_equal(blosc2.ndarray_from_cframe(file.getvalue())[:], expected)
    with pytest.raises(ConnectionAbortedError, match="the pipe has burst"):
        oxiblosc.save(Broken(), expected)
    unfinished = WriteOnly()
    with pytest.raises(KeyError), oxiblosc.writer(unfinished, dtype="i4") as w:
        w.write(np.zeros(1_000_000, "i4"))
        raise KeyError
    assert not unfinished.data


def test_reading_file_objects(rng, tmp_path):
    expected = rng.standard_normal((200, 300))
    oxiblosc.save(tmp_path / "a", expected, chunks=(50, 50))
    with open(tmp_path / "a", "rb") as file:
        array = oxiblosc.open(file)
        assert np.array_equal(array[...], expected) and np.array_equal(array[::7, ::-3], expected[::7, ::-3])

    class Failing(io.BytesIO):
        def read(self, *size):
            raise OSError(5, "no such luck")

    with pytest.raises(OSError, match="no such luck"):
        oxiblosc.open(Failing((tmp_path / "a").read_bytes()))
    with pytest.raises(TypeError, match="expected a path"):
        oxiblosc.open(3)


def test_frames(tmp_path):
    with oxiblosc.writer(tmp_path / "f", typesize=4, chunksize=4000, codec="lz4") as w:
        w.write(b"abcd" * 1000)
        w.write(np.arange(500, dtype="u4"))
        w.write(memoryview(b"efgh" * 100))
    expected = b"abcd" * 1000 + np.arange(500, dtype="u4").tobytes() + b"efgh" * 100
    frame = oxiblosc.open(tmp_path / "f")
    assert frame[:] == expected and frame.nchunks == 2 and blosc2.open(str(tmp_path / "f"), mode="r")[:] == expected


def test_layouts_of_arrays(rng):
    for array in (
        np.asfortranarray(rng.standard_normal((30, 40))),
        rng.standard_normal((30, 40))[::2, ::-3],
        np.broadcast_to(np.arange(5), (4, 5)),
        np.arange(10)[::-1],
        rng.integers(0, 9, 10).tolist(),
        np.array(7),
        7.5,
    ):
        assert np.array_equal(oxiblosc.open(oxiblosc.to_bytes(array))[...], array)


def test_what_is_refused(tmp_path):
    path = tmp_path / "x"
    for wrong in (
        {"codec": "lzma"}, {"filters": [200]}, {"splitmode": 9}, {"clevel": 10}, {"chunks": (3, 3)}, {"blocks": (0,)},
    ):  # fmt: skip
        with pytest.raises((ValueError, LookupError)):
            oxiblosc.save(path, np.arange(10), **wrong)
    with pytest.raises(TypeError, match="unknown parameters: level"):
        oxiblosc.save(path, np.arange(10), level=3)
    with pytest.raises(ValueError, match="Python objects"):
        oxiblosc.save(path, np.array([{}, []], object))
    with pytest.raises(ValueError, match="rows have the shape"):
        oxiblosc.writer(io.BytesIO(), dtype="f4", shape=(-1, 3)).write(np.zeros((4, 5)))
    with pytest.raises(FileNotFoundError):
        oxiblosc.save(tmp_path / "no" / "x", np.arange(3))
    with pytest.raises(ValueError, match="ftp"):
        oxiblosc.open("ftp://host/x")
    assert not path.exists()


@pytest.mark.parametrize("make", [oxiblosc.compress, oxiblosc.to_bytes])
def test_wrong_parameters_are_not_damage(make):
    data = np.arange(9, dtype="f4")
    with pytest.raises(ValueError, match="filters_meta is 300"):
        make(data, filters=(4,), filters_meta=(300,))
    with pytest.raises(oxiblosc.InvalidInputError, match="invalid filter meta 44"):
        make(data, filters=(4,), filters_meta=(44,))
    with pytest.raises(oxiblosc.InvalidInputError, match="4 or 8, the side of a cell"):
        make(data, codec="ndlz", codec_meta=5)
    make(data, filters=(4,), filters_meta=(-5,))


@pytest.mark.parametrize(
    "name, value",
    [("typesize", 0), ("typesize", -1), ("clevel", -1), ("clevel", 10), ("blocksize", -1), ("codec_meta", 300)],
)
def test_numbers_out_of_range(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}, expected"):
        oxiblosc.compress(b"abcd" * 9, **{name: value})
    with pytest.raises(ValueError, match=f"{name} is {value}, expected"):
        oxiblosc.writer(io.BytesIO(), **{name: value})
    if name == "typesize":
        with pytest.raises(ValueError, match=f"{name} is {value}, expected"):
            oxiblosc.tune(b"abcd" * 9, typesize=value)


def test_masks_are_not_dropped(tmp_path):
    masked = np.ma.masked_array(np.arange(6.0).reshape(2, 3), mask=np.eye(2, 3))
    path = str(tmp_path / "x")

    def edited(change):
        with oxiblosc.edit(path) as e:
            change(e)

    def written(**options):
        with oxiblosc.writer(tmp_path / "y", **options) as w:
            w.write(masked)

    oxiblosc.save(path, masked.filled(-1))
    shared = oxiblosc.SharedArray(tmp_path / "shared", "f8", (2, 3), chunks=(2, 3))
    for write in (
        lambda: oxiblosc.save(tmp_path / "y", masked),
        lambda: oxiblosc.to_bytes(masked),
        lambda: oxiblosc.compress(masked),
        lambda: oxiblosc.tune(masked),
        lambda: written(dtype="f8", shape=(-1, 3)),
        lambda: written(typesize=8),
        lambda: shared.write(0, masked),
        lambda: edited(lambda e: e.append(masked)),
        lambda: edited(lambda e: e.__setitem__(..., masked)),
        lambda: edited(lambda e: e.__setitem__([0, 1], masked)),
        lambda: edited(lambda e: e.__setitem__((0, 0), np.ma.masked)),
    ):
        with pytest.raises(TypeError, match=r"\.filled\(\)"):
            write()
    assert not (tmp_path / "y").exists()
    assert np.array_equal(oxiblosc.open(path)[...], masked.filled(-1))


def test_warnings_of_what_others_cannot_read(tmp_path):
    metadata = "python-blosc2 cannot open it: filter metadata is negative or above 127"
    several = "C-Blosc2 does not correctly decode data with several delta filters"
    parts = "python-blosc2 does not correctly decode parts of arrays with a delta filter"
    texts, numbers = np.zeros(100, "S300"), np.zeros(100, "i4")
    wide = {"typesize": 128, "filters": ["bytedelta"]}
    deltas = {"filters": ["delta", "shuffle", "delta"]}
    for expected, write in (
        (metadata, lambda path: oxiblosc.save(path, texts, filters=["shuffle", "bytedelta"])),
        (metadata, lambda path: oxiblosc.to_bytes(numbers, filters=["trunc_prec"], filters_meta=[-5])),
        (metadata, lambda path: oxiblosc.writer(path, **wide).close()),
        (metadata, lambda path: oxiblosc.SharedArray(path, "S300", (5,), filters=["bytedelta"])),
        (metadata, lambda path: asyncio.run(oxiblosc.aio.save(path, texts, filters=["bytedelta"]))),
        (several, lambda path: oxiblosc.save(path, numbers, **deltas)),
        (several, lambda path: oxiblosc.compress(numbers, **deltas)),
        (parts, lambda path: oxiblosc.save(path, numbers, filters=["delta"])),
        (None, lambda path: oxiblosc.compress(texts, **wide)),
        (None, lambda path: oxiblosc.save(path, texts.tobytes(), **{**wide, "typesize": 127})),
        (None, lambda path: oxiblosc.save(path, numbers.tobytes(), filters=["delta"])),
    ):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            write(tmp_path / str(len(os.listdir(tmp_path))))
        assert [str(warning.message) for warning in seen] == [expected][: expected is not None]
        assert all(warning.category is UserWarning for warning in seen)
    with pytest.warns(UserWarning) as seen:
        oxiblosc.save(tmp_path / "texts", texts, filters=["bytedelta"])
    assert seen[0].filename == __file__
    with pytest.raises(OverflowError):
        blosc2.open(str(tmp_path / "texts"), mode="r")


def test_progress_and_checksums(tmp_path):
    seen = []
    data = np.arange(6_000_000)
    oxiblosc.save(tmp_path / "x", data, checksums=True, progress=lambda done, total: seen.append((done, total)))
    assert len(seen) > 2 and seen[-1] == (data.nbytes, data.nbytes) and seen == sorted(seen)
    report = oxiblosc.verify(tmp_path / "x", progress=lambda *now: seen.append(now))
    assert report["ok"] and "valid" in report["checksums"].lower() and seen[-1][0] == seen[-1][1]
    assert np.array_equal(oxiblosc.open(tmp_path / "x", checksums=True)[::1000], data[::1000])

    class Stop(Exception):
        pass

    def stop(done, total):
        raise Stop

    with pytest.raises(Stop):
        oxiblosc.save(tmp_path / "y", data, progress=stop)
    assert os.listdir(tmp_path) == ["x"]
