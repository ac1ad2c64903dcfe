"""`venturi run`: the protocol, resuming, bad input, exit statuses (on a stand-in agent)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import FAKE_AGENT, venturi
from venturi.cli.main import cli
from venturi.cli.measure.run import compared
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.measure.engines.native.engine import Native, NativeJob
from venturi.measure.engines.protocol import Availability, MissingRequirement, Resources, TrialSpec
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.local import LocalHost
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Engine, State, Trial, new_id


def states(text: str) -> list[tuple[int, bool, str]]:
    return [(t["repetition"], t["warm_up"], t["state"]) for t in json.loads(text)["data"]]


@pytest.mark.slow
def test_the_first_repetition_warms_up(tmp_path: Path) -> None:
    done = venturi(
        "run",
        "terasort",
        "--bytes",
        "20kB",
        "--repeat",
        2,
        "--dir",
        tmp_path,
        "--json",
        home=tmp_path / "home",
    )
    assert done.returncode == 0, done.stderr
    assert states(done.stdout) == [(0, True, "succeeded"), (1, False, "succeeded")]


@pytest.mark.slow
def test_resume_does_not_repeat_what_succeeded(tmp_path: Path) -> None:
    arguments = (
        "run",
        "terasort",
        "--bytes",
        "20kB",
        "--experiment",
        "e",
        "--dir",
        tmp_path,
        "--warm-up",
        0,
    )
    home = tmp_path / "home"
    first = venturi(*arguments, "--repeat", 1, "--json", home=home)
    second = venturi(*arguments, "--repeat", 2, "--resume", "--json", home=home)
    before = [trial["id"] for trial in json.loads(first.stdout)["data"]]
    after = [trial["id"] for trial in json.loads(second.stdout)["data"]]
    assert after[:1] == before
    assert len(after) == 2


@pytest.mark.slow
def test_resume_elsewhere_runs_again(tmp_path: Path) -> None:
    arguments = (
        "run",
        "terasort",
        "--bytes",
        "20kB",
        "--experiment",
        "e",
        "--warm-up",
        0,
        "--repeat",
        1,
        "--json",
    )
    ids = []
    for number in (1, 2):
        disk = tmp_path / f"disk{number}"
        disk.mkdir()
        done = venturi(*arguments, "--dir", disk, "--resume", home=tmp_path / "home")
        ids += [trial["id"] for trial in json.loads(done.stdout)["data"]]
    assert ids[0] != ids[1]


@pytest.mark.slow
def test_a_trial_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    done = venturi(
        "run",
        "terasort",
        "--bytes",
        "20kB",
        "--dir",
        disk,
        "--timeout",
        "1500ms",
        "--memory",
        "1GiB",
        home=tmp_path / "home",
        FAKE_FAULT="hang-in-sort",
        FAKE_MARKER=str(tmp_path / "marker"),
    )
    assert done.returncode == 1, done.stderr
    understood = (
        "20.0 kB of input, 6 repetitions (1 to warm up), memory 1.0 GiB, at most 1.5 s each"
    )
    assert understood in done.stderr, done.stderr
    assert "VEN-ENGINE-TIMEOUT" in done.stderr
    assert list(disk.iterdir()) == []


class _Stage(Native):
    """The native engine under another name, which says when it is up and when it works."""

    version = "1"

    def __init__(self, spec: str, says: list[str], *, missing: bool) -> None:
        super().__init__(LocalHost(), environ={})
        self.spec, self._says, self._missing = spec, says, missing
        self.kind = replace(Native.kind, clusters=frozenset({"cluster", "yarn"}))
        self.deployment = spec.partition(":")[2] or None  # type: ignore[assignment]

    def available(self) -> Availability:
        missing = (MissingRequirement("no such thing", "get it"),) if self._missing else ()
        return Availability(self.spec, "1", missing=missing)

    def start(self, resources: Resources) -> None:
        self._says.append(f"{self.spec} up")

    def stop(self) -> None:
        self._says.append(f"{self.spec} down")

    def job(self, spec: TrialSpec) -> NativeJob:
        self._says.append(f"{self.spec} {spec.repetition}")
        made = super().job(spec)
        assert isinstance(made, NativeJob)
        return made


@pytest.fixture
def on_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Runs `--engine SPECS`, none of them real, twice each; returns what they said."""
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("VENTURI_AGENT", str(FAKE_AGENT))

    def run(specs: str, missing: str | None = None) -> list[str]:
        says: list[str] = []

        def engine(spec: str, host: LiveHost, **_: Mapping[str, Any]) -> _Stage:
            return _Stage(spec, says, missing=spec == missing)

        monkeypatch.setattr("venturi.cli.measure.run.engine_of", engine)
        arguments = (
            "run",
            "terasort",
            "--bytes",
            "20kB",
            "--engine",
            specs,
            "--repeat",
            "2",
            "--warm-up",
            "0",
            "--no-series",
            "--dir",
            str(tmp_path),
            "--json",
        )
        try:
            cli.main(list(arguments), standalone_mode=False)
        except VenturiError as error:
            says.append(error.message)
        return says

    return run


@pytest.mark.slow
def test_a_cluster_is_up_for_its_own_trials_alone(on_stage: Callable[..., list[str]]) -> None:
    assert on_stage("one:cluster,two:local,three:yarn") == [
        step
        for spec in ("one:cluster", "two:local", "three:yarn")
        for step in (f"{spec} up", f"{spec} 0", f"{spec} 1", f"{spec} down")
    ]


@pytest.mark.slow
def test_other_engines_take_turns(on_stage: Callable[..., list[str]]) -> None:
    assert on_stage("one,two:local") == [
        "one up",
        "two:local up",
        "one 0",
        "two:local 0",
        "two:local 1",
        "one 1",
        "two:local down",
        "one down",
    ]


def test_nothing_is_started_if_one_engine_is_missing(on_stage: Callable[..., list[str]]) -> None:
    said = on_stage("one:cluster,two:local", missing="two:local")
    assert said == ["two:local: no such thing"]


@pytest.mark.parametrize("times", [(1.0, 9.0, 5), (1.0, 1.0, 5), (1.0, 9.0, 2)])
def test_several_engines_end_with_their_ratio(
    settings: Settings, make_trial: Callable[..., Trial], times: tuple[float, float, int]
) -> None:
    *middles, count = times
    trials = [
        make_trial(
            engine=Engine(name, "1"),
            elapsed_s=middle + 0.01 * number,
            id=new_id(),
            state=State.SUCCEEDED,
        )
        for name, middle in zip(("native", "spark"), middles, strict=True)
        for number in range(count)
    ]
    with TrialRepository.open(settings) as repository:
        repository.add_many(trials)
        lines = [str(getattr(part, "text", part)) for part in compared(repository, trials)]
    unsure = [line for line in lines if line.startswith("spark compared with native: cannot tell")]
    if count == 2:
        assert "2 and 2 trials are too few" in unsure[0]
    else:
        assert bool(unsure) == (middles[1] == 1.0)
    if not unsure:
        more = float(re.match(r"spark takes ([0-9.]+) % .* more time than native", lines[0])[1])  # type: ignore[index]
        assert 1 + more / 100 == pytest.approx(middles[1], rel=0.05)
    assert all(trial.group_key in lines[-1] for trial in trials)


@pytest.mark.slow
def test_a_log_gets_a_line_a_trial_and_the_group(tmp_path: Path) -> None:
    done = venturi(
        "run",
        "terasort",
        "--bytes",
        "20kB",
        "--repeat",
        3,
        "--dir",
        tmp_path,
        home=tmp_path / "home",
    )
    assert done.returncode == 0, done.stderr
    steps = re.findall(r"^\d\d:\d\d:\d\d native, repetition (\d): succeeded", done.stderr, re.M)
    assert steps == ["0", "1", "2"]
    assert re.search(r"^group [0-9a-f]{16}: ", done.stdout, re.M)


@pytest.mark.slow
def test_a_wrong_result_exits_3(tmp_path: Path) -> None:
    done = venturi(
        "run",
        "terasort",
        "--bytes",
        "20kB",
        "--repeat",
        2,
        "--dir",
        tmp_path,
        home=tmp_path / "home",
        FAKE_FAULT="unsorted",
    )
    assert done.returncode == 3, done.stderr
    assert "invalid: " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("nosort",), 2, "did you mean sort?"),
        (("terasort", "--scale", "huger"), 2, "did you mean huge?"),
        (("aggregate", "--engine", "spark"), 2, "the engine spark cannot run aggregate"),
        (
            ("dfsio-write", "--engine", "spark"),
            2,
            "native and mapreduce can: venturi run dfsio-write --engine native",
        ),
        (("pi", "--engine", "spark", "--bytes", "1MB"), 2, "no input"),
        (("terasort", "--set", "spark.executor.cores=2"), 2, "VEN-ENGINE-SETTING"),
        (("terasort", "--set", "a=2"), 2, "native has no settings of its own: leave --set out"),
        (("terasort", "--engine", "spark", "--set", "spark.executor.cores"), 2, "no value"),
        (
            ("terasort", "--indy", "--engine", "native,spark"),
            2,
            "--indy cannot be used with terasort on spark",
        ),
        (
            ("terasort", "--verify", "--engine", "mapreduce"),
            2,
            "--engine native and one of aggregate, sort",
        ),
        (("pi", "--indy", "--verify"), 2, "--indy and --verify cannot be used with pi on native"),
        (("terasort", "--engine", "abacus"), 2, "one of: native"),
        (("terasort", "--scale", "tiny", "--bytes", "1MB"), 2, "either --scale or --bytes"),
        (("terasort", "--repeat", "1"), 2, "--repeat 1 with --warm-up 1: no repetition counts"),
        (("terasort", "--resume"), 2, "--experiment"),
        (("terasort", "--bytes", "10"), 1, "too small for a single record"),
        (("terasort", "--scale", "bigdata"), 1, "VEN-MEASURE-SPACE"),
        (("terasort", "--bytes", "1MB", "--dir", "/proc/nowhere"), 1, "dir: /proc"),
    ],
)
def test_bad_input(tmp_path: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    done = venturi("run", *arguments, home=tmp_path / "home")
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_it_says_what_the_repetitions_can_show_before_it_begins(tmp_path: Path) -> None:
    arguments = ("run", "terasort", "--bytes", "20kB", "--warm-up", "0")
    few = venturi(*arguments, "--repeat", "2", home=tmp_path)
    assert "2 counted repetitions per group can't decide" in few.stderr
    assert "no repeats recorded so far" in few.stderr
    more = venturi(*arguments, "--repeat", "4", home=tmp_path)
    assert "of 2 earlier trials in 1 group" in more.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--engine", "native"), "native runs on one host, not on a cluster"),
        (("--engine", "mapreduce:cluster", "--dir", "/tmp"), "--dir is of one machine"),
        (("--engine", "mapreduce:cluster", "--hadoop-conf", "/tmp"), "--hadoop-conf"),
    ],
)
def test_what_a_cluster_cannot_be_used_with(
    tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    file = tmp_path / "here.toml"
    file.write_text('[[hosts]]\nname = "me"\nhere = true\nroles = ["master", "worker"]')
    refused = venturi("run", "pi", *arguments, "--cluster", file, home=tmp_path)
    assert refused.returncode == 2
    assert says in refused.stderr
