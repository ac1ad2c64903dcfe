"""`venturi repository keep` as a user calls it, and the other verbs afterwards."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from command_line import on_terminal, venturi
from venturi.core.settings import Settings

DATA = Path(__file__).parents[2] / "data/spark/4.3.0"
LOGS = (DATA / "faults/skewed-join-faulty.zstd", DATA / "join.log", DATA / "failedjob.log")


@pytest.fixture
def home(settings: Settings) -> Path:
    """The home of a repository with three jobs."""
    done = venturi("import", *LOGS, home=settings.home)
    assert done.returncode == 0, done.stderr
    return settings.home


def data(home: Path, *arguments: str) -> Any:
    done = venturi(*arguments, "--json", home=home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["data"]


def keep(home: Path, *arguments: str) -> str:
    done = venturi("repository", "keep", *arguments, home=home)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_dry_run_says_what_would_be_dropped(home: Path) -> None:
    before = data(home, "ls")
    said = keep(home, "--jobs", "1s", "--dry-run")
    assert said.startswith("would drop the task tables of 3 jobs older than 1.0 s: ")
    assert said.endswith("; nothing was changed\n")
    assert data(home, "ls") == before
    assert keep(home, "--jobs", "36500d") == (
        "no job older than 36,500 days has task tables to drop\n"
    )


def test_the_freed_bytes_are_printed_and_a_second_run_does_nothing(home: Path) -> None:
    found = data(home, "repository", "keep", "--jobs", "1s", "--dry-run")
    said = keep(home, "--jobs", "1s", "--summaries", "forever")
    assert said.startswith("dropped the task tables of 3 jobs older than 1.0 s: ")
    assert said.endswith(" freed\n")
    assert len(found["dropped"]) == 3
    assert found["freed_bytes"] > 10_000
    assert keep(home, "--jobs", "1s") == "no job older than 1.0 s has task tables to drop\n"


def test_the_job_list_is_the_same_without_tables(home: Path) -> None:
    before = data(home, "jobs")
    keep(home, "--jobs", "1s")
    assert data(home, "jobs") == before


def test_show_has_the_answer_and_why_there_is_no_more(home: Path, settings: Settings) -> None:
    (id_,) = [each["id"] for each in data(home, "jobs")["jobs"] if each["saving_s"]]
    before = on_terminal(settings, "show", id_)
    keep(home, "--jobs", "1s")
    after = on_terminal(settings, "show", id_)
    assert len(after) <= 24
    assert max(map(len, after)) <= 80
    assert after[:8] == before[:8], "headline, answer and the first finding"
    text = " ".join(" ".join(after).split())
    assert "went" in text
    counts = r"Stages \([1-9]\d*\) and tasks \([1-9]\d*\) can't be shown: "
    assert re.search(f"{counts}its task tables were dropped on 20", text)
    assert "importing its log again restores them" in text
    assert after[-1] == "Next: import its log again for stages and tasks: venturi import LOG"
    whole = venturi("show", id_, "--all", home=home)
    assert whole.returncode == 0
    assert after[0] in whole.stdout
    assert "VEN-RECORD-DROPPED" in whole.stdout
    as_json = data(home, "show", id_)["job"]
    assert as_json["summary"]["diagnosis"]["findings"]
    assert "dropped on" in as_json["dropped"]


def test_a_failed_job_still_says_why(home: Path, settings: Settings) -> None:
    (id_,) = [each["id"] for each in data(home, "jobs")["jobs"] if each["state"] == "failed"]
    before = on_terminal(settings, "show", id_)
    keep(home, "--jobs", "1s")
    after = on_terminal(settings, "show", id_)
    assert after[0] == before[0]
    meaning = [line for line in before if "Meaning: " in line]
    assert [line for line in after if "Meaning: " in line] == meaning
    assert "can't be shown: its task tables were dropped on 20" in " ".join(" ".join(after).split())


def test_verbs_that_need_the_tables_name_the_remedy(home: Path) -> None:
    ids = [each["id"] for each in data(home, "jobs")["jobs"]]
    keep(home, "--jobs", "1s")
    for arguments in (
        ("show", ids[0], "--stages"),
        ("show", ids[0], "--sql"),
        ("compare", "--why", ids[0], ids[1]),
        ("whatif", ids[0], "--executors", "2"),
        ("advise", "tiers", ids[0]),
        ("advise", "hardware", ids[0]),
    ):
        done = venturi(*arguments, home=home)
        assert done.returncode in {1, 2}, (arguments, done.stdout)
        assert "VEN-RECORD-DROPPED" in done.stderr, (arguments, done.stderr)
        assert "venturi import LOG" in done.stderr
    settings = venturi("show", ids[0], "--settings", home=home)
    assert settings.returncode == 0


def test_importing_the_logs_again_restores_them(home: Path) -> None:
    before = data(home, "ls")
    keep(home, "--jobs", "1s")
    done = venturi("import", *LOGS, home=home)
    assert done.returncode == 0, done.stderr
    assert data(home, "ls") == before
    for each in data(home, "jobs")["jobs"]:
        assert venturi("show", each["id"], "--stages", home=home).returncode == 0


def test_summaries_of_an_age_are_removed_for_good(home: Path) -> None:
    dry = keep(home, "--jobs", "1s", "--summaries", "2s", "--dry-run")
    assert dry.startswith("would remove 3 jobs older than 2.0 s for good, with their summaries: ")
    assert "no job older than 1.0 s has task tables to drop" in dry
    assert len(data(home, "jobs")["jobs"]) == 3
    said = keep(home, "--jobs", "1s", "--summaries", "2s")
    assert said.startswith("removed 3 jobs older than 2.0 s for good: ")
    assert data(home, "jobs")["jobs"] == []
    (made,) = data(home, "repository", "removals")
    assert made["reason"] == "venturi repository keep --summaries 2.0 s"
    assert "no job is older than 2.0 s" in keep(home, "--jobs", "1s", "--summaries", "2s")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--jobs", "90d", "--summaries", "30d"), "VEN-QUERY-VALUE"),
        (("--jobs", "90"), "VEN-UNIT-SYNTAX"),
        (("--jobs", "9999999d"), "VEN-QUERY-VALUE"),
        (("--jobs", "1d", "--summaries", "ever"), "VEN-UNIT-SYNTAX"),
    ],
)
def test_wrong_ages_are_refused(settings: Settings, arguments: tuple[str, ...], code: str) -> None:
    done = venturi("repository", "keep", *arguments, home=settings.home)
    assert done.returncode == 2
    assert code in done.stderr
