"""The output of `whatif` on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from venturi.core.units import format_duration, format_rate
from venturi.core.wording import count_of, percent
from venturi.jobs.whatif.answer import BASELINES, WhatIfAnswer, WhatIfPrediction, fastest
from venturi.jobs.whatif.model import DRIVER, LONGEST
from venturi.jobs.whatif.ranking import TypeRanking
from venturi.jobs.whatif.spot import SpotPrediction
from venturi.jobs.whatif.uncertainty import CapacityEffect
from venturi.jobs.whatif.validation import Validation
from venturi.machines.cost.dataflow import Bounds
from venturi.terminal.predictions import time_text
from venturi.terminal.table import UNKNOWN, Paragraph, Table, table

LIMIT_WORDS = {
    DRIVER: "driver",
    LONGEST: "longest task",
    "fixed": "task overhead",
    "waiting": "CPU wait",
}
"""Bottlenecks in words, where these differ from their names."""
CAPACITY_WORDS = {
    "cpu": "CPU speed",
    "cores": "CPUs",
    "disk": "disk rate",
    "network": "network rate",
    "growth": "growth of work with data",
}
"""Names of capacities."""
SHOWN_EFFECTS = 2


def whatif_lines(
    answer: WhatIfAnswer, on_spot: Sequence[SpotPrediction] = ()
) -> Iterator[Paragraph | Table | str]:
    """The whole answer, the first screen first."""
    best = answer.targets[fastest(answer)]
    yield Paragraph(sentence(answer), "bold")
    yield ""
    yield _setups(answer.today, answer.targets)
    if on_spot:
        yield ""
        yield from _spot_lines(on_spot)
    made = table("simpler predictions", *BASELINES)
    for each in answer.targets:
        made.add(each.name, *(format_duration(each.baselines_s[name]) for name in BASELINES))
    yield ""
    yield made
    yield ""
    yield from _rests_on(best)
    for name in answer.not_modeled:
        yield Paragraph(f"not modeled: {name}", "yellow", 2)
    yield Paragraph(replay_text(answer), "dim", 2)
    yield from _stages(best)


def _spot_lines(found: Sequence[SpotPrediction]) -> Iterator[Paragraph | Table]:
    made = table("on spot machines", "expected time", "expected cost", "losses", "each adds")
    for each in found:
        made.add(
            each.name,
            UNKNOWN if each.time_s is None else time_text(each.time_s),
            cost_text(each.usd),
            UNKNOWN if each.losses is None else f"{each.losses:.2g}",
            format_duration(each.loss_s),
        )
    yield made
    first = found[0]
    yield Paragraph(
        f"{first.rate.value:.2g} losses per machine and hour ({first.rate.kind}): "
        f"{first.rate.source}",
        "dim",
        2,
    )
    for text in dict.fromkeys(each.do_not_use or each.unpriced for each in found):
        if text:
            yield Paragraph(text, "yellow", 2)
    for text in first.assumes:
        yield Paragraph(f"assumes: {text}", "dim", 2)


def sentence(answer: WhatIfAnswer) -> str:
    """The fastest target against today, in one sentence."""
    best, today = answer.targets[fastest(answer)], answer.today
    ratio = best.time_s.value / today.time_s.value
    change = "as long as today"
    if abs(ratio - 1) >= 0.01:
        change = f"{percent(ratio - 1)} {'longer' if ratio > 1 else 'shorter'} than today"
    cost = "" if best.usd is None else f" for {_usd(best.usd.value)}"
    far = " (extrapolated)" if best.extrapolated else ""
    return (
        f"{best.name}: about {format_duration(best.time_s.value)}{cost}, {change}{far}; "
        f"limited by: {limit_text(best.limit)}"
    )


def replay_text(answer: WhatIfAnswer) -> str:
    """How far the replay of the recorded job is from its time."""
    longer = "longer" if answer.replay_error > 0 else "shorter"
    error = percent(answer.replay_error)
    return f"the replay of the recorded job is {error} {longer} than the job took"


def limit_text(limit: str) -> str:
    """A limit in words."""
    return LIMIT_WORDS.get(limit, limit)


def cost_text(usd: Bounds | None) -> str:
    """Such as `$0.18 (0.16–0.21)`; a dash without a price."""
    if usd is None:
        return UNKNOWN
    low, high = (_usd(each).removeprefix("$") for each in (usd.low, usd.high))
    return f"{_usd(usd.value)} ({low}–{high})" if low != high else _usd(usd.value)


def _usd(amount: float) -> str:
    """Dollars; cents, or two digits where they are less."""
    return f"${amount:,.2f}" if amount >= 0.1 else f"${amount:.2g}"


def _setups(today: WhatIfPrediction | None, targets: Sequence[WhatIfPrediction]) -> Table:
    made = table(
        "setup", "slots", "time", "cost", "limited by", prose=("limited by",), spare=("slots",)
    )
    for each in (*([today] if today else ()), *targets):
        made.add(
            "today" if each is today else each.name,
            f"{each.slots:,}",
            time_text(each.time_s),
            cost_text(each.usd),
            limit_text(each.limit),
        )
    made.notes.append(("time", "in brackets: 90 % interval"))
    if reason := next(
        (e.unpriced for e in (*targets, *([today] if today else ())) if e.unpriced), ""
    ):
        made.notes.append(("cost", f"no cost: {reason}"))
    return made


def _rests_on(prediction: WhatIfPrediction) -> Iterator[Paragraph]:
    for each in prediction.rests_on[:SHOWN_EFFECTS]:
        yield Paragraph(effect_text(each), indent=2)
    yield Paragraph(prediction.interval_from, "dim", 2)
    for text in prediction.assumes:
        yield Paragraph(f"assumes: {text}", "dim", 2)


def effect_text(each: CapacityEffect) -> str:
    """A capacity that the prediction rests on, its origin, and how to measure it."""
    machines = {"both": "", "recorded": " of the recorded machine", "target": " of the target"}
    value = each.rate.value
    known = format_rate(value) if each.capacity in {"disk", "network"} else f"{value:.3g}"
    name = f"{CAPACITY_WORDS[each.capacity]}{machines[each.machines]}"
    span = f"{format_duration(each.fast_s)} to {format_duration(each.slow_s)}"
    return (
        f"rests on the {name} ({each.rate.kind} {known}: {span}). {each.rate.source}. "
        f"Measure it: {each.measure}"
    )


def _stages(prediction: WhatIfPrediction) -> Iterator[Paragraph | Table]:
    yield Paragraph(f"\nStages alone on all slots: {prediction.name}", "bold")
    made = table(
        "stage",
        "name",
        "before",
        "after",
        "tasks",
        "limited by",
        left=2,
        prose=("name", "limited by"),
    )
    for each in prediction.stages:
        tasks = f"{each.tasks_before:,}"
        if each.tasks_after != each.tasks_before:
            tasks += f" → {each.tasks_after:,}"
        made.add(
            each.stage,
            each.name,
            format_duration(each.before_s),
            format_duration(each.after_s),
            tasks,
            limit_text(each.limit),
        )
    yield made


def ranking_lines(
    ranking: TypeRanking, today: WhatIfPrediction
) -> Iterator[Paragraph | Table | str]:
    """The best machine types for a job."""
    best = ranking.best[0]
    yield Paragraph(ranking_sentence(ranking), "bold")
    if margin := margin_text(ranking):
        yield Paragraph(margin)
    yield ""
    yield _setups(today, ranking.best)
    yield ""
    yield from _rests_on(best)
    left = {
        "too small for an executor": ranking.too_small,
        "without a price": ranking.unpriced,
        "too slow": ranking.late,
    }
    left_text = ", ".join(f"{count} {why}" for why, count in left.items() if count)
    yield Paragraph(
        f"{ranking.tried} types tried" + (f"; left out: {left_text}" if left_text else ""), "dim", 2
    )


def ranking_sentence(ranking: TypeRanking) -> str:
    """The best option, and how many other types may be as good."""
    by = "Cheapest" if ranking.objective == "cost" else "Fastest"
    within = "" if ranking.deadline_s is None else f" within {format_duration(ranking.deadline_s)}"
    ties = "" if ranking.ties < 1 else f"; {count_of(ranking.ties, 'other type')} may be as good"
    return f"{by}{within}: {_option_text(ranking.best[0])}{ties}"


def margin_text(ranking: TypeRanking) -> str:
    """The option that meets the deadline with its interval; empty if it is the best one."""
    if not ranking.in_time:
        return "No option meets the deadline with its whole interval."
    if ranking.recommended.name == ranking.best[0].name:
        return ""
    return f"Its whole interval within the deadline: {_option_text(ranking.recommended)}"


def _option_text(found: WhatIfPrediction) -> str:
    return f"{found.name}, about {format_duration(found.time_s.value)} for {cost_text(found.usd)}"


def validation_lines(validation: Validation) -> Iterator[Paragraph | Table | str]:
    """Predicted against measured times, next to the baselines."""
    yield Paragraph(validation.sentence, "bold")
    yield ""
    made = table("trial", "measured", "predicted", "error", *BASELINES)
    for pair in validation.pairs:
        made.add(
            pair.trial[:12],
            format_duration(pair.measured_s),
            time_text(pair.predicted.time_s),
            f"{pair.error:+.0%}",
            *(f"{pair.baseline_errors[name]:+.0%}" for name in BASELINES),
        )
    made.notes.append(("error", "errors: (predicted - measured) / measured"))
    yield made
    for pair in validation.pairs:
        for name in pair.not_modeled:
            yield Paragraph(f"differs and isn't modeled: {name}", "yellow", 2)
