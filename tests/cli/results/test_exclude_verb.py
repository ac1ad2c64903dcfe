"""`venturi exclude` as a user calls it, and the effect of its rules on other verbs."""

from __future__ import annotations

import json
import os
import pwd
import sys
from collections.abc import Callable

import pytest

from venturi.cli.main import main
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

Venturi = Callable[..., tuple[int, str, str]]


@pytest.fixture
def venturi(
    settings: Settings,
    make_trial: Callable[..., Trial],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Venturi:
    """Runs `venturi` on twelve trials in two repeat groups; its status, stdout and stderr."""
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))
    monkeypatch.setenv("LOGNAME", "root-of-all")  # any user can set this, so it isn't trusted
    with TrialRepository.open(settings) as repository:
        repository.add_many(
            make_trial(
                id=f"t{number:02}",
                configuration={"disk": "SSD" if number % 2 else "HDD"},
                state=State.SUCCEEDED,
                elapsed_s=100.0 + number,
                repetition=number // 2,
            )
            for number in range(12)
        )

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["venturi", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main()
        said = capsys.readouterr()
        return int(exited.value.code or 0), said.out, said.err

    return run


def data(venturi: Venturi, *arguments: str) -> list[dict[str, object]]:
    status, stdout, _ = venturi(*arguments, "--json")
    assert status == 0
    found: list[dict[str, object]] = json.loads(stdout)["data"]
    return found


def test_a_rule_is_added_listed_and_revoked(venturi: Venturi) -> None:
    status, stdout, stderr = venturi(
        "exclude", "add", "--where", "disk=SSD", "--where", "elapsed_s>105", "--reason", "odd"
    )
    assert (status, stdout) == (0, "")
    assert "3 trials are left out" in stderr
    (rule,) = data(venturi, "exclude", "ls")
    assert (rule["reason"], rule["trials"]) == ("odd", 3)
    user = pwd.getpwuid(os.geteuid()).pw_name
    by = {"name": user, "known_by": "login", "said": None, "text": user}
    assert rule["author"] == by
    assert rule["conditions"] == ["disk=SSD", "elapsed_s>105"]
    assert len(data(venturi, "ls")) == 9
    for words in (("ls",), ("rank", "--by", "disk"), ("ls", "--where", "elapsed_s>105")):
        assert (
            "3 trials are left out by rules (`venturi exclude ls` lists them)" in venturi(*words)[2]
        )
    assert "left out" not in venturi("ls", "--where", "disk=HDD")[2]
    id_ = str(rule["id"])
    assert id_ in venturi("exclude", "ls")[1]
    assert venturi("exclude", "revoke", id_, "--author", "bob")[0] == 0
    assert len(data(venturi, "ls")) == 12
    assert data(venturi, "exclude", "ls") == []
    (rule,) = data(venturi, "exclude", "ls", "--all")
    assert rule["revoked_by"] == {**by, "said": "bob", "text": f"{user} (says: bob)"}
    assert rule["trials"] == 3
    assert f"by {user} (says: bob): odd" in venturi("exclude", "ls", "--all")[1]
    status, _, stderr = venturi("exclude", "revoke", id_)
    assert (status, "VEN-EXCLUSION-REVOKED" in stderr) == (1, True)


def test_rankings_and_comparisons_leave_them_out(venturi: Venturi) -> None:
    keys = {str(row["group"]) for row in data(venturi, "ls")}
    venturi("exclude", "add", "--where", "id=t00", "--reason", "odd")
    status, stdout, stderr = venturi("compare", *sorted(keys), "--json")
    assert (status, "left out by exclusions: 1 trial\n" in stderr) == (0, True)
    assert sorted(g["summary"]["n"] for g in json.loads(stdout)["data"]["groups"]) == [5, 6]
    ranking = json.loads(venturi("rank", "--by", "disk", "--json")[1])["data"]["groups"]
    assert sorted(one["summaries"]["elapsed_s"]["n"] for one in ranking) == [5, 6]
    venturi("exclude", "add", "--where", "disk=HDD", "--reason", "all of them")
    status, _, stderr = venturi("compare", *sorted(keys))
    assert (status, "VEN-COMPARE-GROUPS" in stderr) == (1, True)
    assert "6 trials" in stderr


def test_a_comparison_is_of_the_trials_that_are_asked_for(venturi: Venturi) -> None:
    keys = sorted({str(row["group"]) for row in data(venturi, "ls")})
    answer = venturi("compare", *keys, "--where", "elapsed_s<106", "--json")[1]
    assert [group["summary"]["n"] for group in json.loads(answer)["data"]["groups"]] == [3, 3]
    status, _, stderr = venturi("compare", "t00", "t01", "--where", "disk=SSD")
    assert (status, "VEN-COMPARE-GROUPS" in stderr) == (1, True)
    assert "no trial of t00" in stderr
    status, _, stderr = venturi("compare", "t00", "t01", "--where", "disk=tape")
    assert (status, "VEN-QUERY-VALUE" in stderr) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ["--reason", "x"],
        ["--where", "a=1"],
        ["--where", "a", "--reason", "x"],
        ["--where", "a=1", "--where", "a=2", "--reason", "x"],
        ["--where", "a=1", "--reason", " "],
    ],
)
def test_what_is_no_rule_is_wrong_usage(venturi: Venturi, words: list[str]) -> None:
    status, stdout, _ = venturi("exclude", "add", *words)
    assert (status, stdout) == (2, "")
    assert data(venturi, "exclude", "ls", "--all") == []


def test_a_rule_that_covers_nothing_is_refused_or_said(venturi: Venturi) -> None:
    status, _, stderr = venturi("exclude", "add", "--where", "nokey=zzz", "--reason", "odd")
    assert (status, "nokey" in stderr) == (2, True)
    assert data(venturi, "exclude", "ls") == []
    status, _, stderr = venturi("exclude", "add", "--where", "disk=SDD", "--reason", "odd")
    assert status == 0
    assert "covers no trial so far" in stderr
    assert "did you mean SSD" in stderr
    status, _, stderr = venturi("exclude", "add", "--where", "id=t01", "--reason", "odd")
    assert "1 trial is left out" in stderr
