"""Job histories that Hadoop really wrote, in both forms, whole and damaged."""

from __future__ import annotations

import json
import random
import re
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from venturi.core.errors import VenturiError
from venturi.jobs.logs import avro, mapreduce
from venturi.jobs.logs.configuration import MASK
from venturi.jobs.logs.find import histories
from venturi.jobs.logs.hadoop_xml import read_properties
from venturi.jobs.logs.trial import trial_of
from venturi.record.account_kind import MAPREDUCE
from venturi.record.importing.formats import Log
from venturi.record.importing.streams import LogLimits
from venturi.record.job_account import JobAccount
from venturi.record.trial import State
from venturi.record.trial_json import decode, encode

FOLDER = Path(__file__).parents[2] / "data" / "mapreduce" / "3.4.2"
NAMES = {log.path.name.split("-")[3]: log.path for log in histories(FOLDER)}
WORDS, PI, FAILED = NAMES["word+count"], NAMES["QuasiMonteCarlo"], NAMES["TeraSort"]


def read(path: Path, limits: LogLimits | None = None) -> JobAccount:
    log = Log(path, (path,))
    return mapreduce.read(log) if limits is None else mapreduce.read(log, limits)


def test_the_folder_is_searched_at_any_depth() -> None:
    assert len(histories(FOLDER.parent)) == 4
    with pytest.raises(VenturiError, match="contains no MapReduce"):
        histories(Path(__file__).parent)


def test_a_job_in_the_binary_form() -> None:
    account = read(WORDS)
    application = account.application
    assert (application.id, application.name) == ("job_1795207510805_0001", "word count")
    assert (application.outcome, application.elapsed_s) == ("succeeded", 15.78)
    assert account.stages["name"].to_list() == ["map", "reduce"]
    assert account.stages["n_tasks"].to_list() == [4, 2]
    assert account.stages["parent_ids"].to_list() == [[], [0]]
    maps = account.tasks.filter(account.tasks["stage_id"] == 0)
    reduces = account.tasks.filter(account.tasks["stage_id"] == 1)
    assert maps["MAP_INPUT_RECORDS"].sum() == 90_000
    assert maps["MAP_OUTPUT_RECORDS"].sum() == 900_000
    assert maps["SPILLED_RECORDS"].sum() > 0
    assert reduces["REDUCE_SHUFFLE_BYTES"].sum() == maps["MAP_OUTPUT_MATERIALIZED_BYTES"].sum()
    for earlier, later in (
        ("launched_ms", "shuffleFinishTime"),
        ("shuffleFinishTime", "sortFinishTime"),
        ("sortFinishTime", "finished_ms"),
    ):
        assert (reduces[earlier] <= reduces[later]).all()
    assert (maps["CPU_MILLISECONDS"] > maps["GC_TIME_MILLIS"]).all()
    assert account.executors["host"].to_list() == ["localhost"]
    assert not account.reading.lost


def test_a_job_in_the_json_form() -> None:
    account = read(PI)
    assert PI.read_bytes().startswith(b"Avro-Json\n")
    assert account.application.outcome == "succeeded"
    assert account.tasks["stage_id"].to_list() == [0, 0, 0, 1]
    assert account.tasks["locality"].to_list() == ["NODE_LOCAL"] * 3 + ["OFF_SWITCH"]
    assert account.tasks["CPU_MILLISECONDS"].null_count() == 0


@pytest.mark.parametrize("table", ["jobs", "stages", "tasks", "executors"])
def test_tables_have_the_documented_columns_(table: str) -> None:
    assert read(PI).table(table).columns == [each.name for each in MAPREDUCE.columns(table)]


def test_a_job_that_failed_is_no_success() -> None:
    account = read(FAILED)
    assert account.stages["outcome"].to_list() == ["failed", "failed"]
    outcomes = account.tasks["outcome"].to_list()
    assert (outcomes.count("failed"), outcomes.count("killed")) == (9, 4)
    # Attempts that never reported have zeros in the history, and none here.
    assert account.tasks["CPU_MILLISECONDS"].count() == 0
    assert "can't read partitions file" in account.tasks["reason"][0]
    never = account.tasks.filter(account.tasks["launched_ms"].is_null())
    assert never["host"].to_list() == [None, None]
    trial = trial_of(account)
    assert trial.state is State.FAILED
    assert trial.failure is not None
    assert trial.failure.message.startswith("FAILED: Task failed")
    assert decode(encode(trial)) == trial


def test_the_configuration_beside_it() -> None:
    account = read(WORDS)
    assert account.configuration["mapreduce.task.io.sort.mb"] == "1"
    chosen = set(account.chosen)
    assert {"mapreduce.task.io.sort.mb", "mapreduce.job.reduces"} <= chosen
    assert len(account.configuration) > 2 * len(chosen) - 5
    assert "mapreduce.job.user.name" not in chosen


def test_without_a_configuration(tmp_path: Path) -> None:
    path = Path(shutil.copy(WORDS, tmp_path))
    account = read(path)
    assert account.configuration == {}
    assert account.reading.files == (path.name,)


@pytest.mark.parametrize("source", [WORDS, PI])
def test_a_history_cut_off_anywhere(source: Path, tmp_path: Path) -> None:
    whole = source.read_bytes()
    path = tmp_path / "job_1_1.jhist"
    seen = []
    for length in range(len(whole) // 2, len(whole) - 60, len(whole) // 9):
        path.write_bytes(whole[:length])
        account = read(path)
        assert account.application.outcome == "unfinished"
        assert trial_of(account).state is State.INTERRUPTED
        seen.append(account.reading.events)
    assert seen == sorted(seen)
    assert seen[0] < seen[-1]


def test_noise_never_does_more_than_end_it(tmp_path: Path) -> None:
    whole = WORDS.read_bytes()
    body = whole.index(b"\n", 20) + 1
    dice = random.Random(7)
    path = tmp_path / "job_1_1.jhist"
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(5):
            damaged[dice.randrange(body, len(damaged))] = dice.randrange(256)
        path.write_bytes(damaged)
        with suppress(VenturiError):  # anything else is a fault
            encode(trial_of(read(path)))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"something else\n",
        b"Avro-Binary\n",
        b"Avro-Binary\nnot json\n\x00",
        b"Avro-Binary\n" + b"[" * 10_000 + b"\n\x00",
        b'Avro-Binary\n"unheard"\n\x00',
        b'Avro-Binary\n{"type":"array","items":"null"}\n\xfe\xff\xff\xff\x0f',
        b"Avro-Json\n{}\n",
        b"Avro-Json\n{}\n" + b'{"type":' + b"[" * 10_000 + b"\n",
    ],
)
def test_what_is_no_history_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "job_1_1.jhist"
    path.write_bytes(content)
    with pytest.raises(VenturiError) as raised:
        read(path)
    assert raised.value.code == "VEN-INGEST-FORMAT"


def test_a_schema_that_contains_itself_is_refused(tmp_path: Path) -> None:
    schema = {"type": "record", "name": "A", "fields": [{"name": "a", "type": "A"}]}
    path = tmp_path / "job_1_1.jhist"
    path.write_bytes(b"Avro-Binary\n" + json.dumps(schema).encode() + b"\n\x00\x00")
    with pytest.raises(VenturiError, match="schema"):
        read(path)


def record(name: str, *types: object) -> dict[str, object]:
    fields = [{"name": f"f{place}", "type": each} for place, each in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields}


def doubled(first: dict[str, object], times: int) -> list[object]:
    """Types of which each has two of the one before, the first at the innermost."""
    types: list[object] = [first]
    return types + [record(f"R{n + 1}", f"R{n}", f"R{n}") for n in range(times)]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "array", "items": "null"},
        {"type": "map", "values": "null"},
        {"type": "array", "items": record("Empty")},
        record("Holder", record("Empty")),
        record("Holder", {"type": "null"}),
        record("All", *doubled(record("R0"), 40)),
    ],
)
def test_types_that_take_no_bytes_are_refused(part: object, tmp_path: Path) -> None:
    path = tmp_path / "job_1_1.jhist"
    schema = json.dumps(record("Event", "string", part))
    path.write_bytes(b"Avro-Binary\n" + schema.encode() + b"\n\x00" + b"\x7e" * 100)
    with pytest.raises(VenturiError, match="takes no bytes"):
        read(path)


@pytest.mark.parametrize(
    ("part", "data"),
    [
        ({"type": "array", "items": "int"}, b"\x50" + bytes(40)),
        (record("All", *doubled(record("R0", "int"), 6)), bytes(1_000)),
        (record("All", *doubled(record("R0", ["null", "int"]), 6)), bytes(1_000)),
    ],
)
def test_a_value_has_so_many_parts_at_most(
    part: object, data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "job_1_1.jhist"
    schema = json.dumps(record("Event", "string", part))
    path.write_bytes(b"Avro-Binary\n" + schema.encode() + b"\n\x00" + data)
    monkeypatch.setattr(avro, "_PARTS", 30)
    with pytest.raises(VenturiError, match="too many parts"):
        read(path)


@pytest.mark.parametrize(
    ("part", "data", "why"),
    [
        ("string", b"\xfe" * 8 + b"\x7f", "impossible length"),
        ("bytes", b"\x01", "impossible length"),
        ("string", b"\x80\x80\x80\x20a", "cut off"),
        ({"type": "array", "items": "int"}, b"\xfe" * 8 + b"\x7f\x02", "cut off"),
        ({"type": "map", "values": "int"}, b"\x02\x02\xff\x02\x7f", "cut off"),
        (["null", "int"], b"\x7e", "no such entry"),
    ],
)
def test_hostile_length_ends_the_history(
    part: object, data: bytes, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "job_1_1.jhist"
    schema = json.dumps(record("Event", part))
    path.write_bytes(b"Avro-Binary\n" + schema.encode() + b"\n" + data)
    with pytest.raises(VenturiError, match=why):
        read(path)


@pytest.mark.slow
def test_types_nested_too_deeply_by_name_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "job_1_1.jhist"
    chain = [record("R0", "int"), *(record(f"R{n + 1}", f"R{n}") for n in range(3_000))]
    schema = json.dumps(record("Event", *chain))
    path.write_bytes(b"Avro-Binary\n" + schema.encode() + b"\n" + bytes(5_000))
    with pytest.raises(VenturiError) as raised:
        read(path)
    assert raised.value.code == "VEN-INGEST-FORMAT"


def test_a_line_that_is_too_long_is_counted_(tmp_path: Path) -> None:
    path = tmp_path / "job_1_1.jhist"
    path.write_bytes(PI.read_bytes() + b'{"type":"' + b"x" * 60_000 + b'"}\n')
    assert read(path, LogLimits(line_bytes=40_000)).reading.oversized == 1


def test_an_attempt_whose_number_no_table_holds_is_damage(tmp_path: Path) -> None:
    whole = PI.read_text()
    name = re.search(r"attempt_\d+_\d+_m_\d+_\d+", whole)
    assert name is not None
    path = tmp_path / "job_1_1.jhist"
    for number in (1 << 63, int("1" * 200)):
        path.write_text(whole.replace(name[0], f"attempt_1_1_m_{number}_0"))
        account = read(path)
        assert account.reading.damaged == {"MAP_ATTEMPT_STARTED": 1, "MAP_ATTEMPT_FINISHED": 1}
        assert account.tasks.height == read(PI).tasks.height - 1


def test_what_nobody_looked_at_is_not_zero(tmp_path: Path) -> None:
    """Without process metrics, Hadoop writes 0 for their resource use."""
    path = tmp_path / "job_1_1.jhist"
    zeros = re.sub(
        r'("(?:CPU_MILL|PHYSICAL_MEM)[A-Z_]+",[^}]*"value":)\d+', r"\g<1>0", PI.read_text()
    )
    path.write_text(zeros)
    tasks = read(path).tasks
    assert tasks["CPU_MILLISECONDS"].count() == tasks["PHYSICAL_MEMORY_BYTES"].count() == 0
    assert tasks["GC_TIME_MILLIS"].equals(read(PI).tasks["GC_TIME_MILLIS"])


def test_a_job_that_failed_without_diagnostics_has_its_attempt_s_reason(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in PI.read_text().splitlines()[2:] if line]
    attempt = next(each for each in lines if each["type"] == "MAP_ATTEMPT_FINISHED")
    ((_, told),) = attempt["event"].items()
    attempt["type"] = "MAP_ATTEMPT_FAILED"
    told["error"] = "Container is running beyond physical memory limits"
    end = {"finishTime": told["finishTime"], "jobStatus": "FAILED", "diagnostics": {"string": ""}}
    lines[-1] = {"type": "JOB_FAILED", "event": {"JobUnsuccessfulCompletion": end}}
    path = tmp_path / "job_1_1.jhist"
    path.write_text("Avro-Json\n{}\n" + "\n".join(map(json.dumps, lines)) + "\n")
    account = read(path)
    assert account.application.reason == f"FAILED: {told['attemptId']}: {told['error']}"
    failed = account.tasks.filter(account.tasks["outcome"] == "failed")
    assert failed["reason"].to_list() == [told["error"]]


def write_conf(folder: Path, text: str) -> Path:
    path = folder / "job_1_1_conf.xml"
    path.write_text(text)
    return path


LAUGHS = """<?xml version="1.0"?><!DOCTYPE c [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>
<configuration><property><name>x</name><value>&b;</value></property></configuration>"""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (LAUGHS, "document type"),
        ('<!DOCTYPE c SYSTEM "file:///etc/passwd"><configuration/>', "document type"),
        ("<configuration>" + "<a>" * 50, "nested deeper"),
        ("<configuration><property>", "no XML"),
        (f"<configuration><a>{'x' * (2 << 20)}</a></configuration>", "longer than"),
    ],
)
def test_xml_can_do_nothing_but_say_texts(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(VenturiError, match=why) as raised:
        read_properties(write_conf(tmp_path, text))
    assert raised.value.code == "VEN-INGEST-FORMAT"


def test_secrets_of_a_configuration_are_masked(tmp_path: Path) -> None:
    shutil.copy(PI, tmp_path / "job_1_1-x.jhist")
    write_conf(
        tmp_path,
        "<configuration><property><name>fs.s3a.secret.key</name><value>hunter2</value>"
        "<source>core-site.xml</source></property></configuration>",
    )
    account = read(tmp_path / "job_1_1-x.jhist")
    assert account.configuration == {"fs.s3a.secret.key": MASK}
    assert account.chosen == ("fs.s3a.secret.key",)
