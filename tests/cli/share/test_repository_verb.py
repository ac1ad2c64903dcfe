"""`venturi repository` as a user calls it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from command_line import venturi
from planted import OVERFLOWING, add_overflowing
from venturi.core.settings import Settings
from venturi.record.access.owner import current_owner
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

MakeTrial = Callable[..., Trial]
HERE = ("--dir", Path(__file__).parent)  # where no other test puts data


@pytest.fixture
def bad(settings: Settings, make_trial: MakeTrial) -> Trial:
    """Store a sound trial and an unreadable one; return the latter."""
    trial = make_trial()
    with TrialRepository.open(settings) as repository:
        repository.add(replace(make_trial(), state=State.SUCCEEDED, elapsed_s=3.0))
        add_overflowing(repository, trial, OVERFLOWING[0])
    return trial


def test_what_cannot_be_read_is_told_set_aside_listed_and_exported(
    settings: Settings, bad: Trial, tmp_path: Path
) -> None:
    home = settings.home
    listed = venturi("ls", home=home)
    assert listed.returncode == 0
    assert bad.id in listed.stderr
    assert "venturi repository check --mend" in listed.stderr
    found = venturi("repository", "check", *HERE, home=home)
    assert found.returncode == 1
    assert f"trial {bad.id}" in found.stdout
    assert "--mend" in found.stderr
    as_json = venturi("repository", "check", *HERE, "--json", home=home)
    assert as_json.returncode == 1
    data = json.loads(as_json.stdout)["data"]
    assert not data["whole"]
    assert [each["subject"] for each in data["findings"]] == [f"trial {bad.id}"]
    mended = venturi("repository", "check", *HERE, "--mend", home=home)
    assert mended.returncode == 0
    assert "quarantined" in mended.stdout
    assert venturi("repository", "check", *HERE, home=home).returncode == 0
    assert bad.id not in venturi("ls", home=home).stderr
    told = venturi("repository", "quarantined", home=home).stdout
    assert bad.id in told
    assert "started_at" in told
    raw = tmp_path / "raw.ndjson"
    assert venturi("repository", "quarantined", "-o", raw, home=home).returncode == 0
    (line,) = raw.read_text().splitlines()
    assert json.loads(json.loads(line)["content"])["id"] == bad.id
    assert venturi("repository", "quarantined", "-o", "-", home=home).stdout == f"{line}\n"


def test_data_folders_of_dead_owners_are_leftovers(settings: Settings, tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        gone = replace(current_owner(), pid=process.pid)
    scratch = tmp_path / "scratch"
    for name, owner in (("venturi-data-old", gone), ("venturi-data-new", current_owner())):
        (scratch / name).mkdir(parents=True)
        (scratch / name / "owner.json").write_text(json.dumps(asdict(owner)))
    (scratch / "venturi-data-mine").mkdir()
    found = venturi("repository", "check", "--dir", scratch, home=settings.home)
    assert found.returncode == 1
    assert str(scratch / "venturi-data-old") in found.stdout
    assert (scratch / "venturi-data-old").exists()
    mended = venturi("repository", "check", "--mend", "--dir", scratch, home=settings.home)
    assert mended.returncode == 0
    assert {path.name for path in scratch.iterdir()} == {"venturi-data-new", "venturi-data-mine"}


def test_a_killed_attach_leaves_what_the_check_finds(
    settings: Settings, make_trial: MakeTrial
) -> None:
    trial = make_trial()
    with TrialRepository.open(settings) as repository:
        ended = repository.attach(trial, "log", "its.log", b"what it said")
        repository.add(replace(ended, state=State.SUCCEEDED, elapsed_s=3.0))
    script = (
        "import sys, time\nfrom pathlib import Path\n"
        "from venturi.record.store.files import replacing\n"
        "with replacing(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); print('begun', flush=True); time.sleep(600)\n"
    )
    target = settings.home / "artifacts" / trial.id / "series.parquet"
    with subprocess.Popen(
        [sys.executable, "-c", script, target], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        os.kill(process.pid, signal.SIGKILL)
    found = venturi("repository", "check", *HERE, home=settings.home)
    assert found.returncode == 1
    assert f".series.parquet.{process.pid}.part" in found.stdout
    assert venturi("repository", "check", *HERE, "--mend", home=settings.home).returncode == 0
    assert [path.name for path in target.parent.iterdir()] == ["its.log"]


def test_removing_is_a_dry_run_until_it_is_confirmed(
    settings: Settings, make_trial: MakeTrial
) -> None:
    with TrialRepository.open(settings) as repository:
        old = replace(make_trial(experiment="old"), state=State.SUCCEEDED, elapsed_s=3.0)
        repository.add_many([old, make_trial(experiment="new")])
    home = settings.home
    dry = venturi("remove", "--where", "experiment=old", home=home)
    assert (dry.returncode, dry.stdout.split()) == (0, [old.id])
    assert "nothing was changed" in dry.stderr
    assert old.id in venturi("ls", home=home).stdout
    assert venturi("remove", "--where", "experiment=old", "--yes", home=home).returncode == 2
    assert venturi("remove", "--where", "experimnt=old", home=home).returncode == 2
    done = venturi(
        "remove", "--where", "experiment=old", "--reason", "too old", "--yes", "--json", home=home
    )
    data = json.loads(done.stdout)["data"]
    assert (done.returncode, data["ids"]) == (0, [old.id])
    assert old.id not in venturi("ls", home=home).stdout
    listed = venturi("repository", "removals", home=home).stdout
    assert "too old" in listed
    assert "experiment=old" in listed
    back = venturi("repository", "readmit", data["removal"], home=home)
    assert back.returncode == 0
    told = json.loads(venturi("repository", "removals", "--json", home=home).stdout)["data"]
    assert told[0]["readmitted_by"]["known_by"] == "login"


def test_a_repository_is_backed_up_and_restored(
    settings: Settings, make_trial: MakeTrial, tmp_path: Path
) -> None:
    with TrialRepository.open(settings) as repository:
        trial = repository.attach(make_trial(), "log", "its.log", b"what it said")
        trial = replace(trial, state=State.SUCCEEDED, elapsed_s=3.0)
        repository.add(trial)
    file, home, other = tmp_path / "whole.backup", settings.home, tmp_path / "other"
    done = venturi("backup", file, home=home)
    assert done.returncode == 0
    assert "1 trial and 1 artifact" in done.stderr
    assert venturi("backup", file, home=home).returncode == 1
    assert venturi("backup", file, "--overwrite", "--json", home=home).returncode == 0
    cut = tmp_path / "cut.backup"
    cut.write_bytes(file.read_bytes()[:-100])
    for refused in (cut, tmp_path / "none.backup"):
        assert venturi("restore", refused, home=other).returncode == 1
        assert not other.exists()
    restored = venturi("restore", file, "--json", home=other)
    assert restored.returncode == 0
    assert json.loads(restored.stdout)["data"]["trials"] == 1
    assert trial.id in venturi("ls", home=other).stdout
    assert venturi("repository", "check", *HERE, home=other).returncode == 0
    again = venturi("restore", file, home=other)
    assert again.returncode == 1
    assert "VEN-REPOSITORY-NOT-EMPTY" in again.stderr
