"""Spark tasks fill one array, each chunk on its own, and the driver commits it.

pip install pyspark      (and Java 17; PYSPARK_PYTHON names the Python of the workers)
python spark_array.py s3://bucket/array/      (or a directory that all executors see)
"""

import sys
import tempfile

import numpy as np
import oxiblosc
from pyspark.sql import SparkSession


def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp() + "/array"
    spark = SparkSession.builder.master("local[2]").appName("oxiblosc").getOrCreate()
    shared = oxiblosc.SharedArray(url, "f8", (2000, 1000), chunks=(500, 500), codec="lz4", nthreads=1)

    def fill(indices) -> None:
        # The array is pickled once for each task, and opened there. Spark may run a task again.
        for index in indices:
            rows, columns = shared.window(index)
            block = np.arange(rows.start, rows.stop)[:, None] * 1.0 + np.arange(columns.start, columns.stop)
            shared.write(index, block)

    indices = [tuple(map(int, index)) for index in np.ndindex(*shared.grid)]
    spark.sparkContext.parallelize(indices, 4).foreachPartition(fill)
    shared.commit()
    array = oxiblosc.open(url)
    assert array[1234, 567] == 1234 + 567
    print(array)


if __name__ == "__main__":
    main()
