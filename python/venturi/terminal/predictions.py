"""Predicted times and costs in words: the same on the terminal and in reports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from venturi.core.units import format_duration
from venturi.core.wording import count_of, joined
from venturi.terminal.table import UNKNOWN, Paragraph, Table, table

if TYPE_CHECKING:
    from venturi.machines.advice.explain import Explanation, UncertainPart
    from venturi.machines.advice.option import Option, PhaseTime
    from venturi.machines.cost.dataflow import Bounds
    from venturi.record.prediction import PredictionCheck, StoredPrediction
    from venturi.results.predictions.errors import PredictionErrors

_PHASES = {"map+shuffle": "map", "sort+reduce": "reduce"}
NEARLY = 0.75  # of the widest range: named next to it
SHORT = {"network": "net", "storage": "disk", "volumes": "volume"}


def time_text(span: Bounds, at_least: bool = False) -> str:
    """`16.3 min (13.1–18.9)`, or `≥ 16.3 min` (at least): in the unit that suits the middle."""
    unit, scale = _time_unit(span.value)
    return _range(span, scale, "", f" {unit}", at_least)


def plain_time_text(value_s: float) -> str:
    """`3.5 min`: a time without a range, in the units of those with one."""
    unit, scale = _time_unit(value_s)
    return f"{value_s / scale:.3g} {unit}"


def moved_text(least_s: float, most_s: float) -> str:
    """`-2 to +6.5 min`: how far a time may move, in the unit that suits the larger end."""
    unit, scale = _time_unit(max(abs(least_s), abs(most_s)))
    return f"{least_s / scale:+.2g} to {most_s / scale:+.2g} {unit}"


def _time_unit(value_s: float) -> tuple[str, float]:
    units = (("h", 3600.0, 6000.0), ("min", 60.0, 100.0), ("s", 1.0, 0.0))
    return next((unit, scale) for unit, scale, from_s in units if value_s >= from_s)


def usd_text(span: Bounds | None, at_least: bool = False) -> str:
    """`$325 (281–420)`, or `≥ $325` (at least); a dash if there is no price."""
    return "—" if span is None else _range(span, 1, "$", "", at_least)


def limits_text(option: Option) -> str:
    """The resources that may limit each phase, once if they're the same in all."""
    words = [_limit(each) for each in option.phases]
    if len(set(words)) == 1:
        return words[0]
    pairs = zip(option.phases, words, strict=True)
    return "; ".join(f"{_PHASES.get(each.name, each.name)}: {word}" for each, word in pairs)


def _limit(phase: PhaseTime) -> str:
    return " or ".join(SHORT.get(each, each) for each in (phase.narrowest, *phase.rivals[:1]))


def limit_text(option: Option) -> str:
    """The limit of most of the time: start-up, or that of the longest phase."""
    longest = max(option.phases, key=lambda each: each.seconds.value)
    return "start-up" if option.limited_by == "start-up" else _limit(longest)


def least_certain(explanation: Explanation) -> str:
    """The inputs that change the time most: the widest, and those nearly as wide."""
    from venturi.machines.advice.explain import uncertain_parts  # noqa: PLC0415 - slow to load

    parts = uncertain_parts(explanation)
    near = [each for each in parts if _width(each) >= NEARLY * _width(parts[0])][:2]
    if not near:
        return ""
    listed = joined(f"{each.name} ({moved_text(each.least_s, each.most_s)})" for each in near)
    return f"Least certain: {listed}."


def _width(part: UncertainPart) -> float:
    return part.most_s - part.least_s


def _range(span: Bounds, scale: float, before: str, after: str, at_least: bool) -> str:
    value, low, high = (each / scale for each in (span.value, span.low, span.high))
    whole = 10 if before else 20  # from there on, decimals are finer than the range
    digits = 0 if value >= whole else 1 if value >= 10 else 2
    told = f"{before}{value:,.{digits}f}{after}"
    if at_least:
        return f"≥ {told}"
    bounds = f"{low:,.{digits}f}", f"{high:,.{digits}f}"
    return told if bounds[0] == bounds[1] else f"{told} ({bounds[0]}–{bounds[1]})"


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


def prediction_text(found: StoredPrediction) -> str:
    """`predicted 12.1 s (10.9–14.0 s): same settings, 5 trials`, or why it is missing."""
    if found.elapsed_s is None:
        return f"no prediction: {found.missing_reason}"
    said = f"predicted {_stored_text(found)}"
    if found.trials:
        said += f": {found.basis}, {count_of(found.trials, 'trial')}"
    if found.range_reason is not None:
        said += f"; no range: {found.range_reason}"
    return said


def check_text(check: PredictionCheck) -> str:
    """`predicted 12.1 s (10.9–14.0 s), took 12.8 s: inside the range`, in one line."""
    found = check.predicted
    if found.elapsed_s is None:
        said = f"not predicted: {found.missing_reason}"
        return (
            said
            if check.measured_s is None
            else f"took {format_duration(check.measured_s)}, {said}"
        )
    said = f"predicted {_stored_text(found)}"
    if check.measured_s is None:
        return f"{said}, no time measured: {check.unmeasured}"
    if check.inside is None:
        ratio = check.measured_s / found.elapsed_s
        return f"{said}, took {format_duration(check.measured_s)}: {_difference(ratio)}; no range"
    where = "inside" if check.inside else "outside"
    return f"{said}, took {format_duration(check.measured_s)}: {where} the range"


def error_lines(found: PredictionErrors) -> Iterator[Paragraph | Table]:
    """Yield the sentence, the groups, and why predictions couldn't be compared."""
    yield Paragraph(found.sentence, "bold")
    if found.groups:
        yield Paragraph("")
        made = table(
            *found.by,
            "runs",
            "median error",
            "p90",
            "bias",
            "ranges held",
            left=len(found.by),
            prose=("bottleneck",),
            spare=("bias",),
        )
        for each in found.groups:
            errors = each.errors
            shares = (errors.median_error, errors.p90_error)
            made.add(
                *(value or UNKNOWN for value in each.key),
                f"{errors.runs:,}",
                *(UNKNOWN if share is None else f"{share:.0%}" for share in shares),
                f"{each.bias:+.0%}",
                f"{errors.held} of {errors.ranges}" if errors.ranges else UNKNOWN,
            )
        yield made
    for reason, count in found.not_compared.items():
        yield Paragraph(f"{count_of(count, 'prediction')} not compared: {reason}", "dim")


def _stored_text(found: StoredPrediction) -> str:
    """`12.1 s (10.9–14.0 s)`, or `12.1 s (10.9–14.0 s, from 12 own runs)` if they set the range."""
    if found.low_s is None or found.high_s is None:
        return format_duration(found.elapsed_s)
    low, high = format_duration(found.low_s), format_duration(found.high_s)
    number, _, unit = low.rpartition(" ")
    if " " not in number and high.endswith(f" {unit}") and high.count(" ") == 1:
        low = number
    own = f", from {count_of(found.own_runs, 'own run')}" if found.own_runs else ""
    return f"{format_duration(found.elapsed_s)} ({low}–{high}{own})"


def _difference(ratio: float) -> str:
    share = abs(ratio - 1)
    if share < 0.005:
        return "just as predicted"
    return f"{share:.0%} {'longer' if ratio > 1 else 'shorter'}"
