"""Predicted and measured time in words: the same on the terminal and in reports."""

from __future__ import annotations

from venturi.core.units import format_duration


def predicted_and_taken(
    predicted_s: float, low_s: float | None, high_s: float | None, measured_s: float | None
) -> str:
    """Such as `predicted 3.0 s (2.8 s to 3.3 s), took 3.1 s: 3 % longer`."""
    told = f"predicted {format_duration(predicted_s)}"
    if low_s is not None and high_s is not None:
        told += f" ({format_duration(low_s)} to {format_duration(high_s)})"
    if measured_s is None:
        return f"{told}, nothing measured"
    return f"{told}, took {format_duration(measured_s)}: {_difference(measured_s / predicted_s)}"


def _difference(ratio: float) -> str:
    share = abs(ratio - 1)
    if share < 0.005:
        return "just as predicted"
    return f"{share:.0%} {'longer' if ratio > 1 else 'shorter'}"
