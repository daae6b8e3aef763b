"""What the tests share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def rng(request) -> np.random.Generator:
    return np.random.default_rng(sum(request.node.nodeid.encode()))
