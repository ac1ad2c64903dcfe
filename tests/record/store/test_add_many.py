"""Many trials in one transaction, and the databases of older Venturis."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command

from old_database import OldDatabase
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.query import counting, faceting, paging
from venturi.record.query.clusters import clusters, trials_on
from venturi.record.query.conditions import Condition, Op, parse_condition
from venturi.record.query.paging import whole_trials
from venturi.record.query.selection import Query
from venturi.record.store import tables
from venturi.record.store.repository import AddReport, TrialRepository
from venturi.record.trial import (
    Cluster,
    Failure,
    Host,
    Provenance,
    ProvenanceKind,
    State,
    Trial,
    TrialWarning,
    Workload,
)
from venturi.record.trial_json import encode

MakeTrial = Callable[..., Trial]
IMPORTED = Provenance(ProvenanceKind.IMPORTED, "aloja", "0" * 64)


@pytest.mark.slow
def test_many_are_added_once(repository: TrialRepository, make_trial: MakeTrial) -> None:
    trials = [make_trial(id=f"t{number}", configuration={"n": number}) for number in range(2_345)]
    changed = replace(trials[7], configuration={"n": -1})
    repository.add(trials[0])
    assert repository.add_many(iter([*trials, changed])) == AddReport(2_344, 2)
    assert repository.add_many(trials) == AddReport(0, 2_345)
    assert repository.add_many([]) == AddReport(0, 0)
    assert sorted(whole_trials(repository), key=lambda trial: trial.id) == sorted(
        trials, key=lambda trial: trial.id
    )
    assert counting.count(repository, Query((parse_condition("n>=0"),))) == 2_345


def test_what_raises_leaves_nothing(repository: TrialRepository, make_trial: MakeTrial) -> None:
    kept = make_trial()
    repository.add(kept)

    def broken(error: Exception) -> Iterator[Trial]:
        yield from (make_trial() for _ in range(1_500))
        raise error

    for error in (ValueError("bad row"), VenturiError("VEN-RECORD-SCHEMA", "bad row")):
        with pytest.raises(type(error), match="bad row"):
            repository.add_many(broken(error))
    unwritable = make_trial(experiment="\udc80")
    too_big = make_trial(workload=Workload("sort", "v1", None, 1 << 63))
    for bad in (unwritable, too_big):
        with pytest.raises(VenturiError) as caught:
            repository.add_many([make_trial(), bad])
        assert caught.value.code == "VEN-RECORD-LIMIT"
    assert whole_trials(repository) == [kept]
    (facet,) = faceting.facets(repository, Query(), ["threads"])
    assert (facet.values, facet.missing) == ((faceting.FacetValue("2", 1),), 0)


def test_imports_at_once_store_every_trial_once(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    trials = [make_trial(id=f"t{number}", provenance=IMPORTED) for number in range(300)]
    orders = [trials, trials[::-1], trials[150:] + trials[:150], trials[::3]]
    reports: list[AddReport] = []
    counted: list[int] = []

    def write(order: list[Trial]) -> None:
        reports.append(repository.add_many(order))

    def read() -> None:
        for _ in range(20):
            counted.append(counting.count(repository, Query()))

    threads = [threading.Thread(target=write, args=(order,)) for order in orders]
    threads.append(threading.Thread(target=read))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(report.added for report in reports) == 300
    assert sum(report.already_present for report in reports) == sum(map(len, orders)) - 300
    assert set(counted) <= {0, 100, 300}, "a reader sees whole imports"
    assert counting.count(repository, Query()) == 300


def test_trials_without_a_date_come_last_and_are_never_recent(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    moments = [datetime(1990, 1, 1, tzinfo=UTC), None, datetime(2026, 1, 1, tzinfo=UTC), None]
    repository.add_many(
        make_trial(id=f"t{number}", provenance=IMPORTED, started_at=moment)
        for number, moment in enumerate(moments)
    )
    assert [trial.id for trial in whole_trials(repository)] == ["t2", "t0", "t3", "t1"]
    assert [row.id for row in paging.rows(repository, Query()).rows] == ["t2", "t0", "t3", "t1"]
    ever = Condition("started_at", Op.AT_LEAST, (datetime.min.replace(tzinfo=UTC),))
    assert [trial.id for trial in whole_trials(repository, ever)] == ["t2", "t0"]
    assert repository.get("t1").started_at is None


@pytest.mark.parametrize("kind", [ProvenanceKind.MEASURED, ProvenanceKind.SIMULATED])
def test_only_an_import_may_lack_its_date(make_trial: MakeTrial, kind: ProvenanceKind) -> None:
    with pytest.raises(ValueError, match="started_at"):
        make_trial(provenance=Provenance(kind, "venturi"), started_at=None)


def old_trials(make_trial: MakeTrial) -> list[Trial]:
    values = (1, 2.0, 2.5, True, None, "x\0y", "z" * 300, 1 << 80, 1e300, -0.0, "007", "1e999")
    keys = itertools.cycle(("k", "nul\0", "K" * 300))
    return [
        make_trial(
            id=f"t{number:04}",
            configuration={next(keys): values[number % len(values)], "n": number},
            state=State.FAILED if number % 2 else State.PLANNED,
            failure=Failure("space", "VEN-X", "full") if number % 2 else None,
            cluster=Cluster(tuple(Host(f"h{n}") for n in range(number % 3)), {}, "type", "ib"),
            warnings=(TrialWarning("VEN-W", "w"),) * (number % 2),
            warm_up=number % 5 == 0,
            repetition=number % 4,
        )
        for number in range(1_205)
    ]


@pytest.mark.slow
def test_an_older_database_is_filled_and_can_go_back(
    bare_settings: Settings, make_trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = old_trials(make_trial)
    # Older versions stored some that are refused now.
    monkeypatch.setattr("venturi.record.store.rows.check", lambda *_: None)
    old = OldDatabase(bare_settings)
    old.move(command.upgrade, "0001")
    old.fill(trials)
    before = old.rows("trials")
    for _ in range(2):
        with TrialRepository.open(bare_settings) as repository:
            assert whole_trials(repository) == sorted(trials, key=lambda t: t.id, reverse=True)
            filled = {name: old.rows(name) for name in ("records", "trials", "configuration")}
        old.move(command.downgrade, "0001")
        assert old.rows("trials") == before
    # Adding the same trials writes the values that the migration derived.
    with TrialRepository.open(bare_settings):
        pass
    with old.engine.begin() as connection:
        for name in filled:
            connection.execute(sa.text(f"DELETE FROM {name}"))
    with TrialRepository.open(bare_settings) as repository:
        repository.add_many(trials)

    def comparable(rows: list[dict[str, Any]], ids: dict[int, str]) -> list[Any]:
        named = [{**row, "trial": ids.get(row.get("trial", -1))} for row in rows]
        return sorted(
            tuple(sorted((k, str(v)) for k, v in row.items() if k != "serial")) for row in named
        )

    for name, rows in filled.items():
        ids = {row["serial"]: row["id"] for row in filled["trials"]}
        new_ids = {row["serial"]: row["id"] for row in old.rows("trials")}
        assert comparable(old.rows(name), new_ids) == comparable(rows, ids)
    old.engine.dispose()


@pytest.mark.parametrize(
    ("code", "state", "before", "after"),
    [
        ("VEN-SORT-FULL", State.FAILED, "full", "capacity"),
        ("VEN-MEASURE-DIR", State.FAILED, "dir", "environment"),
        ("VEN-MEASURE-INVALID", State.INVALID, "invalid", "wrong output"),
        ("VEN-NET-COUNT", State.INVALID, "count", "wrong output"),
        ("VEN-RECORD-ABANDONED", State.INTERRUPTED, "interrupted", "interrupted"),
        ("ZeroDivisionError", State.FAILED, "bug", "bug"),
    ],
)
def test_failures_of_older_trials_are_classed_when_they_are_read(
    repository_settings: Settings,
    make_trial: MakeTrial,
    code: str,
    state: State,
    before: str,
    after: str,
) -> None:
    trial = make_trial(state=state, failure=Failure(before, code, "it failed"))
    with TrialRepository.open(repository_settings):
        pass
    old = OldDatabase(repository_settings)
    old.move(command.downgrade, "0004")
    there = {column["name"] for column in sa.inspect(old.engine).get_columns("trials")}
    row = {name: value for name, value in tables.trial_row(trial).items() if name in there}
    with old.engine.begin() as connection:
        connection.execute(sa.insert(tables.TRIALS), [row])
        record = {"id": trial.id, "configuration": "{}", "record": encode(trial)}
        connection.execute(sa.insert(tables.RECORDS), [record])
    for _ in range(2):
        with TrialRepository.open(repository_settings) as repository:
            found = repository.get(trial.id)
            assert found.failure == Failure(after, code, "it failed")
            assert found.failure_class == ("engine failure" if after == "bug" else after)
            (found_row,) = paging.rows(repository, Query()).rows
            assert found_row.failure_kind == after
        assert old.rows("records")[0]["record"] == encode(trial)
        old.move(command.downgrade, "0004")
    old.engine.dispose()


def test_what_a_source_calls_a_failure_stays(
    repository_settings: Settings, make_trial: MakeTrial
) -> None:
    failure = Failure("failed", "VEN-IMPORT-FAILED", "said so")
    trial = make_trial(provenance=IMPORTED, state=State.FAILED, failure=failure)
    with TrialRepository.open(repository_settings) as repository:
        repository.add(trial)
    old = OldDatabase(repository_settings)
    old.move(command.downgrade, "0004")
    old.engine.dispose()
    with TrialRepository.open(repository_settings) as repository:
        assert repository.get(trial.id).failure == failure
        assert paging.rows(repository, Query()).rows[0].failure_kind == "failed"


def test_names_of_clusters_are_taken_from_what_was_stored_before(
    repository_settings: Settings, make_trial: MakeTrial
) -> None:
    def on(cluster: str | None, id: str, **more: Any) -> Trial:
        return make_trial(id=id, cluster=Cluster((Host("h1"), Host("h2")), name=cluster), **more)

    odd = 'r\u00fcck "7" \\ dilation'
    trials = [
        on("rack7", "a"),
        on("rack7", "b"),
        on(odd, "c"),
        on(None, "d"),
        on(None, "e", configuration={"dilation": "k"}),
    ]
    old_record = make_trial(id="f")
    with TrialRepository.open(repository_settings) as repository:
        repository.add_many([*trials, old_record])
    old = OldDatabase(repository_settings)
    old.move(command.downgrade, "0009")
    # As it was written before a cluster had a name.
    record = json.loads(encode(old_record))
    for key in ("name", "dilation", "dilate_cpu"):
        del record["cluster"][key]
    with old.engine.begin() as connection:
        connection.execute(
            sa.update(tables.RECORDS)
            .where(tables.RECORDS.c.id == "f")
            .values(record=json.dumps(record))
        )
    before = {name: old.rows(name) for name in ("records", "trials", "configuration")}
    assert "cluster_name" not in before["trials"][0]
    for _ in range(2):
        with TrialRepository.open(repository_settings) as repository:
            found = {each.name: each.trials for each in clusters(repository)}
            assert found == {"rack7": 2, odd: 1}
            assert [row.id for row in trials_on(repository, odd, 9)] == ["c"]
            assert sorted(whole_trials(repository), key=lambda t: t.id) == [*trials, old_record]
        indexes = sa.inspect(old.engine).get_indexes("trials")
        assert "trials_by_cluster" in {each["name"] for each in indexes}
        old.move(command.downgrade, "0009")
        assert {name: old.rows(name) for name in before} == before
        indexes = sa.inspect(old.engine).get_indexes("trials")
        assert "trials_by_cluster" not in {each["name"] for each in indexes}
    old.engine.dispose()


def test_going_back_would_lose_trials_without_a_date_and_is_refused(
    repository_settings: Settings, make_trial: MakeTrial
) -> None:
    trial = make_trial(provenance=IMPORTED, started_at=None)
    with TrialRepository.open(repository_settings) as repository:
        repository.add(trial)
    old = OldDatabase(repository_settings)
    with pytest.raises(ValueError, match="1 trials have no date"):
        old.move(command.downgrade, "0001")
    old.engine.dispose()
    with TrialRepository.open(repository_settings) as repository:
        assert whole_trials(repository) == [trial]
