"""`venturi ls | show | export | import` as a user calls them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from venturi.cli.main import main
from venturi.core.settings import Settings
from venturi.record.access.owner import current_owner
from venturi.record.importing.exchange import export_trials
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import (
    Failure,
    Phase,
    Sample,
    State,
    Trial,
    TrialWarning,
    Workload,
)
from venturi.record.trial_json import ADAPTER, encode

MakeTrial = Callable[..., Trial]


@dataclass
class Outcome:
    status: int
    stdout: str
    stderr: str

    @property
    def data(self) -> object:
        envelope = json.loads(self.stdout)
        assert envelope.keys() == {"schema", "data", "warnings"}
        return envelope["data"]


@pytest.fixture
def venturi(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Runs `venturi` with the arguments given, on the repository of `settings`."""
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["venturi", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main()
        said = capsys.readouterr()
        return Outcome(int(exited.value.code or 0), said.out, said.err)

    return run


@pytest.fixture
def trials(settings: Settings, make_trial: MakeTrial) -> list[Trial]:
    """The repository's content: a success with everything, a failure, and a spark trial."""
    stage = {"stage": "sort", "device": None}
    with TrialRepository.open(settings) as repository:
        full = make_trial(
            id="full",
            state=State.SUCCEEDED,
            elapsed_s=12.5,
            phases=(Phase("sort+reduce", 2.0, 10.0),),
            samples=(
                Sample("stage_useful_s", 9.0, "s", "sort+reduce", stage),
                Sample("stage_workers", 1, "1", "sort+reduce", stage),
                Sample("stage_bytes", 1 << 30, "B", "sort+reduce", stage),
                Sample("disk_read_bytes_per_s", 1.5e9, "B/s", labels={"dir": "/d", "iteration": 1}),
                Sample("disk_read_bytes_per_s", 1.7e9, "B/s", labels={"dir": "/d", "iteration": 2}),
                Sample("peak_rss_bytes", None, "B", missing_reason="[no] counter"),
            ),
            warnings=(TrialWarning("VEN-W", "[bold]look out[/bold]"),),
        )
        full = repository.attach(full, "log", "run.log", b"text")
        failed = make_trial(
            id="failed",
            state=State.FAILED,
            failure=Failure("space", "VEN-SORT-FULL", "disk ran full"),
            workload=Workload("wordcount", "v2"),
            experiment="e1",
        )
        running = make_trial(id="running", state=State.EXECUTING, owner=current_owner())
        for trial in (full, failed, running):
            repository.add(trial)
    return [full, failed, running]


def test_ls_lists(venturi: Callable[..., Outcome], trials: list[Trial]) -> None:
    outcome = venturi("ls")
    assert outcome.status == 0
    header, *rows = outcome.stdout.splitlines()
    assert header.startswith("id")
    assert [row.split()[0] for row in rows] == ["running", "full", "failed"]
    assert all(word in rows[1] for word in ("terasort/tiny", "native", "succeeded", "12.5 s"))
    assert "—" in rows[0], "an absent time is no number"


def test_ls_as_json_and_filtered(venturi: Callable[..., Outcome], trials: list[Trial]) -> None:
    def ids(*arguments: str) -> list[str]:
        data = venturi("ls", "--json", *arguments).data
        assert isinstance(data, list)
        return [entry["id"] for entry in data]

    everything = venturi("ls", "--json").data
    assert isinstance(everything, list)
    assert everything[1]["elapsed_s"] == 12.5
    assert everything[2]["elapsed_s"] is None
    assert everything[2]["failure"] == "VEN-SORT-FULL"
    assert ids("--workload", "wordcount") == ["failed"]
    assert venturi("ls", "--engine", "spark").status == 2  # no trial is of it
    assert ids("--state", "executing") == ["running"]
    assert ids("--experiment", "e1") == ["failed"]
    assert ids("--group", trials[0].group_key) == ["running", "full"]
    assert ids("--limit", "1") == ["running"]
    assert ids("--since", "2026-01-02") == ["running", "full", "failed"]
    assert ids("--since", "2026-01-02T03:04:06") == []
    assert venturi("ls", "--since", "soon").status == 2
    assert venturi("ls", "--state", "asleep").status == 2


def test_show_tells_everything(venturi: Callable[..., Outcome], trials: list[Trial]) -> None:
    outcome = venturi("show", "fu")
    assert outcome.status == 0
    for text in (
        "succeeded",
        "12.5 s",
        "memory_bytes",
        "1073741824",
        "sort+reduce",
        "sort was busy for 90% of the phase (its CPU time was not recorded)",
        "1,500 MB/s to 1,700 MB/s",
        "— ([no] counter)",
        "[bold]look out[/bold]",
        "full/run.log",
        "release build",
        trials[0].group_key,
    ):
        assert text in outcome.stdout, text
    failed = venturi("show", "failed").stdout
    assert "space: disk ran full [VEN-SORT-FULL]" in failed
    assert "Narrowest" not in failed


def test_show_as_json_is_the_record(venturi: Callable[..., Outcome], trials: list[Trial]) -> None:
    for trial in trials:
        assert venturi("show", trial.id, "--json").data == json.loads(encode(trial))
        assert ADAPTER.validate_python(venturi("show", trial.id, "--json").data) == trial


def test_the_trials_recorded_last_need_no_id(
    venturi: Callable[..., Outcome], trials: list[Trial]
) -> None:
    assert venturi("show", "last", "--json").data["id"] == trials[-1].id
    assert venturi("show", "last~1", "--json").data["id"] == trials[-2].id
    assert "there is no trial last~999" in venturi("show", "last~999").stderr


def test_show_without_such_a_trial(venturi: Callable[..., Outcome], trials: list[Trial]) -> None:
    for unknown in ("f", "x"):
        outcome = venturi("show", unknown)
        assert (outcome.status, outcome.stdout) == (1, "")
        assert "VEN-RECORD-UNKNOWN" in outcome.stderr


def test_trials_found_interrupted_are_told(
    venturi: Callable[..., Outcome], settings: Settings, make_trial: MakeTrial
) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    owner = replace(current_owner(), pid=ended.pid)
    with TrialRepository.open(settings) as repository:
        repository.add(make_trial(id="orphan", state=State.EXECUTING, owner=owner))
    outcome = venturi("ls", "--json")
    assert "found interrupted: trial orphan" in outcome.stderr
    assert isinstance(outcome.data, list)
    assert outcome.data[0]["state"] == "interrupted"
    assert venturi("ls").stderr == "", "it is told once"


def test_export_and_import(
    venturi: Callable[..., Outcome], trials: list[Trial], tmp_path: Path, settings: Settings
) -> None:
    archive = tmp_path / "all.zip"
    exported = venturi("export", "--all", "-o", archive, "--json")
    assert exported.status == 0
    assert exported.data == {
        "file": str(archive),
        "trials": ["full", "failed"],
        "left_out": ["running"],
    }
    assert "left out: trial running" in exported.stderr
    refused = venturi("export", "full", "-o", archive)
    assert refused.status == 1
    assert "VEN-OUTPUT-EXISTS" in refused.stderr
    one = venturi("export", "--workload", "wordcount", "-o", tmp_path / "one.zip", "--json")
    assert isinstance(one.data, dict)
    assert one.data["trials"] == ["failed"]

    settings.home.rename(tmp_path / "elsewhere")
    first = venturi("import", tmp_path / "one.zip", archive, "--json")
    assert first.status == 0
    assert isinstance(first.data, list)
    assert [(entry["added"], entry["already_present"]) for entry in first.data] == [(1, 0), (1, 1)]
    trials_ = [{each["trial"]: each["added"] for each in entry["trials"]} for entry in first.data]
    assert trials_ == [{"failed": True}, {"failed": False, "full": True}]
    with TrialRepository.open(settings) as repository:
        assert repository.get("full") == trials[0]
        assert repository.artifact_path(trials[0].artifacts[0]).read_bytes() == b"text"
    assert venturi("export", "full", "-o", archive, "--overwrite").status == 0


def test_export_wants_one_kind_of_choice(
    venturi: Callable[..., Outcome], trials: list[Trial], tmp_path: Path
) -> None:
    for choice in ((), ("full", "--all"), ("--all", "--engine", "native")):
        outcome = venturi("export", *choice, "-o", tmp_path / "a.zip")
        assert outcome.status == 2, choice
    unfinished = venturi("export", "running", "-o", tmp_path / "a.zip")
    assert unfinished.status == 1
    assert "VEN-RECORD-STATE" in unfinished.stderr
    assert list(tmp_path.glob("*.zip")) == []


def test_import_tells_what_it_refuses(
    venturi: Callable[..., Outcome], settings: Settings, make_trial: MakeTrial, tmp_path: Path
) -> None:
    other = replace(settings, home=tmp_path / "other")
    failure = Failure("test", "VEN-TEST", "")
    for where, experiment in ((other, "theirs"), (settings, "mine")):
        with TrialRepository.open(where) as repository:
            trial = make_trial(id="same", state=State.FAILED, failure=failure)
            repository.add(replace(trial, experiment=experiment))
            if where is other:
                export_trials(repository, whole_trials(repository), tmp_path / "a.zip")
    outcome = venturi("import", tmp_path / "a.zip")
    assert outcome.status == 1
    assert "1 rejected" in outcome.stdout
    assert "line 1 (trial 'same'): [VEN-RECORD-DUPLICATE]" in outcome.stdout
    (tmp_path / "b.zip").write_text("nothing")
    damaged = venturi("import", tmp_path / "b.zip", "--json")
    assert damaged.status == 1
    assert json.loads(damaged.stdout)["error"]["code"] == "VEN-IMPORT-FORMAT"


def test_an_unusable_home_is_an_error(settings: Settings) -> None:
    settings.home.write_text("a file")
    done = subprocess.run(
        [sys.executable, "-m", "venturi.cli.main", "ls"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "VENTURI_HOME": str(settings.home)},
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error[VEN-RECORD-DATABASE]")
