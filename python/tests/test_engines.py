"""Ray and Spark, by the examples: workers fill an array in a directory, and one in an S3 server.

Both packages are large and not among the requirements of these tests. `pip install ray pyspark`, and a Java 17 for
Spark, have them run.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import blosc2
import numpy as np
import oxiblosc
import pytest
import s3

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


def needs(engine: str) -> None:
    """Skips the test where the engine cannot run."""
    module = {"ray": "ray", "spark": "pyspark"}[engine]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    if engine == "spark" and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none")


def fill(engine: str, url: str, directory: pathlib.Path, more: dict[str, str]) -> None:
    """Runs the example. Spark starts its workers in the working directory, and with the Python that it is told."""
    environment = {**os.environ, **more, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    program = [sys.executable, str(EXAMPLES / f"{engine}_array.py"), url]
    done = subprocess.run(program, cwd=directory, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "shape=(2000, 1000)" in done.stdout


def expected() -> np.ndarray:
    return np.arange(2000.0)[:, None] + np.arange(1000.0)


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_workers_fill_a_directory(engine, tmp_path):
    needs(engine)
    path = str(tmp_path / "array.b2nd")
    fill(engine, path, tmp_path, {})
    assert np.array_equal(oxiblosc.open(path)[...], expected())
    assert np.array_equal(blosc2.open(path, mode="r")[:], expected())
    # Whoever comes later is told, and the array stays as it is.
    with pytest.raises(AssertionError, match="committed already|exists"):
        fill(engine, path, tmp_path, {})
    assert np.array_equal(oxiblosc.open(path)[...], expected())


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_workers_fill_a_prefix(engine, tmp_path, server, monkeypatch):
    needs(engine)
    boto3 = pytest.importorskip("boto3")
    for name, value in s3.settings(server).items():
        monkeypatch.setenv(name, value)
    boto3.client("s3", endpoint_url=server, region_name=s3.REGION).create_bucket(Bucket=f"from-{engine}")
    url = f"s3://from-{engine}/array/"
    fill(engine, url, tmp_path, s3.settings(server))
    # In a process of its own: this one may be forked later.
    script = "import sys, numpy, oxiblosc; numpy.save(sys.argv[2], oxiblosc.open(sys.argv[1])[...])"
    subprocess.run([sys.executable, "-c", script, url, str(tmp_path / "all.npy")], check=True, cwd=tmp_path)
    assert np.array_equal(np.load(tmp_path / "all.npy"), expected())
