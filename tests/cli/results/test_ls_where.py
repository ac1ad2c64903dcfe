"""`venturi ls` with conditions and orders, on more trials than one page of rows holds."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from venturi.cli.main import main
from venturi.core.settings import Settings
from venturi.record.access import exclusions
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import DISTURBED, Provenance, ProvenanceKind, Trial, TrialWarning

Ls = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory, make_trial: Callable[..., Trial]) -> Path:
    """A home with 1,203 trials, three of which have threads, and one no date, to be copied."""
    home = tmp_path_factory.mktemp("listed") / "home"
    imported = Provenance(ProvenanceKind.IMPORTED, "aloja")
    with TrialRepository.open(Settings(home, None, None, allow_debug=False)) as repository:
        repository.add_many(
            make_trial(
                id=f"t{number:04}",
                configuration={"threads": number, "disk": "SSD"} if number < 3 else {},
                elapsed_s=float(number) if number else None,
                provenance=imported,
                started_at=make_trial().started_at if number else None,
            )
            for number in range(1_203)
        )
    return home


@pytest.fixture
def ls(
    listed: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Ls:
    """Runs `venturi ls` on the listed trials."""
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))
    shutil.copytree(listed, settings.home)

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["venturi", "ls", *arguments])
        with pytest.raises(SystemExit) as exited:
            main()
        said = capsys.readouterr()
        return int(exited.value.code or 0), said.out, said.err

    return run


def ids(ls: Ls, *arguments: str) -> list[str]:
    status, out, _ = ls("--json", *arguments)
    assert status == 0
    return [entry["id"] for entry in json.loads(out)["data"]]


def test_conditions_choose_and_sort_orders(ls: Ls) -> None:
    assert ids(ls, "--where", "disk=SSD") == ["t0002", "t0001", "t0000"]
    assert ids(ls, "--where", "disk=SSD", "--where", "threads<2", "--sort", "threads") == [
        "t0000",
        "t0001",
    ]
    assert ids(ls, "--where", "disk=", "--limit", "1") == ["t1202"]
    assert ids(ls, "--sort", "elapsed_s", "--limit", "2") == ["t0001", "t0002"]
    assert ids(ls, "--sort", "-elapsed_s", "--limit", "2") == ["t1202", "t1201"]
    assert ids(ls, "--where", "started_at=") == ["t0000"]
    assert "t0000" not in ids(ls, "--since", "1970-01-01", "--limit", "0")


def test_a_listing_may_be_longer_than_a_page(ls: Ls) -> None:
    everything = ids(ls, "--limit", "0")
    assert everything == [f"t{number:04}" for number in range(1_202, -1, -1)]
    assert ids(ls, "--limit", "1100") == everything[:1_100]
    status, out, err = ls("--limit", "0")
    assert status == 0
    assert len(out.splitlines()) == 1_204
    assert err == ""
    assert out.splitlines()[-1].split()[1] == "—", "it has no date"
    assert "the newest 2; --limit shows more" in ls("--limit", "2")[2]
    assert "the first 2; --limit shows more" in ls("--limit", "2", "--sort", "id")[2]


@pytest.mark.parametrize("bad", ["threads", "threads<x", "hosts=x", "workload<x", "warm_up=no"])
def test_a_bad_condition_is_a_usage_error(ls: Ls, bad: str) -> None:
    status, out, err = ls("--where", bad)
    assert (status, out) == (2, "")
    assert "VEN-QUERY-VALUE" in err


def test_what_no_trial_has_is_said_with_what_may_be_meant(ls: Ls) -> None:
    status, out, err = ls("--where", "disk=SDD")
    assert (status, out) == (2, "")
    assert "no trial has disk=SDD" in err
    assert "did you mean SSD?" in err
    for words in (("--where", "dsk=SSD"), ("--sort", "-thread")):
        status, out, err = ls(*words)
        assert (status, out) == (2, "")
        assert "did you mean disk?" in err or "did you mean threads?" in err
    assert ids(ls, "--where", "colour=", "--limit", "1") == ["t1202"]  # it is missing indeed


def test_what_leaves_out_disturbed_trials_leaves_in_those_of_which_nothing_is_known(
    ls: Ls, settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    loud = (TrialWarning(DISTURBED, "other programs used 61 % of the CPU time"),)
    with TrialRepository.open(settings) as repository:
        repository.add(make_trial(id="loud", warnings=loud))
        repository.add(make_trial(id="first", warnings=loud, warm_up=True))
    _, _, said = ls("--where", "elapsed_s<2")
    assert "disturbed" not in said
    _, _, said = ls("--limit", "1")
    assert "1 of 1,204 trials (warm-ups not counted) was disturbed by others on the host" in said
    assert "`venturi exclude add --where disturbed=true --reason TEXT`" in said
    with TrialRepository.open(settings) as repository:
        exclusions.add(repository, ["disturbed=true"], "me", "others")
    assert len(ids(ls, "--limit", "0")) == 1_203
