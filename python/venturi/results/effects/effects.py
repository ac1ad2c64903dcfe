"""Estimates the effect of a setting; all commands and pages use this computation.

It compares trials that differ in the setting and in no other recorded key (`strata`). It also lists
other differences (`confounders`) and keys on which the effect depends (`dependence`). If too few
trials match, there is no estimate. Verdict, outcome and interval of an `Effect` come from one
computation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from venturi.core.statistics.stats import ALPHA, Interval
from venturi.core.statistics.two_groups import compare_samples
from venturi.core.wording import joined
from venturi.record.query.columns import Column, combined, select_trials
from venturi.record.query.identifying_keys import note_of
from venturi.record.query.trial_columns import (
    CLUSTER_NAME,
    DISK_FOLDERS,
    HOST_NAMES,
    MACHINES,
    TrialColumns,
)
from venturi.results.compare.printed import KEY as PRINTED
from venturi.results.compare.printed import no_repeats
from venturi.results.effects import effect_words
from venturi.results.effects.adjusted import adjusted
from venturi.results.effects.confounders import Confounder, confounders, omissions
from venturi.results.effects.dependence import (
    MARGIN,
    Dependence,
    DependencePart,
    dependences,
    parts_by,
)
from venturi.results.effects.effect import (
    CrudeRatio,
    CurveValue,
    Effect,
    EffectOutcome,
    Effects,
    Key,
    KeyDependence,
    LinkedKey,
    ModelEffect,
    NextStep,
    NumericCurve,
    PartEffect,
    Reach,
    ValueCount,
)
from venturi.results.effects.effect_words import in_order
from venturi.results.effects.linked_keys import DIFFERENT_WORK, FACTORS, linked_keys
from venturi.results.effects.numeric_curve import (
    is_numeric,
    level_of,
    number_of,
    numeric_curve,
)
from venturi.results.effects.strata import (
    MatchedStrata,
    PooledRatio,
    SucceededTrials,
    for_these_only,
    match,
    over_machines,
    over_works,
    strata_of,
)

Integers = npt.NDArray[np.int64]

LEVEL = 1 - ALPHA
VALUES_MAX = 40
CONFOUNDERS_MAX = 12
POINTS_MAX = 2_000  # strata that are drawn, of one effect
MACHINES_LEAST = 3


@dataclass(frozen=True, slots=True)
class EffectQuestion:
    """The question: `baseline` is a value of the keys or None, `ignored` need not be equal.

    The answer has only the effects of `values` (None: of all; empty: of the leading one).
    """

    keys: tuple[str, ...]
    baseline: Key | None = None
    ignored: frozenset[str] = frozenset()
    level: float = LEVEL
    crude: bool = False
    values: tuple[Key, ...] | None = None


class UnknownBaselineError(LookupError):
    """The baseline is none of the values; `known` are, the most frequent first."""

    def __init__(self, known: Sequence[Key]) -> None:
        super().__init__()
        self.known = tuple(known)


@dataclass(frozen=True, slots=True)
class _CodedTrials:
    """Counted trials with a value of each key: `target` is its code, in `values`."""

    trials: SucceededTrials
    target: Integers
    values: tuple[Key, ...]
    failed: Counter[Key]
    without: int

    def counts(self) -> list[tuple[Key, int]]:
        """Each value with its number of trials."""
        counts = np.bincount(self.target, minlength=len(self.values)).tolist()
        return list(zip(self.values, counts, strict=True))


def effects_of(chosen: TrialColumns, asked: EffectQuestion) -> Effects:
    """The effects of the keys, which have the names that `chosen` uses.

    UnknownBaselineError if the baseline is not a value of these keys.
    """
    table = _table(chosen, asked.keys)
    one, why, named = _builder(table, asked)
    told: list[Effect] = []
    leads, warnings, curve, rows = None, [], None, ""
    if one is not None:
        found = one.matched()
        strata = np.bincount(found.value, minlength=len(one.counts))
        others = sorted((v for v in one.order if v != one.baseline), key=lambda v: -strata[v])
        if len(others) > VALUES_MAX:
            warnings.append(
                f"the {VALUES_MAX} of {len(others):,} values with the most matched settings"
            )
        wanted = others[:VALUES_MAX]
        if asked.values:
            wanted = [v for v in others if table.values[v] in asked.values]
        wanted.sort(key=lambda v: in_order(table.values[v]))
        judged = [one.judged(value, found.of(value)) for value in wanted]
        leads = _main(judged)
        rows = effect_words.comparable_rows(
            asked.keys, table.values[one.baseline], _same_settings(judged, one)
        )
        if leads is not None and asked.values == ():
            judged, leads = [judged[leads]], 0
        told = [one.effect(each, each.value == others[0]) for each in judged]
        if leads is not None and not told[leads].confounders:
            told[leads] = replace(told[leads], confounders=one.confounders(judged[leads].value))
        if asked.values is None:
            curve = one.curve(found)
    if identifying := chosen.identifying.keys() - {*asked.keys, *asked.ignored}:
        warnings.append(note_of(identifying))
    if table.without:
        warnings.append(f"{table.without:,} trials have no value for {joined(asked.keys)}")
    made = Effects(
        asked.keys,
        None if one is None else table.values[one.baseline],
        why,
        "",
        leads,
        tuple(told),
        tuple(
            ValueCount(key, n, table.failed[key])
            for key, n in sorted(table.counts(), key=lambda each: in_order(each[0]))
        ),
        named,
        tuple(sorted(asked.ignored)),
        asked.level,
        len(table.target),
        tuple(warnings),
        rows,
        curve=curve,
    )
    return replace(made, verdict=curve.sentence if curve else effect_words.headline(made))


def curve_of(
    chosen: TrialColumns, key: str, ignored: frozenset[str] = frozenset()
) -> NumericCurve | None:
    """The curve of a numeric key, as `effects_of` has it."""
    asked = EffectQuestion((key,), ignored=ignored)
    one, _, _ = _builder(_table(chosen, asked.keys), asked)
    return None if one is None else one.curve(one.matched())


@dataclass(frozen=True, slots=True)
class _ValueVerdict:
    """The evidence of the strata about a `value`: `found` has the strata, `at` the keys at them."""

    value: int
    n: int
    found: MatchedStrata
    at: Mapping[str, Column]
    machines: Column | None
    estimate: PooledRatio | None
    outcome: EffectOutcome
    reason: str | None
    depends: Sequence[Dependence]
    reach: Reach | None
    sure: bool

    @property
    def works(self) -> int:
        """How many kinds of work it was measured with."""
        work = self.at.get("workload")
        return 0 if work is None else len(np.unique(work.codes))


def _same_settings(judged: Sequence[_ValueVerdict], one: _EffectBuilder) -> list[list[Key]]:
    """The values with matched settings; those that were matched in the same settings together."""
    found: dict[frozenset[int], list[Key]] = {}
    for each in judged:
        if settings := frozenset(one.stratum[each.found.row].tolist()):
            found.setdefault(settings, []).append(one.table.values[each.value])
    return list(found.values())


def _main(told: Sequence[_ValueVerdict]) -> int | None:
    """The place of the value that surely saves most; else of the one with the most strata."""
    sure = [i for i, each in enumerate(told) if each.sure and each.outcome is EffectOutcome.FASTER]

    def most(place: int) -> tuple[int, float]:
        each = told[place]
        return -each.works, each.estimate.ratio if each.estimate else math.inf

    if sure:
        return min(sure, key=most)
    return max(range(len(told)), key=lambda i: (len(told[i].found.logs), told[i].n), default=None)


def _table(chosen: TrialColumns, keys: Sequence[str]) -> _CodedTrials:
    columns = [chosen.column(key) for key in keys]
    there = np.ones(len(chosen.counted), dtype=np.bool_)
    for column in columns:
        there &= np.array([value is not None for value in column.values], dtype=bool)[column.codes]
    group, first = combined(columns, len(chosen.counted))
    keys_of = [tuple(c.values[c.codes[row]] for c in columns) for row in first.tolist()]
    failed = Counter[Key]()
    for place, n in enumerate(np.bincount(group[chosen.failed], minlength=len(first)).tolist()):
        if n:
            failed[keys_of[place]] = n
    kept = np.flatnonzero(there & chosen.counted)
    every = {**chosen.columns, PRINTED: chosen.column(PRINTED)}
    trials = SucceededTrials(every, np.log(chosen.elapsed_s)).taken(kept)
    present, target = np.unique(group[kept], return_inverse=True)
    values = tuple(keys_of[place] for place in present.tolist())
    return _CodedTrials(trials, target, values, failed, int((chosen.counted & ~there).sum()))


def _builder(
    table: _CodedTrials, asked: EffectQuestion
) -> tuple[_EffectBuilder | None, str, tuple[str, ...]]:
    """The builder of the effects (None without values), why it has its baseline, and the linked
    keys to show.
    """
    counts = np.bincount(table.target, minlength=len(table.values))
    order = sorted(range(len(counts)), key=lambda v: (-counts[v], in_order(table.values[v])))
    known = {key: c for key, c in table.trials.columns.items() if key not in asked.keys}
    along = linked_keys(asked.keys, table.target, known)
    compared = {k: c for k, c in known.items() if k not in along and k not in asked.ignored}
    stratum = strata_of(list(compared.values()), len(table.target))
    baseline, why = _baseline(asked, table, stratum, order)
    named = _worth_naming(along, table, asked.keys)
    if baseline is None:
        return None, why, named
    return (
        _EffectBuilder(asked, table, compared, stratum, baseline, counts, named, order),
        why,
        named,
    )


def _baseline(
    asked: EffectQuestion, table: _CodedTrials, stratum: Integers, order: Sequence[int]
) -> tuple[int | None, str]:
    """The requested value; else the most frequent one that shares a stratum with another."""
    if not order:
        return None, "no counted trial has a value"
    if asked.baseline is not None:
        for value in order:
            if table.values[value] == asked.baseline:
                return value, "as requested"
        raise UnknownBaselineError([table.values[value] for value in order])
    size = len(table.values)
    cells = np.unique(stratum * size + table.target)
    in_stratum = np.bincount(cells // size)
    shared = np.bincount(cells % size, in_stratum[cells // size] - 1, minlength=size)
    return next((v for v in order if shared[v] > 0), order[0]), "the most frequent"


def _worth_naming(
    along: frozenset[str], table: _CodedTrials, keys: Sequence[str]
) -> tuple[str, ...]:
    """The linked keys to show: not the target's synonyms, which have its values, and not facts that
    the record states, such as the name in the cluster's file if `keys` has the plan's name of the
    cluster.
    """
    recorded = {HOST_NAMES, DISK_FOLDERS, *([CLUSTER_NAME] if "cluster" in keys else [])}
    texts = [{str(part) for part in value} for value in table.values]

    def named(key: str) -> bool:
        column = table.trials.columns[key]
        mine = dict(zip(table.target.tolist(), column.codes.tolist(), strict=True))
        return any(str(column.values[code]) not in texts[value] for value, code in mine.items())

    return tuple(sorted(key for key in along - recorded if named(key)))


@dataclass(frozen=True, slots=True)
class _EffectBuilder:
    """Makes the effect of each value against one baseline."""

    asked: EffectQuestion
    table: _CodedTrials
    compared: Mapping[str, Column]
    stratum: Integers
    baseline: int
    counts: npt.NDArray[np.intp]
    along: tuple[str, ...]
    order: Sequence[int]
    """The values, the most frequent first."""

    def matched(self) -> MatchedStrata:
        """The strata of all values that the baseline has, too."""
        return match(self.stratum, self.table.target, self.table.trials.logs, self.baseline)

    def curve(self, found: MatchedStrata) -> NumericCurve | None:
        """The values of a single numeric key in order, each with its ratio to the baseline.

        A value with which other keys change, too, has none.
        """
        numbers = [number_of(key[0]) for key in self.table.values]
        if len(self.asked.keys) > 1 or not is_numeric([key[0] for key in self.table.values]):
            return None
        level = level_of(1 - self.asked.level, len(np.unique(found.value)))
        work = {key: self.compared[key] for key in ("workload",) if key in self.compared}
        values = []
        for code, number in enumerate(numbers):
            assert number is not None
            own, n = found.of(code), int(self.counts[code])
            estimate = self._estimate(own, select_trials(work, own.row), level)
            if estimate is not None and self._together(code):
                estimate = None
            if code == self.baseline:
                values.append(CurveValue(number, n, None, 1.0, None))
            elif estimate is None:
                values.append(CurveValue(number, n, len(own.logs), None, None))
            else:
                settings = len(own.logs)
                values.append(CurveValue(number, n, settings, estimate.ratio, estimate.interval))
        reference = numbers[self.baseline]
        assert reference is not None
        return numeric_curve(self.asked.keys[0], values, reference)

    def confounders(self, value: int) -> tuple[Confounder, ...]:
        """Other differences between the trials of `value` and those of the baseline."""
        return tuple(confounders(*self._pair(value))[:CONFOUNDERS_MAX])

    def _together(self, value: int) -> tuple[LinkedKey, ...]:
        """The linked keys that differ between all trials of `value` and all of the baseline.

        Synonyms of the target, which have its values, are left out.
        """
        if set(self.asked.keys) <= FACTORS:
            return ()  # they follow from the platform that is asked about
        pair = (value, self.baseline)
        rows = [int(np.argmax(self.table.target == code)) for code in pair]
        texts = [{str(part) for part in self.table.values[code]} for code in pair]
        found = []
        for key in self.along:
            column = self.table.trials.columns[key]
            own, base = (column.values[column.codes[row]] for row in rows)
            if own != base and not (str(own) in texts[0] and str(base) in texts[1]):
                found.append(LinkedKey(key, own, base))
        return tuple(found)

    def _pair(self, value: int) -> tuple[SucceededTrials, npt.NDArray[np.bool_]]:
        """The trials of `value` and of the baseline by the keys compared, and which are which."""
        among = np.flatnonzero((self.table.target == value) | (self.table.target == self.baseline))
        every = SucceededTrials(self.compared, self.table.trials.logs)
        return every.taken(among), self.table.target[among] == value

    def judged(self, value: int, found: MatchedStrata) -> _ValueVerdict:
        """The evidence of the strata about `value`, before the search for confounders."""
        level, n_trials = self.asked.level, found.n + found.n_baseline
        at = select_trials(self.compared, found.row)
        estimate = self._estimate(found, at, level)
        outcome = EffectOutcome.CONFOUNDED
        if estimate is not None:
            narrow = self._estimate(found, at, 1 - 2 * ALPHA)
            outcome = _outcome(estimate.interval, None if narrow is None else narrow.interval)
        reason = "no two trials differ only in this" if estimate is None else estimate.reason
        depends = dependences(found.logs, n_trials, at, level) if len(found.logs) else []
        if any(each.opposite for each in depends):
            outcome = EffectOutcome.DEPENDS
        if outcome is not EffectOutcome.CANNOT_TELL and self._together(value):
            outcome = EffectOutcome.CONFOUNDED
        machines = self._machines(at) if len(found.logs) else None
        made = _ValueVerdict(
            value,
            int(self.counts[value]),
            found,
            at,
            machines,
            estimate,
            outcome,
            reason,
            depends,
            self._other_machines(found, machines, level),
            sure=False,
        )
        return replace(made, sure=self._sure(made))

    def effect(self, judged: _ValueVerdict, first: bool) -> Effect:
        """The effect of a value; a model is tried for the `first` only, as it takes long."""
        level, value, found, at = self.asked.level, judged.value, judged.found, judged.at
        estimate, machines = judged.estimate, judged.machines
        strata, n_trials = len(found.logs), found.n + found.n_baseline
        tenths = np.exp(np.quantile(found.logs, [0.1, 0.9])).tolist() if strata else [None, None]
        works = at.get("workload")
        little = strata < 2
        # The search for confounders takes longest, so it runs only for effects that are shown.
        pair, second = self._pair(value)
        model = adjusted(pair, second, level) if little and first else None
        made = Effect(
            value=self.table.values[value],
            baseline=self.table.values[self.baseline],
            outcome=judged.outcome,
            verdict="",
            ratio=None if estimate is None else estimate.ratio,
            interval=None if estimate is None else estimate.interval,
            sure=judged.sure,
            reason=judged.reason,
            strata=strata,
            n=int(found.n.sum()),
            n_baseline=int(found.n_baseline.sum()),
            n_all=int(self.counts[value]),
            n_baseline_all=int(self.counts[self.baseline]),
            failed=self.table.failed[self.table.values[value]],
            below=int((found.logs < 0).sum()),
            above=int((found.logs > 0).sum()),
            low_tenth=tenths[0],
            high_tenth=tenths[1],
            points=_points(found.logs),
            these_only=self._these_only(found),
            other_machines=judged.reach,
            machines=_parts(parts_by(found.logs, n_trials, machines, level)) if machines else (),
            works=_parts(parts_by(found.logs, n_trials, works, level)) if works else (),
            depends=tuple(map(_dependence, judged.depends)),
            confounders=self.confounders(value) if little or self.asked.crude else (),
            omissions=tuple(omissions(pair, second, DIFFERENT_WORK)) if little else (),
            adjusted=None
            if model is None
            else ModelEffect(
                model.ratio,
                model.interval,
                model.kept,
                model.trials,
            ),
            crude=_crude(pair, second) if self.asked.crude else None,
            together=self._together(value),
            next=NextStep(""),
        )
        made = replace(made, verdict=effect_words.verdict(made, self.asked.keys))
        words, where, ignore = effect_words.what_next(made, self.asked.keys)
        return replace(made, next=NextStep(words, where, ignore))

    def _estimate(
        self, found: MatchedStrata, at: Mapping[str, Column], level: float
    ) -> PooledRatio | None:
        """The ratio with its interval at `level`, or why it has none; None without strata."""
        if not len(found.logs):
            return None
        if len(found.logs) == 1:
            own, base = (np.exp(logs).tolist() for logs in self._cell(found, 0))
            verdict = compare_samples(base, own, 1 - level)
            ratio = math.exp(float(found.logs[0])) if verdict.ratio is None else verdict.ratio
            if why := self._printed(found):
                return PooledRatio(ratio, None, 1, why)
            return PooledRatio(ratio, verdict.interval, 1, verdict.reason)
        work = at["workload"].codes if "workload" in at else np.zeros(len(found.logs), np.int64)
        return over_works(found.logs, work, level)

    def _sure(self, one: _ValueVerdict) -> bool:
        """Whether the interval leaves out 1 at the level that all values share.

        With three or more machines, the interval over machines must, too: machines may differ more
        than their settings.
        """
        if one.outcome not in {EffectOutcome.FASTER, EffectOutcome.SLOWER}:
            return False
        level, reach, estimate = self.asked.level, one.reach, one.estimate
        if len(self.counts) > 2:
            level = 1 - (1 - level) / (len(self.counts) - 1)
            reach = self._other_machines(one.found, one.machines, level)
            estimate = self._estimate(one.found, one.at, level)
        spans = None if reach is None else reach.interval
        if spans is not None and spans.low <= 1 <= spans.high:
            return False
        interval = None if estimate is None else estimate.interval
        return interval is not None and not interval.low <= 1 <= interval.high

    def _cell(self, found: MatchedStrata, place: int) -> tuple[npt.NDArray[np.float64], ...]:
        """The logarithms of one stratum: of the value, and of the baseline."""
        row = found.row[place]
        here = self.stratum == self.stratum[row]
        target, logs = self.table.target, self.table.trials.logs
        return logs[here & (target == target[row])], logs[here & (target == self.baseline)]

    def _printed(self, found: MatchedStrata) -> str | None:
        """Why the values of the only stratum are no repeats of one another."""
        here = np.flatnonzero(self.stratum == self.stratum[found.row[0]])
        sides = (self.table.target[here] == code for code in (found.value[0], self.baseline))
        column = self.table.trials.columns[PRINTED]
        for side in sides:
            kinds = [column.values[code] for code in column.codes[here[side]].tolist()]
            if why := no_repeats(kinds):
                return why
        return None

    def _these_only(self, found: MatchedStrata) -> Interval | None:
        if not 1 < len(found.logs) <= 4:
            return None
        cells = [self._cell(found, place) for place in range(len(found.logs))]
        return for_these_only([(own, base) for own, base in cells], self.asked.level)

    def _machines(self, at: Mapping[str, Column]) -> Column | None:
        """Which machines each stratum is of; None where the target says so, or all have one."""
        keys = [key for key in MACHINES if key in at]
        if not set(MACHINES) & set(self.asked.keys) and keys:
            group, first = combined([at[key] for key in keys], len(at[keys[0]].codes))
            for key in (
                "cluster",
                "instance_type",
                *keys,
            ):  # the shortest distinct names
                column = at.get(key)
                if column is not None and len(set(column.codes[first].tolist())) == len(first):
                    return column
            names = [" ".join(str(at[k].values[at[k].codes[row]]) for k in keys) for row in first]
            return Column(names, group)
        return None

    def _other_machines(
        self, found: MatchedStrata, machines: Column | None, level: float
    ) -> Reach | None:
        if machines is None or not len(found.logs):
            return None
        reach = over_machines(found.logs, machines.codes, level)
        enough = reach.n >= MACHINES_LEAST
        return Reach(reach.n, reach.ratio, reach.interval if enough else None)


def _outcome(interval: Interval | None, narrow: Interval | None) -> EffectOutcome:
    """`narrow` is at 90 %: within the margin, two one-sided tests at 5 % find no difference."""
    if interval is not None and interval.high < 1:
        return EffectOutcome.FASTER
    if interval is not None and interval.low > 1:
        return EffectOutcome.SLOWER
    if narrow is not None and narrow.low >= 1 / (1 + MARGIN) and narrow.high <= 1 + MARGIN:
        return EffectOutcome.NO_DIFFERENCE
    return EffectOutcome.CANNOT_TELL


def _points(logs: npt.NDArray[np.float64]) -> tuple[float, ...]:
    ordered = np.sort(np.exp(logs))
    if len(ordered) > POINTS_MAX:
        ordered = ordered[np.linspace(0, len(ordered) - 1, POINTS_MAX).round().astype(np.int64)]
    return tuple(float(f"{ratio:.4g}") for ratio in ordered.tolist())


def _crude(pair: SucceededTrials, second: npt.NDArray[np.bool_]) -> CrudeRatio:
    own, base = (float(np.median(np.exp(pair.logs[side]))) for side in (second, ~second))
    return CrudeRatio(own / base, own, base)


def _parts(parts: Sequence[DependencePart]) -> tuple[PartEffect, ...]:
    return tuple(
        PartEffect(p.value, p.strata, p.trials, p.effect.ratio, p.effect.interval) for p in parts
    )


def _dependence(found: Dependence) -> KeyDependence:
    parts = _parts(found.parts)
    if all(order == 0 for order, _, _ in in_order([part.value for part in parts])):
        parts = tuple(sorted(parts, key=lambda part: in_order((part.value,))))
    if found.opposite:  # the two that say it come first
        both = _parts(found.opposite)
        parts = (*both, *(part for part in parts if part not in both))
    return KeyDependence(found.keys, found.share, found.p_value, found.opposite is not None, parts)
