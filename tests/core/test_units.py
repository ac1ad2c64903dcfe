"""Quantities as people type them, and as they are echoed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import ExitCode, VenturiError
from venturi.core.units import (
    about_cost,
    decimal_size,
    format_core_time,
    format_cost,
    parse_bytes,
    parse_duration_s,
    size_text,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("90m", 5400),
        ("30min", 1800),
        ("1.5h", 5400),
        ("1h30m", 5400),
        ("1d", 86400),
        ("1 h 30 min", 5400),
        ("1h 30m 10s", 5410),
        ("2 days", 172800),
        ("1 hour", 3600),
        ("45 Minutes", 2700),
        ("250ms", 0.25),
        ("1D12H", 129600),
        (" 3min ", 180),
    ],
)
def test_durations_as_people_type_them(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["30", "1.5", " 0 "])
def test_a_bare_number_is_no_duration_and_what_was_meant_is_asked(text: str) -> None:
    with pytest.raises(VenturiError) as caught:
        parse_duration_s(text)
    number = text.strip()
    assert caught.value.hint == f"did you mean {number}s, {number}min or {number}h?"
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    "text", ["", "h", "30m1h", "1h1h", "1h30", "h30m", "-5min", "1,5h", "5 fortnights", "1e3s"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(VenturiError, match="is not a duration"):
        parse_duration_s(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2 GB", 2 * 10**9),
        ("100TB", 10**14),
        ("4GiB", 2**32),
        ("512", 512),
        ("1.5 kB", 1500),
        ("2gib", 2**31),
    ],
)
def test_sizes_as_people_type_them(text: str, size: int) -> None:
    assert parse_bytes(text) == size


def test_a_prefix_alone_may_be_either_and_is_asked_about() -> None:
    with pytest.raises(VenturiError, match="GB or GiB") as caught:
        parse_bytes("2G")
    assert "2GB" in caught.value.hint
    assert "2GiB" in caught.value.hint


def test_a_bare_number_is_refused_where_a_unit_is_needed() -> None:
    with pytest.raises(VenturiError, match="has no unit") as caught:
        parse_bytes("100", unit_needed=True)
    assert caught.value.hint == "did you mean 100GB or 100TB?"


@given(st.integers(0, 10**12 - 1).map(lambda n: n * 1000))
def test_a_size_is_echoed_without_loss(size: int) -> None:
    assert parse_bytes(decimal_size(size)) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (65_536, "64 KiB"),
        (64 << 20, "64 MiB"),
        (10**11, "100 GB"),
        (512, "512 B"),
        (1_000, "1 kB"),
        (187_600_626_413, "187.6 GB"),
    ],
)
def test_a_size_is_shown_in_the_units_in_which_it_was_chosen(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("core_s", "text"),
    [
        (0.11498, "0.115 core-seconds"),
        (0.0004, "under 0.001 core-seconds"),
        (36, "0.01 core-hours"),
        (3_600 * 12_345.6, "12,346 core-hours"),
    ],
)
def test_core_time_is_shown_without_exponents(core_s: float, text: str) -> None:
    assert format_core_time(core_s) == text


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (None, "—"),
        (0.0, "$0.00"),
        (0.00000421, "<$0.0001"),
        (0.00041, "$0.0004"),
        (0.00421, "$0.0042"),
        (0.0421, "$0.042"),
        (0.0996, "$0.10"),
        (4.2, "$4.20"),
        (1_234.5, "$1,234.50"),
    ],
)
def test_a_cost_has_cents_or_more_digits(usd: float | None, text: str) -> None:
    assert format_cost(usd) == text
    if usd:
        assert about_cost(usd) == ("under $0.0001" if usd < 5e-5 else f"about {text}")
