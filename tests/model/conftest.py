"""The models read trials that succeeded."""

from __future__ import annotations

import pytest
from model_trials import MakeTrial, succeeded


@pytest.fixture
def make_trial() -> MakeTrial:
    """Makes succeeded trials; keyword arguments replace fields of the record."""
    return succeeded
