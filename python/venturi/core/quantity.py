"""A figure with its range and its origin, used by the models and shown by `--explain`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from venturi.core.domain import invalid


class ValueKind(StrEnum):
    """How a value is known, from weakest to strongest."""

    ASSUMED = "assumed"
    ADVERTISED = "advertised"
    DERIVED = "derived"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in SI base units (bytes, bytes per second, ...) within [low, high].

    `range_from` is the origin of the range. `upper_bound`: the value is an advertised limit, such
    as a line rate; the real value can only be lower.
    """

    value: float
    low: float
    high: float
    kind: ValueKind
    source: str
    as_of: date | None = None
    note: str = ""
    range_from: str = ""
    upper_bound: bool = False

    def __post_init__(self) -> None:
        if not (0 < self.low <= self.value <= self.high and not math.isnan(self.high)):
            raise invalid("value", self.value, f"from {self.low} to {self.high} and above 0")

    def times(self, factor: float, note: str) -> Quantity:
        """The same figure scaled by `factor`: derived, unless it was only assumed."""
        return Quantity(
            self.value * factor,
            self.low * factor,
            self.high * factor,
            min(self.kind, ValueKind.DERIVED, key=list(ValueKind).index),
            self.source,
            self.as_of,
            note,
            self.range_from,
            self.upper_bound,
        )


UNLIMITED = Quantity(
    math.inf, math.inf, math.inf, ValueKind.ASSUMED, "as requested", note="taken to be no limit"
)
