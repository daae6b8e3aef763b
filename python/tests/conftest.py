"""What the tests share."""

from __future__ import annotations

import numpy as np
import pytest
import s3


@pytest.fixture
def rng(request) -> np.random.Generator:
    return np.random.default_rng(sum(request.node.nodeid.encode()))


@pytest.fixture(scope="session")
def server():
    """The URL of an S3 server."""
    pytest.importorskip("moto.server")
    with s3.running() as url:
        yield url
