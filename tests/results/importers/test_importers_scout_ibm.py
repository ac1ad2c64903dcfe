"""scout's and IBM's tables as trials; their failures stay failures."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from venturi.core.errors import VenturiError
from venturi.record.importing.formats import FORMATS
from venturi.record.importing.items import ImportedItem, ImportSource, Spelling
from venturi.record.importing.text import Refusal
from venturi.record.trial import Sample, State, Trial
from venturi.record.trial_json import decode, encode

FIXTURES = Path(__file__).parents[2] / "data" / "results"
SCOUT = (FIXTURES / "scout" / "runs.csv").read_bytes()
IBM = (FIXTURES / "ibm" / "trials.csv").read_bytes()


def read(format: str, data: bytes) -> list[ImportedItem]:
    return list(FORMATS[format].reader.read(io.BytesIO(data), ImportSource("file.csv", "cd" * 32)))


def trials(items: list[ImportedItem]) -> list[Trial]:
    return [item for item in items if isinstance(item, Trial)]


def test_scout_s_trials() -> None:
    hadoop, spark, *_ = trials(read("scout", SCOUT))
    assert (hadoop.workload.name, hadoop.workload.scale) == ("sort", "huge")
    assert (hadoop.workload.version, hadoop.workload.input_bytes) == ("scout", 32_000_000_000)
    assert (hadoop.engine.name, hadoop.engine.version) == ("mapreduce", "unknown")
    assert hadoop.cluster.instance_type == "z1.large"
    assert len(hadoop.cluster.hosts) == hadoop.configuration["nodes"] == 4
    assert (hadoop.state, hadoop.elapsed_s, hadoop.samples) == (State.SUCCEEDED, 305.25, ())
    assert hadoop.started_at is None
    assert "2018-02-03 06:13:32" in hadoop.warnings[0].message
    assert hadoop.warnings[0].code == "VEN-IMPORT-CLOCK"
    assert (spark.engine.name, spark.workload.input_bytes) == ("spark", None), "-1 is unknown"


def test_scout_s_failures_have_no_time_of_success() -> None:
    *_, timed, untimed = trials(read("scout", SCOUT))
    for trial in (timed, untimed):
        assert (trial.state, trial.elapsed_s) == (State.FAILED, None)
        assert trial.failure is not None
        assert (trial.failure.kind, trial.failure.code) == ("workload", "VEN-IMPORT-FAILED")
    assert timed.samples == (Sample("time_to_failure_s", 7200.53, "s"),)
    assert untimed.samples == (Sample("time_to_failure_s", None, "s", missing_reason="not stated"),)
    assert (timed.engine.name, timed.engine.version) == ("spark", "1.5")


def test_what_of_scout_is_refused_or_interpreted() -> None:
    items = read("scout", SCOUT)
    assert [item for item in items if not isinstance(item, Trial)] == [
        Spelling(2, "framework", "hadoop", "mapreduce"),
        Refusal(6, "framework", "flink", "neither hadoop nor spark"),
        Refusal(7, "completed", "maybe", "neither True nor False"),
    ]


def test_ibm_s_trials() -> None:
    ok, *_ = trials(read("ibm", IBM))
    assert ok.workload.name == "demo-logistic_regression"
    assert (ok.engine.name, ok.state, ok.elapsed_s) == ("dask", State.SUCCEEDED, 188.75)
    assert ok.configuration == {
        "provider": "C",
        "nodes": 3,
        "family_code": 1,
        "type_code": 2,
        "vcpu_code": 0,
    }
    assert len(ok.cluster.hosts) == 3
    assert ok.samples == (Sample("cost_usd", 0.024, "USD"),)


def test_ibm_s_failures_have_their_class_and_no_cost() -> None:
    _, *failed = trials(read("ibm", IBM))
    kinds = [trial.failure and trial.failure.kind for trial in failed]
    assert kinds == ["timeout", "workload", "worker", "connection"]
    assert {trial.state for trial in failed} == {State.FAILED}
    assert {trial.elapsed_s for trial in failed} == {None}
    assert {sample.metric for trial in failed for sample in trial.samples} == {"time_to_failure_s"}
    assert [trial.samples[0].value for trial in failed] == [598.5, 9.5, 8.5, None]
    assert failed[0].failure is not None
    assert failed[0].failure.message == "Timed out."
    assert all(decode(encode(trial)) == trial for trial in failed)


def test_what_of_ibm_is_refused() -> None:
    assert [item for item in read("ibm", IBM) if isinstance(item, Refusal)] == [
        Refusal(7, "provider", "D", "none of A, B and C"),
        Refusal(8, "A_family", "", "not a number"),
    ]


def test_the_number_of_a_row_is_not_part_of_what_it_says() -> None:
    renumbered = IBM.replace(b"\n0,C", b"\n77,C")
    assert renumbered != IBM
    assert [t.id for t in trials(read("ibm", renumbered))] == [
        t.id for t in trials(read("ibm", IBM))
    ]
    assert len({t.id for t in trials(read("ibm", IBM))}) == 5


@pytest.mark.parametrize(("format", "data"), [("scout", IBM), ("ibm", SCOUT), ("scout", IBM[:40])])
def test_another_file_is_not_taken(format: str, data: bytes) -> None:
    with pytest.raises(VenturiError, match="wrong header") as caught:
        read(format, data)
    assert caught.value.code == "VEN-IMPORT-FORMAT"
    assert caught.value.where["line"] == 1
