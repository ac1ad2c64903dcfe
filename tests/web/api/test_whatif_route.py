"""`/api/whatif`: a recorded job on other machines, as the page asks it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from api_client import client_of
from command_line import into_pipe
from event_log import SparkLog
from model_trials import succeeded
from venturi.core.settings import Settings
from venturi.jobs.logs.trial import trial_of
from venturi.jobs.whatif.probed import KINDS
from venturi.record.importing.importer import import_file
from venturi.record.job_account import attach
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Cluster, Engine, Host, Sample, State, Trial, Workload
from venturi.record.vocabulary import CORE_SPEED
from venturi.web.api.jobs.recorded_jobs import recorded_jobs

SPARK = Path(__file__).parents[2] / "data" / "spark" / "4.3.0"
SLOW = SPARK / "faults" / "skewed-join-faulty.zstd"
ON_MACHINES = "on=i4i.4xlarge:8&from=i4i.2xlarge&data=2x&set=spark.foo%3D1"


class Asked:
    """A server with jobs; `ask` gives the answer, `refused` the problem."""

    def __init__(self, client: httpx.Client, repository: TrialRepository) -> None:
        self.client, self.repository = client, repository

    def imported(self, log: Path) -> str:
        return import_file(self.repository, "spark-eventlog", log).trials[0].trial

    def ask(self, trial: str, query: str = "") -> Any:
        answer = self.client.get(f"/api/whatif?trial={trial}&{query}")
        assert answer.status_code == 200, answer.text
        return answer.json()["answer"]

    def refused(self, trial: str, query: str = "") -> Any:
        answer = self.client.get(f"/api/whatif?trial={trial}&{query}")
        assert answer.status_code in {404, 422}, answer.text
        return answer.json()


@pytest.fixture
def server(settings: Settings) -> Iterator[Asked]:
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        yield Asked(client, repository)


def test_answer_is_that_of_the_verb(server: Asked, settings: Settings) -> None:
    id_ = server.imported(SLOW)
    found = server.ask(id_, ON_MACHINES)
    options = ["--on", "i4i.4xlarge:8", "--from", "i4i.2xlarge", "--data", "2x"]
    options += ["--set", "spark.foo=1", "--json"]
    typed = json.loads("\n".join(into_pipe(settings, "whatif", id_, *options)))["data"]
    assert found["today"]["prediction"]["time_s"] == typed["today"]["time_s"]
    assert found["today"]["prediction"]["usd"] == typed["today"]["usd"]
    (target,) = found["targets"]
    assert target["prediction"] == typed["targets"][0]
    assert found["not_modeled"] == typed["not_modeled"] == ["spark.foo"]
    shown = "\n".join(into_pipe(settings, "whatif", id_, *options[:-1]))
    assert found["sentence"] in shown
    assert all(text in shown for text in target["rests_on"][:2])


def test_curve_goes_through_the_target_and_falls_with_size(server: Asked) -> None:
    id_ = server.imported(SLOW)
    found = server.ask(id_, "executors=4")
    curve = found["curve"]
    assert (curve["by"], curve["replayed"]) == ("executors", True)
    sizes = [point["executors"] for point in curve["points"]]
    assert sizes == sorted(set(sizes))
    assert {1, 4} <= set(sizes)
    own = next(point for point in curve["points"] if point["executors"] == 4)
    target = found["targets"][0]["prediction"]
    assert own["time_s"] == target["time_s"]
    assert own["baselines_s"] == target["baselines_s"]
    times = [point["time_s"]["value"] for point in curve["points"]]
    assert times == sorted(times, reverse=True)
    assert all(
        each["time_s"]["low"] < each["time_s"]["value"] < each["time_s"]["high"]
        for each in curve["points"]
        if each["executors"] != 1
    )
    machines = server.ask(id_, "on=i4i.4xlarge:8")["curve"]
    assert machines["by"] == "machines"
    assert [p["hosts"] for p in machines["points"] if p["usd"] is None] == []
    limited = server.ask(id_, "on=i4i.4xlarge:8&executors=3")["curve"]["points"]
    assert {point["executors"] for point in limited} == {3}


def test_many_tasks_have_a_curve_without_replay(
    server: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = server.imported(SLOW)
    exact = server.ask(id_, "executors=4")["curve"]["points"]
    monkeypatch.setattr("venturi.jobs.whatif.size_curve.REPLAYED_TASKS", 0)
    found = server.ask(id_, "executors=4")["curve"]
    assert not found["replayed"]
    for point, own in zip(found["points"], exact, strict=True):
        assert point["executors"] == own["executors"]
        assert point["time_s"]["value"] == pytest.approx(own["time_s"]["value"], rel=0.25)
        assert ("recorded replay" in point["baselines_s"]) == (point["executors"] == 4)


def test_absurdly_many_executors_are_answered(server: Asked) -> None:
    id_ = server.imported(SLOW)
    found = server.ask(id_, "executors=999999&cores_per_executor=10000")
    (target,) = found["targets"]
    assert target["prediction"]["slots"] == 9_999_990_000
    assert target["prediction"]["extrapolated"]


def test_a_catalog_is_ranked_as_the_verb_ranks_it(server: Asked, settings: Settings) -> None:
    id_ = server.imported(SLOW)
    answer = server.client.get(f"/api/whatif?trial={id_}&on=current&deadline=1min").json()
    found = answer["ranking"]
    options = ("--on", "current", "--deadline", "1min")
    typed = json.loads("\n".join(into_pipe(settings, "whatif", id_, *options, "--json")))["data"]
    ranking = found["ranking"]
    for each in (*typed["best"], typed["recommended"]):
        each["stages"] = []
    assert ranking == typed
    assert found["sentence"] in "\n".join(into_pipe(settings, "whatif", id_, *options))
    times = [each["time_s"]["value"] for each in ranking["frontier"]]
    costs = [each["usd"]["value"] for each in ranking["frontier"]]
    assert times == sorted(times)
    assert costs == sorted(costs, reverse=True)
    assert ranking["recommended"]["time_s"]["high"] <= 60


def test_another_objective_of_a_ranking_is_answered_from_memory(
    server: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_ = server.imported(SLOW)
    asked = f"/api/whatif?trial={id_}&on=current"
    cheap = server.client.get(asked).json()["ranking"]["ranking"]
    monkeypatch.setattr("venturi.jobs.whatif.model.JobModel.rough_s", None)
    assert server.client.get(asked).json()["ranking"]["ranking"] == cheap
    monkeypatch.undo()
    for number in range(3):
        began_s = time.process_time()
        fast = server.client.get(f"{asked}&objective=time&deadline={40 + number}s").json()
        took_s = time.process_time() - began_s
    assert took_s <= 0.3
    best = fast["ranking"]["ranking"]["best"][0]
    assert best["time_s"]["value"] < cheap["best"][0]["time_s"]["value"]


def test_probed_cores_are_the_speed_of_a_machine_type(server: Asked) -> None:
    id_ = server.imported(SLOW)
    job = server.repository.get(id_)

    def probed(cluster: Cluster, speed: float) -> Trial:
        kinds = (Sample(CORE_SPEED, speed, "B/s", labels={"kind": kind}) for kind in KINDS)
        return succeeded(
            workload=Workload("hostfacts", "v1"),
            engine=Engine("hostfacts", "1"),
            cluster=cluster,
            samples=tuple(kinds),
        )

    before = server.ask(id_, "on=i4i.4xlarge:1")["targets"][0]
    fast = replace(probed(Cluster((Host("x"),)), 2.0), labels={"instance_type": "i4i.4xlarge"})
    server.repository.add_many([probed(job.cluster, 1.0), fast])
    after = server.ask(id_, "on=i4i.4xlarge:1")["targets"][0]
    (speed,) = (each["value"] for each in after["capacities"] if each["name"] == "CPU speed")
    assert (speed["kind"], speed["value"]) == ("measured", 2.0)
    assert fast.id in speed["source"]
    times = [each["prediction"]["time_s"]["value"] for each in (before, after)]
    assert times[1] < times[0]


def test_spot_machines_are_answered_as_by_the_verb(server: Asked, settings: Settings) -> None:
    id_ = server.imported(SLOW)
    (found,) = server.ask(id_, "on=i3.4xlarge:4&spot=catalog")["spot"]
    options = ("--on", "i3.4xlarge:4", "--spot", "catalog")
    typed = json.loads("\n".join(into_pipe(settings, "whatif", id_, *options, "--json")))["data"]
    assert typed["spot"] == [found]
    assert "on spot machines" in "\n".join(into_pipe(settings, "whatif", id_, *options))
    assert server.ask(id_, "on=i3.4xlarge:4")["spot"] == []


def test_without_changes_the_job_is_as_recorded(server: Asked) -> None:
    found = server.ask(server.imported(SLOW))
    assert not found["changed"]
    target, today = found["targets"][0]["prediction"], found["today"]["prediction"]
    assert target["time_s"] == today["time_s"]
    assert found["sentence"].startswith("as recorded: about ")
    kinds = {each["name"]: each["value"]["kind"] for each in found["today"]["capacities"]}
    assert (kinds["CPU speed"], kinds["disk rate"]) == ("measured", "assumed")


def test_without_a_trial_the_newest_jobs_are_listed(server: Asked) -> None:
    good, _ = server.imported(SLOW), server.imported(SPARK / "failedjob.log")
    found = server.client.get("/api/whatif").json()
    assert found["answer"] is None
    assert [job["id"] for job in found["jobs"]] == [good]


@pytest.mark.parametrize(
    ("query", "code", "text"),
    [
        ("on=i4i.4xlrge:8", "VEN-CATALOG-UNKNOWN", "did you mean i4i.4xlarge"),
        ("from=i4i.4xlrge", "VEN-CATALOG-UNKNOWN", "did you mean i4i.4xlarge"),
        ("on=:8", "VEN-UNIT-SYNTAX", "is not TYPE or TYPE:NODES"),
        ("on=i4i.4xlarge:8&cores_per_executor=64", "VEN-MODEL-INPUT", "smaller than one executor"),
        ("network=0Gbit", "VEN-UNIT-SYNTAX", "must be above 0"),
        ("disk=0MB", "VEN-UNIT-SYNTAX", "must be above 0"),
        ("disk=floppy", "VEN-UNIT-SYNTAX", "neither a class of disks nor a rate"),
        ("data=0x", "VEN-UNIT-SYNTAX", "not a factor above 0"),
        ("executors=0", "VEN-UNIT-SYNTAX", "not a number above 0, or a range"),
        ("set=spark.sql.shuffle.partitions%3D0", "VEN-UNIT-SYNTAX", "not a number above 0"),
        ("on=current&deadline=1s", "VEN-MODEL-INPUT", "no machine type can run"),
        ("on=current&deadline=soon", "VEN-UNIT-SYNTAX", "is not a duration"),
        ("executors=4&spot=catalog", "VEN-MODEL-INPUT", "its type is unknown"),
        ("on=current&spot=0.1/h", "VEN-MODEL-INPUT", "isn't part of a ranking"),
        ("executors=4&spot=0.1", "VEN-UNIT-SYNTAX", "nor a rate of losses"),
        ("usd_per_node_hour=-1", "VEN-API-REQUEST", "greater than or equal to 0"),
    ],
)
def test_bad_question_is_refused_with_a_way_out(
    server: Asked, query: str, code: str, text: str
) -> None:
    problem = server.refused(server.imported(SLOW), query)
    assert problem["code"] == code
    assert text in f"{problem['detail']} {problem['hint']}"
    assert problem["hint"]


def test_trials_that_cannot_be_asked_about_are_refused(server: Asked, make_trial: Any) -> None:
    assert server.refused("01JZX3J8V0W4Q6N7T2B5C9D1EF")["code"] == "VEN-RECORD-UNKNOWN"
    failed = server.refused(server.imported(SPARK / "failedjob.log"))
    assert failed["code"] == "VEN-MODEL-INPUT"
    assert "it ended as failed" in failed["detail"]
    probe: Trial = make_trial(state=State.SUCCEEDED, elapsed_s=1.0)
    server.repository.add_many([probe])
    no_job = server.refused(probe.id)
    assert no_job["code"] == "VEN-MODEL-INPUT"
    assert "venturi import spark-eventlog" in no_job["hint"]


def test_log_without_executor_memory_names_the_assumption(server: Asked, tmp_path: Path) -> None:
    log = SparkLog()
    log.executor("1", 2, 0)
    log.job(0, 5, 25, [0])
    log.stage(0, 5, 25, 4)
    for place in range(4):
        log.task(0, 5 + 10 * (place // 2), 15 + 10 * (place // 2))
    log.end(25)
    account = log.account(tmp_path)
    trial = attach(server.repository, trial_of(account), account)
    server.repository.add_many([trial])
    (target,) = server.ask(trial.id, "executors=2")["targets"]
    assert any("spark.executor.memory" in text for text in target["prediction"]["assumes"])


def test_slider_loads_a_job_once_and_keeps_few(
    server: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    id_, other = server.imported(SLOW), server.imported(SPARK / "join.log")
    kept = recorded_jobs(server.repository)
    for executors in (2, 3, 4):
        server.ask(id_, f"executors={executors}")
    server.ask(id_, "from=i4i.2xlarge&executors=2")
    assert kept.loaded == 1
    server.ask(other, "executors=2")
    server.ask(id_, "executors=2")
    assert kept.loaded == 2
    monkeypatch.setattr("venturi.web.api.jobs.recorded_jobs.MOST_JOBS", 1)
    server.ask(id_, "executors=5")
    server.ask(other, "executors=2")
    assert kept.loaded == 3
