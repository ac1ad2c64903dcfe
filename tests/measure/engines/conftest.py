"""What clusters of real daemons of Hadoop and Spark are known by."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from engine_runs import MARK, wait_until_gone


@pytest.fixture(scope="module")
def cluster_mark() -> Iterator[str]:
    """What the clusters' processes have in their environment."""
    text = f"spark-clusters-{os.getpid()}"
    os.environ[MARK] = text
    yield text
    del os.environ[MARK]
    wait_until_gone(text)
