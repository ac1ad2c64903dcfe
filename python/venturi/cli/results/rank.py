"""`venturi rank`: many groups of trials by time or cost, with ties."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.open_repository import open_repository, say_left_out
from venturi.cli.options import (
    ignore_option,
    json_option,
    keep_option,
    print_json,
    where_option,
    with_excluded_option,
)
from venturi.cli.screen import details_option, is_first_screen, next_step, show, show_whole, warn
from venturi.core.errors import UsageError, VenturiError
from venturi.core.units import format_duration
from venturi.core.wording import NAMES_SHOWN
from venturi.terminal.table import Paragraph, table, table_of

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository
    from venturi.results.effects.strata import SucceededTrials
    from venturi.results.ranking.matched_ranking import MatchedRank, MatchedRanking, MatchedSet
    from venturi.results.ranking.rank_trials import RecordedPrices, TrialRanking
    from venturi.results.ranking.ranking import GroupRank as Placed
    from venturi.results.ranking.ranking import Ranking

OBJECTIVES = {"time": "time", "cost": "cost", "cost-time": "cost x time", "pareto": "time and cost"}
_FIRST_GROUPS = 6
_PLUS = re.compile(r"([^=]+)=(.*):([0-9.]+)")


@click.command()
@click.option(
    "--by",
    "keys",
    multiple=True,
    is_flag=False,
    flag_value="",
    metavar="KEY",
    help="Group by this column or configuration key; repeatable.",
)
@where_option()
@with_excluded_option
@ignore_option("Ignore differences in this key when groups are matched.")
@keep_option
@click.option(
    "--objective",
    type=click.Choice(tuple(OBJECTIVES)),
    default="time",
    show_default=True,
    help="Rank by time or cost, lowest first.",
)
@click.option(
    "--usd-per-hour",
    type=click.FloatRange(0),
    metavar="USD",
    help="Price of the whole cluster per hour. Costs need a price.",
)
@click.option(
    "--usd-per-node-hour",
    type=click.FloatRange(0),
    metavar="USD",
    help="Price per node and hour, times the recorded hosts of each trial.",
)
@click.option(
    "--plus",
    multiple=True,
    metavar="KEY=VALUE:USD",
    help="Surcharge for trials with this value, such as net=IB:0.80. disk=SSD:0.70 applies to "
    "every layout with SSDs (SS2, HS5), once per SSD.",
)
@click.option(
    "--prices",
    "whose",
    type=click.Choice(["recorded"]),
    help="Use the costs recorded with the trials; trials without one are skipped. The default if "
    "you give no price and every trial has a cost.",
)
@click.option("--crude", is_flag=True, help="Rank crude medians over all trials (confounded).")
@details_option
@json_option
def command(
    *,
    keys: tuple[str, ...],
    where: tuple[str, ...],
    with_excluded: bool,
    ignored: tuple[str, ...],
    keep: tuple[str, ...],
    objective: str,
    usd_per_hour: float | None,
    usd_per_node_hour: float | None,
    plus: tuple[str, ...],
    whose: str | None,
    crude: bool,
    as_json: bool,
) -> None:
    """Rank groups of trials by time or cost, with ties.

    If trials differ in more keys than those they are grouped by, groups are ranked over matched
    settings. A group ranks lower only if a test shows a difference; all others tie for best.

    \b
    venturi rank --by net --by disk --where workload=terasort --objective cost \\
        --usd-per-hour 3.50 --plus net=IB:0.80 --plus disk=SSD:0.70
    """
    from venturi.record.query.checks import conditions_for, require_keys
    from venturi.record.query.selection import Query
    from venturi.record.query.trial_columns import BELONGING, check_settings
    from venturi.results.ranking.rank_trials import (
        Prices,
        counted,
        rank_trials,
        recorded_prices,
        require_rankable,
    )
    from venturi.results.ranking.ranking import Objective

    if usd_per_hour is not None and usd_per_node_hour is not None:
        raise click.UsageError("give either --usd-per-hour or --usd-per-node-hour")
    price = usd_per_node_hour if usd_per_hour is None else usd_per_hour
    if price is None and plus:
        raise click.UsageError(
            "--plus is added to a price: add --usd-per-hour USD for the whole cluster, or "
            "--usd-per-node-hour USD"
        )
    if price is not None and whose:
        raise click.UsageError("give either a price or --prices recorded")
    added = _added(plus)
    with open_repository() as repository:
        if not all(keys) or not keys:
            raise _no_key(repository)
        keys = require_keys(repository, keys)
        check_settings(keys, "by", BELONGING)
        query = Query(conditions_for(repository, where), with_excluded=with_excluded)
        added = recorded_prices(repository, added)
        ignored = require_keys(repository, ignored)
        keep = require_keys(repository, keep)
        every = (*keys, *(key for key, _, _ in added))
        trials = counted(repository, query, every, ignored, keep)
        say_left_out(repository, query)
        prices: Prices | RecordedPrices | None = None
        if price is not None:
            prices = Prices(price, added, "cluster" if usd_per_node_hour is None else "node")
        elif len(trials.logs) and (whose or objective != "time"):
            prices = _known_prices(repository, trials, asked=whose is not None)
    if not len(trials.logs):
        click.echo("no succeeded trials match", err=True)
        if as_json:
            print_json({"keys": keys, "groups": []})
        return
    require_rankable(trials, keys, prices)
    ranked = rank_trials(trials, keys, Objective(OBJECTIVES[objective]), prices, crude=crude)
    if as_json:
        print_json(_data(ranked, keys), ranked.warnings)
        return
    _print(ranked, trials, where)
    warn(ranked.warnings)


def _known_prices(
    repository: TrialRepository, trials: SucceededTrials, *, asked: bool
) -> RecordedPrices:
    """The recorded prices of `trials`, else those that the user has set; an error without both."""
    from venturi.core.settings import load
    from venturi.machines.cost.prices_file import own_job_prices
    from venturi.results.ranking.rank_trials import no_prices, prices_recorded
    from venturi.results.ranking.set_prices import prices_set

    found = prices_recorded(repository, trials, asked=asked)
    found = found or prices_set(repository, trials, own_job_prices(load().job_prices))
    if found is None:
        raise no_prices(repository, trials)
    return found


def _no_key(repository: TrialRepository) -> VenturiError:
    """VEN-QUERY-VALUE with some of the keys by which trials differ."""
    from venturi.record.query.known_keys import keys

    varied = [each for each in keys(repository) if each.distinct > 1]
    texts = [each for each in varied if each.type == "text" and each.key not in {"id", "group"}]
    columns = [each.key for each in texts if each.kind == "column"]
    settings = [each.key for each in varied if each.kind == "configuration"]
    shown = (*(columns or ("workload", "engine")), *settings[:NAMES_SHOWN])
    more = len(settings) - NAMES_SHOWN
    return UsageError(
        "VEN-QUERY-VALUE",
        "--by KEY is missing: name the key to group trials by",
        where={"option": "--by"},
        hint=f"write --by KEY with one or more of {', '.join(shown)}"
        + (f" and {more:,} more" if more > 0 else ""),
    )


def _added(texts: tuple[str, ...]) -> tuple[tuple[str, str, float], ...]:
    """(key, value, US dollars an hour) of each text."""
    added = []
    for text in texts:
        match = _PLUS.fullmatch(text)
        if match is None:
            raise click.UsageError(f"--plus {text!r} is not KEY=VALUE:USD, such as net=IB:0.80")
        try:
            added.append((match[1], match[2], float(match[3])))
        except ValueError as error:
            raise click.UsageError(f"--plus {text!r}: {match[3]!r} is not a price") from error
    return tuple(added)


def _text(value: object) -> str:
    return "—" if value is None else str(value)


def _data(ranked: TrialRanking, keys: tuple[str, ...]) -> dict[str, Any]:
    from venturi.results.ranking.rank_words import sentences

    data: dict[str, Any] = {
        "keys": keys,
        "basis": ranked.basis,
        "differ_besides": ranked.besides,
        "change_only_with_the_groups": ranked.along,
        "caption": ranked.naming.caption,
        "explained": ranked.naming.explained,
        "verdict": "; ".join(sentences(ranked)),
        "prices": ranked.prices,
    }
    if ranked.alike is not None:
        return data | _matched_data(ranked, ranked.alike, keys)
    ranking = ranked.ranking
    assert ranking is not None
    return data | {
        "objective": ranking.objective.value,
        "alpha": ranking.alpha,
        "each_alpha": ranking.each_alpha,
        "currency": ranking.currency,
        "groups": [
            {
                "key": dict(zip(keys, one.key, strict=True)),
                "name": ranked.names[one.key],
                "rank": one.rank,
                "standing": one.standing.value,
                "reason": one.reason,
                "against": one.against and dict(zip(keys, one.against, strict=True)),
                "summaries": {axis.value: s for axis, s in one.summaries.items()},
                "p_values": {axis.value: v.p_value for axis, v in one.verdicts.items()},
            }
            for one in ranking.groups
        ],
    }


def _matched_data(
    ranked: TrialRanking, alike: MatchedRanking, keys: tuple[str, ...]
) -> dict[str, Any]:
    return {
        "objective": alike.objective.value,
        "alpha": alike.alpha,
        "held_equal": alike.equal,
        "sets_differ_in": alike.apart,
        "groups": [
            {
                "key": dict(zip(keys, place.key, strict=True)),
                "name": ranked.names[place.key],
                "set": number,
                "rank": place.rank,
                "standing": place.standing.value,
                "reason": place.reason,
                "against": dict(zip(keys, each.base, strict=True)),
                "by_way_of": None
                if each.base == each.reference
                else dict(zip(keys, each.reference, strict=True)),
                "each_alpha": each.each_alpha,
                "trials": place.n,
                "settings": place.strata,
                "ratio": place.ratio,
                "interval": place.interval,
                "medians_not_like_with_like": ranked.medians[place.key],
            }
            for number, each in enumerate(alike.sets, start=1)
            for place in each.places
        ],
    }


def _print(ranked: TrialRanking, trials: SucceededTrials, where: tuple[str, ...]) -> None:
    from venturi.results.ranking.rank_words import sentences

    first, *others = sentences(ranked)
    show(Paragraph(first, "bold"))
    if not is_first_screen():
        show(*(Paragraph(sentence, "bold") for sentence in others))
    else:
        show(*others[:2])
        others = others[2:]
        _print_next(ranked, trials, where)
    if ranked.naming.caption:
        show(f"The same in all: {ranked.naming.caption}")
    codes = [f"{code}: {meaning}" for code, meaning in ranked.naming.explained.items()]
    if ranked.alike is not None:
        sets = [each for each in ranked.alike.sets if len(each.places) > 1]
        for each in sets[:1] if is_first_screen() else sets:
            _print_set(ranked, each, ranked.alike.alpha)
        if is_first_screen():
            show(*others)
            show_whole(*([Paragraph("; ".join(codes), "dim")] if codes else []))
            return
        show("held equal: " + ", ".join(ranked.alike.equal))
    elif ranked.ranking is not None:
        _print_medians(ranked.ranking, ranked.keys)
    if others and is_first_screen():
        show("", *others)
    show(*codes)


def _print_next(ranked: TrialRanking, trials: SucceededTrials, where: tuple[str, ...]) -> None:
    """A filter, if there are several sets; else the effects, if these can be estimated."""
    from venturi.results.ranking.rank_words import narrowing_key

    key = narrowing_key(ranked)
    if ranked.alike is not None and sum(len(each.places) > 1 for each in ranked.alike.sets) > 1:
        if key is None:
            next_step("see all sets: add --all")
            return
        value = _most_frequent(trials, ranked.keys, ranked.alike.sets[0].base, key)
        by = chain.from_iterable(("--by", each) for each in ranked.keys)
        options = chain.from_iterable(("--where", text) for text in (*where, f"{key}={value}"))
        words = f"rank within one {key}, where settings match"
        next_step(words, shlex.join(("venturi", "rank", *by, *options)))
    elif not ranked.along and (command := _effect_command(ranked, ranked.keys, where)):
        next_step("estimate each difference, and see if it varies", command)


def _most_frequent(
    trials: SucceededTrials, keys: Sequence[str], group: Sequence[object], key: str
) -> object:
    """The value of `key` in most trials of `group`."""
    import numpy as np

    inside = np.ones(len(trials.logs), bool)
    for name, value in zip(keys, group, strict=True):
        column = trials.columns[name]
        inside &= column.codes == column.values.index(value)
    column = trials.columns[key]
    return column.values[int(np.bincount(column.codes[inside]).argmax())]


def _effect_command(
    ranked: TrialRanking, keys: tuple[str, ...], where: tuple[str, ...]
) -> str | None:
    """Return the command for the effects of `keys`; None if the ranking isn't of settings by
    time.
    """
    from venturi.record.query.trial_columns import ORIGIN, WORK

    ranking = ranked.ranking if ranked.alike is None else ranked.alike
    if ranking is None or ranking.objective.value != OBJECTIVES["time"]:
        return None
    if any(key in (*WORK, *ORIGIN) for key in keys):
        return None
    options = chain.from_iterable(("--where", text) for text in where)
    return shlex.join(("venturi", "effect", *keys, *options))


def _print_set(ranked: TrialRanking, each: MatchedSet, alpha: float) -> None:
    from venturi.results.ranking.ranking import Rank

    shown = each.places[: _FIRST_GROUPS if is_first_screen() else None]
    priced = any(ranked.medians[place.key].cost_usd is not None for place in each.places)
    # Medians count all trials, so they may contradict the ranks. The first screen has only costs.
    brief = is_first_screen()
    median = ("median cost" if brief else "median time, cost") if priced else "median time"
    alone = sum(place.standing in {Rank.BEST, Rank.TIED} for place in each.places) == 1
    rows = []
    for place in shown:
        interval, medians = place.interval, ranked.medians[place.key]
        cost = "" if medians.cost_usd is None else f", ${medians.cost_usd:,.3f}"
        is_base, is_reference = place.key == each.base, place.key == each.reference
        within = "—" if interval is None else f"{_end(interval.low)} to {_end(interval.high)}"
        row = {
            "#": _text(place.rank),
            "group": ranked.names[place.key],
            "trials": f"{place.n:,}",
            "settings": "—" if is_reference else str(place.strata),
            "ratio": "—" if place.ratio is None else f"{place.ratio:.3g}",
            "interval": ("best" if each.base != each.reference else "reference")
            if is_base
            else within,
            median: cost.removeprefix(", ") if brief else format_duration(medians.elapsed_s) + cost,
            "standing": _standing(place, alone=alone),
        }
        if brief and not priced:
            del row[median]
        rows.append(row)
    made = table_of(
        rows,
        left=2,
        prose=("group", median, "standing"),
        spare=("trials",) if priced or brief else (median, "trials"),
    )
    if priced or not brief:
        made.notes.append((median, f"{median}: of all trials of a group, matched or not"))
    compared = round(alpha / each.each_alpha)
    via = "in the settings that both have"
    if each.base != each.reference:
        via = f"by way of {ranked.names[each.reference]}, which shares settings with all"
    show(
        "",
        f"Ratio to {ranked.names[each.base]} {via}; intervals {1 - 2 * alpha:.0%} overall"
        + (f", corrected for {compared} comparisons" if compared > 1 else ""),
        made,
    )
    if len(shown) < len(each.places):
        show(f"  and {len(each.places) - len(shown)} more")


def _standing(place: MatchedRank, *, alone: bool) -> str:
    """The best of several that tie is one of them; `alone` says that it's the only one."""
    from venturi.results.ranking.ranking import Rank

    ties = place.standing is Rank.TIED or (place.standing is Rank.BEST and not alone)
    short = place.standing.value
    if ties:
        short = "may tie" if place.reason else Rank.TIED.value
    return short if is_first_screen() or not place.reason else f"{short}: {place.reason}"


def _end(ratio: float) -> str:
    return "under 0.01" if ratio < 0.01 else "over 100" if ratio > 100 else f"{ratio:.3g}"


def _print_medians(ranking: Ranking, keys: tuple[str, ...]) -> None:
    from venturi.results.ranking.ranking import AXES, Rank

    axes = AXES[ranking.objective]
    heads = tuple(f"median {axis.value.removesuffix('_s')}" for axis in axes)
    made = table(
        "#",
        *keys,
        "trials",
        *heads,
        "standing",
        left=1 + len(keys),
        prose=(*keys, *heads, "standing"),
    )
    for one in ranking.groups:
        cells = [_summary(one, axis) for axis in axes]
        count = max((s.n for s in one.summaries.values()), default=0)
        why = f": {one.reason}" if one.standing is Rank.CANNOT_TELL else ""
        made.add(
            _text(one.rank), *map(_text, one.key), str(count), *cells, one.standing.value + why
        )
    show(made)


def _summary(one: Placed, axis: Any) -> str:
    """The median and its interval, where there are any."""
    from venturi.results.ranking.ranking import Axis

    summary = one.summaries.get(axis)
    if summary is None or summary.median is None:
        return "—"

    def shown(value: float) -> str:
        if axis is Axis.ELAPSED_S:
            return format_duration(value)
        return f"${value:,.3f}" if axis is Axis.COST else f"{value:,.0f} $ s"

    if summary.interval is None:
        return shown(summary.median)
    return f"{shown(summary.median)} ({shown(summary.interval.low)}–{shown(summary.interval.high)})"
