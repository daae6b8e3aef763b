"""What python-blosc2 writes is read here, and the other way around."""

from __future__ import annotations

import blosc2
import numpy as np
import oxiblosc
import pytest
from samples import sample

DTYPES = ["u1", "<i2", ">i4", "<u8", "<f4", "<f8", "<c16", "?", "S7", "<U3", "<M8[ns]", [("a", "<i4"), ("b", ">f8", 2)]]
SHAPES = [(), (1,), (1000,), (30, 40), (7, 8, 9), (0, 5), (3, 1, 4, 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_both_ways(rng, tmp_path, dtype, shape):
    dtype = np.dtype(dtype)
    if any(dtype[name].subdtype for name in dtype.names or ()):
        dtype = np.dtype([("a", "<i4"), ("b", ">f8")])
    expected = sample(rng, shape, dtype)
    ours, theirs = str(tmp_path / "ours.b2nd"), str(tmp_path / "theirs.b2nd")
    oxiblosc.save(ours, expected, attrs={"n": 1, "t": (1, "a"), "l": [1.5, None], "d": {"k": b"v"}})
    found = blosc2.open(ours, mode="r")
    assert found.shape == expected.shape and found.dtype == expected.dtype
    # It returns arrays of no dimensions as they are.
    assert np.asarray(found[()] if shape == () else found[...]).tobytes() == expected.tobytes()
    assert found.schunk.vlmeta[:] == {"n": 1, "t": (1, "a"), "l": [1.5, None], "d": {"k": b"v"}}

    array = blosc2.asarray(expected, urlpath=theirs)
    array.schunk.vlmeta["when"] = ("now", 3)
    array.schunk.vlmeta["where"] = {"x": [1, 2]}
    back = oxiblosc.open(theirs)
    assert back.shape == expected.shape and back.dtype == expected.dtype
    assert np.asarray(back[...]).tobytes() == expected.tobytes()
    assert back.chunks == array.chunks and back.blocks == array.blocks
    assert dict(back.attrs) == {"when": ("now", 3), "where": {"x": [1, 2]}} == dict(back.vlmeta)


@pytest.mark.parametrize("codec", ["BLOSCLZ", "LZ4", "LZ4HC", "ZLIB", "ZSTD"])
@pytest.mark.parametrize("filters", [[], ["SHUFFLE"], ["BITSHUFFLE"], ["DELTA", "SHUFFLE"], ["SHUFFLE", "BYTEDELTA"]])
def test_parameters_have_the_names_of_python_blosc2(rng, tmp_path, codec, filters):
    expected = np.cumsum(rng.integers(-3, 4, 50_000)).astype("<i4")
    path = str(tmp_path / "a.b2nd")
    enums = {
        "codec": blosc2.Codec[codec],
        "filters": [blosc2.Filter[name] for name in filters],
        "splitmode": blosc2.SplitMode.NEVER_SPLIT,
        "clevel": 6,
    }
    names = {"codec": codec.lower(), "filters": [name.lower() for name in filters], "splitmode": 2, "clevel": 6}
    by_enums = oxiblosc.to_bytes(expected, **enums)
    assert by_enums == oxiblosc.to_bytes(expected, **names) == oxiblosc.to_bytes(expected, cparams=enums)
    oxiblosc.save(path, expected, **enums)
    found = blosc2.open(path, mode="r")
    assert found.schunk.cparams.codec == blosc2.Codec[codec] and found.schunk.cparams.clevel == 6
    assert [f.name for f in found.schunk.cparams.filters if f.value] == filters
    assert np.array_equal(found[:], expected)
    assert oxiblosc.info(path)["codec"] == blosc2.Codec[codec].value


def test_the_parameters_object_of_python_blosc2(tmp_path):
    given = blosc2.CParams(codec=blosc2.Codec.LZ4, clevel=3, filters=[blosc2.Filter.BITSHUFFLE], typesize=4)
    frame = oxiblosc.to_bytes(np.arange(1000, dtype="i4"), cparams=given)
    assert oxiblosc.info(frame)["codec"] == 1 and oxiblosc.info(frame)["clevel"] == 3


def test_plain_frames(rng, tmp_path):
    data = rng.integers(0, 50, 100_000, dtype="u4").tobytes()
    ours, theirs = str(tmp_path / "ours.b2frame"), str(tmp_path / "theirs.b2frame")
    oxiblosc.save(ours, data, typesize=4, chunksize=40_000)
    found = blosc2.open(ours, mode="r")
    assert found[:] == data and found.typesize == 4 and found.nchunks == 10
    blosc2.SChunk(chunksize=40_000, data=data, urlpath=theirs, cparams={"typesize": 4})
    frame = oxiblosc.open(theirs)
    assert isinstance(frame, oxiblosc.Frame) and len(frame) == 100_000 and frame.nbytes == len(data)
    assert frame[:] == data and frame[5] == data[20:24] and frame[-1] == data[-4:]
    assert frame[10:20] == data[40:80] and frame[20:10:-1] == np.frombuffer(data, "u4")[20:10:-1].tobytes()
    assert b"".join(chunk.tobytes() for chunk in frame.chunks()) == data
    assert frame.decompress_chunk(3) == data[120_000:160_000] and frame.nchunks == 10
    assert b"".join(frame) == data
    assert np.array_equal(frame.as_array("u4"), np.frombuffer(data, "u4"))
    assert oxiblosc.decompress(frame.get_chunk(1)) == data[40_000:80_000]
    for wrong in (100_000, -100_001):
        with pytest.raises(IndexError):
            frame[wrong]
    with pytest.raises(IndexError):
        frame.decompress_chunk(10)


@pytest.mark.parametrize("contiguous", [True, False])
def test_sparse_frames(rng, tmp_path, contiguous):
    expected = rng.standard_normal((100, 20))
    ours, theirs = str(tmp_path / "ours.b2nd"), str(tmp_path / "theirs.b2nd")
    oxiblosc.save(ours, expected, contiguous=contiguous, chunks=(30, 20))
    assert (tmp_path / "ours.b2nd").is_dir() is not contiguous
    assert np.array_equal(blosc2.open(ours, mode="r")[:], expected)
    blosc2.asarray(expected, urlpath=theirs, contiguous=contiguous, chunks=(30, 20))
    assert np.array_equal(oxiblosc.open(theirs)[:], expected)


def test_chunks(rng):
    data = rng.integers(0, 100, 10_000, dtype="i8")
    bytedelta = {"filters": ["shuffle", "bytedelta"]}
    for params in ({}, {"codec": "lz4", "clevel": 9}, {"codec": "zlib", "filters": []}, {"clevel": 0}, bytedelta):
        chunk = oxiblosc.compress(data, **params)
        assert blosc2.decompress2(chunk) == data.tobytes() == oxiblosc.decompress(chunk)
    theirs = blosc2.compress2(data, codec=blosc2.Codec.ZSTD, typesize=8)
    assert oxiblosc.decompress(theirs) == data.tobytes()
    assert oxiblosc.decompress(memoryview(bytearray(theirs))) == data.tobytes()
    assert oxiblosc.decompress(np.frombuffer(theirs, "u1")) == data.tobytes()
    assert oxiblosc.compress(data, nthreads=1) == oxiblosc.compress(data, nthreads=2)
    assert oxiblosc.decompress(oxiblosc.compress(b"")) == b""


def test_an_array_of_theirs_is_copied(rng, tmp_path):
    expected = rng.standard_normal((50, 60))
    blosc2.asarray(expected, urlpath=str(tmp_path / "a.b2nd"), chunks=(20, 20))
    seen = []
    source = oxiblosc.open(tmp_path / "a.b2nd")
    oxiblosc.save(tmp_path / "b.b2nd", source, codec="lz4", progress=lambda *now: seen.append(now))
    assert np.array_equal(blosc2.open(str(tmp_path / "b.b2nd"), mode="r")[:], expected)
    assert seen[-1] == (expected.nbytes, expected.nbytes)
