"""What was chosen for repeat groups, and the order in which trials were stored."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

import sqlalchemy as sa

from venturi.record.query.conditions import COLUMNS, PREFIX
from venturi.record.query.selection import fetch
from venturi.record.repository import Repository
from venturi.record.tables import RECORDS, TRIALS, text_of
from venturi.record.trial import Scalar

Settings = Mapping[str, Scalar]
"""All that was chosen for a repeat group: columns and configuration, each by its key."""

CHOSEN = (
    "workload", "workload_version", "scale", "input_bytes", "engine", "engine_version",
    "instance_type", "network", "hosts", "provenance", "source",
)  # fmt: skip
_AT_ONCE = 5_000  # ids in one statement
_KNOWN: dict[str, Settings] = {}
_KNOWN_MAX = 20_000  # some 30 MB


def chosen_of(repository: Repository, groups: Iterable[str]) -> dict[str, Settings]:
    """What was chosen for each of these repeat groups, read from one trial of each.

    A group's key is a digest of all of it, so that what was read once stays true.
    """
    if len(_KNOWN) > _KNOWN_MAX:
        _KNOWN.clear()
    asked = list(dict.fromkeys(groups))
    found = {group: known for group in asked if (known := _KNOWN.get(group)) is not None}
    wanted = [group for group in asked if group not in found]
    columns = [COLUMNS[name] for name in CHOSEN]
    with repository.reading() as connection:
        for start in range(0, len(wanted), _AT_ONCE):
            first = (
                sa.select(sa.func.min(TRIALS.c.serial))
                .where(TRIALS.c.group_key.in_(wanted[start : start + _AT_ONCE]))
                .group_by(TRIALS.c.group_key)
            )
            statement = (
                sa.select(TRIALS.c.group_key, RECORDS.c.configuration, *columns)
                .join(RECORDS, RECORDS.c.id == TRIALS.c.id)
                .where(TRIALS.c.serial.in_(first))
            )
            for group, configuration, *values in fetch(connection, statement):
                settings: dict[str, Scalar] = dict(zip(CHOSEN, values, strict=True))
                for key, value in json.loads(configuration).items():
                    if value is not None:
                        # A configuration key may bear the name of a column.
                        settings[f"{PREFIX}{key}" if key in COLUMNS else key] = text_of(value)
                found[group] = _KNOWN[group] = settings
    return found


def stored_order(repository: Repository, ids: Sequence[str]) -> list[str]:
    """`ids` in the order in which the trials were stored."""
    found: list[tuple[int, str]] = []
    with repository.reading() as connection:
        for start in range(0, len(ids), _AT_ONCE):
            statement = sa.select(TRIALS.c.serial, TRIALS.c.id).where(
                TRIALS.c.id.in_(ids[start : start + _AT_ONCE])
            )
            found += [(row.serial, row.id) for row in connection.execute(statement)]
    return [trial for _, trial in sorted(found)]
