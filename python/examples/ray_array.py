"""Ray workers fill one array, each chunk on its own, and one commit makes it visible.

pip install "ray[default]"
python ray_array.py s3://bucket/array/      (or a directory that all workers see)
"""

import sys
import tempfile

import numpy as np
import oxiblosc
import ray


@ray.remote
def fill(shared: oxiblosc.SharedArray, index: tuple[int, int]) -> None:
    """A task may run twice: the last write of a chunk counts, and both are the same."""
    rows, columns = shared.window(index)
    block = np.arange(rows.start, rows.stop)[:, None] * 1.0 + np.arange(columns.start, columns.stop)
    shared.write(index, block)


def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp() + "/array"
    ray.init(num_cpus=2)
    shared = oxiblosc.SharedArray(url, "f8", (2000, 1000), chunks=(500, 500), codec="lz4", nthreads=1)
    ray.get([fill.remote(shared, index) for index in np.ndindex(*shared.grid)])
    shared.commit()
    array = oxiblosc.open(url)
    assert array[1234, 567] == 1234 + 567
    print(array)


if __name__ == "__main__":
    main()
