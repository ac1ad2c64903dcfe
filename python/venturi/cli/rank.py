"""`venturi rank`: many groups of trials by time or cost, with ties."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.options import json_option, print_json
from venturi.cli.repository import open_repository, say_left_out
from venturi.cli.screen import show
from venturi.errors import ExitCode, VenturiError
from venturi.present.table import table
from venturi.units import format_duration
from venturi.wording import NAMES_SHOWN

if TYPE_CHECKING:
    from venturi.model.compare.groups import Group
    from venturi.model.compare.ranking import Ranked, Ranking
    from venturi.record.query.selection import Query
    from venturi.record.repository import Repository

OBJECTIVES = {"time": "time", "cost": "cost", "cost-time": "cost x time", "pareto": "time and cost"}
_PLUS = re.compile(r"([^=]+)=(.*):([0-9.]+)")


@click.command()
@click.option("--by", "keys", multiple=True, is_flag=False, flag_value="", metavar="KEY",
              help="Group by this column or configuration key; repeat it for more.")  # fmt: skip
@click.option(
    "--where", multiple=True, metavar="KEY=VALUE|KEY<N|KEY>N",
    help="Only trials with this value of a column or configuration key; several must all hold.",
)  # fmt: skip
@click.option("--objective", type=click.Choice(tuple(OBJECTIVES)), default="time",
              show_default=True, help="What to rank by, the lowest first.")  # fmt: skip
@click.option("--usd-per-hour", type=click.FloatRange(0), metavar="USD",
              help="Price of the whole cluster per hour; a cost needs it.")  # fmt: skip
@click.option(
    "--plus", multiple=True, metavar="KEY=VALUE:USD",
    help="Added to the price of groups with this value of a key of --by, such as net=IB:0.80.",
)  # fmt: skip
@json_option
def command(
    *,
    keys: tuple[str, ...],
    where: tuple[str, ...],
    objective: str,
    usd_per_hour: float | None,
    plus: tuple[str, ...],
    as_json: bool,
) -> None:
    """Rank groups of trials: which is best, and which cannot be told apart from it.

    Medians of the succeeded trials that are no warm-ups. A group is worse than the best only if a
    test says so; all others may be the best.

    \b
    venturi rank --by net --by disk --where workload=terasort --objective cost \\
        --usd-per-hour 3.50 --plus net=IB:0.80 --plus disk=SSD:0.70
    """
    from venturi.model.compare.groups import groups_from
    from venturi.model.compare.ranking import Objective, rank_groups
    from venturi.record.query.checks import require_conditions, require_keys
    from venturi.record.query.conditions import parse_condition
    from venturi.record.query.grouping import group_by
    from venturi.record.query.selection import Query

    if usd_per_hour is None and (objective != "time" or plus):
        raise click.UsageError("a cost needs the price of the cluster: add --usd-per-hour USD")
    query = Query(tuple(parse_condition(text) for text in where))
    with open_repository() as repository:
        if not all(keys) or not keys:
            raise _no_key(repository)
        keys = require_keys(repository, keys)
        query = replace(query, conditions=require_conditions(repository, query.conditions))
        found = group_by(repository, query, keys)
        say_left_out(repository, query)
        _warn_of_a_mix(repository, query)
    added = _added(plus, keys)
    groups = groups_from(found)
    if usd_per_hour is not None:
        groups = tuple(_priced(group, keys, usd_per_hour, added) for group in groups)
    if not any(group.elapsed_s for group in groups):
        click.echo("no succeeded trials match", err=True)
        if as_json:
            print_json({"keys": keys, "groups": []})
        return
    ranking = rank_groups(groups, Objective(OBJECTIVES[objective]))
    if as_json:
        print_json(_data(ranking, keys))
    else:
        _print(ranking, keys)


def _no_key(repository: Repository) -> VenturiError:
    """VEN-QUERY-VALUE with some of the keys by which trials differ."""
    from venturi.record.query.known_keys import keys

    varied = [each for each in keys(repository) if each.distinct > 1]
    texts = [each for each in varied if each.type == "text" and each.key not in {"id", "group"}]
    columns = [each.key for each in texts if each.kind == "column"]
    settings = [each.key for each in varied if each.kind == "configuration"]
    shown = (*(columns or ("workload", "engine")), *settings[:NAMES_SHOWN])
    more = len(settings) - NAMES_SHOWN
    return VenturiError(
        "VEN-QUERY-VALUE",
        "--by KEY is missing: by what are the trials to be grouped?",
        where={"option": "--by"},
        hint=f"write --by KEY with one or more of {', '.join(shown)}"
        + (f" and {more:,} more" if more > 0 else ""),
        exit_code=ExitCode.USAGE,
    )


def _warn_of_a_mix(repository: Repository, query: Query) -> None:
    """Says that the trials are of several workloads, whose times say nothing of each other."""
    from venturi.record.query.grouping import group_by

    found = group_by(repository, query, ("workload",))
    names = sorted(_text(group.values[0]) for group in found if group.elapsed_s)
    if len(names) > 1:
        click.echo(
            f"warning: this mixes {len(names):,} workloads; add --where workload={names[0]} or "
            f"another of {', '.join(names[:NAMES_SHOWN])}",
            err=True,
        )


def _added(texts: tuple[str, ...], keys: tuple[str, ...]) -> dict[tuple[str, str], float]:
    """(key, value) -> US dollars an hour."""
    added = {}
    for text in texts:
        match = _PLUS.fullmatch(text)
        if match is None or match[1] not in keys:
            raise click.UsageError(
                f"--plus {text!r} is not KEY=VALUE:USD with a KEY of --by, such as net=IB:0.80"
            )
        try:
            added[match[1], match[2]] = float(match[3])
        except ValueError as error:
            raise click.UsageError(f"--plus {text!r}: {match[3]!r} is not a price") from error
    return added


def _priced(
    group: Group, keys: tuple[str, ...], usd_per_hour: float, added: Mapping[tuple[str, str], float]
) -> Group:
    from venturi.model.compare.groups import with_cost
    from venturi.model.cost.price import Tariff

    extra = sum(added.get((k, _text(v)), 0.0) for k, v in zip(keys, group.key, strict=True))
    return with_cost(group, Tariff(usd_per_hour + extra, "USD", source="--usd-per-hour"))


def _text(value: object) -> str:
    return "—" if value is None else str(value)


def _data(ranking: Ranking, keys: tuple[str, ...]) -> dict[str, Any]:

    return {
        "keys": keys,
        "objective": ranking.objective.value,
        "alpha": ranking.alpha,
        "each_alpha": ranking.each_alpha,
        "currency": ranking.currency,
        "groups": [
            {
                "key": dict(zip(keys, one.key, strict=True)),
                "rank": one.rank,
                "standing": one.standing.value,
                "reason": one.reason,
                "against": one.against and dict(zip(keys, one.against, strict=True)),
                "summaries": {axis.value: asdict(s) for axis, s in one.summaries.items()},
                "p_values": {axis.value: v.p_value for axis, v in one.verdicts.items()},
            }
            for one in ranking.groups
        ],
    }


def _print(ranking: Ranking, keys: tuple[str, ...]) -> None:
    from venturi.model.compare.ranking import AXES, Rank

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
        standing = one.standing.value + why
        made.add(_text(one.rank), *map(_text, one.key), str(count), *cells, standing)
    show(made)
    if len(ranking.tie) > 1:
        click.echo(f"{len(ranking.tie)} groups cannot be told apart at the top (alpha "
                   f"{ranking.alpha:g} for all comparisons together)")  # fmt: skip


def _summary(one: Ranked, axis: Any) -> str:
    """The median and its interval, where there are any."""
    from venturi.model.compare.ranking import Axis

    summary = one.summaries.get(axis)
    if summary is None or summary.median is None:
        return "—"

    def told(value: float) -> str:
        if axis is Axis.ELAPSED_S:
            return format_duration(value)
        return f"${value:,.3f}" if axis is Axis.COST else f"{value:,.0f} $ s"

    if summary.interval is None:
        return told(summary.median)
    return f"{told(summary.median)} ({told(summary.interval.low)}–{told(summary.interval.high)})"
