"""Terminal output of `advise hardware` and `predict`, and the same data for `--json`.

Lines and tables made from the answer; cli prints them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from venturi.core.quantity import Quantity
from venturi.core.units import format_duration, format_rate, format_usd
from venturi.core.wording import count_of, joined
from venturi.machines.advice.decide import Measurement, ties_with_first
from venturi.machines.advice.explain import Explanation, Sensitivity, uncertain_parts
from venturi.machines.advice.hardware import Advice, ClassAdvice, nearest
from venturi.machines.advice.option import AdviceObjective, Option, RuledOut
from venturi.machines.advice.question import HardwareRequest
from venturi.machines.advice.suppositions import SPOT_LOSSES
from venturi.machines.cost.choices import Durability
from venturi.machines.cost.dataflow import Bounds
from venturi.terminal.predictions import (
    least_certain,
    limit_text,
    limits_text,
    moved_text,
    plain_time_text,
    time_text,
    usd_text,
)
from venturi.terminal.table import Paragraph, Table, TableCell, pairs, table_of

FRONTIER_SHOWN = 12
TIES_NAMED = 3
ROUNDED = 1.02  # a bill that much above the time used is decided by the rounding of time
DETAILS_SHOWN = 4  # groups of excluded types under one reason
TYPES_SHOWN = 6  # names in such a group
SPARE = ("price of", "ties", "known", "billed", "limited by")  # where a terminal is narrow


def advice_lines(advice: Advice) -> Iterator[Paragraph | Table]:
    """All of the output, in order."""
    request = advice.request
    for found in advice.classes:
        yield from _answer(advice, found)
        asked = [f"network {request.network}", f"objective {request.objective}"]
        if request.budget_usd is not None:
            asked.append(f"budget {format_usd(request.budget_usd)}")
        yield Paragraph(f"{', '.join(asked)}, on {' and '.join(advice.catalogs)}", "dim", 2)
        yield from _class_lines(advice, found)
        yield Paragraph("")


def advice_screen(advice: Advice) -> Iterator[Paragraph | Table]:
    """Yield the first screen: the recommendation, the choices, what they rest on, what is tied."""
    for found in advice.classes:
        yield from _answer(advice, found)


def _answer(advice: Advice, found: ClassAdvice) -> Iterator[Paragraph | Table]:
    request = advice.request
    if not found.ranked:
        near = nearest(found.excluded)
        yield Paragraph(
            f"{_asked(request, found)}: no type can be ranked."
            + (f" Nearest: {near}." if near else "")
        )
        return
    yield Paragraph(headline(request, found), "bold")
    yield Paragraph("")
    yield choices_table(request, found)
    for text in notes(advice, found):
        yield Paragraph(text, indent=2)


def _asked(request: HardwareRequest, found: ClassAdvice) -> str:
    """The job, its class of durability unless it has none, and its limits."""
    name = request.job.name
    asked = f"{name[:1].upper()}{name[1:]}"
    if found.durability is not Durability.TWO_IO:
        asked += f", {found.durability}"
    if request.deadline_s is not None:
        asked += f" within {format_duration(request.deadline_s)}"
    return asked


def headline(request: HardwareRequest, found: ClassAdvice) -> str:
    """The first option, with time and cost; `found` has ranked some."""
    first = found.ranked[0]
    cost = usd_text(first.usd) if first.cost_usd is not None else "cost unknown"
    late = ", may miss the deadline" if first.within_limits is False else ""
    return (
        f"{_asked(request, found)}: {machines(first)}{_where(first)}, {cost}, "
        f"{time_text(first.time_s)}{late}"
    )


def machines(option: Option) -> str:
    """Such as `40 × m6i.8xlarge + 10 gp3`: the volumes are those of each node."""
    volumes = f" + {option.volumes}" if option.volumes else ""
    return f"{option.nodes:,} × {option.instance_type}{volumes}"


def _where(option: Option) -> str:
    """Return " (AWS us-east-1)"; "" for machines without a provider."""
    found = " ".join(filter(None, (_provider(option), option.region)))
    return f" ({found})" if found else ""


def _provider(option: Option) -> str:
    return {"aws": "AWS", "gcp": "Google", "azure": "Azure"}.get(
        option.provider or "", option.provider or ""
    )


def labeled_choices(request: HardwareRequest, found: ClassAdvice) -> list[tuple[str, Option]]:
    """The options to decide between, with their names."""
    if found.choices is None:
        return []
    named = [
        ("cheapest", found.choices.cheapest),
        ("recommended", found.choices.recommended),
        ("fastest worth it", found.choices.fastest),
    ]
    if request.objective is AdviceObjective.FASTEST:
        named.append(("fastest of all", found.ranked[0]))
    return named


def choices_table(request: HardwareRequest, found: ClassAdvice) -> Table:
    """Cheapest, recommended and fastest worth paying for, side by side."""
    return table_of(
        (
            {
                "option": name,
                "machines": machines(option),
                "time": _middle(time_text(option.time_s))
                + (" may miss" if option.within_limits is False else ""),
                "cost": format_usd(option.usd.value),
                "limited by": limit_text(option),
                "time range": _within(time_text(option.time_s)),
                "cost range": _within(usd_text(option.usd)),
            }
            for name, option in labeled_choices(request, found)
        ),
        spare=("cost range", "time range", "limited by"),
    )


def notes(advice: Advice, found: ClassAdvice) -> Iterator[str]:
    """Sentences below the choices: assumptions of the figures, ties, the next measurement."""
    request, best = advice.request, found.ranked[0]
    if found.choices is not None and found.choices.recommended is best:
        yield from _why_recommended(found.choices.cheapest, best)
    if best.startup_s:
        yield f"Time and cost include {plain_time_text(best.startup_s)} to start the cluster."
    if best.provider is not None and best.price_as_of is not None:
        yield f"On-demand prices of {best.price_as_of:%Y-%m-%d}."
    if request.limits:
        yield f"Your limits: {request.limits}."
    if decided := billing_minimum(best):
        yield decided
    if lacking := not_in_cost(found.ranked[: request.shown]):
        yield lacking
    if request.nodes is None and best.nodes == request.max_nodes:
        yield f"More than {request.max_nodes:,} nodes are not considered (--max-nodes)."
    yield from filter(None, (standing(request.objective, found, request.shown)[1],))
    if found.measure and found.undecided and found.measure[0].decides:
        yield measurement(found.measure[0], found.ranked)
    yield from best_elsewhere(found)


def _why_recommended(cheapest: Option, best: Option) -> Iterator[str]:
    """Yield why the recommended option isn't the cheapest one."""
    if cheapest.usd is None or best.usd is None or best.nodes >= cheapest.nodes:
        return
    more = best.usd.value / cheapest.usd.value - 1
    yield (
        f"Recommended for its {count_of(best.nodes, 'machine')} instead of {cheapest.nodes:,}, "
        "at a cost "
        + (
            f"{more:.0%} higher ({format_usd(best.usd.value)} instead of "
            f"{format_usd(cheapest.usd.value)})."
            if more >= 0.005
            else "as low."
        )
    )


def _class_lines(advice: Advice, found: ClassAdvice) -> Iterator[Paragraph | Table]:
    limit = advice.request.shown
    if found.ranked:
        yield Paragraph("\nEach type, in the order of the objective", "bold")
        yield ranking(advice, found)
        yield from _more(len(found.ranked) - limit)
    if found.at_least:
        yield Paragraph(
            "\nAt least (≥), not ranked: of network or volumes only the line rate is known", "bold"
        )
        yield prediction_table(found.at_least[:limit])
        yield from _more(len(found.at_least) - limit)
    if found.frontier:
        yield Paragraph("\nFrontier: no other is surely better in time and cost", "bold")
        yield _frontier(found)
        others = sum(not point.by_middle for point in found.frontier)
        if others:
            told = f"{others} more may be as good within their ranges (see --json)"
            yield Paragraph(told, "dim", 2)
    if found.excluded:
        yield Paragraph(f"\nNo options: {len(found.excluded)} types", "bold")
        yield from _excluded(found.excluded)


def _more(count: int) -> Iterator[Paragraph | Table]:
    if count > 0:
        yield Paragraph(f"and {count} more (--limit)", "dim", 2)


def ranking(advice: Advice, found: ClassAdvice) -> Table:
    """Return the first options in the order of the objective."""
    shown = found.ranked[: advice.request.shown]
    limited = advice.request.deadline_s is not None or advice.request.budget_usd is not None
    rows = []
    for number, option in enumerate(shown, 1):
        ties = [str(sum(pair) - number) for pair in found.undecided if number in pair]
        may_miss = " may miss" if limited and option.within_limits is False else ""
        row = {"#": str(number), **_cells(option, option.usd), "type": _name(advice, option)}
        row["time"] += may_miss
        row["ties"] = " ".join(ties[:2]) + (" …" if len(ties) > 2 else "")
        rows.append(row | {"price of": _price_date(option)})
    made = _table(rows, prose=("type",))
    made.notes += _notes_of(shown)
    return made


def _cells(option: Option, usd: Bounds | None, **more: str) -> dict[str, str]:
    """Return the cells of an option that every table has, by their headings."""
    return {
        "type": option.instance_type,
        "nodes": f"{option.nodes:,}",
        "time": time_text(option.time_s, option.lower_bound),
        "cost": usd_text(usd, option.lower_bound),
        **more,
        "limited by": limit_text(option),
        "known": "—" if option.weakest is None else option.weakest.value,
    }


def _notes_of(shown: Sequence[Option]) -> Iterator[tuple[str, str]]:
    """Notes on columns of these options."""
    yield "limited by", "limited by: where most of the time goes; `or`: the ranges allow both"
    if any(option.price_is_stale for option in shown):
        yield "price of", "! price older than a year"
    if any(option.billed_usd is None for option in shown):
        yield "cost", "cost by the second: in which steps time is billed is not known"


def _name(advice: Advice, option: Option) -> str:
    """The type, with its catalog where there are several."""
    if len(advice.catalogs) == 1:
        return option.instance_type
    return f"{option.instance_type} ({option.catalog})"


def _table(rows: Iterable[Mapping[str, TableCell]], prose: Sequence[str] = ()) -> Table:
    """A table of options, of which only counts are flush right."""
    made = table_of(rows, prose=prose, spare=SPARE)
    return replace(made, numeric=tuple(name in {"#", "nodes"} for name in made.headings))


def _price_date(option: Option) -> str:
    if option.price_as_of is None:
        return "—"
    return f"{option.price_as_of:%Y-%m}{'!' if option.price_is_stale else ''}"


def standing(objective: AdviceObjective, found: ClassAdvice, shown: int) -> tuple[bool, str]:
    """Whether the first option of `shown` is tied with another, and the sentence for it."""
    best = found.ranked[0]
    what = "time" if objective is AdviceObjective.FASTEST else "cost"
    if tied := [found.ranked[rank - 1] for rank in ties_with_first(objective, found.ranked)[1:]]:
        count = count_of(len(tied), "other type")
        names = joined(list(dict.fromkeys(each.instance_type for each in tied))[:TIES_NAMED])
        rest = f": {names}" if len(tied) <= TIES_NAMED else f", such as {names}"
        verb = "is" if len(tied) == 1 else "are"
        return True, f"{count} {verb} statistically tied in {what}{rest}."
    if len(found.ranked) == 1:
        return False, ""
    short = next((option for option in found.ranked[:shown] if option.left_out), None)
    if short is not None:
        why = "; ".join(short.left_out)
        return True, f"Cannot tell: the price of {short.instance_type} is not whole ({why})."
    less = "faster" if objective is AdviceObjective.FASTEST else "cheaper"
    sure = "than the others for all values within the ranges."
    return False, f"{best.instance_type} is {less} {sure}"


def billing_minimum(option: Option) -> str:
    """A sentence for the case that the provider's rounding of time decides the cost."""
    if option.metered_usd is None or option.billed_usd is None:
        return ""
    if option.billed_usd.value <= option.metered_usd.value * ROUNDED:
        return ""
    used = (
        format_usd(option.metered_usd.value) if option.metered_usd.value >= 0.01 else "under $0.01"
    )
    return f"The provider's billing increment decides the cost: the time used is worth {used}."


def not_in_cost(shown: Sequence[Option]) -> str:
    """The costs that these options leave out, and how to include them; "" if they are complete."""
    parts: dict[str, list[str]] = {}
    for option in shown:
        for text in option.left_out:
            what, _, why = text.removesuffix(")").partition(" is left out")
            parts.setdefault(what, []).append(f"{option.instance_type}: {why.strip(': (')}")
    told = "; ".join(f"{what} ({', '.join(dict.fromkeys(why))})" for what, why in parts.items())
    if told and any(what == SPOT_LOSSES for what in parts):
        told += "; `venturi simulate --on TYPE:N --loss-per-node-hour X` counts losses"
    return f"Not in the costs: {told}." if told else ""


def best_elsewhere(found: ClassAdvice) -> Iterator[str]:
    """The best of each further provider."""
    seen = {found.ranked[0].provider}
    told = []
    for option in found.ranked:
        if option.provider is not None and option.provider not in seen:
            seen.add(option.provider)
            told.append(
                f"{machines(option)}{_where(option)}, "
                f"{_middle(time_text(option.time_s))}, {_middle(usd_text(option.usd))}"
            )
    if told:
        yield f"Elsewhere: {'; '.join(told)}."


def _middle(text: str) -> str:
    return text.partition(" (")[0]


def _within(text: str) -> str:
    return text.partition(" (")[2].removesuffix(")")


def measurement(each: Measurement, ranked: Sequence[Option]) -> str:
    """The next measurement, and the tied types that it separates."""
    others = [
        ranked[rank - 1].instance_type
        for pair in each.decides
        for rank in pair
        if ranked[rank - 1].instance_type != each.instance_type
    ]
    name = each.rate.replace("_", " ")
    told = f"Measure the {name} rate of {each.instance_type} with `{each.how}`"
    known = f"now {_known(each.known)} MB/s"
    if not others:
        return (
            f"{told} ({known}): this narrows the range of its time and cost, but can't separate it "
            "from the tied types."
        )
    more = f" and {len(others) - TIES_NAMED} more" if len(others) > TIES_NAMED else ""
    names = joined(others[:TIES_NAMED]) if not more else ", ".join(others[:TIES_NAMED])
    return f"{told} ({known}): it would separate {each.instance_type} from {names}{more}."


def _known(rate: Quantity) -> str:
    low, high = (f"{bound / 1e6:,.0f}" for bound in (rate.low, rate.high))
    return f"{rate.kind}, {format_rate(rate.value)}, {low} to {high}"


def _frontier(found: ClassAdvice) -> Table:
    points = _ends([point.option for point in found.frontier if point.by_middle])
    rows = [_cells(option, option.usd) for option in points[:FRONTIER_SHOWN]]
    if len(points) > FRONTIER_SHOWN:
        rows.append({"type": f"and {len(points) - FRONTIER_SHOWN} more"})
    return _table(rows)


def _ends(options: Sequence[Option]) -> list[Option]:
    """The first and the last of neighboring options of one type; those between add nothing."""
    names = [None, *((option.catalog, option.instance_type) for option in options), None]
    return [
        option
        for option, before, name, after in zip(options, names, names[1:], names[2:], strict=False)
        if name != before or name != after
    ]


def _excluded(excluded: Sequence[RuledOut]) -> Iterator[Paragraph | Table]:
    groups: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in excluded:
        groups[each.reason.value][each.detail].append(each.instance_type)
    for reason, details in sorted(groups.items(), key=lambda g: -sum(map(len, g[1].values()))):
        yield Paragraph(f"{sum(map(len, details.values()))}: {reason}", indent=2)
        ordered = sorted(details.items(), key=lambda item: -len(item[1]))
        for detail, names in ordered[:DETAILS_SHOWN]:
            more = f" and {len(names) - TYPES_SHOWN} more" if len(names) > TYPES_SHOWN else ""
            yield Paragraph(f"{', '.join(names[:TYPES_SHOWN])}{more}: {detail}", "dim", 5)
        rest = sum(len(names) for _, names in ordered[DETAILS_SHOWN:])
        if rest:
            yield Paragraph(f"and {rest} more (--json lists them)", "dim", 5)


def prediction_screen(explanations: Sequence[Explanation]) -> Iterator[Paragraph | Table]:
    """A prediction: the first option in one sentence, all in a table, their assumptions."""
    first = explanations[0]
    option, name = first.option, first.job.name
    cost = "cost unknown" if option.cost_usd is None else usd_text(option.usd, option.lower_bound)
    yield Paragraph(
        f"{name[:1].upper()}{name[1:]} on {machines(option)}{_where(option)}: "
        f"{time_text(option.time_s, option.lower_bound)}, {cost}",
        "bold",
    )
    yield Paragraph("")
    yield prediction_table([each.option for each in explanations])
    yield Paragraph("")
    if option.startup_s:
        told = f"Time and cost include {plain_time_text(option.startup_s)} to start the cluster."
        yield Paragraph(told, indent=2)
    yield Paragraph(f"Limits: {limits_text(option)}.", indent=2)
    for text in filter(None, (billing_minimum(option), least_certain(first))):
        yield Paragraph(text, indent=2)
    bill = first.bill
    for item in () if bill is None else bill.items[:1]:
        if item.source and item.as_of is not None:
            yield Paragraph(f"Price: {item.source.partition(';')[0]}, {item.as_of}.", indent=2)
    for text in option.assumptions:
        if not text.startswith("the cluster starts in "):  # said above
            yield Paragraph(f"Assumed: {text}.", "dim", 2)


def startup_decides(explanation: Explanation) -> bool:
    """Whether the time to start the cluster is the most uncertain part of the whole time."""
    parts = uncertain_parts(explanation)
    return bool(parts) and parts[0].name == "start-up"


def prediction_table(options: Sequence[Option]) -> Table:
    """Options side by side, in the order given."""
    return _table(
        _cells(option, option.cost_usd) | {"price of": _price_date(option)} for option in options
    )


def unpriced(options: Sequence[Option]) -> list[tuple[str, str]]:
    """The types without a cost, each with the reason."""
    return list(
        {
            each.instance_type: each.missing["cost_usd"]
            for each in options
            if each.cost_usd is None
        }.items()
    )


def explanation_lines(explanation: Explanation) -> Iterator[Paragraph | Table]:
    """One option with every figure's origin."""
    option, job = explanation.option, explanation.job
    bound = option.lower_bound
    yield Paragraph(
        f"{job.name}, {job.durability}, on {option.nodes:,} {option.instance_type}", "bold"
    )
    rows = [
        ("time", time_text(option.time_s, bound)),
        ("cost", usd_text(option.cost_usd, bound)),
        *([("billing", told)] if (told := billing_minimum(option)) else []),
        ("rank", "—" if explanation.rank is None else str(explanation.rank)),
        ("fewest nodes that hold the data", f"{option.least_nodes:,}"),
        ("start-up", format_duration(explanation.startup_s)),
        *(("assumed", text) for text in option.assumptions),
    ]
    yield pairs(rows)
    yield Paragraph("\nTime: each phase takes as long as its slowest term (*)", "bold")
    terms = [
        {
            "": "*" if term.narrowest else "",
            "phase": f"{term.phase} {term.equation}",
            "what": f"{term.resource}: {term.what}",
            "formula": term.formula,
            "time": time_text(term.seconds),
        }
        for term in explanation.terms
    ]
    yield _table(terms, prose=("what", "formula"))
    yield Paragraph("\nRates of one node", "bold")
    seen: dict[str, Quantity] = {}
    for term in explanation.terms:
        if term.rate is not None:
            seen.setdefault(term.rate_name, term.rate)
    for name, rate in seen.items():
        yield from _rate_lines(name, rate)
    yield from _bill_lines(explanation)
    if explanation.sensitivity:
        yield Paragraph(
            "\nWhat would change the answer: one rate at either end of its range", "bold"
        )
        yield _table(
            row
            for each in explanation.sensitivity
            for row in _sensitivity(each, option, explanation.rank)
        )
    for part in uncertain_parts(explanation):
        if part.name == "start-up":
            yield Paragraph(f"start-up: {moved_text(part.least_s, part.most_s)}", indent=2)


def _rate_lines(name: str, rate: Quantity) -> Iterator[Paragraph | Table]:
    limit = ", at most" if rate.upper_bound else ""
    yield Paragraph(f"{name.replace('_', ' ')}: {_known(rate)} MB/s{limit}", indent=2)
    as_of = f", {rate.as_of}" if rate.as_of else ""
    yield Paragraph(f"source: {rate.source}{as_of}", "dim", 5)
    if rate.range_from:
        yield Paragraph(f"range:  {rate.range_from}", "dim", 5)
    if rate.note:
        yield Paragraph(f"note:   {rate.note}", "dim", 5)


def _bill_lines(explanation: Explanation) -> Iterator[Paragraph | Table]:
    bill = explanation.bill
    if bill is None:
        yield Paragraph(f"\nNo cost: {explanation.no_price}", "bold")
        return
    yield Paragraph("\nBill, by the middle of the time", "bold")
    items = [
        {
            "item": item.name,
            "by the second": format_usd(item.amount),
            "billed": format_usd(item.billed),
            "formula": item.formula,
            "price of": "—" if item.as_of is None else item.as_of.isoformat(),
        }
        for item in bill.items
    ]
    yield _table(items, prose=("item", "formula"))
    for item in bill.items:
        yield Paragraph(f"{item.name}: {item.source}", "dim", 2)
    for text in (*bill.assumptions, *bill.missing):
        yield Paragraph(f"{text}", "dim", 2)


def _sensitivity(
    each: Sensitivity, option: Option, rank: int | None
) -> Iterator[Mapping[str, TableCell]]:
    for end in (0, 1):
        at = (each.known.low, each.known.high)[end]
        seconds = each.time_s[end] - option.time_s.value
        usd = "—"
        if each.usd is not None:
            usd = f"{each.usd[end] - option.usd.value:+,.2f} USD"
        new = None if each.rank is None else each.rank[end]
        sign = "-" if seconds < 0 else "+"
        moved = "—" if new is None else f"{new}" if new == rank else f"{rank} -> {new}"
        yield {
            "rate": each.rate.replace("_", " ") if end == 0 else "",
            "at": format_rate(at),
            "time": f"{sign}{format_duration(abs(seconds))}",
            "cost": usd,
            "rank": moved,
        }


def advice_data(advice: Advice) -> dict[str, Any]:
    """The whole answer as `--json` prints it."""
    request = advice.request
    return {
        "job": request.job,
        "catalogs": list(advice.catalogs),
        "network": request.network,
        "objective": request.objective,
        "deadline_s": request.deadline_s,
        "budget_usd": request.budget_usd,
        "nodes": request.nodes,
        "max_nodes": request.max_nodes,
        "classes": [
            {
                "durability": found.durability,
                "choices": found.choices,
                "curve": found.curve,
                "ranked": found.ranked,
                "undecided": found.undecided,
                "measure": found.measure,
                "frontier": [
                    asdict(point.option) | {"by_middle": point.by_middle}
                    for point in found.frontier
                ],
                "at_least": found.at_least,
                "excluded": found.excluded,
            }
            for found in advice.classes
        ],
    }
