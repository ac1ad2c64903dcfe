"""Shells complete verbs, options and values; asking for verbs imports none of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from venturi.cli.completion import SHELLS
from venturi.cli.main import cli


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
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    assert done.stderr == ""
    assert sorted(done.stdout.split()) == sorted(offered)


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
