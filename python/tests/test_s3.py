"""Objects, on an S3 server on loopback."""

from __future__ import annotations

import numpy as np
import oxiblosc
import pytest
import s3


@pytest.fixture
def bucket(server, monkeypatch, request):
    """The URL of an empty bucket, and a function that lists its keys."""
    boto3 = pytest.importorskip("boto3")
    for name, value in s3.settings(server).items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    name = f"bucket-{abs(hash(request.node.name)) % 10**9}"
    client.create_bucket(Bucket=name)

    def keys():
        return [found["Key"] for found in client.list_objects_v2(Bucket=name).get("Contents", [])]

    return f"s3://{name}", keys


def test_objects(rng, bucket):
    url, keys = bucket
    expected = rng.standard_normal((500, 400))
    oxiblosc.save(f"{url}/a.b2nd", expected, chunks=(100, 100), blocks=(20, 50), attrs={"n": 1})
    array = oxiblosc.open(f"{url}/a.b2nd")
    assert keys() == ["a.b2nd"] and array.attrs["n"] == 1
    assert np.array_equal(array[...], expected)
    for key in (np.s_[3], np.s_[::99, 7], np.s_[[1, 250, 499], ::-50], np.s_[-1, -1]):
        assert np.array_equal(array[key], expected[key])
    with oxiblosc.writer(f"{url}/rows", dtype="f8", shape=(-1, 400)) as writer:
        for start in range(0, 500, 50):
            writer.write(expected[start : start + 50])
        assert keys() == ["a.b2nd"]
    assert np.array_equal(oxiblosc.open(f"{url}/rows")[...], expected)


def test_an_exception_leaves_no_object(bucket):
    url, keys = bucket
    for name in ("a", "prefix/"):
        with pytest.raises(ZeroDivisionError), oxiblosc.writer(f"{url}/{name}", dtype="f8", shape=(-1, 1000)) as writer:
            writer.write(np.random.default_rng(1).random((5000, 1000)))
            1 / 0
    assert keys() == []
    with pytest.raises(FileNotFoundError):
        oxiblosc.open(f"{url}/a")
    with pytest.raises(FileNotFoundError):
        oxiblosc.open("s3://no-such-bucket-at-all/a")


def test_prefixes_are_changed(rng, bucket):
    url, keys = bucket
    expected = rng.integers(0, 100, (40, 30))
    oxiblosc.save(f"{url}/a/", expected, chunks=(10, 10))
    array = oxiblosc.open(f"{url}/a", mode="a")
    array[5:7] = 3
    expected[5:7] = 3
    array.append(expected[:2])
    array.attrs["x"] = (1, 2)
    assert np.array_equal(oxiblosc.open(f"{url}/a/")[...], np.vstack([expected, expected[:2]]))
    assert array.attrs["x"] == (1, 2)
    before = len(keys())
    assert oxiblosc.compact(f"{url}/a/") > 0 and len(keys()) < before
    assert np.array_equal(oxiblosc.open(f"{url}/a/")[:40], expected)


def test_several_writers_and_dask(rng, bucket):
    da = pytest.importorskip("dask.array")
    from oxiblosc.dask import from_url, to_url

    url, _ = bucket
    expected = rng.standard_normal((100, 60))
    to_url(da.from_array(expected, chunks=(30, 30)), f"{url}/a/")
    assert np.array_equal(from_url(f"{url}/a/").compute(), expected)
    with pytest.raises(FileExistsError):
        oxiblosc.SharedArray(f"{url}/a/", "f8", (100, 60))
    one = oxiblosc.SharedArray(f"{url}/b/", "f8", (10,), chunks=(5,))
    other = oxiblosc.SharedArray(f"{url}/b/", "f8", (10,), chunks=(5,))
    one.write(0, np.zeros(5))
    other.write(1, np.ones(5))
    one.commit()
    with pytest.raises(FileExistsError):
        other.commit()
    assert oxiblosc.open(f"{url}/b/")[...].sum() == 5
