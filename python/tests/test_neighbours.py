"""Zarr, xarray, Dask and HDF5."""

from __future__ import annotations

import os

import blosc2
import numpy as np
import oxiblosc
import pytest
from samples import sample


@pytest.fixture
def engine():
    """Zarr with this engine behind `blosc`, or with its own."""
    zarr = pytest.importorskip("zarr")
    import oxiblosc.zarr

    classes = {"ours": oxiblosc.zarr.BloscCodec, "theirs": zarr.codecs.BloscCodec}
    names = {"ours": "oxiblosc.zarr.BloscCodec", "theirs": "zarr.codecs.blosc.BloscCodec"}

    def choose(name):
        return zarr.config.set({"codecs.blosc": names[name]}), classes[name]

    return choose


@pytest.mark.parametrize("shuffle", ["noshuffle", "shuffle", "bitshuffle"])
@pytest.mark.parametrize("cname", ["lz4", "lz4hc", "blosclz", "zlib", "zstd"])
def test_zarr_blosc_both_ways(rng, tmp_path, engine, cname, shuffle):
    import zarr

    for dtype in ("u1", "<i4", "<f8"):
        expected = sample(rng, (100, 70), dtype)
        for writer, reader in (("ours", "theirs"), ("theirs", "ours")):
            store = str(tmp_path / f"{writer}-{dtype}")
            chosen, codec = engine(writer)
            with chosen:
                assert zarr.registry.get_codec_class("blosc") is codec
                array = zarr.create_array(
                    store, shape=expected.shape, chunks=(40, 30), dtype=dtype,
                    compressors=codec(cname=cname, shuffle=shuffle, clevel=5),
                )  # fmt: skip
                array[...] = expected
            chosen, codec = engine(reader)
            with chosen:
                found = zarr.open_array(store, mode="r")
                assert type(found.compressors[0]) is codec
                assert np.array_equal(found[...], expected) and np.array_equal(found[5:50, ::3], expected[5:50, ::3])


def test_zarr_with_chunks_of_blosc2(rng, tmp_path):
    zarr = pytest.importorskip("zarr")
    from oxiblosc.zarr import Blosc2Codec

    expected = rng.integers(0, 1000, (100, 70))
    codec = Blosc2Codec(codec="zstd", filters=("delta", "bitshuffle"), clevel=3)
    array = zarr.create_array(str(tmp_path / "a"), shape=(100, 70), chunks=(50, 50), dtype="i8", compressors=codec)
    array[...] = expected
    found = zarr.open_array(str(tmp_path / "a"), mode="r")
    assert np.array_equal(found[...], expected)
    assert found.compressors[0] == Blosc2Codec("zstd", 3, ("delta", "bitshuffle"), 8, 0)
    chunk = (tmp_path / "a" / "c" / "0" / "0").read_bytes()
    assert blosc2.decompress2(chunk) == expected[:50, :50].tobytes()


def test_xarray(rng, tmp_path):
    xr = pytest.importorskip("xarray")
    from oxiblosc.xarray import save_dataset

    data = xr.Dataset(
        {
            "temperature": (("time", "x", "y"), rng.standard_normal((12, 20, 30)).astype("f4"), {"unit": "K"}),
            "mask": (("x", "y"), rng.random((20, 30)) < 0.5),
        },
        coords={"time": np.arange("2024-01", "2025-01", dtype="M8[M]").astype("M8[ns]"), "x": np.arange(20) * 0.5},
    )
    save_dataset(data, tmp_path / "set", codec="lz4")
    found = xr.open_dataset(tmp_path / "set", engine="oxiblosc")
    xr.testing.assert_identical(found.load(), data)
    lazy = xr.open_dataset(str(tmp_path / "set"), engine="oxiblosc")
    part = lazy.temperature.sel(time="2024-05", x=slice(2, 4)).isel(y=[3, 1, 7])
    expected = data.temperature.sel(time="2024-05", x=slice(2, 4)).isel(y=[3, 1, 7])
    xr.testing.assert_identical(part.load(), expected)
    both = lazy.temperature.isel(x=[5, 2], y=[0, 9, -1])
    xr.testing.assert_identical(both.load(), data.temperature.isel(x=[5, 2], y=[0, 9, -1]))
    assert xr.open_dataset(tmp_path / "set").sizes == data.sizes
    chunked = xr.open_dataset(tmp_path / "set", engine="oxiblosc", chunks={})
    xr.testing.assert_allclose(chunked.temperature.mean("x").compute(), data.temperature.mean("x"))


def test_dask(rng, tmp_path):
    da = pytest.importorskip("dask.array")
    from oxiblosc.dask import from_url, to_url

    expected = rng.standard_normal((300, 200))
    oxiblosc.save(tmp_path / "a.b2nd", expected, chunks=(70, 60))
    x = from_url(str(tmp_path / "a.b2nd"))
    assert x.chunks == ((70, 70, 70, 70, 20), (60, 60, 60, 20)) and x.dtype == expected.dtype
    assert np.array_equal(x.compute(scheduler="threads"), expected)
    assert np.allclose(x.mean(axis=0).compute(), expected.mean(axis=0))
    assert from_url(str(tmp_path / "a.b2nd"), chunks=(100, 100)).numblocks == (3, 2)
    assert from_url(str(tmp_path / "a.b2nd")).name == x.name

    path = str(tmp_path / "b.b2nd")
    summary = to_url((x + 1)[:, :150], path, attrs={"by": "dask"}, codec="lz4")
    assert summary["nchunks"] == 15
    found = oxiblosc.open(path)
    assert np.array_equal(found[...], (expected + 1)[:, :150]) and found.chunks == (70, 60)
    assert found.attrs["by"] == "dask"
    assert np.array_equal(blosc2.open(path, mode="r")[:], found[...])
    with pytest.raises(FileExistsError):
        to_url(x, path)
    later = to_url(da.ones((10, 10), chunks=5), str(tmp_path / "c"), compute=False)
    assert not oxiblosc_exists(tmp_path / "c")
    later.compute()
    assert np.all(oxiblosc.open(tmp_path / "c")[...] == 1)


def oxiblosc_exists(path):
    try:
        oxiblosc.open(path)
        return True
    except FileNotFoundError:
        return False


def test_dask_failures_leave_no_array(tmp_path):
    da = pytest.importorskip("dask.array")
    from oxiblosc.dask import to_url

    def fail(block, block_info=None):
        if block_info[None]["chunk-location"] == (2,):
            raise ZeroDivisionError
        return block

    path = str(tmp_path / "a")
    x = da.arange(50, chunks=10)
    with pytest.raises(ZeroDivisionError):
        to_url(x.map_blocks(fail, dtype=x.dtype), path)
    assert not oxiblosc_exists(path)
    to_url(x, path)
    assert np.array_equal(oxiblosc.open(path)[...], np.arange(50))


def test_dask_jobs_do_not_mix(tmp_path):
    da = pytest.importorskip("dask.array")
    from oxiblosc.dask import to_url

    path = str(tmp_path / "a")
    zeros, ones = (da.full((60, 50), n, chunks=(20, 25), dtype="i4") for n in (0, 1))
    first = to_url(zeros, path, compute=False)
    with pytest.raises(oxiblosc.AlreadyExistsError, match="another job"):
        to_url(ones, path)
    # The job that was refused has removed nothing of the other.
    first.compute()
    assert np.all(oxiblosc.open(path)[...] == 0)
    # One that was killed leaves its plan and some chunks, and is gone on with.
    path = str(tmp_path / "b")
    left = oxiblosc.SharedArray(path, "i4", (60, 50), chunks=(20, 25), nthreads=1)
    assert not left.has_joined and oxiblosc.SharedArray.join(path, "i4").has_joined
    left.write((0, 0), np.ones((20, 25)))
    with pytest.raises(FileExistsError, match="resume"):
        to_url(ones, path)
    to_url(ones, path, resume=True)
    assert np.all(oxiblosc.open(path)[...] == 1)


def test_a_cluster_of_processes(tmp_path):
    distributed = pytest.importorskip("distributed")
    import dask
    import dask.array as da
    from oxiblosc.dask import from_url, to_url

    path = str(tmp_path / "a.b2nd")
    with (
        dask.config.set({"distributed.worker.memory.terminate": False}),
        distributed.LocalCluster(
            n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        x = da.arange(4_000_000, chunks=250_000).reshape(2000, 2000).rechunk((250, 500))
        summary = to_url(x, path, codec="lz4")
        assert summary["nchunks"] == 32
        assert len(client.run(os.getpid)) == 4
        y = from_url(path)
        expected = np.arange(4_000_000).reshape(2000, 2000)
        for axis in (0, 1):
            assert np.array_equal(y.mean(axis=axis).compute(), expected.mean(axis=axis))
    assert np.array_equal(oxiblosc.open(path)[...], expected)


def test_hdf5_reads_our_chunks(rng, tmp_path):
    h5py = pytest.importorskip("h5py")
    hdf5plugin = pytest.importorskip("hdf5plugin")
    expected = rng.integers(0, 1000, (100, 60), dtype="i4")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        dataset = file.create_dataset(
            "a", expected.shape, "i4", chunks=(50, 30), **hdf5plugin.Blosc2(cname="zstd", clevel=5)
        )
        for i in range(0, 100, 50):
            for j in range(0, 60, 30):
                block = expected[i : i + 50, j : j + 30]
                # The filter keeps each chunk as a frame.
                dataset.id.write_direct_chunk((i, j), oxiblosc.to_bytes(block, chunks=(50, 30)))
    with h5py.File(tmp_path / "a.h5") as file:
        assert np.array_equal(file["a"][...], expected)
        stored = file["a"].id.read_direct_chunk((0, 0))[1]
        assert np.array_equal(oxiblosc.open(stored)[...], expected[:50, :30])
