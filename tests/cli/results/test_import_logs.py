"""`venturi import` of engines' logs, and `venturi show` of these trials, as a user calls them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import job_samples
import own_samples
from event_log import SparkLog, put
from venturi.core.settings import Settings
from venturi.core.units import format_duration
from venturi.record.account_tables import ACCOUNT_NAME, TABLES
from venturi.record.job_account import load
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import ProvenanceKind

DATA = Path(__file__).parents[2] / "data"
SPARK = DATA / "spark" / "4.3.0"
HADOOP = DATA / "mapreduce" / "3.4.2"

Venturi = Callable[..., tuple[int, str, str]]


def data(stdout: str) -> Any:
    return json.loads(stdout)["data"]


def imported(stdout: str) -> list[Any]:
    """Each application that was imported, and each file that was refused."""
    return [{**outcome, **each} for outcome in data(stdout) for each in outcome.get("trials", [{}])]


def test_an_event_log_becomes_a_trial(venturi: Venturi, settings: Settings) -> None:
    status, stdout, stderr = venturi("import", "spark-eventlog", SPARK / "join.log")
    assert status == 0
    assert "added: trial spark-eventlog-" in stdout
    assert "4 stages, 18 task attempts, 58 events, 1 ignored" in stdout
    assert "recognized" not in stderr, "the format was named"
    with TrialRepository.open(settings) as repository:
        (trial,) = whole_trials(repository)
        assert trial.provenance.kind is ProvenanceKind.IMPORTED
        assert {artifact.name for artifact in trial.artifacts} == {
            ACCOUNT_NAME,
            "queries.parquet",
            "operators.parquet",
            "operator_metrics.parquet",
            "memory.parquet",
            *(f"{name}.parquet" for name in TABLES),
        }
        account = load(repository, trial)
        assert len(account.tasks) == 18
        assert trial.provenance.digest == account.reading.sha256


def test_the_same_log_is_taken_in_once(venturi: Venturi, settings: Settings) -> None:
    venturi("import", "spark-eventlog", SPARK / "tiny.log")
    for again in ("tiny.log", "tiny.zstd", "eventlog_v2_local-1795206808966"):
        status, stdout, _ = venturi("import", "spark-eventlog", SPARK / again, "--json")
        assert status == 0
        assert imported(stdout)[0]["added"] is False
    with TrialRepository.open(settings) as repository:
        assert len(whole_trials(repository)) == 1


def test_a_folder_with_good_bad_and_unfinished_logs(
    venturi: Venturi, settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("join.log", "failedjob.log", "killed.log.inprogress"):
        put(folder / name, (SPARK / name).read_bytes(), ago_s=7_200)
    (folder / "notes.txt").write_text("nothing of Spark's\n")
    (folder / "empty.log").touch()
    status, stdout, stderr = venturi("import", "spark-eventlog", folder, "--json")
    assert status == 0
    found = {Path(each["file"]).name: each for each in imported(stdout)}
    assert found["join.log"]["state"] == "succeeded"
    assert found["failedjob.log"]["state"] == "failed"
    assert found["killed.log.inprogress"]["state"] == "interrupted"
    assert found["killed.log.inprogress"]["elapsed_s"] is None
    assert found["notes.txt"]["skipped"] is True
    assert "skipped 2 files of no known format: empty.log, notes.txt" in stderr
    with TrialRepository.open(settings) as repository:
        assert len(whole_trials(repository)) == 3


def test_a_failed_query_comes_first_in_the_line_of_an_application(
    venturi: Venturi, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for n in range(2):
        log = SparkLog()
        log.query(0, 1, 2, failed="java.io.FileNotFoundException: no /data/orders")
        log.end(20)
        text = b"".join(log.lines).replace(b'"App ID":"a1"', b'"App ID":"a1%d"' % n)
        (logs / f"{n}.log").write_bytes(text)
    status, said, _ = venturi("import", logs)
    lines = [line for line in said.splitlines() if "trial spark-eventlog" in line]
    assert status == 0
    assert len(lines) == 2
    assert all("1 query failed: java.io.FileNotFoundException: no /data/orders" in x for x in lines)


def test_the_old_verb_imports_with_a_note(venturi: Venturi) -> None:
    status, stdout, stderr = venturi("ingest", "spark-eventlog", SPARK / "tiny.log", "--json")
    assert (status, imported(stdout)[0]["added"]) == (0, True)
    assert "`venturi ingest` is now `venturi import`" in stderr.splitlines()[0]


def test_many_other_files_are_five_lines_and_a_count(venturi: Venturi, tmp_path: Path) -> None:
    folder = tmp_path / "others"
    folder.mkdir()
    for number in range(8):
        (folder / f"{number}.gz").write_bytes(b"\x1f\x8b\x08")
    status, stdout, stderr = venturi("import", "spark-eventlog", folder, "--json")
    lines = stderr.splitlines()
    assert (status, len(imported(stdout)), len(lines)) == (1, 8, 7)
    assert "4.gz: rejected" in lines[4]
    assert lines[5:] == [
        "and 3 more rejected; --json has all",
        f"no trial found in {folder}",
    ]


def test_what_to_give_is_said_where_there_is_no_log(venturi: Venturi, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("nothing of Spark's\n")
    (tmp_path / "empty").mkdir()
    for given in (text, tmp_path / "empty"):
        assert "hint: name an event log" in " ".join(
            venturi("import", "spark-eventlog", given)[2].split()
        )


def test_one_that_was_killed_is_not_compared_as_if_it_were_faster(
    venturi: Venturi, tmp_path: Path
) -> None:
    ids = []
    for name in ("join.log", "killed.log.inprogress"):
        log = put(tmp_path / name, (SPARK / name).read_bytes(), ago_s=7_200)
        _, stdout, _ = venturi("import", "spark-eventlog", log, "--json")
        ids.append(imported(stdout)[0]["trial"])
    for order, which in ((ids, "second"), (ids[::-1], "first")):
        status, shown, _ = venturi("compare", *order, "--why")
        first = shown.splitlines()[0]
        assert status == 0
        assert first.startswith("by name these are two programs ('")
        ends = "the log ends before the application does"
        assert f"the end of the {which} is unknown ({ends})" in first
        assert "so the times cannot be compared" in first
        assert "it took" not in first


def test_job_histories(venturi: Venturi, settings: Settings) -> None:
    status, stdout, _ = venturi("import", "mapreduce-history", HADOOP, "--json")
    assert status == 0
    assert sorted(each["state"] for each in imported(stdout)) == [
        "failed",
        "succeeded",
        "succeeded",
        "succeeded",
    ]
    with TrialRepository.open(settings) as repository:
        words = whole_trials(repository, Condition.equal("workload", "word count"))[0]
        assert words.configuration["mapreduce.task.io.sort.mb"] == "1"
        assert words.cluster.hosts[0].name == "localhost"


def test_show_tells_where_the_time_went(venturi: Venturi) -> None:
    _, stdout, _ = venturi("import", "spark-eventlog", SPARK / "join.log", "--json")
    id_ = imported(stdout)[0]["trial"]
    status, shown, _ = venturi("show", id_)
    assert status == 0
    for wanted in (
        "the driver took 67% of 20.1 s: before the first query",
        "Cores: offered, used, unused",
        "SQL queries",
        "Critical path",
        "Stages",
        "unattributed",
        "shuffle fetch",
        "Skew: largest task / median task",
        "Stragglers",
        "waiting for disks",
        "events ignored",
    ):
        assert wanted in shown
    (query,) = (line for line in shown.splitlines() if line.endswith("0, 1, 2, 3"))
    assert query.split()[0] == "0", "its jobs and stages stand behind a query"
    job = data(venturi("show", id_, "--json")[1])["job"]
    assert job["verdict"]["narrowest"] == "driver"
    assert len(job["stages"]) == 4


def test_show_tells_what_is_cached_and_what_changed_of_plans(
    venturi: Venturi, tmp_path: Path
) -> None:
    path = tmp_path / "application_1_0001"
    path.write_bytes(b"".join(job_samples.planned_log().lines))
    ids = []
    for log in (path, SPARK / "join.log"):
        _, stdout, _ = venturi("import", "spark-eventlog", log, "--json")
        ids.append(imported(stdout)[0]["trial"])
    shown, without = (venturi("show", id_)[1] for id_ in ids)
    for title in ("Cached data", "Plan changes by adaptive execution"):
        assert title in shown
        assert title not in without
    (cached,) = (line.split() for line in shown.splitlines() if " returns " in line)
    assert cached[-4:] == ["4", "—", "—", "—"], "what is not recorded is not 0"
    assert "spark.eventLog.logBlockUpdates.enabled" in shown
    assert "query 0  removed: Scan; new: HashAggregate(keys=[k])" in shown


def test_show_says_of_which_time_the_shares_are(venturi: Venturi, settings: Settings) -> None:
    with TrialRepository.open(settings) as repository:
        trial = own_samples.own_trial(repository)
    opening = venturi("show", trial.id)[1].partition("\ntrial ")[0]
    assert "these shares are of the application's own" in opening
    assert f"the trial's time is {format_duration(trial.elapsed_s)}" in opening


def test_the_parts_of_the_time_add_up_as_they_are_shown(venturi: Venturi) -> None:
    venturi("import", "spark-eventlog", SPARK / "spill.log")
    shown = venturi("show", "last")[1].partition("\nWhere the time went\n")[2].partition("\n\n")[0]
    rows = [line for line in shown.splitlines() if line.endswith("%")]
    assert re.match(r"\d+ parts of less than 0.5% each ", rows[-1])
    assert sum(int(line.rpartition(" ")[2][:-1]) for line in rows) == pytest.approx(100, abs=3)


def test_show_of_a_job_history(venturi: Venturi) -> None:
    _, stdout, _ = venturi("import", "mapreduce-history", HADOOP, "--json")
    for each in imported(stdout):
        status, shown, _ = venturi("show", each["trial"])
        assert status == 0
        assert "Narrowest point" in shown
        assert "not recorded" in shown
        assert shown.count("no task recorded it") == 1, "all such metrics share a line"


def test_show_says_when_the_tables_are_gone(venturi: Venturi, settings: Settings) -> None:
    _, stdout, _ = venturi("import", "spark-eventlog", SPARK / "tiny.log", "--json")
    id_ = imported(stdout)[0]["trial"]
    tasks = settings.home / "artifacts" / id_ / "tasks.parquet"
    tasks.write_bytes(b"PAR1 is not enough")
    status, _, stderr = venturi("show", id_)
    assert status == 1
    assert "VEN-RECORD-ARTIFACT" in stderr


@pytest.mark.parametrize("kind", ["spark-eventlog", "mapreduce-history"])
def test_called_wrongly(kind: str, venturi: Venturi, tmp_path: Path) -> None:
    assert venturi("import", kind)[0] == 2
    assert venturi("import", kind, tmp_path / "absent")[0] == 1
    status, _, stderr = venturi("import", kind, tmp_path)
    assert status == 1
    assert "VEN-INGEST-FORMAT" in stderr


def test_text_of_a_log_cannot_command_a_terminal(venturi: Venturi, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    text = (SPARK / "tiny.log").read_text()
    log.write_text(text.replace("venturi-fixture-tiny", "\\u001b[2J[bold]x[/bold]"))
    status, stdout, stderr = venturi("import", "spark-eventlog", log, "--json")
    assert status == 0
    assert "\x1b" not in stderr
    id_ = imported(stdout)[0]["trial"]
    assert "\x1b[2J" not in venturi("show", id_)[1]


def test_what_to_do_is_said_when_a_log_is_taken_in_and_shown_first(venturi: Venturi) -> None:
    log = SPARK / "faults" / "one-task-window-faulty.zstd"
    status, first, _ = venturi("import", "spark-eventlog", log)
    assert status == 0
    assert "\n  1. Single-task stage: saves about 3." in first
    assert "     Fix: give the window a PARTITION BY" in first
    assert "  Where 23.9 s of elapsed time went\n    driver " in first
    _, shown, _ = venturi("show", "last")
    assert shown.startswith("one-task-window, faulty · spark 4.3.0 · 23.9 s · succeeded\n")
    assert shown.index("give the window a PARTITION BY") < shown.index("spark-eventlog-")
    assert "at least (Amdahl)" in shown
    _, told, _ = venturi("show", "last", "--json")
    job = json.loads(told)["data"]["job"]
    assert [each["rule"] for each in job["diagnosis"]["findings"]] == ["one-task"]
    now = next(each for each in job["outlook"]["found"] if each["slots"] == 2)
    assert now["time_s"] == job["outlook"]["replayed_s"]
    time, read = next(each["spreads"] for each in job["stages"] if each["key"] == [2, 0])
    assert (time["n"], time["least"], time["most"]) == (1, time["median"], time["median"])
    assert read["median"] == pytest.approx(98.6 * 2**20, rel=1e-3)
    longest, *_ = job["ideal_slots"]["found"]
    # Its one task is all that it can fill a slot with.
    assert (longest["useful_slots"], longest["slots"], longest["executors"]) == (1, 1, None)
    assert longest["time_s"] == pytest.approx(longest["elapsed_s"], rel=0.05)
    assert "at most 10% longer than with all the slots its tasks can fill" in " ".join(
        shown.split()
    )
