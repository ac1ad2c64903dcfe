"""Public data sets, read where they are: no copy of them is kept here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

VARIABLE = "VENTURI_TEST_DATASETS"


def dataset(name: str) -> Path:
    """A public file in VENTURI_TEST_DATASETS, or in ../shared/datasets beside the checkout; the
    test is skipped where it is absent."""
    beside = Path(__file__).parents[3] / "shared" / "datasets"
    path = Path(os.environ.get(VARIABLE) or beside) / name
    if not path.is_file():
        pytest.skip(f"no {path}: set {VARIABLE} to a folder that has it")
    return path
