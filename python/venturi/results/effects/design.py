"""Power of planned repeats: the smallest detectable difference, and the repeats needed.

By the test of two groups (Brunner-Munzel, `statistics.two_groups`), two-sided at 5 % and with 80 %
power. docs/method/designs.md gives the source of the factors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

POWER = 0.8
ALPHA = 0.05
ASKED_RATIO = 1.05  # the difference to detect, by default
MOST_REPEATS = 10_000

# The smallest ratio of two groups of n that is found with 80 % power is exp(k sd), sd that of the
# logarithms of times: simulated with normal ones, 1,500 to 4,000 draws a cell. Fewer than 4 have
# none: 2 / C(2n, n) is above 0.05.
_FACTORS = (
    (4, 2.87),
    (5, 2.23),
    (6, 1.94),
    (8, 1.57),
    (10, 1.34),
    (15, 1.09),
    (20, 0.92),
    (30, 0.75),
    (50, 0.58),
)


@dataclass(frozen=True, slots=True)
class RepeatSpread:
    """Standard deviation of the logarithms of times within repeat groups, and its source."""

    sd: float
    trials: int
    groups: int


# Of ALOJA's repeat groups: half spread by less, a tenth by 23 % or more.
TYPICAL_SD, TYPICAL_HIGH_SD = 0.045, 0.233


def spread_of(groups: Iterable[Sequence[float]]) -> RepeatSpread | None:
    """The spread within groups of repeats, pooled by degrees of freedom; None without a group of
    two.

    Times are in seconds, above 0.
    """
    squares = freedom = 0.0
    trials = count = 0
    for times in groups:
        logs = [math.log(value) for value in times if value > 0]
        if len(logs) < 2:
            continue
        mean = math.fsum(logs) / len(logs)
        squares += math.fsum((value - mean) ** 2 for value in logs)
        freedom += len(logs) - 1
        trials, count = trials + len(logs), count + 1
    return RepeatSpread(math.sqrt(squares / freedom), trials, count) if freedom else None


def factor(n: int) -> float | None:
    """k(n): the least ratio found by two groups of `n` is exp(k sd); None: none can be.

    Between the simulated sizes straight in the logarithms of both; beyond 50 as 1/sqrt(n).
    """
    if n < _FACTORS[0][0]:
        return None
    last, least = _FACTORS[-1]
    if n >= last:
        return least * math.sqrt(last / n)
    for (low, k_low), (high, k_high) in pairwise(_FACTORS):
        if low <= n <= high:
            share = math.log(n / low) / math.log(high / low)
            return math.exp(math.log(k_low) * (1 - share) + math.log(k_high) * share)
    raise AssertionError(n)


def least_ratio(n: int, sd: float) -> float | None:
    """The least ratio of two groups of `n` found with 80 % power; None: they can never decide."""
    k = factor(n)
    return None if k is None else math.exp(k * sd)


def repeats_for(ratio: float, sd: float) -> int | None:
    """The least repeats in each of two groups that find `ratio` (above 1) with 80 % power.

    None: more than 10,000.
    """
    fits = range(_FACTORS[0][0], MOST_REPEATS + 1)
    return next((n for n in fits if (found := least_ratio(n, sd)) and found <= ratio), None)


def repeats_to_rank(groups: int, alpha: float = ALPHA) -> int:
    """The fewest repeats per group with which a ranking can distinguish the worst of `groups` from
    the best.

    Ranking tests each at one-sided alpha / (groups - 1); the smallest p of two groups of n without
    overlap is 1 / C(2n, n).
    """
    n = 1
    while 1 / math.comb(2 * n, n) > alpha / max(groups - 1, 1):
        n += 1
    return max(n, _FACTORS[0][0])


@dataclass(frozen=True, slots=True)
class Design:
    """The power of `groups` with `n` counted repeats each. `spread` None: none is recorded yet."""

    n: int
    groups: int
    spread: RepeatSpread | None

    @property
    def sd(self) -> float:
        """Standard deviation of the logarithms of times: the recorded one, else a usual one."""
        return TYPICAL_SD if self.spread is None else self.spread.sd

    @property
    def least_ratio(self) -> float | None:
        """The smallest detectable ratio; None if the repeats can never decide."""
        return least_ratio(self.n, self.sd)

    @property
    def to_rank(self) -> int:
        """Fewer repeats than this can't rank the groups, however different they are."""
        return repeats_to_rank(self.groups)

    @property
    def sentence(self) -> str:
        """In words, with the source of the spread."""
        each = "1 counted repetition" if self.n == 1 else f"{self.n} counted repetitions"
        parts = []
        if self.least_ratio is None:
            least = 2 / math.comb(2 * self.n, self.n)
            parts.append(
                f"{each} per group can't decide: even without overlap two groups reach p = "
                f"{min(1.0, least):.2g} instead of {ALPHA:g}; use {_FACTORS[0][0]} or more"
            )
        else:
            parts.append(
                f"{each} per group find a difference of {_percent(self.least_ratio)} or more "
                f"in {POWER:.0%} of cases"
            )
        needed = repeats_for(ASKED_RATIO, self.sd)
        asked = _percent(ASKED_RATIO)
        if needed is None:
            parts.append(f"{asked} takes more than {MOST_REPEATS:,}")
        elif needed > self.n:
            parts.append(f"{asked} takes {needed}")
        if self.groups > 2 and self.n < self.to_rank:
            parts.append(f"ranking {self.groups:,} groups takes {self.to_rank} each")
        return f"{'; '.join(parts)} ({self._source})"

    @property
    def _source(self) -> str:
        if self.spread is None:
            return (
                "no repeats recorded so far; assumed is a typical spread of "
                f"{TYPICAL_SD:.1%}; a tenth of ALOJA's groups spread by "
                f"{TYPICAL_HIGH_SD:.0%} or more"
            )
        groups = "1 group" if self.spread.groups == 1 else f"{self.spread.groups:,} groups"
        return f"spread {self.spread.sd:.1%}, of {self.spread.trials:,} earlier trials in {groups}"


def _percent(ratio: float) -> str:
    share = ratio - 1
    return f"{100 * share:.2g}%" if share < 0.1 else f"{share:.0%}"
