"""Whether new code is slower than a baseline, for many benchmarks together.

A benchmark is a repeat group: trials with equal settings, whatever their labels. Each benchmark
compares the candidate's trials with the baseline's. The benchmarks share the chance of a false
alarm: at each step, each has an equal part of it (Holm 1979), so the chance of any false "slower"
in all of them stays below `ALPHA`.

Against the history, a benchmark is slower if the series of the baseline's trials and the new ones
has a change of its level that the baseline alone doesn't have.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, variance

from venturi.core.errors import UsageError
from venturi.core.statistics.stats import ALPHA
from venturi.core.statistics.two_groups import Verdict, compare_samples, least_p, surely_within
from venturi.record.repeat_group import identifying_settings, without_settings
from venturi.record.trial import Trial
from venturi.results.compare.history import (
    HISTORY_MOST,
    current_levels,
    new_changes,
    why_unchanged,
)
from venturi.results.compare.names import name_groups, settings_of
from venturi.results.compare.regression import (
    Slowdown,
    change,
    not_counted,
    outcome_within,
    require_speed,
)
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
    Against the history, `since` names the first trial after the change, and the trials are those
    before and after it.
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
    since: str | None = None

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
    Trials of a benchmark may differ in the settings `identifying`, which are unique per trial.
    """

    metric: str
    limit: float
    benchmarks: tuple[BenchmarkResult, ...]
    new: tuple[str, ...]
    identifying: tuple[str, ...] = ()

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
    history: bool = False,
    ignored: Collection[str] = (),
    keep: Collection[str] = (),
) -> Gate:
    """Compare `candidate` with `baseline`, benchmark by benchmark; both newest first.

    `limit` is the allowed factor, such as 1.05. With `last`, only the latest `last` counted trials
    of each benchmark's baseline are used. Trials of a benchmark may differ in settings that are
    `ignored`, or unique per trial and not in `keep`. With `history`, the outcome is by the change
    of level in the series of all trials since the baseline's last change.

    VEN-COMPARE-GROUPS for a metric that is neither a time nor a rate, and without any benchmark.
    """
    identifying = identifying_settings([*baseline, *candidate]) - {*keep, *ignored}
    ignored = {*ignored, *identifying}
    recorded = {
        without_settings(trial, ignored).group_key: trial.group_key for trial in baseline[::-1]
    }
    before, after = (
        _by_group(without_settings(trial, ignored) for trial in side)
        for side in (baseline, candidate)
    )
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
    if history:
        last = min(last or HISTORY_MOST, HISTORY_MOST)
    read = {
        key: (_latest(before[key], metric, last), read_group(after.get(key, ()), metric))
        for key in keys
    }
    for unit in {each.unit for pair in read.values() for each in pair}:
        if unit is not None:
            require_speed(metric, unit)
    if history:
        starts = current_levels({key: _times(old)[::-1] for key, (old, _) in read.items()})
        read = {key: (_level(old, starts[key]), new) for key, (old, new) in read.items()}
    verdicts = _holm({key: (_times(a), _times(b)) for key, (a, b) in read.items()}, limit)
    results = [_result(key, names[key], read[key], limit, verdicts[key]) for key in keys]
    if history:
        results = _by_history(results, read, (before, after), limit, metric)
    return Gate(
        metric,
        limit,
        tuple(replace(each, group_key=recorded[each.group_key]) for each in results),
        tuple(names[key] for key in new),
        tuple(sorted(identifying)),
    )


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


def _level(group: GroupValues, start: int) -> GroupValues:
    """The values from place `start` on, counted from the oldest; the newest come first."""
    return GroupValues(group.values[: len(group.values) - start], group.unit, group.left_out)


def _by_history(
    results: Sequence[BenchmarkResult],
    read: Mapping[str, tuple[GroupValues, GroupValues]],
    sides: tuple[Mapping[str, Sequence[Trial]], Mapping[str, Sequence[Trial]]],
    limit: float,
    metric: str,
) -> list[BenchmarkResult]:
    """`results` with the outcomes by the changes of level in the histories."""
    series = {
        key: (_times(new) + _times(old))[::-1] for key, (old, new) in read.items() if new.values
    }
    changes = new_changes(series)
    judged = []
    for each in results:
        change_ = changes.get(each.group_key)
        if each.outcome is Slowdown.NO_RESULT:
            judged.append(each)
        elif change_ is None:
            # Only a change of the level is an alarm; equal trials are still equal.
            count = len(series[each.group_key])
            passed = each.outcome is Slowdown.NOT_SLOWER
            outcome = Slowdown.NOT_SLOWER if passed else Slowdown.CANNOT_TELL
            why = each.reason if passed else why_unchanged(count)
            judged.append(replace(each, outcome=outcome, reason=why, detectable=None, repeats=None))
        else:
            before, after = (side.get(each.group_key, ()) for side in sides)
            counted = [trial for trial in (*after, *before) if read_group([trial], metric).values]
            newer = len(series[each.group_key]) - change_.index
            ends = change_.interval.low, change_.interval.high
            since = _since(counted[newer - 1])
            judged.append(
                replace(
                    each,
                    outcome=outcome_within(ends, limit),
                    baseline_trials=change_.index,
                    candidate_trials=newer,
                    factor=change_.ratio,
                    low=ends[0],
                    high=ends[1],
                    level=change_.interval.level,
                    reason=f"since {since}",
                    detectable=None,
                    repeats=None,
                    since=since,
                )
            )
    return judged


def _since(trial: Trial) -> str:
    """The commit of a trial, else its date, else its ID."""
    if commit := trial.labels.get("commit"):
        return f"commit {commit[:12]}"
    at = trial.started_at
    return trial.id if at is None else f"{at.day} {at:%b %Y}"


def _times(group: GroupValues) -> list[float]:
    """The values as times: the inverse of a rate."""
    rate = group.unit is not None and is_rate(group.unit)
    return [1 / value for value in group.values if value > 0] if rate else group.values


def _holm(times: Mapping[str, tuple[list[float], list[float]]], limit: float) -> dict[str, Verdict]:
    """The verdict on each benchmark, at a level by which, one-sided, they share `ALPHA` by Holm.

    A benchmark that is slower leaves its part to the others.
    """
    left, verdicts = dict(times), dict[str, Verdict]()
    while left:
        alpha = min(2 * ALPHA / len(left), 1 - 1e-9)
        verdicts |= {
            key: compare_samples(a, b, surely_within(alpha, len(a), len(b)))
            for key, (a, b) in left.items()
        }
        rest = {
            key: pair
            for key, pair in left.items()
            if (ends := verdicts[key].interval) is None or ends.low <= limit
        }
        if len(rest) == len(left):
            break
        left = rest
    return verdicts


def _result(
    key: str, name: str, pair: tuple[GroupValues, GroupValues], limit: float, verdict: Verdict
) -> BenchmarkResult:
    before, after = pair
    a, b = _times(before), _times(after)
    alpha = verdict.alpha
    ends = None if verdict.interval is None else (verdict.interval.low, verdict.interval.high)
    outcome = outcome_within(ends, limit)
    # An interval says more than the reason that a test gives with it.
    reason = verdict.reason if ends is None else None
    failed = {why: n for why, n in sorted(after.left_out.items()) if why != "warm-up"}
    if not b or not a:
        side, lost = ("candidate", after.left_out) if a else ("baseline", before.left_out)
        outcome = Slowdown.NO_RESULT
        counts = ", ".join(f"{n} {why}" for why, n in sorted(lost.items())) or "none was run"
        reason = f"the {side} has no counted trial: {counts}"
    elif failed and outcome is Slowdown.NOT_SLOWER:
        # The slowest trials may be the ones that failed.
        outcome = Slowdown.CANNOT_TELL
        reason = not_counted(failed)
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
