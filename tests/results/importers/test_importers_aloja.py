"""ALOJA's sets as trials, and tables that must not harm the reader."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.record.importing.formats import FORMATS
from venturi.record.importing.items import ImportedItem, ImportSource, Spelling, imported_id
from venturi.record.importing.tables import TableLimits, rows
from venturi.record.importing.text import Refusal
from venturi.record.trial import ProvenanceKind, Sample, State, Trial
from venturi.record.trial_json import decode, encode

FIXTURES = Path(__file__).parents[2] / "data" / "results" / "aloja"
SET4 = (FIXTURES / "set4.csv").read_bytes()
SOURCE = ImportSource("file.csv", "ab" * 32)


def read(data: bytes) -> list[ImportedItem]:
    return list(FORMATS["aloja"].reader.read(io.BytesIO(data), SOURCE))


def trials(items: list[ImportedItem]) -> list[Trial]:
    return [item for item in items if isinstance(item, Trial)]


def first_trial(**fields: str) -> Trial:
    """The first trial of set 4 with some fields replaced."""
    (trial,) = trials(read(one_row(**fields)))
    return trial


def one_row(**fields: str) -> bytes:
    """Set 4's header and first row; of the names of `fields`, `_` stands for a dot."""
    row = next(csv.DictReader(io.StringIO(SET4.decode())))
    row |= {name.replace("_", "."): value for name, value in fields.items()}
    text = io.StringIO()
    writer = csv.DictWriter(text, list(row))
    writer.writeheader()
    writer.writerow(row)
    return text.getvalue().encode()


def test_a_row_of_set_4_is_a_trial() -> None:
    trial = trials(read(SET4))[0]
    assert (trial.workload.name, trial.workload.version) == ("terasort", "aloja HiBench")
    assert (trial.workload.scale, trial.workload.input_bytes) == (None, None)
    assert (trial.engine.name, trial.engine.version) == ("mapreduce", "unknown")
    assert (trial.state, trial.elapsed_s, trial.started_at) == (State.SUCCEEDED, 301.0, None)
    assert [host.name for host in trial.cluster.hosts] == ["demo-01/1", "demo-01/2", "demo-01/3"]
    assert trial.cluster.hosts[2].facts == {
        "os_name": "linux",
        "cpu_cores": 12,
        "memory_total_bytes": 64 << 30,
    }
    assert (trial.cluster.instance_type, trial.cluster.network) == ("R-1", "IB")
    hard_disks = ("hdd1", "hdd2", "hdd3", "hdd4", "hdd5")
    assert trial.cluster.disks_by_role == {
        "input": hard_disks,
        "output": hard_disks,
        "scratch": ("ssd1",),
    }
    assert trial.configuration == {
        "cluster": "demo-01",
        "net": "IB",
        "disk": "HS5",
        "maps": 12,
        "io_sort_factor": 10,
        "replication": 1,
        "io_file_buffer_bytes": 65536,
        "compression": "zlib",
        "block_bytes": 64 << 20,
        "datanodes": 3,
        "headnodes": 1,
        "provider": "own-rack",
        "service_type": "On-premise",
    }
    assert trial.provenance.kind is ProvenanceKind.IMPORTED
    assert (trial.provenance.source, trial.provenance.digest) == ("aloja", SOURCE.sha256)
    assert decode(encode(trial)) == trial


def test_what_is_refused_and_what_was_interpreted_is_told_with_its_line() -> None:
    items = read(SET4)
    assert [item for item in items if isinstance(item, Refusal)] == [
        Refusal(6, "Maps", "0", "below 1"),
        Refusal(8, "Exe.Time", "0", "not above 0"),
        Refusal(9, "Exe.Time", "n/a", "not a number"),
    ]
    assert [item for item in items if isinstance(item, Spelling)] == [
        Spelling(3, "Service.Type", "On-Premise", "On-premise"),
        Spelling(7, "Blk.size", "134", "128 (MiB)"),
    ]


def test_one_tera_byte_is_a_scale_and_another_version() -> None:
    scales = {(t.workload.version, t.workload.scale) for t in trials(read(SET4))}
    assert scales == {
        ("aloja HiBench", None),
        ("aloja -1TB", "1TB"),
        ("aloja HiBench-1TB", "1TB"),
    }


def test_rows_that_only_the_id_tells_apart_are_repeats_and_marked() -> None:
    first, other, _, alike, _ = trials(read(SET4))
    assert len({first.id, other.id, alike.id}) == 3
    assert first.group_key == alike.group_key
    assert first.elapsed_s == alike.elapsed_s
    assert first.warnings == other.warnings == ()
    (warning,) = alike.warnings
    assert warning.code == "VEN-IMPORT-ALIKE"
    assert "ID 1," in warning.message


def test_ids_are_made_of_all_that_a_row_says() -> None:
    first, *_ = trials(read(SET4))
    assert first_trial().id == first.id
    assert first_trial(Exe_Time="302.000").id != first.id
    assert first_trial(ID="99").id != first.id


@pytest.mark.parametrize(
    ("label", "data", "scratch"),
    [
        ("HDD", ("hdd1",), "hdd1"),
        ("HD2", ("hdd1", "hdd2"), "hdd1"),
        ("SSD", ("ssd1",), "ssd1"),
        ("SS2", ("ssd1", "ssd2"), "ssd1"),
        ("RL2", ("remote1", "remote2"), "hdd1"),
        ("RR1", ("remote1",), "remote1"),
    ],
)
def test_the_label_of_the_disks_is_laid_out(
    label: str, data: tuple[str, ...], scratch: str
) -> None:
    trial = first_trial(Disk=label)
    assert trial.cluster.disks_by_role == {"input": data, "output": data, "scratch": (scratch,)}
    assert trial.configuration["disk"] == label


def test_a_label_that_says_nothing_stays_a_label() -> None:
    trial = first_trial(Disk="RS4")
    assert trial.cluster.disks_by_role == {}
    assert trial.configuration["disk"] == "RS4"


@pytest.mark.parametrize(
    ("code", "codec"),
    [("0", "none"), ("1", "zlib"), ("2", "lzo"), ("3", "snappy"), ("Cmp3", "snappy")],
)
def test_the_codes_of_the_compression(code: str, codec: str) -> None:
    assert first_trial(Comp=code).configuration["compression"] == codec


def test_set_2_has_costs_and_moments_but_no_machines() -> None:
    items = read((FIXTURES / "set2.csv").read_bytes())
    kmeans, pagerank, sort = trials(items)
    assert kmeans.workload.version == "aloja, suite not stated"
    assert kmeans.cluster.hosts == ()
    assert kmeans.configuration["cluster"] == "demo-21"
    assert "provider" not in kmeans.configuration
    assert kmeans.samples == (Sample("cost_usd", 0.52, "USD"),)
    assert [(s.value, s.missing_reason) for s in pagerank.samples] == [
        (None, "Running.Cost is 0: no price was known")
    ]
    assert kmeans.started_at is None
    assert [warning.code for warning in kmeans.warnings] == ["VEN-IMPORT-CLOCK"]
    assert "20150203101112" in kmeans.warnings[0].message
    assert sort.warnings == ()
    assert sort.configuration["compression"] == "snappy"
    assert [item for item in items if isinstance(item, Spelling)] == [
        Spelling(3, "Comp", "BZIP2", "lzo")
    ], "what ALOJA's pages call BZIP2 is LZO"


def test_set_3_has_machines_but_no_suite() -> None:
    prepare, terasort = trials(read((FIXTURES / "set3.csv").read_bytes()))
    assert (prepare.workload.name, prepare.elapsed_s) == ("prep_terasort", 121.0)
    assert terasort.workload.version == "aloja, suite not stated"
    assert terasort.configuration["compression"] == "lzo"
    assert len(terasort.cluster.hosts) == 4


def test_the_order_of_the_columns_does_not_matter() -> None:
    table = list(csv.reader(io.StringIO(SET4.decode())))
    text = io.StringIO()
    csv.writer(text).writerows(reversed(row) for row in table)
    assert read(text.getvalue().encode("utf-8-sig")) == read(SET4)


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "=HYPERLINK(1)", "@SUM(A1)", "Zürich ' \" \\ %s {0}"]
)
def test_hostile_names_are_only_text(name: str) -> None:
    trial = first_trial(Benchmark=name, Cl_Name=name, Provider=name)
    assert trial.workload.name == trial.configuration["provider"] == name
    assert decode(encode(trial)) == trial


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("Exe.Time", "-1", "not above 0"),
        ("Exe.Time", "nan", "not a number"),
        ("Exe.Time", "1_000", "not a number"),
        ("Exe.Time", "1e999", "not a number"),
        ("Datanodes", "1000000000", "above 10000"),
        ("VM.RAM", "0", "not above 0"),
        ("Maps", "8.5", "not a whole number"),
        ("Comp", "65536", "not a compression of ALOJA"),
        ("Benchmark", "", "empty"),
        ("Running.Cost", "-2", "below 0"),
    ],
)
def test_absurd_values_are_refused(field: str, value: str, reason: str) -> None:
    assert read(one_row(**{field: value})) == [Refusal(2, field, value, reason)]


def test_a_row_with_too_many_fields_is_refused_and_the_others_are_read() -> None:
    header, first, second, *_ = SET4.splitlines()
    items = read(b"\n".join((header, first + b",more", second, b"", b"")))
    assert len(trials(items)) == 1
    (refusal,) = (item for item in items if isinstance(item, Refusal))
    assert (refusal.line, refusal.reason) == (2, "23 fields, but the header has 22")


def test_a_truncated_last_line_costs_itself() -> None:
    whole, items = read(SET4), read(SET4[:-20])
    assert trials(items) == trials(whole)  # the last row of the set is no trial
    (more,) = (item for item in items if isinstance(item, Refusal) and item.line == 9)
    assert more.reason == "the last line is truncated"


HEADER, *ROWS = SET4.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"", None, "empty"),
        (HEADER.replace(b"Disk,", b"") + ROWS[0], 1, "missing: 'Disk'"),
        (HEADER.replace(b"Disk,", b"Dusk,") + ROWS[0], 1, "missing: 'Disk'"),
        (HEADER.replace(b"Disk,", b"Disk,More,") + ROWS[0], 1, "unknown: 'More'"),
        (HEADER.replace(b"Disk,", b"Disk,Disk,") + ROWS[0], 1, "twice: 'Disk'"),
        (HEADER.replace(b"VM.OS,", b"") + ROWS[0], 1, "missing: 'VM.OS'"),
        (HEADER + ROWS[0].replace(b"HiBench", b"x" * 9000), 2, "longer than 8192 characters"),
        (HEADER + b"x" * 70_000 + b"\n", 2, "longer than 65536 bytes"),
        (HEADER + ROWS[0] + b"1,tera\0sort\n", 3, "NUL"),
        (HEADER + ROWS[0] + b"\xff\xfe\xfa\n", 3, "UTF-8"),
        (bytes(range(1, 256)) * 9, 1, ""),
        (HEADER + b'1,"terasort\n' + ROWS[0], 2, "not a table"),
        (b"<!doctype html>\n<html><body>404</body></html>\n", 1, "missing: 'ID'"),
        (b"PK\x03\x04\x00\x00", 1, "NUL"),
    ],
)
def test_what_is_no_such_table_is_an_error_with_its_place(
    data: bytes, line: int | None, message: str
) -> None:
    with pytest.raises(VenturiError) as caught:
        read(data)
    assert caught.value.code == "VEN-IMPORT-FORMAT"
    assert message in caught.value.message
    assert caught.value.where["file"] == "file.csv"
    assert caught.value.where.get("line") == line


def test_there_may_not_be_more_rows_than_the_limit() -> None:
    table = b"a\n" + b"1\n" * 4
    assert len(list(rows(io.BytesIO(table), SOURCE, ["a"], limits=TableLimits(rows=4)))) == 4
    with pytest.raises(VenturiError, match="more than 3 rows"):
        list(rows(io.BytesIO(table), SOURCE, ["a"], limits=TableLimits(rows=3)))


@given(st.binary(max_size=300), st.integers(0, len(SET4)))
def test_damage_is_refused_or_told_and_nothing_else(noise: bytes, at: int) -> None:
    damage = None
    try:
        items = read(SET4[:at] + noise + SET4[at:])
    except VenturiError as error:
        damage = error.code
    else:
        assert all(trial.elapsed_s and trial.elapsed_s > 0 for trial in trials(items))
    assert damage in {None, "VEN-IMPORT-FORMAT"}


@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=4), st.text(max_size=3))
def test_ids_are_plain_short_and_tell_parts_apart(parts: list[str], other: str) -> None:
    id_ = imported_id("spark-perf", *parts)
    assert id_ == imported_id("spark-perf", *parts)
    assert len(id_) <= 64
    assert id_ != imported_id("spark-perf", *parts, other)
