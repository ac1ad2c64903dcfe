"""Values of samples for people, by their units."""

from __future__ import annotations

import pytest

from venturi.terminal.measurements import figure


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.118, "1", "0.118"),
        (12_000, "1", "12,000"),
        (0.5, "ratio", "0.5"),
        (0.118, "fraction", "11.8%"),
        (94.0, "%", "94%"),
        (1_500, "1/s", "1,500/s"),
        (7, "tasks", "7 tasks"),
    ],
)
def test_ratios_and_counts_have_no_unit_1(value: float, unit: str, text: str) -> None:
    assert figure(value, unit) == text
