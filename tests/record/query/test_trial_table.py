"""The table of trials: its columns, what it leaves empty and why, and that every format agrees."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.record.access import exclusions
from venturi.record.limits import NUMBER_MAX, SECONDS_MAX, UNPRINTABLE
from venturi.record.query.conditions import COLUMNS, Condition, parse_condition
from venturi.record.query.selection import Query
from venturi.record.query.table_files import columns_of as csv_columns
from venturi.record.query.table_files import content
from venturi.record.query.trial_table import COLUMNS_MAX, TrialTable, sample_table, trial_table
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Failure, Phase, Sample, Scalar, State, Trial

Make = Callable[..., Trial]
Rows = list[dict[str, Any]]
FORMULA = re.compile(r"[=+\-@\t\r\n]")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def asked(*texts: str, with_excluded: bool = False) -> Query:
    return Query(tuple(map(parse_condition, texts)), with_excluded=with_excluded)


def by_ndjson(table: TrialTable) -> Rows:
    return [json.loads(line) for line in b"".join(content(table, "ndjson")).split(b"\n")[:-1]]


def by_csv(table: TrialTable) -> list[list[str]]:
    """As RFC 4180 has it: read strictly, a header before the rows."""
    text = b"".join(content(table, "csv")).decode()
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def by_parquet(table: TrialTable) -> Rows:
    rows: Rows = pq.read_table(io.BytesIO(b"".join(content(table, "parquet")))).to_pylist()
    return rows


def frame_of(table: TrialTable) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=table.schema), *(part for part, _ in table.parts())])


def shielded(text: str) -> str:
    """`text` with an apostrophe in front if a spreadsheet would take it for a formula."""
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def as_csv(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat()
    return shielded(value) if isinstance(value, str) else repr(value)


def columns_of(rows: Rows) -> list[str]:
    return [name for name in rows[0] if name not in {*COLUMNS, "excluded", "missing"}]


# ---- every format has the same rows ----

texts = st.text(st.characters(), max_size=12).filter(lambda text: not UNPRINTABLE.search(text))
words = texts.filter(lambda text: "\n" not in text and "\t" not in text)
numbers = st.floats(-NUMBER_MAX, NUMBER_MAX)
seconds = st.floats(0, SECONDS_MAX)
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | numbers | texts
units = st.sampled_from(["s", "B", "1", "]"])
samples = st.builds(
    lambda metric, value, unit, phase, labels: Sample(
        metric, value, unit, phase, labels, None if value is not None else "not counted"
    ),
    st.sampled_from(["time", "a: time", "", "=time"]),
    st.none() | numbers,
    units,
    st.sampled_from([None, "", "a", "map"]),
    st.sampled_from([{}, {}, {"device": "sda"}]),
)
keys = (
    st.sampled_from(
        [
            "disk",
            "id",
            "excluded",
            "missing",
            "configuration.disk",
            "time [s]",
            "=k",
            "a,b",
            'q"',
            "",
        ]
    )
    | words
)
phases = st.builds(Phase, st.sampled_from(["map", "a", "[s]"]), st.just(0.0), seconds)
contents = st.lists(
    st.tuples(
        st.dictionaries(keys, scalars, max_size=6),
        st.lists(samples, max_size=4),
        st.lists(phases, max_size=3),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)
names = itertools.count()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents)
def test_every_format_has_the_same_rows_and_values(
    repository: TrialRepository, make_trial: Make, contents: list[tuple[Any, ...]]
) -> None:
    study = f"study-{next(names)}"
    trials = [make_of(make_trial, study, *each) for each in contents]
    repository.add_many(trials)
    table = trial_table(repository, Query((Condition.equal("experiment", study),)))

    frame = frame_of(table)
    assert table.rows == len(frame) == len(trials)
    assert frame["id"].to_list() == sorted((trial.id for trial in trials), reverse=True)
    rows = frame.to_dicts()
    assert by_parquet(table) == rows
    told = by_ndjson(table)
    plain = [
        {k: v.isoformat() if isinstance(v, datetime) else v for k, v in row.items()} for row in rows
    ]
    assert [{k: row[k] for k in row if k != "missing"} for row in told] == plain
    header, *lines = by_csv(table)
    assert header == [shielded(column.name) for column in table.columns]
    for line, row in zip(lines, rows, strict=True):
        for cell, value in zip(line, row.values(), strict=True):
            assert cell == as_csv(value) or (isinstance(value, float) and float(cell) == value), (
                cell,
                value,
            )

    # And they are the trials'.
    by_id = {trial.id: trial for trial in trials}
    for row in told:
        check_row(row, by_id[row["id"]])


def make_of(
    make_trial: Make,
    study: str,
    configuration: Mapping[str, Scalar],
    samples: list[Sample],
    phases: list[Phase],
    failed: bool,
) -> Trial:
    changes: dict[str, Any] = {
        "experiment": study,
        "configuration": configuration,
        "samples": tuple(samples),
        "phases": tuple(phases),
        "state": State.SUCCEEDED,
        "elapsed_s": 1.5,
    }
    if failed:
        failure = Failure("space", "VEN-SORT-FULL", "disk ran full")
        changes |= {"state": State.FAILED, "failure": failure, "elapsed_s": None}
    return make_trial(**changes)


def check_row(row: dict[str, Any], trial: Trial) -> None:
    measured = [name for name in columns_of([row]) if name.endswith("]")]
    measured = [name for name in measured if not name.startswith("configuration.")]
    settings_ = [name for name in columns_of([row]) if name not in measured]
    given_ = [value for value in trial.configuration.values() if value is not None]
    found = [row[name] for name in settings_ if row[name] is not None]
    assert sorted(map(text, given_)) == sorted(map(text, found))
    slots: dict[tuple[Any, ...], list[float | None]] = {}
    for phase in trial.phases:
        slots.setdefault(("phase", phase.name), []).append(phase.elapsed_s)
    for sample in trial.samples:
        if not sample.labels:
            slots.setdefault((sample.metric, sample.phase or "", sample.unit), []).append(
                sample.value
            )
    once = [each[0] for each in slots.values() if len(each) == 1 and each[0] is not None]
    assert sorted(once) == sorted(row[name] for name in measured if row[name] is not None)
    failed = trial.state is State.FAILED
    assert (row["state"], row["elapsed_s"]) == (("failed", None) if failed else ("succeeded", 1.5))
    assert (row["missing"].get("elapsed_s") == "disk ran full") is failed
    assert len(row["missing"]) - failed == len(slots) - len(once)


def text(value: object) -> str:
    """Numbers and flags of a column of texts, as they are searched for."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        value = str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(value)
    return str(value).replace("\0", "\u2400")


def test_what_was_measured_under_one_name_is_numbered_before_its_unit(
    repository: TrialRepository, make_trial: Make
) -> None:
    samples_ = (Sample("a: time", 1.0, "s"), Sample("time", 2.0, "s", "a"))
    repository.add(make_trial(configuration={}, samples=samples_, phases=()))
    (row,) = by_ndjson(trial_table(repository, Query()))
    assert {name: row[name] for name in columns_of([row])} == {
        "a: time [s]": 1.0,
        "a: time #2 [s]": 2.0,
    }


# ---- columns ----


@pytest.fixture
def three(repository: TrialRepository, make_trial: Make) -> list[Trial]:
    """Two that succeeded, with settings of several types, and one that failed."""
    trials = [
        make_trial(
            id=f"t{number}",
            state=State.SUCCEEDED,
            elapsed_s=10.0 + number,
            configuration={
                "maps": number,
                "ratio": number / 2 if number else 0,
                "disk": "SSD",
                "version": ["4.10", 4][number],
                "verify": True,
                "hosts": "four",
            },
            phases=(Phase("map", 0.0, 4.0 + number),),
            samples=(
                Sample("bytes_read", 5e6, "B"),
                Sample("bytes_read", 4.0, "GiB", "map"),
                Sample("rate", 1.0, "B/s", labels={"iteration": 1}),
                Sample("rate", 2.0, "B/s", labels={"iteration": 2}),
                Sample("peak_rss_bytes", None, "B", missing_reason="no counter"),
            ),
        )
        for number in range(2)
    ]
    failure = Failure("space", "VEN-SORT-FULL", "disk ran full")
    trials.append(make_trial(id="t2", state=State.FAILED, failure=failure, configuration={}))
    repository.add_many(trials)
    return trials


@pytest.mark.usefixtures("three")
def test_columns_have_one_order_units_and_the_types_of_the_record(
    repository: TrialRepository,
) -> None:
    table = trial_table(repository, asked())
    assert [column.name for column in table.columns] == [
        *COLUMNS,
        "excluded",
        "disk",
        "configuration.hosts",
        "maps",
        "ratio",
        "verify",
        "version",
        "phase map [s]",
        "bytes_read [B]",
        "peak_rss_bytes [B]",
        "map: bytes_read [GiB]",
    ]
    kinds = {column.name: column.kind for column in table.columns}
    names = ("maps", "ratio", "verify", "version", "started_at", "warm_up", "hosts", "elapsed_s")
    assert [kinds[name] for name in names] == [
        "integer",
        "number",
        "flag",
        "text",
        "moment",
        "flag",
        "integer",
        "number",
    ]
    newest, second, first = frame_of(table).to_dicts()
    assert (newest["id"], newest["state"], newest["elapsed_s"]) == ("t2", "failed", None)
    assert [newest[name] for name in columns_of([newest])] == [None] * 10
    assert (first["version"], second["version"]) == ("4.10", "4")
    assert (second["ratio"], first["bytes_read [B]"], second["phase map [s]"]) == (0.5, 5e6, 5.0)
    # Whatever else is in the repository, and in whichever order it came.
    narrowed = trial_table(repository, asked("disk=SSD"))
    assert [column.name for column in narrowed.columns] == [c.name for c in table.columns]
    assert b"".join(content(table, "csv")) == b"".join(content(table, "csv"))


@pytest.mark.usefixtures("three")
def test_what_is_missing_is_said_to_be(repository: TrialRepository) -> None:
    table = trial_table(repository, asked())
    failed, _, first = by_ndjson(table)
    assert failed["missing"] == {"elapsed_s": "disk ran full"}
    assert first["missing"] == {"peak_rss_bytes [B]": "no counter"}
    assert first["peak_rss_bytes [B]"] is None
    assert table.labelled == 2
    samples = sample_table(repository, asked("state=succeeded"))
    assert samples.rows == 10
    rows = frame_of(samples).to_dicts()
    assert [row["value"] for row in rows if row["metric"] == "rate"] == [1.0, 2.0] * 2
    assert rows[2]["labels"] == '{"iteration": 1}'
    assert (rows[4]["value"], rows[4]["missing_reason"]) == (None, "no counter")


@pytest.mark.usefixtures("three")
def test_columns_are_chosen_by_any_of_their_names(repository: TrialRepository) -> None:
    names = ("bytes_read [B]", "id", "configuration.disk", "map tasks", "hosts")
    table = trial_table(repository, asked("id=t1"), columns=names)
    assert frame_of(table).rows() == [(5e6, "t1", "SSD", 1, 1)]
    assert [column.name for column in table.columns] == list(names)
    none = trial_table(repository, asked("id=t2"), columns=("id", "disk"))
    assert frame_of(none).rows() == [("t2", None)]
    lone = trial_table(repository, asked(), columns=csv_columns("csv", ("disk",)))
    assert [line[1] for line in by_csv(lone)] == ["disk", "", "SSD", "SSD"]
    for wrong, hint in (("dsk", "disk"), ("bytes_red [B]", "bytes_read [B]")):
        with pytest.raises(VenturiError, match=r"no (selected )?trial") as caught:
            trial_table(repository, asked(), columns=(wrong,))
        assert caught.value.code == "VEN-QUERY-VALUE"
        assert hint in caught.value.hint


def test_exclusions_and_limits_count(repository: TrialRepository, three: list[Trial]) -> None:
    rule = exclusions.add(repository, ["id=t1"], "Ada", "cold")
    assert ids(trial_table(repository, asked())) == ["t2", "t0"]
    whole = frame_of(trial_table(repository, asked(with_excluded=True)))
    assert whole["excluded"].to_list() == [None, rule.id, None]
    assert ids(trial_table(repository, asked(with_excluded=True), most=2)) == ["t2", "t1"]
    empty = trial_table(repository, asked("id=t9"))
    assert (empty.rows, by_ndjson(empty), by_parquet(empty)) == (0, [], [])
    assert by_csv(empty) == [[*COLUMNS, "excluded"]]
    assert [trial.id for trial in three] == ["t0", "t1", "t2"]


def test_an_empty_text_is_not_a_missing_one(repository: TrialRepository, make_trial: Make) -> None:
    made = make_trial(configuration={"note": ""}, experiment="")
    repository.add_many([made, replace(make_trial(configuration={}))])
    table = trial_table(repository, asked(), columns=("note", "experiment", "warnings"))
    lines = b"".join(content(table, "csv")).splitlines()
    assert sorted(lines[1:]) == [b'"","",0', b",,0"]


def test_a_table_is_what_was_there_when_it_was_asked_for(
    repository: TrialRepository, make_trial: Make
) -> None:
    repository.add_many([make_trial(id=f"m{number:04}") for number in range(2_500)])
    told: list[tuple[int, int | None]] = []

    def progress(done: int, total: int | None) -> None:
        told.append((done, total))
        if len(told) == 2:
            with_key = make_trial(id=f"new{len(told)}", configuration={"new": 1})
            repository.add(with_key)

    table = trial_table(repository, asked(), progress=progress)
    assert told == [(0, 2_500), (1_000, 2_500), (2_000, 2_500), (2_500, 2_500)]
    assert ids(table) == [f"m{number:04}" for number in reversed(range(2_500))]
    assert "new" not in [column.name for column in table.columns]


def test_columns_of_few_trials_are_left_out_where_there_are_too_many(
    repository: TrialRepository, make_trial: Make
) -> None:
    odd = make_trial(configuration={f"k{number}": 1 for number in range(1_000)})
    repository.add_many([odd, *(make_trial(configuration={"threads": n}) for n in range(3))])
    table = trial_table(repository, asked())
    names_ = [column.name for column in table.columns]
    assert len(names_) == COLUMNS_MAX
    assert table.left_out == len(COLUMNS) + 2 + 1_000 - COLUMNS_MAX
    assert names_[: len(COLUMNS) + 1] == [*COLUMNS, "excluded"]
    assert frame_of(table)["threads"].drop_nulls().sort().to_list() == [0, 1, 2]
    chosen = trial_table(repository, asked(), columns=("k1",))
    assert (frame_of(chosen)["k1"].drop_nulls().to_list(), chosen.left_out) == ([1], 0)
    every = [*COLUMNS, *(f"k{number}" for number in range(1_000))]
    with pytest.raises(VenturiError, match=r"1,\d{3} columns; at most 1,000") as caught:
        trial_table(repository, asked(), columns=every)
    assert "choose some" in caught.value.hint


def ids(table: TrialTable) -> Iterable[str]:
    return list(frame_of(table)["id"])
