"""Compares repeat groups of equal work, to find the better one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from venturi.core.errors import VenturiError
from venturi.core.statistics.stats import (
    ALPHA,
    MEDIAN_LEVEL,
    Summary,
    summarise,
)
from venturi.core.statistics.two_groups import ComparisonOutcome, Verdict, compare_samples
from venturi.record.trial import CPU_OTHERS, State, Trial
from venturi.results.compare.names import name_groups, settings_of
from venturi.results.compare.printed import KEY as PRINTED
from venturi.results.compare.printed import no_repeats
from venturi.results.compare.words import in_words


@dataclass(frozen=True, slots=True)
class GroupValues:
    """The values of one group that count, their unit, and how many trials do not, by why not."""

    values: list[float]
    unit: str | None
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class GroupResult:
    """One repeat group. `left_out` counts the trials that do not count, by reason.

    `against_first` compares this group with the first one; None for the first itself. `name`
    distinguishes the group from the others, `label` names its workload and engine.
    """

    group_key: str
    label: str
    name: str
    values: tuple[float, ...]
    summary: Summary
    left_out: Mapping[str, int]
    against_first: Verdict | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Groups side by side. `alpha` is each verdict's, after correction for their number.

    `caption` has the common values, `differ_in` the keys by which the groups differ, `explained`
    the meaning of coded values in their names.
    """

    metric: str
    unit: str
    higher_is_better: bool | None
    alpha: float
    groups: tuple[GroupResult, ...]
    warnings: tuple[str, ...]
    caption: str
    differ_in: tuple[str, ...]
    explained: Mapping[str, str]

    def sentence(self, group: GroupResult) -> str:
        """How `group` stands to the first, by their names."""
        first, verdict = self.groups[0].name, group.against_first
        if verdict is None:
            return f"{group.name} is the reference"
        if verdict.reason or verdict.ratio is None:
            return f"{group.name} compared with {first}: cannot tell: {verdict.reason}"
        return in_words(group.name, first, verdict, self.metric)

    def in_words(self, group: GroupResult) -> str:
        """The verdict on `group` in a word or a sentence."""
        verdict = group.against_first
        why = verdict.reason if verdict else None
        return f"{self.outcome(group)}: {why}" if why else self.outcome(group)

    def outcome(self, group: GroupResult) -> str:
        """The verdict on `group` in a word or two, without its reason."""
        verdict = group.against_first
        if verdict is None:
            return "the reference"
        if verdict.reason or self.higher_is_better is None:
            return str(verdict.outcome)
        better = (verdict.outcome == "higher") == self.higher_is_better
        return f"{verdict.outcome}: {'better' if better else 'worse'}"


def compare_groups(
    groups: Sequence[Sequence[Trial]], metric: str = "elapsed_s", alpha: float = ALPHA
) -> Comparison:
    """Each of `groups` (trials with one group key) against the first, by `metric`.

    `metric` is `elapsed_s` or a sample of the whole trial. Only succeeded trials that are no
    warm-ups count. Several verdicts share `alpha` equally (Bonferroni), so that the chance of any
    false one stays below it.
    """
    _check_groups(groups)
    readings = [read_group(trials, metric) for trials in groups]
    units = {reading.unit for reading in readings if reading.unit is not None}
    if len(units) > 1:
        raise VenturiError(
            "VEN-COMPARE-GROUPS",
            f"{metric} is in {' and '.join(sorted(units))}",
            where={"metric": metric},
            hint="choose a metric with one unit in all groups",
        )
    unit = next(iter(units), "s" if metric == "elapsed_s" else "")
    if not units and metric != "elapsed_s":
        raise VenturiError(
            "VEN-COMPARE-GROUPS",
            f"no counted trial has {metric}",
            where={"metric": metric},
            hint="see the samples with `venturi show`",
        )
    each_alpha = alpha / (len(groups) - 1)
    why = [
        no_repeats([trials[0].configuration.get(PRINTED)] * len(reading.values))
        for trials, reading in zip(groups, readings, strict=True)
    ]
    names = name_groups([settings_of(trials[0]) for trials in groups])
    results = tuple(
        GroupResult(
            group_key=trials[0].group_key,
            label=_label(trials[0]),
            name=names.names[index],
            values=tuple(reading.values),
            summary=_summary(reading, why[index]),
            left_out=reading.left_out,
            against_first=_against(readings, index, why, each_alpha) if index else None,
        )
        for index, (trials, reading) in enumerate(zip(groups, readings, strict=True))
    )
    return Comparison(
        metric,
        unit,
        _higher_is_better(unit),
        each_alpha,
        results,
        (*_warnings(groups, results, names.keys), *_of_disturbed(groups, metric, alpha)),
        names.caption,
        names.keys,
        names.explained,
    )


def _against(
    readings: Sequence[GroupValues], index: int, why: Sequence[str | None], alpha: float
) -> Verdict:
    """Return the test result of a group and the first, or why their values are not tested."""
    found = compare_samples(readings[0].values, readings[index].values, alpha)
    reason = why[0] or why[index]
    if reason is None:
        return found
    return Verdict(ComparisonOutcome.CANNOT_TELL, reason, alpha, found.ratio)


def _summary(reading: GroupValues, why: str | None) -> Summary:
    found = summarise(reading.values, MEDIAN_LEVEL)
    if why is None:
        return found
    reasons = {**found.reasons, "interval": why, "coefficient_of_variation": why}
    return replace(found, interval=None, coefficient_of_variation=None, reasons=reasons)


def _of_disturbed(groups: Sequence[Sequence[Trial]], metric: str, alpha: float) -> Iterator[str]:
    """Report how many counted trials were disturbed by others, and the result without them."""
    counted = [
        trial
        for trials in groups
        for trial in trials
        if trial.state is State.SUCCEEDED and not trial.warm_up
    ]
    disturbed = [trial for trial in counted if trial.disturbed]
    if not disturbed:
        return
    shares = [share for trial in disturbed for share in trial.values(CPU_OTHERS)]
    most = f", with other programs using up to {max(shares):.0%} of the CPU time" if shares else ""
    said = f"{len(disturbed):,} of {len(counted):,} trials were disturbed{most}; they are included"
    quiet = [[trial for trial in trials if not trial.disturbed] for trials in groups]
    if not all(trials and read_group(trials, metric).values for trials in quiet):
        yield f"{said}; without them, a group has none"
        return
    without = compare_groups(quiet, metric, alpha)
    found = "; ".join(without.sentence(result) for result in without.groups[1:])
    yield f"{said}; without them: {found}"


def _check_groups(groups: Sequence[Sequence[Trial]]) -> None:
    keys = [{trial.group_key for trial in trials} for trials in groups]
    fault, hint = None, "give two or more group keys or trial ids"
    if len(groups) < 2:
        fault = "one group alone cannot be compared"
    elif any(len(key) != 1 for key in keys):
        fault = "a group is empty, or mixes trials with different settings"
    elif len(set.union(*keys)) < len(groups):
        fault = "the same group is given twice: its trials have the same settings"
        hint = (
            "to compare later runs of the same settings, name runs with --experiment NAME "
            "and use `venturi rank --by experiment`"
        )
    if fault:
        raise VenturiError("VEN-COMPARE-GROUPS", fault, hint=hint)
    workloads = {trials[0].workload.name: None for trials in groups}
    versions = {trials[0].workload.version: None for trials in groups}
    if len(workloads) > 1 or len(versions) > 1:
        names = [f"{t[0].workload.name} {t[0].workload.version}" for t in groups]
        raise VenturiError(
            "VEN-COMPARE-GROUPS",
            "the groups ran different workloads: " + ", ".join(dict.fromkeys(names)),
            where={"workloads": list(workloads), "versions": list(versions)},
            hint="`venturi compare --why ID ID` explains how two different jobs differ"
            if len(workloads) > 1
            else "measure a workload again after its definition has changed",
        )


def read_group(trials: Sequence[Trial], metric: str = "elapsed_s") -> GroupValues:
    """The values of `metric` in a repeat group.

    Warm-ups and trials that did not succeed never count, but are counted.
    """
    values: list[float] = []
    units: set[str] = set()
    left_out: Counter[str] = Counter()
    for trial in trials:
        if trial.state is not State.SUCCEEDED:
            left_out[str(trial.state)] += 1
        elif trial.warm_up:
            left_out["warm-up"] += 1
        else:
            found = _values(trial, metric)
            if len(found) > 1:
                raise VenturiError(
                    "VEN-COMPARE-GROUPS",
                    f"trial {trial.id} has {len(found)} samples of {metric}",
                    where={"trial": trial.id, "metric": metric},
                    hint="choose a metric that occurs once per trial",
                )
            if found:
                values.append(found[0][0])
                units.add(found[0][1])
            else:
                left_out[f"without {metric}"] += 1
    if len(units) > 1:
        raise VenturiError(
            "VEN-COMPARE-GROUPS",
            f"{metric} is in {' and '.join(sorted(units))} in one group",
            where={"metric": metric},
            hint="choose another metric",
        )
    return GroupValues(values, next(iter(units), None), dict(left_out))


def _values(trial: Trial, metric: str) -> list[tuple[float, str]]:
    if metric == "elapsed_s":
        return [] if trial.elapsed_s is None else [(trial.elapsed_s, "s")]
    return [
        (sample.value, sample.unit)
        for sample in trial.samples
        if sample.metric == metric and sample.phase is None and sample.value is not None
    ]


def is_rate(unit: str) -> bool:
    """Whether values in `unit` are an amount per second."""
    return unit.endswith("/s")


def _higher_is_better(unit: str) -> bool | None:
    """Rates are better high, times and sizes low; of another unit nothing is known."""
    if is_rate(unit):
        return True
    return False if unit in {"s", "B"} else None


def _label(trial: Trial) -> str:
    engine, workload = trial.engine, trial.workload
    scale = f" {workload.scale}" if workload.scale else ""
    return f"{workload.name}{scale} on {engine.name} {engine.version}"


def _warnings(
    groups: Sequence[Sequence[Trial]], results: Sequence[GroupResult], differ_in: Sequence[str]
) -> tuple[str, ...]:
    warnings = []
    if len(differ_in) > 1:
        keys = f"{', '.join(differ_in[:-1])} and {differ_in[-1]}"
        warnings.append(f"the groups differ in {keys}: the result is their joint effect")
    kinds = {str(trials[0].provenance.kind) for trials in groups}
    if len(kinds) > 1:
        warnings.append(f"the groups have different provenance: {', '.join(sorted(kinds))}")
    sizes = {trials[0].workload.input_bytes for trials in groups}
    if len(sizes) > 1:
        shown = ", ".join("unknown" if size is None else f"{size} B" for size in sizes)
        warnings.append(f"the groups had different input sizes: {shown}")
    if len({frozenset(host.name for host in t[0].cluster.hosts) for t in groups}) > 1:
        warnings.append("the groups ran on different hosts")
    warnings += [
        f"group {result.group_key} has no counted trial" for result in results if not result.values
    ]
    return tuple(warnings)
