"""Event logs that Spark really wrote, whole and damaged, and logs that mean harm."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from event_log import END, START, SparkLog, Write, at, event
from venturi.core.errors import VenturiError
from venturi.jobs.logs import spark
from venturi.jobs.logs.configuration import MASK
from venturi.jobs.logs.find import spark_logs
from venturi.jobs.logs.trial import lost, trial_of
from venturi.record.importing.formats import Log
from venturi.record.importing.streams import LogLimits, LogText
from venturi.record.job_account import OUTPUT_LOST, JobAccount
from venturi.record.trial import State
from venturi.record.trial_json import decode, encode

LOGS = Path(__file__).parents[2] / "data" / "spark"
TINY = LOGS / "4.3.0" / "tiny.log"
ROLLING = LOGS / "4.3.0" / "eventlog_v2_local-1795206808966"


def read(path: Path, limits: LogLimits | None = None) -> JobAccount:
    (log,) = spark_logs(path)
    return spark.read(log) if limits is None else spark.read(log, limits)


def task_line(**changes: Any) -> bytes:
    """A task's end from a real log, changed."""
    lines = (LOGS / "4.3.0" / "join.log").read_bytes().splitlines()
    task = json.loads(next(line for line in lines if b"SparkListenerTaskEnd" in line))
    return json.dumps(task | changes, separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize("version", ["2.4.8", "3.1.3", "3.5.9", "4.3.0"])
def test_the_same_job_of_every_version(version: str) -> None:
    account = read(LOGS / version / "join.log")
    assert account.application.engine_version == version
    assert (account.application.outcome, account.application.reason) == ("succeeded", None)
    assert account.jobs["outcome"].to_list() == ["succeeded"]
    assert sorted(account.stages["n_tasks"]) == [2, 4, 6, 6]
    assert account.stages["parent_ids"].to_list() == [[], [], [0, 1], [2]]
    tasks = account.tasks
    assert len(tasks) == 18
    assert set(tasks["outcome"]) == {"succeeded"}
    for name in ("executorRunTime", "executorCpuTime", "jvmGCTime", "shuffleWriteTime"):
        assert tasks[name].null_count() == 0
    assert (tasks["executorRunTime"] <= tasks["finished_ms"] - tasks["launched_ms"]).all()
    # All shuffle output was read.
    read_bytes = tasks["shuffleLocalBytesRead"].sum() + tasks["shuffleRemoteBytesRead"].sum()
    assert read_bytes == tasks["shuffleBytesWritten"].sum() > 0
    host = "localhost" if version == "2.4.8" else "10.0.0.1"
    assert account.executors.rows()[0][:3] == ("driver", host, 2)
    assert account.configuration["spark.sql.shuffle.partitions"] == "6"
    assert account.reading.unknown == account.reading.damaged == {}
    assert not account.reading.lost


@pytest.mark.parametrize("table", ["jobs", "stages", "tasks", "executors"])
def test_tables_have_the_documented_columns(table: str) -> None:
    found = read(TINY)
    assert found.table(table).columns == [each.name for each in found.kind.columns(table)]


@pytest.mark.parametrize(
    "name", ["tiny.lz4", "tiny.zstd", "tiny-xerial.snappy", "tiny-hadoop.snappy", ROLLING.name]
)
def test_compression_changes_nothing(name: str) -> None:
    plain, packed = read(TINY), read(TINY.with_name(name))
    assert packed.reading.compression == (name.partition(".")[2] or "zstd")
    assert packed.reading.sha256 == plain.reading.sha256
    assert packed.tasks.equals(plain.tasks)
    assert packed.stages.equals(plain.stages)
    assert trial_of(packed).id == trial_of(plain).id


@pytest.mark.parametrize("name", ["3.5.9/aqe.zstd", "3.5.9/aqe.lz4", "3.1.3/tiny.snappy"])
def test_other_versions_compress_alike(name: str) -> None:
    account = read(LOGS / name)
    assert account.application.outcome == "succeeded"
    assert len(account.tasks) > 0


def test_gzip_of_an_administrator(write: Write) -> None:
    account = read(write(gzip.compress(TINY.read_bytes())))
    assert account.reading.compression == "gzip"
    assert account.tasks.equals(read(TINY).tasks)


def test_lzf_is_read_and_what_is_damaged_of_it_ends_it(write: Write) -> None:
    packed = TINY.with_name("tiny.lzf").read_bytes()
    account = read(write(packed))
    assert account.reading.compression == "lzf"
    assert account.tasks.equals(read(TINY).tasks)
    cut = read(write(packed + packed[:-9]))  # its one chunk again, without an end
    assert "lzf" in (cut.reading.truncated or "")
    assert cut.tasks.equals(account.tasks)


def test_an_attempt_that_failed_and_was_repeated() -> None:
    account = read(LOGS / "4.3.0" / "failedtask.log")
    failed = account.tasks.filter(account.tasks["outcome"] == "failed").to_dicts()
    assert [task["index"] for task in failed] == [1]
    assert "first attempt fails on purpose" in failed[0]["reason"]
    repeated = account.tasks.filter(
        (account.tasks["stage_id"] == failed[0]["stage_id"]) & (account.tasks["index"] == 1)
    )
    assert repeated["outcome"].to_list() == ["failed", "succeeded"]
    assert trial_of(account).state is State.SUCCEEDED


@pytest.mark.parametrize("version", ["2.4.8", "3.1.3", "4.3.0"])
def test_a_failed_job_is_no_success(version: str) -> None:
    trial = trial_of(read(LOGS / version / "failedjob.log"))
    assert trial.state is State.FAILED
    assert trial.elapsed_s is None
    assert trial.failure is not None
    assert trial.failure.code == "VEN-INGEST-FAILED"
    assert "the input is bad" in trial.failure.message
    assert trial.values("time_to_failure_s")[0] > 0


def test_an_application_that_never_ended() -> None:
    account = read(LOGS / "4.3.0" / "killed.log.inprogress")
    assert account.jobs["outcome"].to_list()[-1] == "unfinished"
    trial = trial_of(account)
    assert trial.state is State.INTERRUPTED
    assert trial.failure is not None
    assert trial.failure.code == "VEN-INGEST-UNFINISHED"


def test_a_copy_that_won() -> None:
    account = read(LOGS / "4.3.0" / "speculative.log")
    copies = account.tasks.filter(account.tasks["speculative"])
    assert copies["outcome"].to_list() == ["succeeded"]
    loser = account.tasks.filter(account.tasks["outcome"] == "unfinished")
    assert loser["index"].to_list() == copies["index"].to_list()
    assert loser["finished_ms"].to_list() == loser["executorRunTime"].to_list() == [None]
    assert account.executors["host"].to_list() == ["127.0.0.2", "127.0.0.3"]


def test_spills_are_recorded_in_bytes() -> None:
    tasks = read(LOGS / "4.3.0" / "spill.log").tasks
    assert tasks["diskBytesSpilled"].sum() > 0
    assert tasks["memoryBytesSpilled"].sum() > tasks["diskBytesSpilled"].sum()


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("collect at /home/ada/a job/app.py:60", "collect at app.py:60"),
        ("read at /a/b.py:1 at /c/d.py:2", "read at d.py:2"),
        ("collect at /home/ada/app.py", "collect at /home/ada/app.py"),
        ("collect at /app.py:60", "collect at /app.py:60"),
        ("count at Job.scala:7", "count at Job.scala:7"),
    ],
)
def test_a_call_site_keeps_the_name_of_its_file(told: str, kept: str, write: Write) -> None:
    log = TINY.read_bytes().replace(b'"collect at app.py:60"', json.dumps(told).encode())
    assert kept in read(write(log)).stages["name"].to_list()


@pytest.mark.parametrize("name", ["tiny.log", "tiny.lz4", "tiny.zstd", "tiny-xerial.snappy"])
def test_a_log_cut_off_anywhere_gives_what_it_holds(name: str, write: Write) -> None:
    whole = (LOGS / "4.3.0" / name).read_bytes()
    path = write(b"")
    events = []
    for length in range(len(whole) // 3, len(whole) - 40, len(whole) // 7):
        path.write_bytes(whole[:length])
        try:
            account = read(path)
        except VenturiError:  # not one block of it is whole
            events.append(0)
            continue
        assert account.application.outcome == "unfinished"
        assert account.reading.truncated
        events.append(account.reading.events)
        assert trial_of(account).state is State.INTERRUPTED
        assert any("not whole" in said for said in lost(account.reading))
    assert events == sorted(events)
    assert events[-1] > 0


def test_a_cut_zstd_frame_gives_every_byte_before_the_cut(write: Write) -> None:
    """Spark flushes after events, so that an unfinished log ends with a whole one."""
    packed = bytes(pa.Codec("zstd").compress(b"x" * 9 + b"\n", asbytes=True))
    noise = random.Random(1).randbytes(3_000_000).hex().encode()
    whole = packed + bytes(pa.Codec("zstd").compress(noise, asbytes=True))
    text = LogText([write(whole[:-1_000])])
    lines = list(text.lines())
    assert lines[0] == b"x" * 9
    assert lines[1] == noise[: len(lines[1])]
    assert len(noise) - len(lines[1]) < 1 << 18
    assert text.truncated


def test_damage_in_the_middle_of_a_compressed_log_is_told(write: Write) -> None:
    whole = bytearray((LOGS / "4.3.0" / "tiny.zstd").read_bytes())
    middle = len(whole) // 2
    whole[middle : middle + 300] = bytes(300)
    before = bytes(pa.Codec("zstd").compress(START, asbytes=True))
    account = read(write(before + whole))
    assert account.reading.events == 2
    assert account.application.outcome == "unfinished"
    assert "damaged" in str(account.reading.truncated)


def test_a_missing_segment_is_no_success(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_a"
    folder.mkdir()
    for number, lines in ((1, START), (3, END)):
        (folder / f"events_{number}_a").write_bytes(lines)
    account = read(folder)
    assert account.application.outcome == "unfinished"
    assert "part 2 of the rolling log is missing" in str(account.reading.truncated)


def test_a_compacted_log_begins_with_its_last_compaction(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_a"
    folder.mkdir()
    for name, lines in (
        ("events_1_a", b"old\n"),
        ("events_2_a", b"old\n"),
        ("events_2_a.compact", START),
        ("events_3_a", END),
        ("appstatus_a", b""),
    ):
        (folder / name).write_bytes(lines)
    account = read(folder)
    assert account.reading.files == ("events_2_a.compact", "events_3_a")
    assert account.application.outcome == "succeeded"
    assert "compacted" in str(account.reading.truncated)


def test_events_of_spark_2_without_what_came_later(write: Write) -> None:
    task = json.loads(task_line())
    for name in ("Executor CPU Time", "Peak Execution Memory", "Shuffle Write Metrics"):
        del task["Task Metrics"][name]
    del task["Task Executor Metrics"], task["Stage Attempt ID"]
    account = read(write(START + json.dumps(task).encode() + b"\n" + END))
    row = account.tasks.to_dicts()[0]
    assert row["executorCpuTime"] is row["peakExecutionMemory"] is row["shuffleWriteTime"] is None
    assert row["executorRunTime"] > 0
    assert row["stage_attempt"] == 0


def test_zeros_of_a_lost_executor_are_no_measurements(write: Write) -> None:
    task = json.loads(
        task_line(
            **{
                "Task End Reason": {
                    "Reason": "ExecutorLostFailure",
                    "Executor ID": "1",
                    "Exit Caused By App": True,
                    "Loss Reason": "killed",
                }
            }
        )
    )
    metrics = task["Task Metrics"]
    task["Task Metrics"] = {
        name: 0 if isinstance(value, int) else value for name, value in metrics.items()
    }
    row = read(write(START + json.dumps(task).encode() + b"\n" + END)).tasks.to_dicts()[0]
    assert row["outcome"] == "failed"
    assert row["reason"] == "ExecutorLostFailure: killed"
    assert row["executorRunTime"] is row["jvmGCTime"] is None


def test_a_task_told_again_is_counted_once(write: Write) -> None:
    again = task_line(**{"Task End Reason": {"Reason": "Resubmitted"}})
    account = read(write(START + task_line() + again + END))
    assert account.tasks["outcome"].to_list() == ["succeeded"]
    assert account.tasks["reason"].to_list() == [OUTPUT_LOST]


def test_what_is_of_no_use_is_skipped_and_counted(write: Write) -> None:
    lines = (
        event("SparkListenerTaskGettingResult"),
        event("org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveSQLMetricUpdates"),
        event("SparkListenerInvented"),
        event("com.example.Listener"),
        event("com.example.Listener"),
        b"not an event\n",
        b'{"Event":"SparkListenerTaskEnd","Stage ID":\n',
        event("SparkListenerTaskEnd", **{"Stage ID": "three"}),
        b'{"Event":"SparkListenerJobStart","Job ID":' + b"[" * 500 + b"]" * 500 + b"}\n",
        event("SparkListenerJobEnd", **{"Job ID": 1 << 70, "Job Result": {"Result": "x"}}),
    )
    reading = read(write(START + b"".join(lines) + END)).reading
    assert sum(reading.skipped.values()) == 2
    assert reading.unknown == {"SparkListenerInvented": 1, "com.example.Listener": 2}
    assert reading.malformed == 3
    assert reading.damaged == {"SparkListenerTaskEnd": 1, "SparkListenerJobEnd": 1}
    assert reading.events == 3 + len(lines) - 1
    assert reading.truncated is None


def test_accumulables_are_cut_only_where_they_are(write: Write) -> None:
    """A text in an event that looks like the place where they end stays a text."""
    reason = {
        "Reason": "ExceptionFailure",
        "Class Name": "E",
        "Description": ',"Accumulables":[ ]},"Task Metrics":{',
    }
    account = read(write(START + task_line(**{"Task End Reason": reason}) + END))
    row = account.tasks.to_dicts()[0]
    assert row["reason"].endswith('"Task Metrics":{')
    assert row["executorRunTime"] > 0


def test_secrets_are_masked_and_ids_are_no_choice(write: Write) -> None:
    properties = {
        "spark.hadoop.fs.s3a.secret.key": "hunter2",
        "spark.app.id": "a1",
        "spark.executor.cores": "4",
        "spark.driver.port": "4711",
    }
    environment = event("SparkListenerEnvironmentUpdate", **{"Spark Properties": properties})
    account = read(write(START + environment + END))
    assert account.configuration["spark.hadoop.fs.s3a.secret.key"] == MASK
    assert account.chosen == ("spark.executor.cores", "spark.hadoop.fs.s3a.secret.key")


@pytest.mark.parametrize(
    ("results", "outcome"),
    [
        (("JobSucceeded",), "succeeded"),
        (("JobFailed: broken", "JobSucceeded"), "failed"),
        (("JobFailed: Job 0 cancelled by AQE", "JobSucceeded"), "succeeded"),
        (("JobSucceeded", "JobFailed: Job 1 cancelled"), "failed"),
        (("JobFailed: [SPARK_JOB_CANCELLED] Job 0 cancelled by AQE", "JobSucceeded"), "succeeded"),
        (("JobFailed: ValueError: order 7 was cancelled", "JobSucceeded"), "failed"),
        (("JobSucceeded", ""), "unfinished"),
        ((), "failed"),
    ],
)
def test_an_application_is_as_good_as_its_jobs(
    results: tuple[str, ...], outcome: str, write: Write
) -> None:
    lines = b""
    for number, result in enumerate(results):
        lines += event(
            "SparkListenerJobStart", **{"Job ID": number, "Submission Time": 2_000, "Stage IDs": []}
        )
        kind, _, message = result.partition(": ")
        if kind:
            lines += event(
                "SparkListenerJobEnd",
                **{
                    "Job ID": number,
                    "Completion Time": 3_000 + number,
                    "Job Result": {"Result": kind, "Exception": {"Message": message}},
                },
            )
    assert read(write(START + lines + END)).application.outcome == outcome


@pytest.mark.parametrize(("status", "outcome"), [(3, "failed"), (0, "succeeded")])
def test_an_exit_status_is_believed(status: int, outcome: str, write: Write) -> None:
    end = event("SparkListenerApplicationEnd", Timestamp=61_000, ExitCode=status)
    application = read(write(START + end)).application
    assert (application.outcome, application.exit_code) == (outcome, status)


def test_the_failed_job_says_more_than_the_exit_status(tmp_path: Path) -> None:
    log = SparkLog()
    log.job(0, 1, 9, [0], failed="Job aborted: no space left on device")
    log.lines.append(event("SparkListenerApplicationEnd", Timestamp=at(10), ExitCode=1))
    application = log.account(tmp_path).application
    assert application.outcome == "failed"
    assert "job 0 failed: " in str(application.reason)
    assert "no space left" in str(application.reason)


def test_a_last_line_without_an_end_is_whole_if_its_json_is(write: Write) -> None:
    assert read(write(START + END.rstrip())).reading.truncated is None
    assert read(write(START + END.rstrip()[:-3])).reading.truncated == "the last line has no end"


SESSION = "0b1e6a5c-52a8-4f0e-9f0b-5b2d3c1a7e11"
STREAM = "c6c23837-8205-43f2-98e5-b38ec9338ca6"
CANCELED = "[SPARK_JOB_CANCELLED] Job 0 cancelled"


@pytest.mark.parametrize(
    ("status", "why", "outcome"),
    [
        (0, f"{CANCELED} part of cancelled job group {SESSION}", "failed"),
        (0, f"{CANCELED} Query [id = {STREAM}, runId = {STREAM}] was stopped", "succeeded"),
        (0, f"{CANCELED} part of cancelled job group {STREAM}", "succeeded"),
        (1, f"{CANCELED} Query [id = {STREAM}, runId = {STREAM}] was stopped", "failed"),
        (None, f"{CANCELED} Query [id = {STREAM}, runId = {STREAM}] was stopped", "failed"),
        (0, f"{CANCELED} part of cancelled job group nightly", "failed"),
    ],
)
def test_a_stopped_stream_with_exit_status_0_succeeded(
    status: int | None, why: str, outcome: str, tmp_path: Path
) -> None:
    log = SparkLog()
    of_stream = STREAM in why
    log.job(0, 1, 9, [0], failed=why, query=0)
    if of_stream:  # Spark notes it with the job
        log.lines[-2] = log.lines[-2].replace(
            b'"Properties":{', b'"Properties":{"sql.streaming.queryId":"q",'
        )
    log.query(0, 1, 9, failed="java.lang.InterruptedException")
    log.lines.append(event("SparkListenerApplicationEnd", Timestamp=at(10), ExitCode=status))
    account = log.account(tmp_path)
    assert account.application.outcome == outcome
    assert account.queries is not None
    assert account.queries["outcome"].to_list() == ["canceled" if of_stream else "failed"]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"a,b\n1,2\n", b'{"a": 1}\n', b"\x89PNG\r\n"])
def test_what_is_no_event_log_is_refused(content: bytes, write: Write) -> None:
    with pytest.raises(VenturiError) as raised:
        read(write(content))
    assert raised.value.code == "VEN-INGEST-FORMAT"


def test_a_pipe_is_refused_and_passed_over_in_folders(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(VenturiError, match="neither a file nor a folder"):
        spark_logs(tmp_path / "pipe")
    (tmp_path / "log").write_bytes(TINY.read_bytes())
    assert [log.path.name for log in spark_logs(tmp_path)] == ["log"]


def test_a_folder_is_searched(tmp_path: Path) -> None:
    for name in ("b", "a", ".hidden", "a.crc"):
        (tmp_path / name).write_bytes(START)
    (tmp_path / "eventlog_v2_c").mkdir()
    (tmp_path / "eventlog_v2_c" / "events_10_c").write_bytes(START)
    (tmp_path / "eventlog_v2_c" / "events_9_c").write_bytes(START)
    (tmp_path / "other").mkdir()
    logs = spark_logs(tmp_path)
    assert [log.path.name for log in logs] == ["a", "b", "eventlog_v2_c"]
    assert [path.name for path in logs[-1].files] == ["events_9_c", "events_10_c"]
    for empty in ("other", "eventlog_v2_d"):
        (tmp_path / empty).mkdir(exist_ok=True)
        with pytest.raises(VenturiError) as raised:
            spark_logs(tmp_path / empty)
        assert raised.value.code == "VEN-INGEST-FORMAT"


def test_a_trial_of_it_can_be_stored() -> None:
    account = read(LOGS / "4.3.0" / "join.log")
    trial = trial_of(account)
    assert decode(encode(trial)) == trial
    assert trial.provenance.digest == account.reading.sha256
    assert trial.elapsed_s == account.application.elapsed_s
    assert [phase.name.split(":")[0] for phase in trial.phases] == [
        "stage 0",
        "stage 1",
        "stage 2",
        "stage 3",
    ]
    run_ms = account.tasks["executorRunTime"].sum()
    assert trial.values("executorRunTime") == [pytest.approx(run_ms / 1e3)]
    assert "spark.app.id" not in trial.configuration


def test_hostile_values_never_reach_a_table(write: Write) -> None:
    task = json.loads(task_line())
    task["Task Metrics"]["Executor Run Time"] = 1 << 80
    task["Task Metrics"]["JVM GC Time"] = -1
    task["Task Metrics"]["Result Size"] = True
    task["Task Info"]["Host"] = "a\0b\ud800" + "c" * 10_000
    task["Task Info"]["Launch Time"] = "soon"
    account = read(write(START + json.dumps(task).encode() + b"\n" + END))
    row = account.tasks.to_dicts()[0] if len(account.tasks) else {}
    if row:
        assert row["executorRunTime"] is row["jvmGCTime"] is row["resultSize"] is None
        assert row["launched_ms"] is None
        assert len(row["host"]) <= 500
    assert len(account.tasks) + account.reading.malformed == 1
    encode(trial_of(account))


def test_names_in_a_log_are_made_printable(write: Write) -> None:
    environment = event(
        "SparkListenerEnvironmentUpdate", **{"Spark Properties": {"spark.a\x1b[2J": "b\0"}}
    )
    strange = b'{"Event":"com.example.\x1b[2J\xff"}\n'
    account = read(write(START + environment + strange + END))
    (name,) = account.reading.unknown
    ((key, value),) = account.configuration.items()
    assert all(text.isprintable() for text in (name, key, value))
    encode(trial_of(account))


def test_a_log_that_vanishes(tmp_path: Path) -> None:
    missing = tmp_path / "gone"
    with pytest.raises(VenturiError) as raised:
        spark.read(Log(missing, (missing,)))
    assert raised.value.code == "VEN-INGEST-FORMAT"
