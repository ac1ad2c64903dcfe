"""Spark's own suites with the plugin and without: what the comparison says, and a slice of them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from spark_suites import FAST, Case, Ran, Suites, compared, is_used, table, together  # noqa: E402

PLACED = {FAST: 3, "last": 4}


def ran(**tests: str | None) -> Ran:
    return Ran({Case("S", name): wrong for name, wrong in tests.items()}, 1.0, PLACED, 2, 0)


def test_what_does_not_end_alike_is_found() -> None:
    stock = ran(good=None, bad="broken", now_bad=None, now_good="broken", gone=None)
    tiers = ran(good=None, bad="broken otherwise", now_bad="lost", now_good=None)
    assert [test.name for test in compared(stock, tiers)] == ["gone", "now_bad", "now_good"]
    said = list(table({"S": (stock, tiers)}))
    assert said[1].split() == ["S", "3/5", "2/5", "1", "1", "3", "4", "2", "0"]
    assert said[2:] == [
        "fails on both sides: S: bad", "    without: broken", "    with:    broken otherwise",
    ]  # fmt: skip


def test_a_suite_in_parts_is_one() -> None:
    whole = together([ran(good=None), ran(bad="broken")])
    assert whole == Ran(
        {Case("S", "good"): None, Case("S", "bad"): "broken"}, 2.0, {FAST: 6, "last": 8}, 4, 0
    )


def test_a_plugin_that_had_nothing_to_do_proves_nothing() -> None:
    assert is_used(ran())
    assert not is_used(Ran({}, 1.0, {FAST: 3}, 2, 0))
    assert not is_used(Ran({}, 1.0, {}, 0, 2))


@pytest.mark.long
@pytest.mark.engines
@pytest.mark.skipif(shutil.which("mvn") is None, reason="fetches Spark's tests by Maven")
def test_a_slice_of_spark_s_own_suites(tiers_jar: Path) -> None:
    """All of them take minutes: `make test-spark-suites`. What was found is kept."""
    folder = ROOT / "target/spark-suites/slice"
    suites = Suites("4", folder)
    names = (
        "using external shuffle service",
        "[SPARK-4085] rerun map stage if reduce stage cannot find its local shuffle file",
        "SPARK-36206: shuffle checksum detect disk corruption",
    )
    suite = "ExternalShuffleServiceSuite"
    done = suites.run(suite, "with", only=names)
    assert done.tests == {Case(suite, name): None for name in names}
    assert is_used(done)
    assert done.stock == 0
    again = Suites("4", folder)
    assert again.kept(suite, "with", only=names) == done
    assert again.kept(suite, "with", only=names[:2]) is None
