"""`venturi effect`: the effect of a setting, all else being equal."""

from __future__ import annotations

import shlex
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import click

from venturi.cli.html import PageFile, html_options
from venturi.cli.open_repository import open_repository, say_left_out
from venturi.cli.options import (
    ignore_option,
    json_option,
    keep_option,
    print_json,
    where_option,
    with_excluded_option,
)
from venturi.cli.screen import details_option, is_first_screen, next_step, show, warn
from venturi.core.wording import count_of, joined, percent
from venturi.terminal.table import SCREEN_WIDTH, Paragraph, Table, shorten_to, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from venturi.core.statistics.stats import Interval
    from venturi.results.effects.effect import Effect, Effects, PartEffect

PARTS_SHOWN = 10
PARTS_NAMED = 5
CONFOUNDERS_SHOWN = 6
_FIRST_VALUES = 6


@click.command()
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@click.option(
    "--baseline",
    metavar="VALUE",
    help="Value to compare with; for several keys, one value of each: HDD,ETH. Default: the most "
    "frequent.",
)
@where_option()
@with_excluded_option
@ignore_option("Ignore differences in this key when trials are matched.")
@keep_option
@click.option(
    "--level",
    type=click.FloatRange(0.5, 0.999),
    default=0.95,
    show_default=True,
    help="Confidence level used for the verdict.",
)
@click.option(
    "--crude", is_flag=True, help="Also show the crude ratio over all trials (confounded)."
)
@details_option
@json_option
@html_options()
def command(
    *,
    keys: tuple[str, ...],
    baseline: str | None,
    where: tuple[str, ...],
    with_excluded: bool,
    ignored: tuple[str, ...],
    keep: tuple[str, ...],
    level: float,
    crude: bool,
    as_json: bool,
    html: PageFile | None,
) -> None:
    """Estimate the effect of a setting, all else being equal.

    Trials with each value of KEY are compared with the baseline's trials that match in every other
    key; each matched setting counts once. If the effect depends on another key, or if too few
    trials match, the answer names the keys and the next step. With several keys, each combination
    of their values is compared.

    \b
    venturi effect disk --where workload=terasort
    venturi effect disk net --baseline HDD,ETH --where workload=terasort
    """
    from venturi.record.query.checks import conditions_for
    from venturi.record.query.selection import Query
    from venturi.web.effects import Question, effects

    with open_repository() as repository:
        query = Query(conditions_for(repository, where), with_excluded=with_excluded)
        question = Question(keys, baseline, ignored, level, crude, keep=keep)
        answer = effects(repository, query, question)
        say_left_out(repository, query)
        if html is not None:
            named: list[tuple[str, object]] = [("key", key) for key in keys]
            named += [("where", text) for text in where]
            named += [("ignore", key) for key in ignored]
            named += [("keep", key) for key in keep]
            if baseline is not None:
                named.append(("baseline", baseline))
            named += [("excluded", "1")] if with_excluded else []
            named += [("level", level), ("crude", str(crude).lower())]
            html.write_answers(f"/effect?{urlencode(named)}", repository)
    if as_json:
        print_json(answer, answer.warnings)
        return
    _print(answer, where)
    warn(answer.warnings)


def _print(answer: Effects, where: Sequence[str]) -> None:
    from venturi.results.effects.effect_words import named

    first, _, more = answer.verdict.partition(". ")
    show(Paragraph(f"{first}.", "bold"), *([f"{more}."] if more else []))
    if answer.main is None or answer.baseline is None:
        return
    one = answer.effects[answer.main]
    words, command = _next_command(answer, one, where)
    if answer.curve is not None:
        from venturi.cli.results.curve_table import curve_lines

        show("", *curve_lines(answer.curve, whole=not is_first_screen()))
        if is_first_screen():
            next_step(words, command)
            return
    next_step(words, command)
    if not is_first_screen():
        show(f"Next: {words}: {command}" if command else f"Next: {words}.")
    if answer.ignored:
        show(f"Matched on request although they differ in {joined(answer.ignored)}.")
    base = named(answer.keys, answer.baseline)
    compared = f"Compared with {base} ({answer.baseline_reason}) where nothing else differs"
    if is_first_screen():
        differ = answer.rows.partition(". ")[0]  # which rows are comparable is a detail
        show("", f"{compared}. {differ}:" if differ else f"{compared}:")
        judged, rest = _split(answer)
        show(_values(replace(answer, effects=judged)), *_part_lines(answer, one))
        texts = [str(value) for each in judged for value in each.value]
        codes = "; ".join(
            f"{code}: {meaning}"
            for code, meaning in answer.explained.items()
            if any(text.startswith(code.removesuffix("n")) for text in texts)
        )
        show(*([Paragraph(codes, indent=2)] if codes else []))
        if rest:
            others = [named(answer.keys, each.value) for each in rest]
            show(_fitted(f"{count_of(len(rest), 'other value')}: ", others))
        return
    show("", f"{compared}. {answer.rows}:" if answer.rows else f"{compared}:")
    show(_values(answer))
    if answer.rows:
        show(Paragraph("`venturi rank` compares the rows with each other", indent=2))
    unmatched = [each for each in answer.effects if not each.strata]
    if unmatched:
        names = ", ".join(named(answer.keys, each.value) for each in unmatched)
        show(Paragraph(f"no matched setting with {base}: {names}", indent=2))
    _print_one(answer, one)
    if answer.explained:
        show("", *(f"{code}: {meaning}" for code, meaning in answer.explained.items()))


def _fitted(before: str, names: Sequence[str]) -> str:
    """Return `before` with as many `names` as fit into a line, and how many are left."""
    for shown in range(len(names), 0, -1):
        rest = f" and {len(names) - shown} more" if shown < len(names) else ""
        line = before + ", ".join(names[:shown]) + rest
        if len(line) <= SCREEN_WIDTH:
            return line
    return shorten_to(before + names[0], SCREEN_WIDTH)


def _next_command(answer: Effects, one: Effect, where: Sequence[str]) -> tuple[str, str]:
    """Return the next step in words and, unless it is to measure, as a command."""
    step = one.next
    more = [("--where", text) for text in (*where, *step.where[:1])]
    if step.where or step.ignore:
        more += [("--ignore", key) for key in (*answer.ignored, *step.ignore)]
        return step.words, shlex.join(("venturi", "effect", *answer.keys, *chain(*more)))
    if step.words:
        return step.words, ""
    by = [("--by", key) for key in answer.keys]
    return "see which tie for fastest", shlex.join(("venturi", "rank", *chain(*by, *more)))


def _split(answer: Effects) -> tuple[tuple[Effect, ...], tuple[Effect, ...]]:
    """Return the values that differ, the largest effect first, and all others."""
    from venturi.results.effects.effect import EffectOutcome

    differing = {EffectOutcome.FASTER, EffectOutcome.SLOWER, EffectOutcome.DEPENDS}
    judged = [each for each in answer.effects if each.strata and each.outcome in differing]
    judged = judged or [each for each in answer.effects if each.strata]
    judged.sort(key=lambda each: each.ratio or 1.0)
    names = {each.value for each in judged[:_FIRST_VALUES]}
    rest = [each for each in answer.effects if each.value not in names]
    return tuple(judged[:_FIRST_VALUES]), tuple(rest)


def _values(answer: Effects) -> Table:
    """A row for each value with something matched."""
    from venturi.results.effects.effect_words import outcome_text, perhaps, shown

    within, tenths = f"{100 * answer.level:.3g} % interval", "80 % of settings"
    whole = not is_first_screen()
    made = table(
        *answer.keys,
        "time ratio",
        within,
        "settings",
        "faster/slower",
        *([tenths] if whole else []),
        "verdict",
        left=len(answer.keys),
        prose=("verdict",),
    )
    for each in answer.effects:
        if not each.strata:
            continue
        values = [shown(key, value) for key, value in zip(answer.keys, each.value, strict=True)]
        made.add(
            *values,
            _ratio(each.ratio),
            _interval(each.interval),
            f"{each.strata:,}",
            f"{each.below}/{each.above}",
            *([_between(each.low_tenth, each.high_tenth) if each.strata > 1 else ""] * whole),
            outcome_text(each) + (f", {each.failed} failed" if each.failed else ""),
        )
    if any(map(perhaps, answer.effects)):
        made.notes.append(("verdict", "perhaps: may be chance, as so many values were compared"))
    return made


def _print_one(answer: Effects, one: Effect) -> None:
    """Print the details of the leading value."""
    from venturi.results.effects.effect_words import named

    name, base = (named(answer.keys, value) for value in (one.value, one.baseline))
    if one.crude is not None:
        show(
            "",
            f"Crude ratio (confounded): {name} takes {_ratio(one.crude.ratio)} times the "
            f"time of {base} (medians of all {one.n_all:,} and {one.n_baseline_all:,} "
            "trials).",
        )
    if one.adjusted is not None:
        show(
            "",
            f"Adjusted by a model, not matched: {_ratio(one.adjusted.ratio)} "
            f"({_interval(one.adjusted.interval)}), from {one.adjusted.kept:,} of "
            f"{one.adjusted.trials:,} trials.",
        )
    if one.these_only is not None:
        show("", f"For these {one.strata} settings only: {_interval(one.these_only)}.")
    _print_parts(answer, one)
    reach = one.other_machines
    if reach is not None and reach.interval is not None:
        show(
            "",
            f"For other machines: {_ratio(reach.ratio)} ({_interval(reach.interval)}), "
            f"each of {count_of(reach.machines, 'machine')} once.",
        )
    if one.confounders:
        about = "matched above" if one.strata else "which is why there is no answer"
        show("", f"Other differences between all trials of {name} and {base}, {about}:")
        show(_confounders(one))


def _varying_parts(one: Effect) -> list[tuple[str, Sequence[PartEffect]]]:
    """Return the effect by workload, by the keys it depends on, and by machine."""
    by: list[tuple[str, Sequence[PartEffect]]] = []
    if len(one.works) > 1:
        by.append(("workload", one.works))
    by += [
        (", ".join(each.keys[:2]), each.parts) for each in one.depends if each.keys[0] != "workload"
    ][:2]
    if len(one.machines) > 1 and not any(keys.startswith("cluster") for keys, _ in by):
        by.append(("machines", one.machines))
    return by


def _part_lines(answer: Effects, one: Effect) -> Iterator[Paragraph]:
    """Yield how the effect varies, a line each."""
    from venturi.results.effects.effect_words import named, shown

    for keys, parts in _varying_parts(one):
        key = keys.split(", ")[0]
        listed = [f"{shown(key, part.value)} {_ratio(part.ratio)}" for part in parts[:PARTS_NAMED]]
        if len(parts) > PARTS_NAMED:
            listed.append(f"and {len(parts) - PARTS_NAMED} more")
        yield Paragraph(f"{named(answer.keys, one.value)} by {key}: {', '.join(listed)}")


def _print_parts(answer: Effects, one: Effect) -> None:
    """Print how the effect varies, in tables."""
    from venturi.results.effects.effect_words import named

    name = named(answer.keys, one.value)
    for keys, parts in _varying_parts(one):
        show("", f"{name} by {keys}:")
        show(_parts(keys.split(", ")[0], parts))
        if len(parts) > PARTS_SHOWN:
            show(Paragraph(f"and {len(parts) - PARTS_SHOWN} more (--json has all)", indent=2))


def _parts(key: str, parts: Sequence[PartEffect]) -> Table:
    from venturi.results.effects.effect_words import shown

    made = table(key, "time ratio", "interval", "settings", "trials", left=1)
    for part in parts[:PARTS_SHOWN]:
        made.add(
            shown(key, part.value),
            _ratio(part.ratio),
            _interval(part.interval),
            f"{part.strata:,}",
            f"{part.trials:,}",
        )
    return made


def _confounders(one: Effect) -> Table:
    made = table(
        "key", "shared differently", "ratio with it equal", "change", left=1, prose=("key",)
    )
    flagged = [each for each in one.confounders if each.flagged]
    for each in (flagged or one.confounders)[:CONFOUNDERS_SHOWN]:
        change = each.change
        made.add(
            ", ".join(each.keys[:2]),
            percent(each.apart),
            _ratio(each.ratio) if each.ratio is not None else "no common value",
            "" if change is None else ("-" if change < 0 else "+") + percent(change),
        )
    return made


def _ratio(ratio: float | None) -> str:
    from venturi.results.effects.effect_words import ratio_text

    return "" if ratio is None else ratio_text(ratio)


def _interval(interval: Interval | None) -> str:
    return "" if interval is None else _between(interval.low, interval.high)


def _between(low: float | None, high: float | None) -> str:
    return f"{_ratio(low)} to {_ratio(high)}"
