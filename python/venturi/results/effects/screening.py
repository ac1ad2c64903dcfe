"""Screens a machine before a study: is it stable over hours, and does it match its peers?

Values are rates (higher is better), one per probe, with the time at which each began.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import NormalDist

ALPHA = 0.05
LEAST_VALUES = 3  # for a variation
LEAST_TREND = 8  # from where on the normal approximation of Mann and Kendall's test holds
# A rate below this share of the median is slow: what names a slow disk among its peers, too.
SLOW = 0.8


@dataclass(frozen=True, slots=True)
class Trend:
    """`per_hour` is the median of the slopes between all pairs, as a ratio of an hour's rates
    (Theil and Sen, on logarithms); `p_value` is Mann and Kendall's, two-sided.
    """

    per_hour: float
    p_value: float

    @property
    def is_one(self) -> bool:
        """Whether there is a trend at all."""
        return self.p_value <= ALPHA


@dataclass(frozen=True, slots=True)
class Screening:
    """Statistics of one rate over `n` probes, which took `lasted_s` seconds.

    `variation` is the standard deviation divided by the mean. `slow_hours` are the hours of the day
    (UTC) with a median below 0.8 of the median of all, with that ratio. `against_peers` is this
    median divided by the median of `peers` other machines of the same type. None means unknown.
    """

    n: int
    lasted_s: float
    median: float
    least: float
    most: float
    variation: float | None
    trend: Trend | None
    slow_hours: Mapping[int, float]
    peers: int
    against_peers: float | None


def screen(
    values: Sequence[tuple[datetime, float]], peers: Sequence[float] = ()
) -> Screening | None:
    """Screen `values` against the medians of `peers`; None without a value above 0."""
    known = sorted((moment, value) for moment, value in values if value > 0)
    if not known:
        return None
    rates = [value for _, value in known]
    median = statistics.median(rates)
    hours: dict[int, list[float]] = {}
    for moment, value in known:
        hours.setdefault(moment.hour, []).append(value)
    shares = {hour: statistics.median(found) / median for hour, found in sorted(hours.items())}
    return Screening(
        n=len(known),
        lasted_s=(known[-1][0] - known[0][0]).total_seconds(),
        median=median,
        least=min(rates),
        most=max(rates),
        variation=statistics.stdev(rates) / statistics.fmean(rates)
        if len(rates) >= LEAST_VALUES
        else None,
        trend=_trend(known),
        slow_hours={
            hour: share for hour, share in shares.items() if len(hours) > 1 and share < SLOW
        },
        peers=len(peers),
        against_peers=median / statistics.median(peers) if peers else None,
    )


def _trend(known: Sequence[tuple[datetime, float]]) -> Trend | None:
    """Theil and Sen's slope with Mann and Kendall's test (Kendall 1975, with ties)."""
    if len(known) < LEAST_TREND:
        return None
    slopes, score = [], 0
    for place, (earlier, before) in enumerate(known):
        for later, after in known[place + 1 :]:
            hours = (later - earlier).total_seconds() / 3600
            score += (after > before) - (after < before)
            if hours > 0:
                slopes.append(math.log(after / before) / hours)
    if not slopes:
        return None
    n = len(known)
    ties = [sum(1 for _, each in known if each == value) for value in {value for _, value in known}]
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    z = 0.0 if variance <= 0 else max(0, abs(score) - 1) / math.sqrt(variance)
    return Trend(math.exp(statistics.median(slopes)), 2 * (1 - NormalDist().cdf(z)))


def in_words(found: Screening) -> tuple[str, ...]:
    """The findings in words, the most important first."""
    lines = []
    if found.against_peers is not None:
        place = (
            f"{1 - found.against_peers:.0%} below"
            if found.against_peers < 1
            else f"{found.against_peers - 1:.0%} above"
        )
        whose = "1 other host" if found.peers == 1 else f"{found.peers} other hosts"
        slow = "slow: " if found.against_peers < SLOW else ""
        lines.append(f"{slow}{place} the median of {whose} of the same type in this repository")
    if found.variation is None:
        lines.append(f"cannot tell how it varies: {found.n} of at least {LEAST_VALUES} probes")
    else:
        reach = found.most / found.least
        lines.append(
            f"varies by {found.variation:.1%} (standard deviation by mean); the fastest probe is "
            f"{reach:.2f} times the slowest"
        )
    if found.trend is not None and found.trend.is_one:
        change = found.trend.per_hour - 1
        word = "rises" if change > 0 else "falls"
        lines.append(f"{word} by {abs(change):.1%} an hour (p = {found.trend.p_value:.2g})")
    lines += [
        f"slow from {hour:02d}:00 to {(hour + 1) % 24:02d}:00 UTC: {share:.0%} of the median"
        for hour, share in found.slow_hours.items()
    ]
    return tuple(lines)
