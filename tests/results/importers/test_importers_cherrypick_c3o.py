"""CherryPick and C3O: the meaning of a row, rejected rows, and values left unknown."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from public_data import dataset
from venturi.core.errors import VenturiError
from venturi.record.importing.formats import FORMATS
from venturi.record.importing.items import ImportedItem, ImportSource, Spelling
from venturi.record.importing.text import Refusal
from venturi.record.trial import ProvenanceKind, State, Trial
from venturi.record.trial_json import decode, encode

DATA = Path(__file__).parents[2] / "data" / "results"
ROWS = {"kmeans": 47, "spark": 59, "terasort": 72, "tpcds": 61, "tpch": 52}


def read(format: str, name: str, content: bytes) -> list[ImportedItem]:
    source = ImportSource(name, hashlib.sha256(content).hexdigest())
    return list(FORMATS[format].reader.read(io.BytesIO(content), source))


def fixture(format: str, name: str) -> list[ImportedItem]:
    return read(format, name, (DATA / format / name).read_bytes())


def trials(items: list[ImportedItem]) -> list[Trial]:
    return [item for item in items if isinstance(item, Trial)]


def refusals(items: list[ImportedItem]) -> list[tuple[int, str, str]]:
    return [(item.line, item.field, item.reason) for item in items if isinstance(item, Refusal)]


def spellings(items: list[ImportedItem]) -> set[tuple[int, str, str, str]]:
    return {
        (item.line, item.field, item.written, item.taken_as)
        for item in items
        if isinstance(item, Spelling)
    }


def test_cherrypick_row() -> None:
    trial = trials(fixture("cherrypick", "CP_sort.csv"))[0]
    assert (trial.workload.name, trial.elapsed_s, trial.state) == ("sort", 120.5, State.SUCCEEDED)
    assert trial.cluster.instance_type == "c4.2xlarge"
    assert [host.facts["memory_total_bytes"] for host in trial.cluster.hosts] == [15 << 30] * 10
    assert trial.cluster.hosts[0].facts["cpu_threads"] == 8
    assert trial.configuration == {
        "nodes": 10,
        "cpu_speed": "fast",
        "disk_name": "ebs",
        "disk_count": 2,
        "disk_speed": "slow",
        "disk_size": 500.0,
        "disk_cost": 0.12,
    }
    assert trial.started_at is None
    assert trial.provenance.kind is ProvenanceKind.IMPORTED
    content = (DATA / "cherrypick" / "CP_sort.csv").read_bytes()
    assert trial.provenance.digest == hashlib.sha256(content).hexdigest()


def test_cherrypick_price_has_no_date_and_says_so() -> None:
    trial = trials(fixture("cherrypick", "CP_sort.csv"))[0]
    price = trial.cluster.price
    assert price is not None
    assert (price.amount, price.currency, price.per) == (0.5, "USD", "node-hour")
    assert price.as_of == "unknown"
    assert ["no date" in warning.message for warning in trial.warnings] == [True]


def test_cherrypick_refuses_what_is_no_trial() -> None:
    assert refusals(fixture("cherrypick", "CP_sort.csv")) == [
        (5, "time", "not above 0"),
        (6, "time", "not a number"),
        (7, "vm_cost", "not above 0"),
        (10, "num_machines", "not a whole number"),
        (11, "num_machines", "above 10000"),
        (12, "time", "not a number"),
    ]


def test_cherrypick_spellings_and_text() -> None:
    items = fixture("cherrypick", "CP_sort.csv")
    assert {
        (8, "exp_name", "Sort", "sort"),
        (8, "disk_name", "EBS", "ebs"),
        (8, "vm_name", "I2.2xlarge", "i2.2xlarge"),
    } < spellings(items)
    last = trials(items)[-1]
    assert last.workload.name == "=cmd|'/c calc'!a1"
    assert last.configuration["disk_name"] == "<b>ebs</b>"


def test_cherrypick_equal_rows_are_one_trial() -> None:
    found = trials(fixture("cherrypick", "CP_sort.csv"))
    assert found[0] == found[2]
    assert len({trial.id for trial in found}) == len(found) - 1


def test_c3o_row() -> None:
    trial = trials(fixture("c3o", "sort.tsv"))[0]
    assert (trial.workload.name, trial.engine.name, trial.elapsed_s) == ("sort", "spark", 40.0)
    assert trial.workload.input_records == 10_000_000
    assert trial.cluster.instance_type == "c4.2xlarge"
    assert [host.facts for host in trial.cluster.hosts] == [
        {"memory_total_bytes": 15 << 30, "cpu_threads": 8}
    ] * 2
    assert trial.configuration == {
        "nodes": 2,
        "slots": 16,
        "data_size_MB": 963,
        "line_length": 100,
        "lines": 10_000_000,
    }


def test_c3o_equal_rows_are_repetitions() -> None:
    group = [trial for trial in trials(fixture("c3o", "sort.tsv")) if len(trial.cluster.hosts) == 2]
    assert [trial.elapsed_s for trial in group] == [40, 42, 42]
    assert [trial.repetition for trial in group] == [0, 1, 2]
    assert len({trial.id for trial in group}) == 3
    assert len({trial.group_key for trial in group}) == 1


def test_c3o_ids_do_not_depend_on_the_order_of_rows() -> None:
    content = (DATA / "c3o" / "sort.tsv").read_bytes()
    header, *rows = content.splitlines(keepends=True)
    there = {trial.id for trial in trials(read("c3o", "sort.tsv", content))}
    back = trials(read("c3o", "sort.tsv", header + b"".join(reversed(rows))))
    assert {trial.id for trial in back} == there


@pytest.mark.parametrize(
    ("file", "input_bytes"),
    [
        ("grep.tsv", 1010 * 10**6),
        ("sort.tsv", 963 * 2**20),
        ("pagerank.tsv", 131 * 2**20),
        ("kmeans.tsv", None),
    ],
)
def test_c3o_megabytes_are_those_of_the_job(file: str, input_bytes: int | None) -> None:
    trial = trials(fixture("c3o", file))[0]
    assert trial.workload.input_bytes == input_bytes
    assert [warning.code for warning in trial.warnings] == (
        ["VEN-IMPORT-UNSTATED"] if input_bytes is None else []
    )


def test_c3o_grep_megabytes_fit_its_lines() -> None:
    """The evidence for 10^6: lines of 100 letters and an end of line fill the size exactly."""
    trial = trials(fixture("c3o", "grep.tsv"))[0]
    lines, length = trial.configuration["lines"], trial.configuration["line_length"]
    assert isinstance(lines, int)
    assert isinstance(length, int)
    assert trial.workload.input_bytes == lines * (length + 1)
    assert trial.configuration["p_occurrence"] == 0.25


def test_c3o_refuses_what_is_no_trial() -> None:
    items = fixture("c3o", "sort.tsv")
    assert refusals(items) == [
        (6, "gross_runtime", "not above 0"),
        (7, "gross_runtime", "not a number"),
        (8, "data_size_MB", "not a number"),
        (9, "line_length", "not a number"),
        (10, "", "7 fields, but the header has 8"),
    ]
    assert spellings(items) == {(5, "machine_type", "R4.XLARGE", "r4.xlarge")}


def test_every_row_is_a_trial_or_a_refusal() -> None:
    for format in ("cherrypick", "c3o"):
        for path in sorted((DATA / format).iterdir()):
            items = fixture(format, path.name)
            rows = len(path.read_text().splitlines()) - 1
            assert len(trials(items)) + len(refusals(items)) == rows, path.name


def test_trials_survive_being_stored() -> None:
    for format in ("cherrypick", "c3o"):
        for path in sorted((DATA / format).iterdir()):
            for trial in trials(fixture(format, path.name)):
                assert decode(encode(trial)) == trial


@pytest.mark.parametrize("format", ["cherrypick", "c3o"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a,b,c\n1,2,3\n",
        b"\xff\xfe\x00",
        b'"exp_name\n',
        b"instance_count\tmachine_type\n",
        b"x" * (1 << 20),
    ],
)
def test_what_is_no_such_table_is_refused_whole(format: str, content: bytes) -> None:
    with pytest.raises(VenturiError) as caught:
        read(format, "a.csv", content)
    assert caught.value.code == "VEN-IMPORT-FORMAT"
    assert caught.value.where["file"] == "a.csv"


def test_c3o_header_with_a_column_twice_or_unnamed_or_too_many() -> None:
    header, row = (DATA / "c3o" / "sort.tsv").read_bytes().splitlines()[:2]
    for columns, cells in (
        (b"\tlines", b"\t1"),
        (b"\t", b"\t1"),
        (b"\tnodes", b"\t1"),
        (b"".join(b"\tp%d" % n for n in range(100)), b"\t1" * 100),
    ):
        with pytest.raises(VenturiError) as caught:
            read("c3o", "sort.tsv", header + columns + b"\n" + row + cells + b"\n")
        assert caught.value.code == "VEN-IMPORT-FORMAT"


@given(st.lists(st.text(alphabet="0123456789.-eENa=<x ", max_size=8), min_size=8, max_size=8))
def test_c3o_fields_of_any_kind_are_a_trial_or_a_refusal(cells: list[str]) -> None:
    header = (DATA / "c3o" / "sort.tsv").read_bytes().splitlines()[0]
    items = read("c3o", "sort.tsv", header + b"\n" + "\t".join(cells).encode() + b"\n")
    found = Counter(type(item) for item in items if not isinstance(item, Spelling)).total()
    assert found == int(any(map(str.strip, cells)))  # an empty row is skipped
    for trial in trials(items):
        assert trial.elapsed_s is not None
        assert trial.elapsed_s > 0


@pytest.mark.parametrize("application", sorted(ROWS))
def test_real_cherrypick_files(application: str) -> None:
    path = dataset(f"cherrypick/CP_{application}.csv")
    items = read("cherrypick", path.name, path.read_bytes())
    found = trials(items)
    assert (len(found), len(items)) == (ROWS[application], ROWS[application])
    assert len({trial.id for trial in found}) == len(found)
    assert {trial.workload.name for trial in found} == {application}
    assert all(trial.cluster.price and trial.cluster.price.amount > 0 for trial in found)
