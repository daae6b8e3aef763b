"""What arrays in an object store cost: requests and bytes, counted before the server, beside python-blosc2."""

from __future__ import annotations

from typing import Any

import blosc2
import numpy as np
import oxiblosc
import pytest
import s3

#: Selections of each array.
COUNT = 75

#: As much as python-blosc2 keeps by default.
CACHE_BYTES = 256 << 20

#: Two ranges of bytes so close together are read with one request, and with them what lies between. Of blocks
#: python-blosc2 does the same, but each chunk is a request of its own.
GAP = 4 << 10


def assert_no_more(ours: Any, theirs: Any, key: Any) -> None:
    """Fewer requests may cost a gap each, and nothing else more bytes."""
    saved = theirs[0] - ours[0]
    assert saved >= 0 and ours[1] <= theirs[1] + GAP * saved, f"{key}: {ours} against {theirs}"


@pytest.fixture(scope="module")
def proxy(server):
    passing = s3.Proxy(server)
    yield passing
    passing.close()


@pytest.fixture(scope="module")
def objects(proxy, tmp_path_factory):
    """Arrays by name, and the prefix of their URLs. Their lengths are no multiples of those of chunks and blocks."""
    boto3 = pytest.importorskip("boto3")
    pytest.importorskip("s3fs")
    rng = np.random.default_rng(1)
    holes = rng.standard_normal((999, 501))
    holes[250:600] = 0
    arrays = {
        # Chunks of 2 MiB, of which blocks are worth fetching alone.
        "large": (rng.standard_normal((1100, 600)).astype("f4"), (1024, 512), (128, 128)),
        "small": (np.cumsum(rng.integers(-3, 4, (900, 800)), axis=1, dtype="i4"), (256, 256), (64, 64)),
        "cube": (rng.integers(0, 1000, (70, 201, 150)).astype("i2"), (50, 200, 100), (10, 20, 100)),
        # Some chunks are zeros, which are in the index alone.
        "holes": (holes, (150, 501), (20, 300)),
    }
    client = boto3.client(
        "s3", region_name=s3.REGION, endpoint_url=proxy.url, aws_access_key_id="key", aws_secret_access_key="secret"
    )
    client.create_bucket(Bucket="far")
    for name, (array, chunks, blocks) in arrays.items():
        path = tmp_path_factory.mktemp("far") / name
        oxiblosc.save(path, array, chunks=chunks, blocks=blocks, clevel=1)
        client.put_object(Bucket="far", Key=f"{name}.b2nd", Body=path.read_bytes())
    return {name: array for name, (array, _, _) in arrays.items()}, "s3://far"


@pytest.fixture(autouse=True)
def environment(proxy, monkeypatch):
    for name, value in s3.settings(proxy.url).items():
        monkeypatch.setenv(name, value)


def selection(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index with a part for each axis; one of them may be a list."""

    def part(n: int) -> Any:
        start = int(rng.integers(0, n))
        stop = int(rng.integers(start, n)) + 1
        match rng.integers(0, 8):
            case 0:
                return int(rng.integers(-n, n))
            case 1 | 2:
                return slice(start, start + int(rng.integers(1, 20)))
            case 3 | 4:
                return slice(start, start + int(rng.integers(1, 200)))
            case 5:
                return slice(start, stop, int(rng.integers(1, 300)))
            case 6:
                return slice(start, stop)
            case _:
                return slice(None)

    key = [part(n) for n in shape]
    if rng.integers(0, 10) == 0:
        axis = int(rng.integers(0, len(shape)))
        key[axis] = sorted(int(i) for i in rng.integers(0, shape[axis], 5))
        key = [k if isinstance(k, list) or isinstance(k, slice) else slice(k, k + 1 or None) for k in key]
    return tuple(key)


def open_theirs(proxy: s3.Proxy, url: str) -> Any:
    return blosc2.open(url, mode="r", lazy=True, storage_options={"endpoint_url": proxy.url})


NAMES = ["large", "small", "cube", "holes"]


@pytest.mark.parametrize("name", NAMES)
def test_an_array_that_is_opened_for_one_slice(name, objects, proxy):
    arrays, prefix = objects
    expected, url = arrays[name], f"{prefix}/{name}.b2nd"
    rng = np.random.default_rng(NAMES.index(name))
    ours_in_all, theirs_in_all = np.zeros(2), np.zeros(2)
    for _ in range(COUNT):
        key = selection(rng, expected.shape)
        proxy.taken()
        found = oxiblosc.open(url)[key]
        ours = proxy.taken()
        assert np.array_equal(found, expected[key]), key
        assert np.array_equal(open_theirs(proxy, url)[key], expected[key]), key
        theirs = proxy.taken()
        assert_no_more(ours, theirs, key)
        ours_in_all += ours
        theirs_in_all += theirs
    print(f"{name}: {ours_in_all} requests and bytes, python-blosc2 {theirs_in_all}")


@pytest.mark.parametrize("name", NAMES)
def test_an_array_that_stays_open(name, objects, proxy):
    """Both keep what they have fetched."""
    arrays, prefix = objects
    expected, url = arrays[name], f"{prefix}/{name}.b2nd"
    rng = np.random.default_rng(10 + NAMES.index(name))
    proxy.taken()
    one = oxiblosc.open(url, cache_bytes=CACHE_BYTES)
    ours = np.array(proxy.taken())
    other = open_theirs(proxy, url)
    theirs = np.array(proxy.taken())
    for _ in range(COUNT):
        key = selection(rng, expected.shape)
        assert np.array_equal(one[key], expected[key]), key
        ours += proxy.taken()
        assert np.array_equal(other[key], expected[key]), key
        theirs += proxy.taken()
        assert_no_more(ours, theirs, key)
    print(f"{name}: {ours} requests and bytes, python-blosc2 {theirs}")
