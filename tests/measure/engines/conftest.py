"""A mark of the processes of Hadoop and Spark clusters."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from engine_runs import MARK, wait_until_gone


@pytest.fixture(scope="module")
def cluster_mark() -> Iterator[str]:
    """A text in the environment of the clusters' processes; none may be left."""
    text = f"spark-clusters-{os.getpid()}"
    os.environ[MARK] = text
    yield text
    del os.environ[MARK]
    wait_until_gone(text)
