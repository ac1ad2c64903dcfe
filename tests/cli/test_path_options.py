"""Paths that a user names: a named pipe, socket, device or endless file is an error, not a hang."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from command_line import AGENT, started
from venturi.cli.main import cli
from venturi.cli.options import InputPath

DEADLINE_S = 30.0  # the machine may be busy; without the check it never ends
# Options that name a file to write, a folder, or a device to record.
NOT_READ = {"output", "html", "summary_out", "dir", "dirs", "folder", "folders", "devices", "junit"}


def parameters() -> Iterator[tuple[str, click.Parameter]]:
    """The path parameters of all verbs."""

    def below(name: str, command: click.Command) -> Iterator[tuple[str, click.Parameter]]:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for each in command.list_commands(context):
                found = command.get_command(context, each)
                assert found is not None
                yield from below(f"{name} {each}", found)
        for parameter in command.params:
            if isinstance(parameter.type, click.Path):
                yield f"{name} {parameter.name}", parameter

    return below("", cli)


def test_each_path_to_read_refuses_special_files() -> None:
    found = list(parameters())
    assert len(found) > 20
    for name, parameter in found:
        kind = parameter.type
        assert isinstance(kind, click.Path)
        folder_only = not kind.file_okay
        written = parameter.name in NOT_READ or name == " backup file"
        assert isinstance(kind, InputPath) or folder_only or written, name


@pytest.fixture(params=["pipe", "socket", "device", "endless"])
def special(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "special"
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    elif request.param == "device":
        return Path("/dev/zero")
    else:
        path.touch(0o600)
        os.truncate(path, 10 << 30)
    return path


@pytest.mark.parametrize(
    "words",
    [
        "advise hardware --job FILE",
        "cluster check FILE",
        "compare --baseline commit=a --limits FILE",
        "doctor --facts FILE",
        "import FILE",
        "lab up FILE",
        "plan start FILE",
        "predict --job FILE --on i4i.4xlarge:4",
        "push http://127.0.0.1:9 --all --token-file FILE",
        "restore FILE",
        "trace show FILE",
    ],
)
def test_a_special_file_is_an_error(words: str, special: Path, tmp_path: Path) -> None:
    arguments = [str(special) if each == "FILE" else each for each in words.split()]
    with started(*arguments, home=tmp_path / "home", VENTURI_AGENT=str(AGENT)) as process:
        stdout, stderr = process.communicate(timeout=DEADLINE_S)
    assert process.returncode in {1, 2}, (stdout, stderr)
    assert "Traceback" not in stderr
