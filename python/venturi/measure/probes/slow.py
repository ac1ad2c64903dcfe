"""Finds the slow ones among equals: one rule for disks and for hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

SLOW_FACTOR = 0.8
"""Below this share of the median of the others something is slow: the network of 8 of 9 instance
types fell below 80 % of its baseline at scale, and a cluster is as fast as its slowest host
(Conley, Vahdat, Porter: Achieving cost-efficient, data-intensive computing in the cloud, SoCC 2015,
4.3.3 and 5.1). The agent's `disk` has the same for the disks of one host.
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """A rate compared with the median of the others; `share` is their ratio."""

    name: str
    rate: float
    others: float
    slow: bool

    @property
    def share(self) -> float:
        """The ratio to the others' median."""
        return self.rate / self.others


def standings(rates: Mapping[str, float], factor: float = SLOW_FACTOR) -> tuple[Standing, ...]:
    """Compare each of `rates` (all above 0) with the others, slowest first; empty for fewer than
    two.
    """
    found = [
        Standing(name, rate, others, rate < factor * others)
        for name, rate in rates.items()
        if (others := median([r for n, r in rates.items() if n != name] or [0.0])) > 0
    ]
    return tuple(sorted(found, key=lambda each: each.rate))
