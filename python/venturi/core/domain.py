"""Inputs outside the domain of a model."""

from __future__ import annotations

import math

from venturi.core.errors import VenturiError


def invalid(name: str, value: object, needed: str) -> VenturiError:
    """The error for an input outside its domain."""
    return VenturiError(
        "VEN-MODEL-INPUT",
        f"{name} is {value}, but must be {needed}",
        where={"field": name, "value": value},
    )


def need_size(name: str, value: float) -> None:
    """Refuses a size or amount that is negative, infinite or no number."""
    if not (math.isfinite(value) and value >= 0):
        raise invalid(name, value, "finite and at least 0")


def need_rate(name: str, value: float) -> None:
    """Refuses a bandwidth that is not above zero; infinity means "no limit"."""
    if not value > 0:
        raise invalid(name, value, "above 0")
