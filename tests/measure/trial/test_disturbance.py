"""Concurrent load during a trial: measured, warned about, kept with the trial."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import pytest

from command_line import PROGRAM
from venturi.core.errors import VenturiError
from venturi.measure.trial import sampling
from venturi.measure.trial.disturbance import (
    LIMITS,
    Tick,
    disturbance,
    disturbance_of_one_machine,
    tick,
)
from venturi.measure.trial.job import StepContext, StepReport, TrialChoices
from venturi.measure.trial.runner import Session, SessionMember, run_trial
from venturi.record.query.conditions import parse_condition
from venturi.record.query.paging import rows
from venturi.record.query.selection import Query
from venturi.record.trial import (
    CPU_OTHERS,
    CPU_STEAL,
    DISK_OTHERS,
    DISTURBED,
    Engine,
    Host,
    Sample,
    State,
    Workload,
)

SPEC = TrialChoices(Workload("terasort", "v1"), Engine("native", "1"), {})
HOST = {"cpu_user": 0.5, "cpu_nice": 0.1, "cpu_system": 0.2, "own_cpu": 0.3, "cpu_steal": 0.0}
OWN_DISK = {"own_disk_read_bytes_per_s": 60.0, "own_disk_write_bytes_per_s": 20.0}
DISK = ("disk_read_bytes_per_s", "disk_write_bytes_per_s", "disk_busy")


@dataclass
class Idle:
    """A job that does nothing for a while."""

    chosen: TrialChoices
    seconds: float = 0.3
    hosts: int = 1
    error: Exception | None = None

    def prepare(self, step: StepContext) -> StepReport:
        self._wait_for_samples()
        return StepReport()

    def execute(self, step: StepContext) -> StepReport:
        began_s = time.monotonic()
        time.sleep(self.seconds)
        self._wait_for_samples()
        if self.error is not None:
            raise self.error
        return StepReport(elapsed_s=time.monotonic() - began_s)

    def validate(self, step: StepContext) -> StepReport:
        time.sleep(0.1)
        return StepReport()

    def clean(self) -> None:
        pass

    def _wait_for_samples(self) -> None:
        """Waits for a new sample of every host."""
        if not self.chosen.series:
            return
        folder = Path(os.environ["FAKE_SAMPLING"])
        for each in folder.iterdir():
            each.unlink()
        deadline_s = time.monotonic() + 60
        while len(list(folder.iterdir())) < self.hosts:
            assert time.monotonic() < deadline_s
            time.sleep(0.01)


@pytest.fixture(autouse=True)
def _sampling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs wait until the fake agent samples on all hosts, however long it takes to start."""
    (tmp_path / "sampling").mkdir()
    monkeypatch.setenv("FAKE_SAMPLING", str(tmp_path / "sampling"))
    monkeypatch.setattr(sampling, "GRACE_S", 60.0)  # and however long to end


def second(place: int, disk: tuple[float, float, float] = (60, 40, 0.8), **values: float) -> Tick:
    """The sample of one second."""
    alone = [(metric, None, value) for metric, value in {**HOST, **OWN_DISK, **values}.items()]
    of_disk = [(metric, "vda", value) for metric, value in zip(DISK, disk, strict=True)]
    part = [(metric, "vda1", value) for metric, value in zip(DISK, disk, strict=True)]
    net = [("net_receive_bytes_per_s", "lo", 1e9), ("net_receive_bytes_per_s", "eth0", 1e6)]
    return tick(place, place + 1, [*alone, *of_disk, *part, *net])


def told(samples: tuple[Sample, ...], metric: str) -> float | None:
    (found,) = [sample for sample in samples if sample.metric == metric]
    return found.value


def why(samples: tuple[Sample, ...], metric: str) -> str | None:
    (found,) = [sample for sample in samples if sample.metric == metric]
    return found.missing_reason


def test_others_are_the_host_less_the_trials_own() -> None:
    found = disturbance([second(at) for at in range(4)], 0.5, 3.5)
    assert told(found.samples, CPU_OTHERS) == pytest.approx(0.5)
    assert told(found.samples, "disk_others_bytes_per_s") == pytest.approx(20)
    assert told(found.samples, DISK_OTHERS) == pytest.approx(0.8 * 20 / 100)
    assert told(found.samples, "net_others_bytes_per_s") == pytest.approx(1e6)
    assert [warning.code for warning in found.warnings] == [DISTURBED, DISTURBED]
    said = found.warnings[0].message
    assert said == "other programs used 50% of the CPU time while it executed (3.0 s)"


def test_hosts_of_one_machine_are_judged_together() -> None:
    """They used 30 and 25 of its 80%; the second was sampled at other times."""
    first = [second(at) for at in range(4)]
    beside = [
        replace(each, from_s=each.from_s - 0.4, to_s=each.to_s - 0.4)
        for each in (second(at, own_cpu=0.25) for at in range(5))
    ]
    found = disturbance_of_one_machine([first, beside], 0.5, 3.5)
    assert told(found.samples, CPU_OTHERS) == pytest.approx(0.8 - 0.3 - 0.25)
    assert told(found.samples, CPU_STEAL) == 0
    assert "one machine" in (why(found.samples, DISK_OTHERS) or "")
    (warning,) = found.warnings
    assert warning.message == "other programs used 25% of the CPU time while it executed (3.0 s)"
    for unwatched in ([], beside[:1]):
        for hosts in ([first, unwatched], [unwatched, first]):
            found = disturbance_of_one_machine(hosts, 0.5, 3.5)
            assert "less than half" in (why(found.samples, CPU_OTHERS) or "")
            assert told(found.samples, CPU_STEAL) == 0, "the other tells that"
    said = disturbance_of_one_machine([first], 0, 4, elsewhere="daemons of others do it").samples
    assert why(said, CPU_OTHERS) == why(said, DISK_OTHERS) == "daemons of others do it"


def test_only_the_execution_counts_and_a_part_of_a_sample_by_its_part() -> None:
    quiet, loud = second(0, own_cpu=0.8), second(1, own_cpu=0.0)
    found = disturbance([quiet, loud, second(2, own_cpu=0.8)], 0.25, 1.25)
    assert told(found.samples, CPU_OTHERS) == pytest.approx(0.8 * 0.25)


def test_what_was_written_before_reaches_the_disk_later_and_is_still_own() -> None:
    filled = second(
        0, disk=(0, 0, 0.0), own_disk_write_bytes_per_s=100.0, own_disk_read_bytes_per_s=0
    )
    drained = second(
        1, disk=(0, 100, 0.9), own_disk_write_bytes_per_s=0, own_disk_read_bytes_per_s=0
    )
    assert told(disturbance([filled, drained], 1, 2).samples, DISK_OTHERS) == 0
    assert told(disturbance([drained], 1, 2).samples, DISK_OTHERS) == pytest.approx(0.9)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.metric)
def test_every_limit_has_a_source_and_is_reached_exactly(limit) -> None:  # type: ignore[no-untyped-def]
    assert limit.source
    of = {
        CPU_OTHERS: lambda share: {"own_cpu": 0.8 - share},
        CPU_STEAL: lambda share: {"cpu_steal": share},
        "memory_stalled_share": lambda share: {"pressure_memory_full": share},
    }
    quiet = {"own_cpu": 0.8, "own_disk_write_bytes_per_s": 40.0}
    for share, warned in ((limit.least + 0.001, True), (limit.least - 0.001, False)):
        values = {**quiet, **of.get(limit.metric, lambda _: {})(share)}
        disk = (60.0, 40.0, 0.8)
        if limit.metric == DISK_OTHERS:  # of 100 B/s of the host all but `own` are others'
            values["own_disk_write_bytes_per_s"] = 40.0 - 100 * share / 0.8
        found = disturbance([second(0, disk, **values)], 0, 1)
        assert [w.code for w in found.warnings] == [DISTURBED] * warned


def test_what_cannot_be_told_has_its_reason() -> None:
    ticks = [second(at) for at in range(4)]
    short = disturbance(ticks, 3.9, 5.0).samples
    assert "half of the execution" in (why(short, CPU_OTHERS) or "")
    assert "sampling interval" in (why(disturbance(ticks, 7.0, 7.1).samples, CPU_STEAL) or "")
    nothing = disturbance(ticks, 2.5, 2.5)
    assert nothing.warnings == ()
    assert all("sampling interval" in (each.missing_reason or "") for each in nothing.samples)
    daemons = disturbance(ticks, 0, 4, elsewhere="daemons of others do it")
    assert why(daemons.samples, CPU_OTHERS) == why(daemons.samples, DISK_OTHERS)
    assert told(daemons.samples, CPU_STEAL) == 0
    assert not daemons.warnings
    mounted = disturbance(ticks, 0, 4, network="NFS").samples
    assert why(mounted, "net_others_bytes_per_s") == "NFS"
    silent = [tick(0, 1, [("cpu_user", None, 0.5)])]
    assert why(disturbance(silent, 0, 1).samples, CPU_OTHERS) == "not reported by the sampler"


def test_a_disturbed_trial_says_so_and_can_be_found_by_it(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = run_trial(session, Idle(SPEC))
    monkeypatch.setenv("FAKE_OTHERS", "0.61")
    loud = run_trial(session, Idle(SPEC))
    blind = run_trial(session, Idle(replace(SPEC, series=False)))
    assert [each.disturbed for each in (quiet, loud, blind)] == [False, True, None]
    (warning,) = [each for each in loud.warnings if each.code == DISTURBED]
    assert warning.message.startswith("other programs used 61% of the CPU time while it executed (")
    assert blind.values(CPU_OTHERS) == []
    assert quiet.group_key == loud.group_key, "what others did was not chosen"
    for condition, found in (
        ("disturbed=true", {loud.id}),
        ("disturbed=false", {quiet.id}),
        ("disturbed=", {blind.id}),
        ("cpu_others_share>=0.2", {loud.id}),
    ):
        query = Query((parse_condition(condition),))
        assert {row.id for row in rows(session.repository, query).rows} == found, condition


@pytest.mark.parametrize(
    ("machines", "of_hosts", "found"),
    [
        (("a", "a"), {None}, 0.31),
        (("a", "b"), {"h1", "h2"}, 0.61),
        (("a", "a", "b"), set(), None),
        (("a",), {"h1"}, 0.61),
    ],
    ids=["one", "two", "mixed", "alone"],
)
def test_what_others_did_on_several_hosts(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    machines: tuple[str, ...],
    of_hosts: set[str | None],
    found: float | None,
) -> None:
    """Each host had 30 % of the processors; hosts of one machine see what the others do there."""
    monkeypatch.setenv("FAKE_OTHERS", "0.61")
    members = tuple(
        SessionMember(session.agent, Host(f"h{number}", {**session.host.facts, "boot_id": machine}))
        for number, machine in enumerate(machines, 1)
    )
    trial = run_trial(replace(session, members=members), Idle(SPEC, hosts=len(machines)))
    told = [each for each in trial.samples if each.metric == CPU_OTHERS and each.value is not None]
    assert {each.labels.get("host") for each in told} == of_hosts
    assert [each.value for each in told] == [pytest.approx(found)] * len(of_hosts)
    assert trial.disturbed is (True if found is not None else trial.disturbed)
    warned = [each.message for each in trial.warnings if each.code == DISTURBED]
    assert len(warned) == len(of_hosts)
    assert all(each.startswith(("h1: ", "h2: ")) == (None not in of_hosts) for each in warned)


def test_a_failed_trial_was_disturbed_too(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_OTHERS", "0.61")
    with pytest.raises(VenturiError):
        run_trial(session, Idle(SPEC, error=OSError(5, "no")))
    (row,) = rows(session.repository, Query()).rows
    assert (row.state, row.disturbed) == (State.FAILED, True)


def test_work_of_clusters_that_others_started_is_not_taken_for_others(session: Session) -> None:
    chosen = replace(SPEC, elsewhere="a cluster that Venturi did not start does the work")
    trial = run_trial(session, Idle(chosen))
    assert why(trial.samples, CPU_OTHERS) == chosen.elsewhere


BURN = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass"


@pytest.fixture
def burn() -> Iterator[Callable[[float], None]]:
    """Keep every core busy for a while, by foreign processes."""
    started: list[subprocess.Popen[bytes]] = []

    def start(seconds: float) -> None:
        program = [sys.executable, "-c", BURN.format(seconds)]
        started.extend(subprocess.Popen(program) for _ in range(os.cpu_count() or 1))

    yield start
    for each in started:
        each.kill()
        each.wait()


@pytest.mark.slow
def test_a_sort_beside_a_busy_loop_is_disturbed(
    tmp_path: Path, burn: Callable[[float], None]
) -> None:
    """The real agent and engine; Venturi is a process of its own, for ours is the loops' parent."""
    environment = {**os.environ, "VENTURI_HOME": str(tmp_path / "home")}

    def venturi(*arguments: str) -> str:
        return subprocess.run(
            [*PROGRAM, *arguments],
            cwd=tmp_path,
            env=environment,
            check=True,
            timeout=120,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout

    burn(100)
    venturi("run", "terasort", "--bytes", "300MB", "--repeat", "1", "--warm-up", "0", "--quiet")
    trial = json.loads(venturi("show", "last", "--json"))["data"]
    assert trial["state"] == "succeeded"
    (share,) = [each["value"] for each in trial["samples"] if each["metric"] == CPU_OTHERS]
    assert 0.1 <= share <= 1
    assert [each["code"] for each in trial["warnings"]].count(DISTURBED) >= 1
    listed = json.loads(venturi("ls", "--where", "disturbed=true", "--json"))["data"]
    assert [row["id"] for row in listed] == [trial["id"]]


def test_what_a_trials_own_processes_use_is_not_others(agent_binary: Path) -> None:
    """A child, a grandchild, and an orphan: all descendants of this process."""
    loop = BURN.format(1.2)
    nested = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {loop!r}])"
    sampler = subprocess.Popen(
        [agent_binary, "sample", "--own", "--interval-ms", "200"], stdout=subprocess.PIPE, text=True
    )
    started = [subprocess.Popen([sys.executable, "-c", text]) for text in (loop, nested)]
    orphan = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" >/dev/null & echo $!', sys.executable, loop],
        stdout=subprocess.PIPE,
        check=True,
    )
    before_s = sum(os.times()[2:4])
    for each in started:
        each.wait()
    os.waitpid(int(orphan.stdout), 0)  # ours by adoption
    used_s = sum(os.times()[2:4]) - before_s
    time.sleep(0.3)
    sampler.terminate()
    said, _ = sampler.communicate(timeout=20)
    events = [json.loads(line) for line in said.splitlines()]
    moments = [event for event in events if event["event"] == "series"]
    own_s = 0.0
    for earlier, later in pairwise(moments):
        shares = [value for metric, _, value, _ in later["rows"] if metric == "own_cpu"]
        own_s += sum(shares) * (later["t_s"] - earlier["t_s"]) * (os.cpu_count() or 1)
    assert own_s == pytest.approx(used_s, rel=0.25, abs=0.3)
