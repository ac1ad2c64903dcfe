"""Spark's own suites with the plugin and without: what the comparison says, and a slice of them."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
sys.path.insert(0, str(ROOT / "scripts"))

from spark_suites import (  # noqa: E402
    FAST,
    Case,
    NotFetchedError,
    Ran,
    Suites,
    compared,
    is_used,
    table,
    together,
)

PLACED = {FAST: 3, "last": 4}
SLICE = ROOT / "target/spark-suites/slice"


def ran(**tests: str | None) -> Ran:
    return Ran({Case("S", name): wrong for name, wrong in tests.items()}, 1.0, PLACED, 2, 0)


def test_what_does_not_end_alike_is_found() -> None:
    stock = ran(good=None, bad="broken", now_bad=None, now_good="broken", gone=None)
    tiers = ran(good=None, bad="broken otherwise", now_bad="lost", now_good=None)
    assert [test.name for test in compared(stock, tiers)] == ["gone", "now_bad", "now_good"]
    said = list(table({"S": (stock, tiers)}))
    assert said[1].split() == ["S", "3/5", "2/5", "1", "1", "3", "4", "2", "0"]
    assert said[2:] == [
        "fails on both sides: S: bad",
        "    without: broken",
        "    with:    broken otherwise",
    ]


def test_a_suite_in_parts_is_one() -> None:
    whole = together([ran(good=None), ran(bad="broken")])
    assert whole == Ran(
        {Case("S", "good"): None, Case("S", "bad"): "broken"}, 2.0, {FAST: 6, "last": 8}, 4, 0
    )


def test_a_plugin_that_had_nothing_to_do_proves_nothing() -> None:
    assert is_used(ran())
    assert not is_used(Ran({}, 1.0, {FAST: 3}, 2, 0))
    assert not is_used(Ran({}, 1.0, {}, 0, 2))


@pytest.fixture(scope="module")
def suites(tiers_jar: Path) -> Suites:
    """Spark 4's tests, which Maven keeps once it has fetched them."""
    if shutil.which("mvn") is None:
        pytest.skip("Spark's tests are fetched by Maven (Debian package maven)")
    try:
        return Suites("4", SLICE)
    except NotFetchedError as error:
        pytest.skip(f"Maven Central cannot be reached: {str(error).splitlines()[1]}")


@pytest.mark.parametrize(
    ("said", "is_unreachable"),
    [
        ("Could not transfer artifact a:b:jar:1 from/to central: Unknown host", True),
        ("a:b:jar:1 failed to transfer from central during a previous attempt", True),
        ("Could not find artifact a:b:jar:1 in central", False),
    ],
)
def test_without_a_network_it_is_said(
    tiers_jar: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
    is_unreachable: bool,
) -> None:
    """Only a missing network is a reason to skip the tests."""
    maven = tmp_path / "bin/mvn"
    maven.parent.mkdir()
    maven.write_text(f"#!/bin/sh\necho '[ERROR] {said}'\nexit 1\n")
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", str(maven.parent), prepend=os.pathsep)
    with pytest.raises(SystemExit, match=said) as raised:
        Suites("4", tmp_path / "suites")
    assert isinstance(raised.value, NotFetchedError) == is_unreachable


@pytest.mark.long
@pytest.mark.engines
def test_a_suite_of_spark_s_own(suites: Suites) -> None:
    """Executors that read each other's files; all of the suites: `make test-spark-suites`."""
    done = suites.run("HostLocalShuffleReadingSuite", "with")
    assert len(done.tests) == 3
    assert set(done.tests.values()) == {None}
    assert is_used(done)
    assert done.stock == 0


@pytest.mark.long
@pytest.mark.engines
def test_a_slice_of_spark_s_own_suites(suites: Suites) -> None:
    """The results are kept."""
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
    again = Suites("4", SLICE)
    assert again.kept(suite, "with", only=names) == done
    assert again.kept(suite, "with", only=names[:2]) is None
