"""Whether new code is slower than a baseline, for many benchmarks together.

A benchmark is a repeat group: trials with equal settings, whatever their labels. Each benchmark
compares the candidate's trials with the baseline's. The benchmarks share the chance of a false
alarm: at each step, each has an equal part of it (Holm 1979), so the chance of any false "slower"
in all of them stays below `ALPHA`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, variance

from venturi.core.errors import UsageError
from venturi.core.statistics.stats import ALPHA
from venturi.core.statistics.two_groups import compare_samples, least_p
from venturi.record.trial import Trial
from venturi.results.compare.names import name_groups, settings_of
from venturi.results.compare.regression import Slowdown, outcome_within
from venturi.results.compare.repeat_groups import GroupValues, is_rate, read_group

POWER = 0.8
"""Chance of finding the detectable slowdown, and of a decision after the stated repeats."""
REPEATS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """The candidate against the baseline in one benchmark, as factors of the baseline's time.

    `factor` with its interval `low` to `high` at the confidence `level` is None where a side has no
    value; `reason` says why nothing was decided. `detectable` is the smallest true factor that
    these trials would find to be slower with a chance of `POWER`. `repeats` is the number of trials
    of each side that would decide with that chance, if `factor` is true; None if more than
    `REPEATS_MAX`, or if it's decided.
    """

    name: str
    group_key: str
    outcome: Slowdown
    baseline_trials: int
    candidate_trials: int
    factor: float | None
    low: float | None
    high: float | None
    level: float
    reason: str | None
    detectable: float | None
    repeats: int | None

    @property
    def changed(self) -> str:
        """The change of the time with its interval, as far as known."""
        if self.factor is None:
            return "unknown"
        if self.low is None or self.high is None:
            return change(self.factor)
        level = f"{100 * self.level:.3g}% CI"
        return f"{change(self.factor)} ({level} {change(self.low)} to {change(self.high)})"

    @property
    def sentence(self) -> str:
        """The outcome with its change, or why nothing was decided."""
        if self.factor is None:
            return f"{self.outcome}: {self.reason}"
        return f"{self.outcome}: {self.changed}" + (f"; {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True)
class Gate:
    """All benchmarks of the baseline against the candidate's, with the allowed factor `limit`.

    `new` counts the candidate's benchmarks that the baseline lacks: nothing is known about them.
    """

    metric: str
    limit: float
    benchmarks: tuple[BenchmarkResult, ...]
    new: tuple[str, ...]

    def count(self, outcome: Slowdown) -> int:
        """How many benchmarks have this outcome."""
        return sum(each.outcome is outcome for each in self.benchmarks)

    @property
    def outcome(self) -> Slowdown:
        """The worst outcome of all benchmarks."""
        return max((each.outcome for each in self.benchmarks), key=_SEVERITY.index)

    @property
    def sentence(self) -> str:
        """The result in one line."""
        by = f"by more than {change(self.limit)[1:]}"
        if len(self.benchmarks) == 1:
            (only,) = self.benchmarks
            return f"{only.name}: {only.sentence}"
        of_all = f"of {len(self.benchmarks)} benchmarks"
        slower = [each for each in self.benchmarks if each.outcome is Slowdown.SLOWER]
        if slower:
            worst = max(slower, key=lambda each: each.factor or 0.0)
            return f"{len(slower)} {of_all} slower {by}, most {worst.name}: {worst.changed}"
        if missing := self.count(Slowdown.NO_RESULT):
            return f"{missing} {of_all} without a result"
        if unsure := self.count(Slowdown.CANNOT_TELL):
            return f"Can't tell for {unsure} {of_all} whether they are slower {by}"
        return f"None {of_all} is slower {by}"


_SEVERITY = (Slowdown.NOT_SLOWER, Slowdown.CANNOT_TELL, Slowdown.NO_RESULT, Slowdown.SLOWER)


def gate(
    baseline: Sequence[Trial],
    candidate: Sequence[Trial],
    limit: float,
    metric: str = "elapsed_s",
    *,
    last: int | None = None,
) -> Gate:
    """Compare `candidate` with `baseline`, benchmark by benchmark; both newest first.

    `limit` is the allowed factor, such as 1.05. With `last`, only the latest `last` counted trials
    of each benchmark's baseline are used. VEN-COMPARE-GROUPS for a metric that is neither a time
    nor a rate, and without any benchmark.
    """
    before, after = _by_group(baseline), _by_group(candidate)
    if not before:
        raise UsageError(
            "VEN-COMPARE-GROUPS",
            "no trial meets the conditions of the baseline",
            hint="`venturi ls --where ...` lists trials; `venturi keys label.commit` lists values",
        )
    keys = sorted(before, key=lambda key: _sort_key(before[key][0]))
    new = [key for key in after if key not in before]
    firsts = [*(before[key][0] for key in keys), *(after[key][0] for key in new)]
    shown = name_groups([settings_of(trial) for trial in firsts])
    names = dict(zip((*keys, *new), shown.names, strict=True))
    if len(keys) == 1:
        names[keys[0]] = before[keys[0]][0].workload.name
    read = {
        key: (_latest(before[key], metric, last), read_group(after.get(key, ()), metric))
        for key in keys
    }
    _require_speed(metric, read.values())
    level_of = _holm({key: (_times(a), _times(b)) for key, (a, b) in read.items()}, limit)
    return Gate(
        metric,
        limit,
        tuple(_result(key, names[key], read[key], limit, level_of[key]) for key in keys),
        tuple(names[key] for key in new),
    )


def change(factor: float) -> str:
    """`factor` as a signed change: 1.052 is +5.2%."""
    return f"{100 * (factor - 1):+.3g}%"


def _by_group(trials: Iterable[Trial]) -> dict[str, list[Trial]]:
    groups: dict[str, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.group_key, []).append(trial)
    return groups


def _sort_key(trial: Trial) -> tuple[str, ...]:
    return (trial.workload.name, trial.workload.scale or "", trial.engine.name, trial.group_key)


def _latest(trials: Sequence[Trial], metric: str, last: int | None) -> GroupValues:
    found = read_group(trials, metric)
    if last is None or len(found.values) <= last:
        return found
    return GroupValues(found.values[:last], found.unit, found.left_out)


def _require_speed(metric: str, read: Iterable[tuple[GroupValues, GroupValues]]) -> None:
    units = {each.unit for pair in read for each in pair if each.unit is not None}
    if wrong := sorted(unit for unit in units if unit != "s" and not is_rate(unit)):
        raise UsageError(
            "VEN-COMPARE-GROUPS",
            f"{metric} in {wrong[0]} is neither a time nor a rate, so it can't show a slowdown",
            where={"metric": metric},
            hint="choose a metric in s or in a unit per second",
        )


def _times(group: GroupValues) -> list[float]:
    """The values as times: the inverse of a rate."""
    rate = group.unit is not None and is_rate(group.unit)
    return [1 / value for value in group.values if value > 0] if rate else group.values


def _holm(times: Mapping[str, tuple[list[float], list[float]]], limit: float) -> dict[str, float]:
    """The two-sided level of each benchmark's interval: one-sided, they share `ALPHA` by Holm.

    A benchmark that is slower leaves its part to the others.
    """
    left, level_of = dict(times), dict.fromkeys(times, 2 * ALPHA)
    while left:
        alpha = min(2 * ALPHA / len(left), 1 - 1e-9)
        level_of |= dict.fromkeys(left, alpha)
        slower = [
            key
            for key, (a, b) in left.items()
            if (ends := compare_samples(a, b, alpha).interval) is not None and ends.low > limit
        ]
        if not slower:
            break
        left = {key: pair for key, pair in left.items() if key not in slower}
    return level_of


def _result(
    key: str, name: str, pair: tuple[GroupValues, GroupValues], limit: float, alpha: float
) -> BenchmarkResult:
    before, after = pair
    a, b = _times(before), _times(after)
    verdict = compare_samples(a, b, alpha)
    ends = None if verdict.interval is None else (verdict.interval.low, verdict.interval.high)
    outcome = outcome_within(ends, limit)
    # An interval says more than the reason that a test gives with it.
    reason = verdict.reason if ends is None else None
    failed = {why: n for why, n in after.left_out.items() if why != "warm-up"}
    if not b or not a:
        side, lost = ("candidate", after.left_out) if a else ("baseline", before.left_out)
        outcome = Slowdown.NO_RESULT
        counts = ", ".join(f"{n} {why}" for why, n in sorted(lost.items())) or "none was run"
        reason = f"the {side} has no counted trial: {counts}"
    elif failed and outcome is Slowdown.NOT_SLOWER:
        # The slowest trials may be the ones that failed.
        outcome = Slowdown.CANNOT_TELL
        reason = f"{', '.join(f'{n} {why}' for why, n in sorted(failed.items()))} do not count"
    spread = _spread(a, b)
    undecided = outcome is Slowdown.CANNOT_TELL and verdict.ratio is not None
    low, high = ends or (None, None)
    return BenchmarkResult(
        name,
        key,
        outcome,
        len(a),
        len(b),
        verdict.ratio,
        low,
        high,
        1 - alpha,
        reason,
        None if spread is None else limit * math.exp(_reach(alpha, spread, len(a), len(b))),
        _repeats(verdict.ratio, limit, spread, alpha) if undecided else None,
    )


def _spread(a: Sequence[float], b: Sequence[float]) -> float | None:
    """The pooled standard deviation of the logarithms; None for groups of less than two values."""
    if min(len(a), len(b)) < 2:
        return None
    logs = [[math.log(value) for value in group] for group in (a, b)]
    weighted = sum((len(each) - 1) * variance(each) for each in logs)
    return math.sqrt(weighted / (len(a) + len(b) - 2))


def _reach(alpha: float, spread: float, n: int, m: int) -> float:
    """The logarithm of the factor that is found with a chance of `POWER`, by the normal law."""
    z = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(POWER)
    return z * spread * math.sqrt(1 / n + 1 / m)


def _repeats(ratio: float | None, limit: float, spread: float | None, alpha: float) -> int | None:
    """The trials of each side that decide between `ratio` and `limit`; None beyond the most."""
    if ratio is None or spread is None:
        return None
    away = abs(math.log(ratio / limit))
    for n in range(2, REPEATS_MAX + 1):
        if least_p(n, n) <= alpha and _reach(alpha, spread, n, n) <= away:
            return n
    return None
