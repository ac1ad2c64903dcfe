"""HiBench, spark-perf and PerfKitBenchmarker: their formats, and the trials made from them."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.record.importing.formats import FORMATS
from venturi.record.importing.importer import import_file
from venturi.record.importing.items import ImportedItem, ImportSource, Spelling
from venturi.record.importing.json_text import JsonLimits, lines
from venturi.record.importing.recognise import recognise
from venturi.record.importing.text import Refusal
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial
from venturi.record.trial_json import decode, encode

DATA = Path(__file__).parents[2] / "data" / "results"
CASES = DATA.parent / "cases"
FIXTURES = (
    ("hibench", "hibench.report"),
    ("spark-perf", "core.json"),
    ("spark-perf", "mllib.json"),
    ("pkb", "results.json"),
)
HEADER = "Type Date Time Input_data_size Duration(s) Throughput(bytes/s) Throughput/node\n"


def read(format: str, content: bytes, name: str = "file") -> list[ImportedItem]:
    source = ImportSource(name, hashlib.sha256(content).hexdigest())
    return list(FORMATS[format].reader.read(io.BytesIO(content), source))


def fixture(format: str, name: str) -> list[ImportedItem]:
    return read(format, (DATA / format / name).read_bytes(), name)


def trials(items: list[ImportedItem]) -> list[Trial]:
    return [item for item in items if isinstance(item, Trial)]


def refused(items: list[ImportedItem]) -> list[Refusal]:
    return [item for item in items if isinstance(item, Refusal)]


def malformed(format: str, content: bytes) -> dict[str, object]:
    with pytest.raises(VenturiError) as caught:
        read(format, content)
    assert caught.value.code == "VEN-IMPORT-FORMAT"
    return caught.value.where


def report(*rows: str) -> bytes:
    return (HEADER + "".join(f"{row}\n" for row in rows)).encode()


def test_hibench_report() -> None:
    """Reports as people have them: no line end at the end, a shell's message in between."""
    content = (CASES / "hibench-report/no-final-newline.report").read_bytes()
    whole, cut = trials(read("hibench", content))
    assert (cut.elapsed_s, cut.workload.input_bytes) == (169.809, 3_258_300_507)
    assert [warning.code for warning in cut.warnings][-1] == "VEN-IMPORT-CUT"
    assert cut.values("throughput_per_node_bytes_per_s") == []
    assert "VEN-IMPORT-CUT" not in [warning.code for warning in whole.warnings]
    stray = read("hibench", (CASES / "hibench-report/no-header-stray.report").read_bytes())
    assert (len(trials(stray)), len(refused(stray))) == (4, 1)


@pytest.mark.parametrize("stray", ["Warning: no such file", "a b c d e f g", "\n\n{"])
def test_hibench_stray_first_line_costs_itself(stray: str, tmp_path: Path) -> None:
    row = "ScalaSparkSort 2024-03-16 13:58:01 3258300507 180.330 18068543 18068543\n"
    for content in (f"{stray}\n{row}".encode(), f"{stray}\n".encode() + report(row.strip())):
        (trial,) = trials(read("hibench", content))
        assert trial.elapsed_s == 180.330
        if "{" not in stray:
            (tmp_path / "hibench.report").write_bytes(content)
            assert recognise(tmp_path / "hibench.report").name == "hibench"


@given(st.integers(1, 300))
def test_hibench_report_cut_anywhere_loses_one_line(missing: int) -> None:
    rows = [
        f"ScalaSparkSort 2024-03-16 13:58:0{n} 3258300507 180.330 18068543 18068543" for n in (1, 2)
    ]
    content = report(*rows)
    kept = content[: max(len(report(rows[0])), len(content) - missing)]
    found = trials(read("hibench", kept))
    for trial in found:
        assert (trial.elapsed_s, trial.workload.input_bytes) == (180.330, 3_258_300_507)
    assert len(found) >= 1


def test_hibench_line() -> None:
    trial = trials(fixture("hibench", "hibench.report"))[0]
    assert (trial.workload.name, trial.engine.name) == ("terasort", "mapreduce")
    assert (trial.workload.input_bytes, trial.elapsed_s) == (3_200_000_000, 64.0)
    assert (len(trial.cluster.hosts), trial.configuration) == (4, {"nodes": 4})
    assert trial.values("throughput_bytes_per_s") == [50e6]
    assert trial.started_at is None
    assert "2024-03-01 10:11:12" in trial.warnings[0].message


def test_hibench_types() -> None:
    found = [
        (trial.workload.name, trial.engine.name, trial.configuration.get("language"))
        for trial in trials(fixture("hibench", "hibench.report"))
    ]
    assert found == [
        ("terasort", "mapreduce", None),
        ("terasort", "spark", "scala"),
        ("sleep", "mapreduce", None),
        ("gradientboostingtree", "spark", None),
        ("sort", "mapreduce", None),
        ("join", "unknown", None),
        ("<script>alert(1)</script>", "unknown", None),
        ("terasort", "mapreduce", None),
    ]


def test_hibench_knows_no_input_size() -> None:
    sleep = trials(fixture("hibench", "hibench.report"))[2]
    assert sleep.workload.input_bytes is None
    assert [(sample.value, sample.missing_reason) for sample in sleep.samples] == [
        (None, "HiBench doesn't report an input size")
    ] * 2


@pytest.mark.parametrize(
    ("throughput", "per_node", "nodes"),
    [(50_000_000, 12_500_000, 4), (100_000, 33_333, 3), (100, 100, 0), (7, 1, 0), (10, 0, 0)],
)
def test_hibench_nodes_only_where_one_number_fits(
    throughput: int, per_node: int, nodes: int
) -> None:
    row = f"HadoopSort 2024-03-01 10:11:12 {10 * throughput} 10.0 {throughput} {per_node}"
    (trial,) = trials(read("hibench", report(row)))
    assert (len(trial.cluster.hosts), trial.configuration.get("nodes", 0)) == (nodes, nodes)


@given(st.integers(1, 10**12), st.integers(1, 10_000))
def test_hibench_never_tells_a_wrong_number_of_nodes(throughput: int, nodes: int) -> None:
    rates = f"{throughput} {throughput // nodes}"
    row = f"HadoopSort 2024-03-01 10:11:12 {10 * throughput} 10.0 {rates}"
    (trial,) = trials(read("hibench", report(row)))
    assert len(trial.cluster.hosts) in {0, nodes}


def test_hibench_refusals_and_spellings() -> None:
    items = fixture("hibench", "hibench.report")
    assert [(item.line, item.field, item.reason) for item in refused(items)] == [
        (10, "", "4 fields, but a line of a report has 7"),
        (11, "Duration(s)", "not above 0"),
        (12, "Duration(s)", "not a number"),
        (13, "Date", "not a date"),
        (14, "Time", "not a time of day"),
        (15, "Duration(s)", "not above 0"),
    ]
    assert {
        (item.line, item.written, item.taken_as) for item in items if isinstance(item, Spelling)
    } == {
        (8, "HADOOPSORT", "mapreduce sort"),
        (8, "2024/3/2", "2024-03-02"),
        (9, "HIVEJOIN", "join"),
    }


def test_hibench_a_throughput_that_contradicts_its_line_is_refused() -> None:
    good = "ScalaSparkSort 2025-03-16 13:58:32 32000000000 61.234 522585491 130646372"
    wrong = good.replace("522585491 130646372", "9999 1")
    found = read("hibench", report(good, wrong))
    assert len(trials(found)) == 1
    (refusal,) = refused(found)
    assert (refusal.line, refusal.field) == (3, "Throughput(bytes/s)")
    assert refusal.reason == "contradicts size / duration"


def test_pkb_samples_in_a_list_are_read_like_lines() -> None:
    content = (DATA / "pkb/results.json").read_bytes()
    lines_ = [line for line in content.splitlines() if line.startswith(b"{")]
    sound = [line for line in lines_ if line.endswith(b"}")]
    listed = b"[\n  " + b",\n  ".join(sound) + b"\n]\n"
    assert {each.id for each in trials(read("pkb", listed))} == {
        each.id for each in trials(read("pkb", b"\n".join(sound) + b"\n"))
    }
    pretty = json.dumps([json.loads(line) for line in sound], indent=2).encode()
    for each in (listed, pretty):
        assert FORMATS["pkb"].begins(each, "samples.json")


def test_hibench_equal_lines_are_one_trial() -> None:
    found = trials(fixture("hibench", "hibench.report"))
    assert found[0] == found[-1]
    assert len({trial.id for trial in found}) == len(found) - 1


def test_hibench_without_a_header() -> None:
    rows = report("FlinkIdentity 2021-05-17 15:12:51 0 77.112 0 0").split(b"\n", 1)[1]
    (trial,) = trials(read("hibench", rows))
    assert (trial.workload.name, trial.engine.name, trial.elapsed_s) == (
        "identity",
        "flink",
        77.112,
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n\n",
        b"a b c\n",
        b"Type Date Time\n",
        b"\xff\xfe\n",
        b"x" * 5000 + b"\n",
    ],
)
def test_what_is_no_report_is_refused_whole(content: bytes) -> None:
    assert malformed("hibench", content)["file"] == "file"


def test_spark_perf_repetitions() -> None:
    found = trials(fixture("spark-perf", "core.json"))[:3]
    assert [(trial.repetition, trial.elapsed_s, trial.warm_up) for trial in found] == [
        (0, 2.5, False),
        (1, 1.25, False),
        (2, 1.5, False),
    ]
    first = found[0]
    assert (first.workload.name, first.engine.version, first.seed) == ("sort-by-key", "1.4.0", 5)
    assert first.configuration == {
        "spark.executor.memory": "2g",
        "num-trials": "3",
        "random-seed": "5",
        "num-records": "1000",
    }
    assert first.software.others == {
        "spark.app.id": "app-1",
        "spark.driver.port": "4001",
        "java.version": "1.7.0",
    }
    assert len({trial.group_key for trial in found}) == 1
    assert len({trial.id for trial in found}) == 3


def test_spark_perf_learning_tests_keep_their_other_figures() -> None:
    first, second = trials(fixture("spark-perf", "mllib.json"))
    assert (first.elapsed_s, second.elapsed_s) == (12.5, 11.5)
    assert [(sample.metric, sample.value, sample.unit) for sample in first.samples] == [
        ("testTime", 0.5, "s"),
        ("trainingMetric", 71.25, "unknown"),
        ("testMetric", None, "unknown"),
    ]
    assert second.values("testMetric") == [70.0]


def test_spark_perf_refusals() -> None:
    items = fixture("spark-perf", "core.json")
    assert [item.value for item in refused(items)][:4] == [
        "results[0] -1.0",
        "results[1] nan",
        "results[2] 1.0",
        "results[3] {...}",
    ]
    assert [(item.line, item.field, item.reason) for item in refused(items)] == [
        (2, "time", "not above 0"),
        (2, "time", "not a number"),
        (2, "time", "not a number"),
        (2, "results", "no run time: neither time nor trainingTime"),
        (2, "results", "no object"),
        (3, "testName", "the key occurs twice"),
        (4, "options.a", "no plain value"),
        (5, "testName", "not a text, or an empty one"),
        (6, "results", "no list of 1 to 2000 results"),
        (8, "testName", "an invalid character: NUL or half a surrogate pair"),
        (9, "testName", "an invalid character: NUL or half a surrogate pair"),
        (10, "", "no object"),
    ]
    hostile = trials(items)[-1]
    assert hostile.workload.name == "<img src=x onerror=alert(1)>"
    assert hostile.configuration == {"note": "=1+1"}


def test_spark_perf_two_runs_of_one_test_are_two() -> None:
    def written(*times: float) -> str:
        return json.dumps({"testName": "count", "results": [{"time": time} for time in times]})

    text = "\n".join((written(1.0, 2.0), written(1.0, 2.5), written(1.0, 2.0)))
    found = trials(read("spark-perf", text.encode()))
    assert [count for _, count in Counter(trial.id for trial in found).most_common()] == [
        2,
        2,
        1,
        1,
    ]


@pytest.mark.parametrize("format", ["spark-perf", "pkb"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n",
        b"\xff\xfe",
        b'{"testName": "count", "results": [{"time": 1.0}',
        b'{"metric": "run_time", "value": 1.0\n',
        b"Type Date Time\n",
        b"1" * 5000,
    ],
)
def test_what_is_no_json_is_refused_whole(format: str, content: bytes) -> None:
    assert malformed(format, content)["file"] == "file"


@pytest.mark.parametrize("format", ["spark-perf", "pkb"])
@pytest.mark.parametrize("damaged", [b'{"metric": "run', b'{"testName": "count"', b"]\n"])
def test_a_damaged_line_of_json_costs_itself(format: str, damaged: bytes) -> None:
    content = (DATA / format / dict(FIXTURES[::-1])[format]).read_bytes()
    whole, items = read(format, content), read(format, content + damaged)
    assert [each.id for each in trials(items)] == [each.id for each in trials(whole)]
    (more,) = (
        refused(items)[len(refused(whole)) :]
        if format == "spark-perf"
        else [each for each in refused(items) if each not in refused(whole)]
    )
    assert more.line == content.count(b"\n") + 1
    cut = format == "pkb" and damaged.startswith(b"{")
    assert ("the line is cut off" if cut else "not JSON") in more.reason


@pytest.mark.parametrize("format", ["spark-perf", "pkb"])
@pytest.mark.parametrize("depth", [20, 500, 50_000])
def test_deep_nesting_is_refused(format: str, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    line = f'{{"testName": "a", "results": [{{"time": 1.0}}], "x": {nested}}}\n'
    (item,) = read(format, line.encode())
    assert isinstance(item, Refusal)


def test_limits_of_json() -> None:
    assert malformed("pkb", b'{"metric": "' + b"x" * (1 << 20) + b'"}\n')["line"] == 1
    many = {"testName": "a", "options": {str(n): n for n in range(3000)}, "results": [{"time": 1}]}
    (item,) = read("spark-perf", json.dumps(many).encode())
    assert isinstance(item, Refusal)
    assert item.reason == "more than 2000 entries"


@pytest.mark.parametrize(
    ("limits", "line"),
    [
        (JsonLimits(file_bytes=5), 3),
        (JsonLimits(records=2), 3),
        (JsonLimits(line_bytes=1), 1),
        (JsonLimits(), 0),
    ],
)
def test_limits_of_lines(limits: JsonLimits, line: int) -> None:
    file, source = io.BytesIO(b"1\n2\n3\n"), ImportSource("file", "0" * 64)
    if not line:
        assert list(lines(file, source, limits)) == [(1, "1"), (2, "2"), (3, "3")]
        return
    with pytest.raises(VenturiError) as caught:
        list(lines(file, source, limits))
    assert (caught.value.code, caught.value.where["line"]) == ("VEN-IMPORT-FORMAT", line)


def test_spark_perf_reads_no_endless_file() -> None:
    assert malformed("spark-perf", b" " * ((16 << 20) + 1))["file"] == "file"


def sample(**changes: Any) -> dict[str, Any]:
    return {
        "metric": "run_time",
        "value": 5.0,
        "unit": "seconds",
        "timestamp": 1_700_000_000,
        "test": "t",
        "run_uri": "r",
        "labels": "",
    } | changes


def pkb(*records: dict[str, Any]) -> list[ImportedItem]:
    return read("pkb", "".join(json.dumps(record) + "\n" for record in records).encode())


def test_pkb_samples_of_a_run_are_one_trial() -> None:
    trial = trials(fixture("pkb", "results.json"))[0]
    assert (trial.workload.name, trial.engine.name) == ("dpb_terasort_benchmark", "mapreduce")
    assert (trial.workload.input_bytes, trial.workload.input_records) == (100_000, 1000)
    assert (trial.elapsed_s, len(trial.cluster.hosts)) == (61.25, 4)
    assert trial.cluster.instance_type == "m5.xlarge"
    assert trial.configuration == {
        "dpb_cluster_shape": "m5.xlarge",
        "dpb_cluster_size": 4,
        "terasort_num_record": 1000,
        "dpb_version": "2.10",
        "dpb_dynamic_allocation": True,
        "nodes": 4,
    }
    assert [(kept.metric, kept.value, kept.unit) for kept in trial.samples] == [
        ("teragen_run_time", 20.5, "seconds"),
        ("terasort_run_time", 61.25, "seconds"),
        ("shuffle", None, "unknown"),
    ]
    assert trial.samples[2].labels == {"phase": "map"}
    assert trial.samples[2].missing_reason == "PerfKitBenchmarker reports nan"
    assert trial.software.others["perfkitbenchmarker_version"] == "v1.15"
    assert "someone" not in encode(trial)


def test_pkb_moments() -> None:
    first, second, *_ = trials(fixture("pkb", "results.json"))
    assert first.started_at == datetime.fromtimestamp(1_700_000_100.5, UTC)
    assert ["the time of the first sample" in each.message for each in first.warnings] == [True]
    assert second.started_at == datetime.fromtimestamp(1_700_000_800, UTC)
    assert second.warnings == ()
    assert second.elapsed_s == 150.0
    assert second.configuration["note"] == "<b>=1+1</b>"


def test_pkb_failed_run() -> None:
    (failed,) = [
        trial for trial in trials(fixture("pkb", "results.json")) if trial.state is State.FAILED
    ]
    assert failed.elapsed_s is None
    assert failed.failure is not None
    assert (failed.failure.kind, failed.failure.message) == ("quota", "provision: no quota: N2 <b>")
    assert failed.configuration == {"vm_count": 2, "nodes": 2}


def test_pkb_refusals() -> None:
    items = fixture("pkb", "results.json")
    assert [(item.line, item.field, item.reason) for item in refused(items)] == [
        (5, "value", "not a number"),
        (6, "sample_uri", "this sample occurs twice"),
        (14, "timestamp", "not a time in seconds since 1970"),
        (15, "value", "the key occurs twice"),
        (16, "labels", "not like |key:value|,|key:value|"),
        (19, "", "no object"),
        (2, "metric", "this run has no sample of its run time"),
        (10, "run_time.unit", "not a unit of time"),
        (11, "run_time", "the run's time is not above 0"),
        (12, "metric", "several samples could be the run time, and it is unknown which one is"),
    ]


def test_pkb_run_numbers_are_repetitions() -> None:
    found = [trial for trial in trials(fixture("pkb", "results.json")) if trial.repetition]
    assert [(trial.repetition, trial.elapsed_s) for trial in found] == [(1, 3.0), (2, 4.0)]
    assert len({trial.group_key for trial in found}) == 1
    assert len({trial.id for trial in found}) == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"value": True}, "value"),
        ({"value": None}, "value"),
        ({"value": -1.0}, "run_time"),
        ({"value": 10**400}, "run_time"),
        ({"value": float("inf")}, "run_time"),
        ({"timestamp": "now"}, "timestamp"),
        ({"timestamp": float("nan")}, "timestamp"),
        ({"timestamp": 0}, "timestamp"),
        ({"run_uri": 3}, "run_uri"),
        ({"test": " "}, "test"),
        ({"unit": ["s"]}, "unit"),
        ({"sample_uri": ["s"]}, "sample_uri"),
        ({"labels": "|a:1|,|a:2|"}, "labels"),
        ({"labels": "|a|"}, "labels"),
        ({"labels": 3}, "labels"),
        ({"labels": {"a": [1]}}, "labels.a"),
        ({"labels": {"a": float("nan")}}, "labels.a"),
        ({"labels": {"run_number": -1}}, "run_number"),
        ({"labels": {f"k{n}": n for n in range(501)}}, "labels"),
        ({"labels": "|a:" + "x" * 9000 + "|"}, "labels.a"),
        ({"metric": "a\0b"}, "metric"),
        ({"metric": "a\ud800"}, "metric"),
    ],
)
def test_pkb_bad_values(changes: dict[str, Any], field: str) -> None:
    (item,) = pkb(sample(**changes))
    assert isinstance(item, Refusal)
    assert item.field == field


def test_pkb_labels_are_typed_only_where_nothing_is_lost() -> None:
    labels = "|a:1|,|b:1.5|,|c:2.10|,|d:007|,|e:None|,|f:False|,|g:x:y,z|,|h:1e5|"
    (trial,) = trials(pkb(sample(labels=labels)))
    assert trial.configuration == {
        "a": 1,
        "b": 1.5,
        "c": "2.10",
        "d": "007",
        "e": None,
        "f": False,
        "g": "x:y,z",
        "h": "1e5",
    }


@given(
    st.dictionaries(
        st.sampled_from(("metric", "value", "unit", "timestamp", "test", "run_uri", "labels")),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(st.text(max_size=3), inner, max_size=2)
            ),
            max_leaves=4,
        ),
    )
)
def test_pkb_any_sample_is_a_trial_or_a_refusal(changes: dict[str, Any]) -> None:
    (item,) = pkb(sample(**changes))
    if isinstance(item, Trial):
        assert decode(encode(item)) == item


@pytest.mark.parametrize(("format", "name"), FIXTURES)
def test_the_same_file_gives_the_same_trials(format: str, name: str) -> None:
    first, again = trials(fixture(format, name)), trials(fixture(format, name))
    assert first == again
    assert first
    for trial in first:
        assert decode(encode(trial)) == trial


def test_stored_once_however_often_they_are_imported(repository: TrialRepository) -> None:
    files = [("cherrypick", "CP_sort.csv"), ("c3o", "sort.tsv"), *FIXTURES]
    expected = [
        {trial.id: trial for trial in trials(fixture(format, name))} for format, name in files
    ]
    for (format, name), there in zip(files, expected, strict=True):
        path = DATA / format / name
        first = import_file(repository, format, path)
        assert (first.added, first.already_present) == (len(there), 0), name
        assert first.refused_count == len(refused(fixture(format, name))), name
        again = import_file(repository, format, path)
        assert (again.added, again.already_present) == (0, len(there)), name
        for id, trial in there.items():
            assert repository.get(id) == trial
