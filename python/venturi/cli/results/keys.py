"""`venturi keys`: the keys by which trials can be filtered, sorted and grouped, with
their values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from venturi.cli.open_repository import open_repository, say_none_match
from venturi.cli.options import json_option, print_json
from venturi.cli.screen import show
from venturi.record.vocabulary import code_of, same_thing, word_of
from venturi.terminal.table import UNKNOWN, table, table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from venturi.record.query.faceting import Facet, FacetValue
    from venturi.record.query.known_keys import KeyInfo
    from venturi.record.store.repository import TrialRepository

VALUES_SHOWN = 3  # of a key in the list of all
VALUES_OF_ONE = 40


@click.command()
@click.argument("key", required=False)
@json_option
def command(key: str | None, as_json: bool) -> None:
    """List the keys to filter and group trials by.

    These are the keys of --by, --where and --sort, with the values that trials have. With KEY (by
    any of its names: `nodes`, "map tasks"), show its meaning and most frequent values.
    """
    with open_repository() as repository:
        data = _of_one(repository, key) if key else _of_all(repository)
        if not data or (isinstance(data, dict) and not data["trials"]):
            say_none_match(repository)
    if as_json:
        print_json(data)
    elif isinstance(data, list):
        _print_all(data)
    else:
        _print_one(data)


def _of_all(repository: TrialRepository) -> list[dict[str, Any]]:
    """Every key that some trial has a value of, those that divide the trials first."""
    from venturi.record.query.faceting import FACET_KEYS_MAX, facets
    from venturi.record.query.known_keys import keys
    from venturi.record.query.selection import Query

    known = [each for each in keys(repository) if each.n]
    plain = [each.key for each in known if each.key not in {"id", "group", "started_at"}]
    found: dict[str, Facet] = {}
    for start in range(0, len(plain), FACET_KEYS_MAX):
        some = plain[start : start + FACET_KEYS_MAX]
        found |= {each.key: each for each in facets(repository, Query(), some)}
    told: list[dict[str, Any]] = []
    seen: list[Facet] = []
    for each in known:
        facet = found.get(each.key)
        if facet is not None:
            # Another name of one thing, with the same values: it has been listed.
            if any(
                same_thing(facet.key, other.key) and _counts(facet) == _counts(other)
                for other in seen
            ):
                continue
            seen.append(facet)
        values = facet.values[:VALUES_SHOWN] if facet else ()
        told.append(_data(each, each.distinct, values))
    return told


def _counts(facet: Facet) -> tuple[int, list[tuple[str, int]]]:
    from venturi.record.store.tables import text_of

    return facet.missing, sorted((text_of(each.value), each.n) for each in facet.values)


def _of_one(repository: TrialRepository, key: str) -> dict[str, Any]:
    from venturi.record.query.checks import require_keys
    from venturi.record.query.faceting import facets
    from venturi.record.query.known_keys import KeyInfo, keys
    from venturi.record.query.selection import Query

    (name,) = require_keys(repository, (key,))
    (facet,) = facets(repository, Query(), (name,))
    n = sum(each.n for each in facet.values)
    info = next(
        (each for each in keys(repository) if each.key == name),
        KeyInfo(name, "configuration", "mixed", n, facet.distinct),
    )
    return _data(info, facet.distinct, facet.values[:VALUES_OF_ONE])


def _data(info: KeyInfo, distinct: int, values: Sequence[FacetValue]) -> dict[str, Any]:
    key, word = info.key, word_of(info.key)
    told = []
    for each in values:
        code = code_of(key, each.value)
        told.append(
            {
                "value": each.value,
                "trials": each.n,
                "meaning": code and code.meaning,
                "source": code and code.source,
            }
        )
    return {
        "key": key,
        "kind": info.kind,
        "type": info.type,
        "meaning": word.meaning if word else None,
        "unit": word.unit if word else None,
        "also": [name for name in (*word.names, *word.also) if name != key] if word else [],
        "trials": info.n,
        "distinct": distinct,
        "values": told,
    }


def _print_all(data: list[dict[str, Any]]) -> None:
    rows = []
    for each in data:
        shown = ", ".join(str(value["value"]) for value in each["values"])
        more = ", ..." if shown and each["distinct"] > len(each["values"]) else ""
        unit = f" [{each['unit']}]" if each["unit"] else ""
        rows.append(
            {
                "key": each["key"],
                "trials": f"{each['trials']:,}",
                "values": f"{each['distinct']:,}",
                "the most frequent": shown + more or UNKNOWN,
                "meaning": (each["meaning"] or UNKNOWN) + unit,
            }
        )
    made = table_of(rows, prose=("the most frequent", "meaning"), spare=("trials",))
    show(made)
    click.echo("`venturi keys KEY` has all values of one", err=True)


def _print_one(data: dict[str, Any]) -> None:
    unit = f" [{data['unit']}]" if data["unit"] else ""
    meaning = f": {data['meaning']}{unit}" if data["meaning"] else ""
    also = f"; also {', '.join(data['also'])}" if data["also"] else ""
    show(f"{data['key']}{meaning}{also}")
    explained = any(value["meaning"] for value in data["values"])
    made = table("value", "trials", *(("meaning",) if explained else ()), prose=("meaning",))
    for each in data["values"]:
        why = (each["meaning"] or UNKNOWN,) if explained else ()
        made.add(str(each["value"]), f"{each['trials']:,}", *why)
    show(made)
    if (more := data["distinct"] - len(data["values"])) > 0:
        click.echo(f"and {more:,} more values", err=True)
    for source in dict.fromkeys(value["source"] for value in data["values"] if value["source"]):
        click.echo(f"source of the meanings: {source}", err=True)
