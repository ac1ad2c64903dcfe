"""A machine from hour to hour, and compared with equal machines."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from venturi.results.effects.screening import in_words, screen

START = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)


def every_5_min(*rates: float) -> list[tuple[datetime, float]]:
    return [(START + timedelta(minutes=5 * n), rate) for n, rate in enumerate(rates)]


def test_range_and_variation() -> None:
    found = screen(every_5_min(100, 110, 90, 100))
    assert found is not None
    assert (found.n, found.lasted_s, found.median) == (4, 900, 100)
    assert (found.least, found.most) == (90, 110)
    assert found.variation == pytest.approx(0.0816, abs=1e-4)
    assert found.trend is None
    assert screen([]) is None


def test_a_machine_that_gets_slower_has_a_trend() -> None:
    falling = screen(every_5_min(*(100 * 0.99**n for n in range(13))))
    assert falling is not None
    assert falling.trend is not None
    assert falling.trend.per_hour == pytest.approx(0.99**12)
    assert falling.trend.is_one
    assert any(line.startswith("falls by 11.4% an hour") for line in in_words(falling))
    steady = screen(every_5_min(*[100, 101, 99] * 4))
    assert steady is not None
    assert steady.trend is not None
    assert not steady.trend.is_one


def test_slow_hours_are_named() -> None:
    found = screen(every_5_min(*[100.0] * 6, *[60.0] * 12, *[100.0] * 12))
    assert found is not None
    assert found.slow_hours == {10: pytest.approx(0.6)}
    assert "slow from 10:00 to 11:00 UTC: 60% of the median" in in_words(found)
    (only,) = [screen(every_5_min(60.0, 100.0, 100.0))]
    assert only is not None
    assert not only.slow_hours, "one hour alone is not slower than the others"


@pytest.mark.parametrize(
    ("peers", "said"),
    [
        ((200.0, 180.0, 220.0), "slow: 50% below the median of 3 other hosts of the same type"),
        ((110.0,), "9% below the median of 1 other host of the same type"),
        ((80.0,), "25% above the median of 1 other host"),
    ],
)
def test_a_slow_host_is_told_by_its_peers(peers: tuple[float, ...], said: str) -> None:
    found = screen(every_5_min(100, 100, 100), peers)
    assert found is not None
    assert in_words(found)[0].startswith(said)
