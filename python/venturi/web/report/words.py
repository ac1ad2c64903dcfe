"""The answer in plain words. Each sentence repeats numbers of the report, and adds none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from venturi.core.statistics.stats import Missing
from venturi.core.units import format_duration, format_rate
from venturi.core.wording import joined
from venturi.machines.cost.dataflow import Bounds
from venturi.machines.health.verdict import DeviceVerdict
from venturi.record.trial import DISTURBED, Trial
from venturi.results.bottleneck import BUSY, COMPUTING, MARGIN, narrowest_points
from venturi.terminal.predictions import predicted_and_taken, time_text, usd_text
from venturi.web.report.data import (
    DeviceRate,
    Notice,
    Number,
    PhaseBottleneck,
    PriceRow,
    ReportAnswer,
    ReportFigure,
    SortTrial,
)
from venturi.web.report.measurements import best_rate
from venturi.web.report.sorts import WHOLE

NEAR = 0.1  # of the predicted time: a prediction that misses its range by less held nearly
Rates = tuple[DeviceRate, ...] | Missing
_WARNED = {
    DISTURBED: "other programs were active during",
    "VEN-MEASURE-UNSTEADY": "rates didn't settle in",
}


def _known(value: Number) -> float | None:
    return None if isinstance(value, Missing) else value


def good(sorts: Sequence[SortTrial]) -> list[SortTrial]:
    """The sorts that count."""
    return [sort for sort in sorts if sort.state == "succeeded"]


def main_sort(sorts: Sequence[SortTrial]) -> SortTrial | None:
    """The sort that the page speaks of first: the largest that succeeded, then most spilled."""
    return next(iter(_main_first(good(sorts))), None)


def _main_first(sorts: Sequence[SortTrial]) -> list[SortTrial]:
    def size(sort: SortTrial) -> tuple[float, ...]:
        values = (sort.input_bytes, sort.spilled_bytes, sort.elapsed_s)
        return tuple(_known(value) or 0.0 for value in values)

    return sorted(sorts, key=size, reverse=True)


def disturbances(trials: Iterable[Trial]) -> dict[str, str | None]:
    """How other programs disturbed each trial, by its ID: None if they didn't. Trials without
    a record of other programs are left out.
    """
    return {
        trial.id: "; ".join(
            warning.message.partition(" while ")[0]
            for warning in trial.warnings
            if warning.code == DISTURBED
        )
        or None
        for trial in trials
        if trial.disturbed is not None
    }


def warned(warnings: Sequence[Notice]) -> tuple[str, ...]:
    """A clause for each kind of warning, with the trials that it affects."""
    kinds: dict[str, list[Notice]] = {}
    for each in warnings:
        kinds.setdefault(each.code, []).append(each)
    return tuple(_warned(code, found) for code, found in kinds.items())


def _warned(code: str, found: Sequence[Notice]) -> str:
    trials = joined(list(dict.fromkeys(each.trial for each in found)))
    if code in _WARNED:
        return f"{_WARNED[code]} {trials}"
    more = f" and {len(found) - 1} more of this kind" if len(found) > 1 else ""
    return f"{found[0].message} ({trials}){more}"


def headline(
    host: str,
    sorts: Sequence[SortTrial],
    disturbed: Mapping[str, str | None] = MappingProxyType({}),
) -> str:
    """One sentence: the main sort's time here and its limit, and whether it was disturbed."""
    main = main_sort(sorts)
    if main is not None:
        sorted_ = f"{host} sorts {main.label} in {format_duration(_known(main.elapsed_s))}"
        limits = limits_of(main)
        sorted_ += f", limited by the {joined(limits)}" if limits else ""
        if main.id not in disturbed:
            return sorted_
        cause = disturbed[main.id]
        return f"{sorted_} ({f'disturbed: {cause}' if cause else 'undisturbed'})"
    return f"{host}: no sort succeeded" if sorts else f"{host}: no sort was recorded"


def figures(
    rates: Rates, sorts: Sequence[SortTrial], job: str, prices: Sequence[PriceRow]
) -> tuple[ReportFigure, ...]:
    """The large numbers under the headline."""
    found = [
        ReportFigure(
            "Disk read rate", best_rate(rates, "disk_read_bytes_per_s"), "rate", "reads only"
        ),
        ReportFigure(
            "Disk write rate", best_rate(rates, "disk_write_bytes_per_s"), "rate", "writes only"
        ),
    ]
    for sort in good(sorts)[:4]:
        speed = "end to end"
        size, elapsed = _known(sort.input_bytes), _known(sort.elapsed_s)
        if size and elapsed:
            speed = f"{format_rate(size / elapsed)} of input"
        found.append(ReportFigure(f"Sort, {sort.label}", sort.elapsed_s, "duration", speed))
    best = recommended(prices)
    if best is not None:
        usd = _bounds(best.cost_usd, best.cost_low_usd, best.cost_high_usd)
        span = f"${usd.low:,.0f} to ${usd.high:,.0f}, " if usd else ""
        note = f"{span}{best.instance_type}"
        found.append(ReportFigure(job.removeprefix("a "), best.cost_usd, "usd", note))
    return tuple(found)


def recommended(prices: Sequence[PriceRow]) -> PriceRow | None:
    """The first row with a known cost, as `venturi advise` recommends it."""
    return next((price for price in prices if price.known and not price.lower_bound), None)


def _disk(rates: Rates) -> tuple[str, ...]:
    if isinstance(rates, Missing):
        return (f"Unknown: {rates.reason}.",)
    read, write, both_read, both_write = (
        _known(best_rate(rates, f"disk_{name}_bytes_per_s"))
        for name in ("read", "write", "mixed_read", "mixed_write")
    )
    sentences = [
        f"The disk reads at {format_rate(read)} or writes at {format_rate(write)}, each alone."
    ]
    if both_read is not None and both_write is not None:
        sentences.append(
            f"Doing both, it reads at {format_rate(both_read)} and writes at "
            f"{format_rate(both_write)}. This mix limits a sort."
        )
    return tuple(sentences)


def _network(rates: Rates, label: str) -> tuple[str, ...]:
    if isinstance(rates, Missing) or not rates:
        return ()
    known = [rate for rate in rates if not isinstance(rate.mean_bytes_per_s, Missing)]
    if not known:
        return ()
    name = "Loopback (memory copying, not a network)" if "loopback" in label else "The network"
    rate = known[0]
    return (
        f"{name} transfers {format_rate(_known(rate.mean_bytes_per_s))} ({rate.label.lower()}).",
    )


def _duration(sort: SortTrial) -> str:
    if sort.failure is not None or isinstance(sort.elapsed_s, Missing):
        reason = sort.failure or (
            sort.elapsed_s.reason if isinstance(sort.elapsed_s, Missing) else sort.state
        )
        return f"{sort.label}: no time ({sort.state}: {reason})."
    size, elapsed = _known(sort.input_bytes), sort.elapsed_s
    speed = f", {format_rate(size / elapsed)} of input" if size and elapsed else ""
    return f"{sort.label}: {format_duration(elapsed)}{speed}."


def _predicted(sort: SortTrial, cause: str | None) -> str:
    """The predicted and the measured time; `cause` disturbed the sort."""
    whole = next(row for row in sort.comparisons if row.phase == WHOLE)
    if isinstance(whole.predicted_s, Missing):
        return f"{sort.label}: no prediction ({whole.predicted_s.reason})."
    low_s, high_s, measured_s = map(_known, (whole.low_s, whole.high_s, whole.measured_s))
    told = predicted_and_taken(whole.predicted_s, low_s, high_s, measured_s)
    if low_s is None or high_s is None or measured_s is None:
        return f"{sort.label}: {told}."
    held = low_s <= measured_s <= high_s
    near = abs(measured_s / whole.predicted_s - 1) <= NEAR
    why = ""
    if cause:
        why = f", but the run was disturbed ({cause})"
        why += ", so this proves nothing" if held else ""
    return f"{'Yes' if held else 'Nearly' if near else 'No'}, {sort.label}: {told}{why}."


# The work of a stage, in words.
DOES = {
    "read": "reading the input",
    "distribute": "distributing the records",
    "write_partitions": "writing the spilled partitions",
    "read_partition": "reading the partitions back",
    "sort": "sorting",
    "reduce": "reducing",
    "write_output": "writing the output",
    "write_replica": "writing the replica",
}


def limits_of(sort: SortTrial) -> list[str]:
    """Disk or CPU, whichever its narrowest points need; none if a phase has no busy stage."""
    found = []
    for point in sort.narrowest:
        if len(point.stages) < 2:
            continue
        most = max(stage.busy for stage in point.stages)
        if most < BUSY:
            return []
        near = [stage for stage in point.stages if stage.busy >= most - MARGIN]
        found += [stage for stage in point.stages if stage.narrowest] or near
    stages = (stage.name.partition(" on ")[0] for stage in found)
    return list(dict.fromkeys("CPU" if stage in COMPUTING else "disk" for stage in stages))


def _narrowest(sort: SortTrial) -> list[str]:
    """One sentence for each phase that has more than one stage: one alone cannot be compared."""
    return [
        f"{sort.label}, {point.phase}: {_point(point)}"
        for point in sort.narrowest
        if len(point.stages) != 1
    ]


def _point(point: PhaseBottleneck) -> str:
    if isinstance(point.name, Missing):
        return f"cannot tell: {point.name.reason}."
    stage, _, device = point.name.partition(" on ")
    busy = next(load.busy for load in point.stages if load.narrowest)
    place = f" on {device}" if device else ""
    return f"{DOES.get(stage, stage)}{place} (busy for {busy:.0%} of the phase)."


def bottleneck(trial: Trial) -> str | None:
    """Return the narrowest point of the longest phase in a sentence; None if unknown."""
    took_s = {phase.name: phase.elapsed_s for phase in trial.phases}
    found = [each for each in narrowest_points(trial) if each.stage and len(each.stages) > 1]
    point = max(found, key=lambda each: took_s.get(each.phase) or 0.0, default=None)
    if point is None or point.stage is None or point.utilisation is None:
        return None
    said = DOES.get(point.stage, point.stage) + (f" on {point.device}" if point.device else "")
    busy = f"busy for {point.utilisation:.0%} of {point.phase}"
    whole = f", {format_duration(took_s.get(point.phase))} of {format_duration(trial.elapsed_s)}"
    return f"Narrowest point: {', '.join(filter(None, (said, point.cause)))} ({busy}{whole})"


def _price(job: str, prices: Sequence[PriceRow]) -> tuple[str, ...]:
    best = recommended(prices)
    if best is None:
        return (f"No instance type in the catalog has all the rates that {job} needs.",)
    known = sum(price.known and not price.lower_bound for price in prices)
    nodes = _known(best.nodes)
    machines = best.instance_type if nodes is None else f"{nodes:,.0f} × {best.instance_type}"
    usd = _bounds(best.cost_usd, best.cost_low_usd, best.cost_high_usd)
    time = _bounds(best.elapsed_s, best.elapsed_low_s, best.elapsed_high_s)
    return (
        f"Recommended of {known} types with known rates: {machines}, {usd_text(usd)} in "
        f"{'unknown time' if time is None else time_text(time)}, prices as of "
        f"{best.price_as_of}.",
    )


def _bounds(value: Number, low: Number, high: Number) -> Bounds | None:
    known = [each for each in (value, low, high) if not isinstance(each, Missing)]
    return Bounds(*known) if len(known) == 3 else None


def machine(
    verdicts: Sequence[DeviceVerdict], rates: Rates, network: Rates, network_label: str
) -> tuple[str, ...]:
    """The machine's abilities, by its probes."""
    return (
        *_disk(rates),
        *_network(network, network_label),
        *(f"{verdict.subject}: {verdict.text}" for verdict in verdicts),
    )


def answers(
    *,
    verdicts: Sequence[DeviceVerdict],
    rates: Rates,
    network: Rates,
    network_label: str,
    sorts: Sequence[SortTrial],
    job: str,
    prices: Sequence[PriceRow] | Missing,
    disturbed: Mapping[str, str | None],
) -> tuple[ReportAnswer, ...]:
    """The reader's questions, answered."""
    none = ("No sort was recorded.",)
    sorts = _main_first(sorts)
    priced = () if isinstance(prices, Missing) else prices
    cost = (
        (f"Not priced: {prices.reason}.",) if isinstance(prices, Missing) else _price(job, priced)
    )
    return (
        ReportAnswer(
            "Where is the narrowest point?",
            tuple(text for sort in good(sorts) for text in _narrowest(sort))
            or ("Unknown: no sort reported its stages.",),
        ),
        ReportAnswer(
            "How long did the sort take?", tuple(_duration(sort) for sort in sorts) or none
        ),
        ReportAnswer(
            "Did the prediction hold?",
            tuple(_predicted(sort, disturbed.get(sort.id)) for sort in good(sorts)) or none,
        ),
        ReportAnswer("What can this machine do?", machine(verdicts, rates, network, network_label)),
        ReportAnswer(f"What would {job} cost elsewhere?", cost),
    )
