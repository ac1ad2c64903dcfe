"""The trials of a query: their rows, page by page, or the whole of each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from venturi.core.errors import VenturiError
from venturi.record.query.conditions import COLUMNS, Condition
from venturi.record.query.cursor import after, make_cursor, open_cursor
from venturi.record.query.selection import (
    PAGE_ROWS_MAX,
    Query,
    covering,
    rules_of,
    source_of,
    where,
)
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import RECORDS, TRIALS, shown_moment
from venturi.record.trial import Scalar, Trial
from venturi.record.trial_json import stored_trial


@dataclass(frozen=True, slots=True)
class TrialRow:
    """The columns of a trial; names as in `Trial`, `failure` is the code.

    `excluded` is the id of the oldest exclusion in force that covers the trial.
    """

    id: str
    workload: str
    workload_version: str
    scale: str | None
    input_bytes: int | None
    engine: str
    engine_version: str
    state: str
    failure_kind: str | None
    failure: str | None
    experiment: str | None
    group: str
    repetition: int
    warm_up: bool
    provenance: str
    source: str
    instance_type: str | None
    network: str | None
    hosts: int
    started_at: datetime | None
    elapsed_s: float | None
    warnings: int
    disturbed: bool | None
    cpu_others_share: float | None
    disk_others_share: float | None
    cpu_steal_share: float | None
    configuration: Mapping[str, Scalar]
    excluded: str | None


@dataclass(frozen=True, slots=True)
class QueryPage:
    """Some rows of a query; `next_cursor` is None on the last page."""

    rows: tuple[TrialRow, ...]
    next_cursor: str | None


def rows(repository: TrialRepository, query: Query) -> QueryPage:
    """The rows of one page of `query`. VEN-QUERY-CURSOR for a damaged cursor, or one of another
    query.
    """
    source, keys = source_of([query.sort])
    terms = keys[0] if keys[0][0] is TRIALS.c.id else [*keys[0], TRIALS.c.id]
    beyond = [] if query.cursor is None else [after(terms, open_cursor(query, terms), query)]
    ordered = [(term.desc() if query.descending else term.asc()).nulls_last() for term in terms]
    labelled = [term.label(f"term_{number}") for number, term in enumerate(terms)]
    with repository.reading() as connection:
        rules = rules_of(connection)
        heeded = () if query.with_excluded else rules
        statement = (
            sa.select(*COLUMNS.values(), *labelled)
            .select_from(source)
            .where(*where(query.conditions, heeded), *beyond)
            .order_by(*ordered)
            .limit(query.limit + 1)
        )
        found = connection.execute(statement).all()
        page = found[: query.limit]
        ids = [row.id for row in page]
        chosen = sa.select(RECORDS.c.id, RECORDS.c.configuration).where(RECORDS.c.id.in_(ids))
        configuration = {row.id: row.configuration for row in connection.execute(chosen)}
        excluded = covering(connection, rules, ids) if query.with_excluded else {}
    return QueryPage(
        # A row of which there is no record is no trial: `record.upkeep` finds it.
        tuple(
            _row(row, configuration[row.id], excluded.get(row.id))
            for row in page
            if row.id in configuration
        ),
        make_cursor(query, page[-1][len(COLUMNS) :]) if len(found) > len(page) else None,
    )


def whole_trials(
    repository: TrialRepository,
    *conditions: Condition,
    most: int | None = None,
    skip: Callable[[VenturiError], None] | None = None,
) -> list[Trial]:
    """The trials that meet all `conditions`, newest first, undated ones last; at most `most`.

    The first that cannot be read is an error, unless `skip` is given, which is called for each.

    Each is decoded from its record, for callers that need its phases, samples or artifacts.
    Exclusions leave none out: this reads the record and answers no question.
    """
    newest_first = (TRIALS.c.started_at_us.desc().nulls_last(), TRIALS.c.id.desc())
    statement = (
        sa.select(RECORDS.c.id, RECORDS.c.record)
        .join(TRIALS, TRIALS.c.id == RECORDS.c.id)
        .where(*where(conditions, ()))
        .order_by(*newest_first)
        .limit(most)
    )
    with repository.reading() as connection:
        found = connection.execute(statement).all()
    made = []
    for id_, record in found:
        try:
            made.append(stored_trial(record, id_))
        except VenturiError as error:
            if skip is None:
                raise
            skip(error)
    return made


def records_of(repository: TrialRepository, page: QueryPage) -> list[str]:
    """The stored records of the rows of `page`, in their order."""
    ids = [row.id for row in page.rows]
    chosen = sa.select(RECORDS.c.id, RECORDS.c.record).where(RECORDS.c.id.in_(ids))
    with repository.reading() as connection:
        found = {row.id: row.record for row in connection.execute(chosen)}
    return [found[id_] for id_ in ids if id_ in found]


def pages(repository: TrialRepository, query: Query) -> Iterator[QueryPage]:
    """The pages of `query`, one after the other."""
    while True:
        page = rows(repository, query)
        yield page
        if page.next_cursor is None:
            return
        query = replace(query, cursor=page.next_cursor)


def _row(row: Any, configuration: str, excluded: tuple[str, ...] | None) -> TrialRow:
    values = dict(zip(COLUMNS, row, strict=False))  # the terms of the order follow the columns
    values["started_at"] = shown_moment(values["started_at"])
    first = excluded[0] if excluded else None
    return TrialRow(**values, configuration=_settings(configuration), excluded=first)


def _settings(text: str) -> Mapping[str, Scalar]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def stored_trials(repository: TrialRepository, query: Query) -> Iterator[Trial]:
    """The whole trials of `query` in its order, read in batches, without those left out."""
    for page in pages(repository, replace(query, limit=PAGE_ROWS_MAX)):
        yield from map(stored_trial, records_of(repository, page))
