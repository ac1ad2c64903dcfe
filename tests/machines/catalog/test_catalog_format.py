"""The catalog's own format: shipped files, valid lines, and reports of invalid ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from venturi.core.errors import VenturiError
from venturi.machines import catalog
from venturi.machines.catalog import ATTRIBUTES, InstanceType, parse

HEADER = "instance_type,attribute,value,low,high,unit,kind,source,as_of,note\n"
FULL = (
    "x,price,2,,,USD/h,advertised,sheet,2026-01-01,\n"
    "x,disk_count,4,,,1,advertised,sheet,2026-01-01,\n"
    "x,disk_size,1000,,,GB,advertised,sheet,2026-01-01,\n"
    "x,storage_rate,1000,900,1100,MB/s,measured,probe,2026-01-01,\n"
    "x,network_rate,,,,MB/s,,,,not measured\n"
)


def one(body: str = FULL) -> InstanceType:
    return parse(HEADER + body, "test", "test.csv").types["x"]


@pytest.mark.parametrize("name", catalog.shipped())
def test_every_shipped_value_has_kind_source_and_date_and_every_unknown_one_a_reason(
    name: str,
) -> None:
    types = catalog.load_shipped(name).types
    assert types
    for instance_type in types.values():
        assert instance_type.number("price") is not None
        for attribute, fact in instance_type.facts.items():
            assert attribute in ATTRIBUTES
            if fact.value is None:
                assert fact.kind is None
                assert fact.note
            else:
                assert fact.kind
                assert fact.source
                assert fact.as_of


def test_a_line_says_value_range_and_origin() -> None:
    storage = one().fact("storage_rate")
    assert (storage.value, storage.low, storage.high) == (1000.0, 900.0, 1100.0)
    assert one().fact("network_rate").note == "not measured"
    assert "doesn't give" in one().fact("vcpus").note


def test_local_disks_are_number_times_size_or_their_total() -> None:
    assert one().local_bytes == 4000 * 10**9
    total = "x,local_size,7500,,,GB,advertised,sheet,2026-01-01,\n"
    assert one(FULL + total).local_bytes == 4000 * 10**9
    assert one(total).local_bytes == 7500 * 10**9
    assert one("x,disk_count,,,,1,,,,total only\n" + total).local_bytes == 7500 * 10**9
    assert one("x,disk_count,4,,,1,advertised,sheet,2026-01-01,\n").local_bytes is None


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("x,power,-1,,,W,advertised,s,2026-01-01,", "value"),
        ("x,power,0,,,W,advertised,s,2026-01-01,", "value"),
        ("x,power,much,,,W,advertised,s,2026-01-01,", "value"),
        ("x,power,nan,,,W,advertised,s,2026-01-01,", "value"),
        ("x,power,2,3,4,W,advertised,s,2026-01-01,", "low and high"),
        ("x,power,2,1,-4,W,advertised,s,2026-01-01,", "high"),
        ("x,power,1,,,kW,advertised,s,2026-01-01,", "unit"),
        ("x,power,1,,,W,rumoured,s,2026-01-01,", "kind"),
        ("x,power,1,,,W,advertised,,2026-01-01,", "source"),
        ("x,power,1,,,W,advertised,s,last year,", "as_of"),
        ("x,power,1,,,W,advertised,s,,", "as_of"),
        ("x,power,,,,W,,,,", "note"),
        ("x,power,,,,W,measured,,,gone", "note"),
        ("x,prize,1,,,USD/h,advertised,s,2026-01-01,", "attribute"),
        (",power,1,,,W,advertised,s,2026-01-01,", "instance_type"),
        ("x,power,1,,,W", "line"),
        ('x,power,"1,,,W,advertised,s,2026-01-01,', "line"),
        (FULL.splitlines()[0], "attribute"),  # a second time
    ],
)
def test_a_bad_line_is_named_by_line_field_and_value(line: str, field: str) -> None:
    with pytest.raises(VenturiError) as caught:
        one(f"{FULL}{line}\n")
    error = caught.value
    assert error.code == "VEN-CATALOG-FORMAT"
    assert error.where["file"] == "test.csv"
    assert error.where["line"] == 7
    assert error.where["field"] == field


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(HEADER + FULL, encoding="utf-8")
    assert catalog.load(path).name == "mine"
    for content in (b"", b"type,price\n", b"\xff\xfe\x00"):
        path.write_bytes(content)
        with pytest.raises(VenturiError) as caught:
            catalog.load(path)
        assert caught.value.code == "VEN-CATALOG-FORMAT"
