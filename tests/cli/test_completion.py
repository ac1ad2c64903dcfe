"""Shells complete verbs, options and values; asking for verbs imports none of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from venturi.cli.completion import SHELLS, complete_condition
from venturi.cli.main import cli


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path))


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_its_script(shell: str) -> None:
    done = CliRunner().invoke(cli, ["completion", shell], prog_name="venturi")
    assert done.exit_code == 0, done.output
    assert f"_VENTURI_COMPLETE={shell}_complete" in done.stdout


def test_another_shell_is_a_usage_error() -> None:
    done = CliRunner().invoke(cli, ["completion", "cmd"])
    assert done.exit_code == 2
    assert "fish" in done.stderr


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (["qui"], ["quickstart"]),
        (["ra"], ["rank"]),
        (["re"], ["remove", "report", "repository", "restore"]),
        (["completion", "z"], ["zsh"]),
        (["sort", "--ver"], ["--verify"]),
        (["advise", "h"], ["hardware"]),
        (["advise", "--dead"], ["--deadline"]),
        (["advise", "--sort", "1TB", "--dead"], ["--deadline"]),
        (["advise", "hardware", "--dead"], ["--deadline"]),
    ],
)
def test_bash_offers_what_fits(typed: list[str], offered: list[str]) -> None:
    """Bash itself, with the script that the verb writes."""
    words = " ".join(["venturi", *typed])
    script = (
        'source /dev/stdin <<< "$(venturi completion bash)" && '
        f"COMP_WORDS=({words}) COMP_CWORD={len(typed)} && "
        '_venturi_completion venturi && printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert sorted(run_bash(script)) == sorted(offered)


def run_bash(script: str) -> list[str]:
    """The words that `script` prints."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("plat", ["platform="]),
        ("platform=2", ["platform=2 VMs per host"]),
        ("platform!=bare", ["platform!=bare metal"]),
        ("engine=s", ["engine=spark"]),
        ("no_such_key=", []),
    ],
)
@pytest.mark.usefixtures("own_home")
def test_conditions_are_completed_from_the_repository(typed: str, offered: list[str]) -> None:
    assert CliRunner().invoke(cli, ["import", "published"]).exit_code == 0
    assert [item.value for item in complete_condition(typed)] == offered


@pytest.mark.usefixtures("own_home")
def test_bash_completes_the_value_of_a_condition() -> None:
    """Bash would split the word at "=" without the script's own setting."""
    assert CliRunner().invoke(cli, ["import", "published"]).exit_code == 0
    script = (
        'source /dev/stdin <<< "$(venturi completion bash)" && [[ $COMP_WORDBREAKS != *=* ]] && '
        "COMP_WORDS=(venturi rank --where engine=s) COMP_CWORD=3 && "
        '_venturi_completion venturi && printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert run_bash(script) == ["engine=spark"]


def test_a_missing_repository_completes_nothing_and_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path / "none"))
    assert complete_condition("disk") == []
    assert not (tmp_path / "none").exists()


def test_verbs_are_offered_without_importing_them() -> None:
    program = (
        "import sys, atexit; from venturi.cli.main import main; sys.argv[0] = 'venturi'; "
        "atexit.register(lambda: print(*(m for m in sys.modules if 'venturi.cli.' in m))); main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "_VENTURI_COMPLETE": "bash_complete",
            "COMP_WORDS": "venturi q",
            "COMP_CWORD": "1",
        },
    )
    *offered, imported = done.stdout.splitlines()
    assert offered == ["plain,quickstart"]
    assert imported == "venturi.cli.main"
