"""The first screen of each verb: the answer in 24 lines of 80 columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import venturi
from terminal_screen import on_terminal
from venturi.core.settings import Settings

SPARK = Path(__file__).parents[1] / "data/spark/4.3.0"
HADOOP = Path(__file__).parents[1] / "data/mapreduce/3.4.2"
JOBS = {
    "skewed join": SPARK / "faults/skewed-join-faulty.zstd",
    "no finding": SPARK / "spill.log",
    "failed": SPARK / "failedjob.log",
    "incomplete": SPARK / "killed.log.inprogress",
    "MapReduce": next(HADOOP.glob("*TeraGen*.jhist")),
}


def check(shown: list[str]) -> None:
    assert shown
    assert len(shown) <= 24
    assert max(map(len, shown)) <= 80
    assert len(next(filter(None, shown)).split()) <= 25


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, dict[str, list[str]]]:
    """A repository with the jobs, and the first screens of their imports."""
    home = tmp_path_factory.mktemp("first") / "home"
    settings = Settings(home, None, None, allow_debug=False)
    return settings, {name: on_terminal(settings, "import", str(log)) for name, log in JOBS.items()}


@pytest.mark.parametrize("job", JOBS)
def test_import_and_show_answer_on_one_screen(
    job: str, imported: tuple[Settings, dict[str, list[str]]]
) -> None:
    settings, screens = imported
    check(screens[job])
    id_ = screens[job][0].rpartition(" ")[2]
    shown = on_terminal(settings, "show", id_)
    check(shown)
    assert shown[-1].startswith("Next: ")
    assert len(on_terminal(settings, "show", id_, "--all")) > 24
    assert any(line.startswith("  Where ") for line in shown)


def test_the_failure_comes_first(imported: tuple[Settings, dict[str, list[str]]]) -> None:
    settings, screens = imported
    shown = on_terminal(settings, "show", screens["failed"][0].rpartition(" ")[2])
    assert shown[0].endswith("· failed")
    assert "the input is bad" in shown[1]


def test_the_costliest_finding_has_its_fix(
    imported: tuple[Settings, dict[str, list[str]]],
) -> None:
    settings, screens = imported
    shown = on_terminal(settings, "show", screens["skewed join"][0].rpartition(" ")[2])
    assert shown[2].startswith("  1. Uneven partitions: ")
    assert any(line.startswith("     Fix: ") for line in shown)
    assert any("--conf spark.sql.adaptive.enabled=true" in line for line in shown)


def test_a_section_is_printed_whole(imported: tuple[Settings, dict[str, list[str]]]) -> None:
    settings, screens = imported
    id_ = screens["skewed join"][0].rpartition(" ")[2]
    for section, title in (
        ("--stages", "Critical path"),
        ("--executors", "Executors"),
        ("--sql", "SQL queries"),
        ("--slots", "What if: fewer or more slots"),
        ("--settings", "Configuration"),
        ("--samples", "Samples"),
    ):
        shown = on_terminal(settings, "show", id_, section)
        assert title in shown
        assert shown[-1] == "" or not shown[-1].endswith("--all")
        others = on_terminal(settings, "show", id_, "--all")
        assert len(shown) < len(others)


def test_a_pipe_gets_everything(imported: tuple[Settings, dict[str, list[str]]]) -> None:
    settings, screens = imported
    id_ = screens["skewed join"][0].rpartition(" ")[2]
    piped = venturi("show", id_, home=settings.home).stdout
    assert piped == venturi("show", id_, "--all", home=settings.home).stdout
    assert "Artifacts" in piped
