"""Collects and runs the commands of a Markdown page, in order, in one folder, as a reader would.

What is collected are fenced blocks:

- `sh`: a command a line; `\\` goes on with the next line.
- `console`: commands after `$ `, and between them what they print. Every word that is shown must be
  printed; `...` stands for words or letters left out, and the layout does not matter. After the
  comment `<!-- figures vary -->` words with digits are not compared.
- with `title="NAME"`: a file of that name.

A block that begins with `# Not run by the tests: REASON.` is only parsed: its verbs and options
must exist. So is one that begins with `# As root.` where that is not so, or a lab cannot be made.
`# exit status N` after a command allows that status as well as 0.
"""

from __future__ import annotations

import contextlib
import functools
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click

from command_line import AGENT, started, venturi
from venturi.cli.main import cli
from venturi.measure.lab.machine import lacks

_FENCE = re.compile(
    r"^(?P<vary><!-- figures vary -->\n)?```(?P<kind>\w*)(?P<info>[^\n]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_TITLE = re.compile(r'title="([^"]+)"')
_NOT_RUN = re.compile(r"# Not run by the tests: (\S.*\.)$", re.MULTILINE)
_STATUS = re.compile(r"# exit status (\d+)")


_lacks = functools.partial(lacks, disks=True, throttle=True, groups=True)


@dataclass(frozen=True)
class Block:
    """A fenced block: what it is, its text, and the line of the page that it begins on."""

    kind: str
    text: str
    line: int
    title: str | None
    vary: bool

    @property
    def not_run(self) -> str | None:
        """Why its commands are not run, as a reader sees it; None: they are."""
        if self.text.startswith("# As root.\n") and any(_lacks()):
            return "a lab cannot be created here"
        found = _NOT_RUN.match(self.text)
        return found[1] if found else None


@dataclass(frozen=True)
class Step:
    """One command, and the words that it is said to print."""

    command: str
    line: int
    shown: tuple[str, ...] = ()


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of `page`."""
    for found in _FENCE.finditer(page):
        title = _TITLE.search(found["info"])
        line = page.count("\n", 0, found.start("kind")) + 1
        yield Block(
            found["kind"], found["text"], line, title[1] if title else None, bool(found["vary"])
        )


def steps(block: Block) -> Iterator[Step]:
    """The commands of a block of kind `sh` or `console`."""
    step: Step | None = None
    goes_on = False
    for number, text in enumerate(block.text.splitlines(), block.line + 1):
        begins = block.kind == "sh" or text.startswith("$ ")
        if goes_on and step:
            step = replace(step, command=f"{step.command}\n{text}")
        elif begins and text.removeprefix("$ ").strip():
            if step:
                yield step
            step = Step(text.removeprefix("$ "), number)
        elif step:
            words = [each for each in text.split() if each != "..."]
            if block.vary:
                words = [each for each in words if not re.search(r"\d", each)]
            step = replace(step, shown=(*step.shown, *words))
            continue
        goes_on = text.endswith("\\")
    if step:
        yield step


def arguments(command: str) -> list[str] | None:
    """The arguments of `venturi` in `command`; None if it is another program's."""
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    return words[1:] if words[:1] == ["venturi"] else None


def parse(words: list[str]) -> None:
    """Raises click.UsageError if there is no such verb or option; no value is looked at."""
    command: click.Command = cli
    context = click.Context(cli, info_name="venturi")
    while isinstance(command, click.Group):
        if not words and command.invoke_without_command:
            return
        values, rest, _ = command.make_parser(context).parse_args(list(words))
        if "help" in values:
            return
        name, member, words = command.resolve_command(context, rest)
        assert member is not None, name
        context = click.Context(member, parent=context, info_name=name)
        command = member
    command.make_parser(context).parse_args(list(words))


def check_parses(command: str) -> None:
    """Fails if `command` is one of Venturi's that has no such verb or option."""
    words = arguments(command)
    if words is not None:
        parse(words)


def run(command: str, folder: Path) -> tuple[int, str]:
    """Exit status of `command` in `folder` and all that it printed; Venturi's in this process, with
    its repository next to `folder`.
    """
    words = arguments(command)
    if words is not None and words[:2] == ["lab", "exec"]:  # it becomes the command
        process = started(*words, home=folder.parent / "home")
        out, err = process.communicate(timeout=60)
        return process.returncode, out + err
    if words is None:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    else:
        with contextlib.chdir(folder):
            done = venturi(*words, home=folder.parent / "home", VENTURI_AGENT=str(AGENT))
    return done.returncode, done.stdout + done.stderr


def check(step: Step, folder: Path) -> None:
    """Runs a command of a page; fails if its status or its output is not as the page says."""
    status, printed = run(step.command, folder)
    allowed = {0, *(int(each) for each in _STATUS.findall(step.command))}
    assert status in allowed, f"line {step.line}: {step.command}: exit status {status}\n{printed}"
    said = set(printed.split())
    missing = [word for word in step.shown if word not in said and not _like(word, said)]
    assert not missing, f"line {step.line}: {step.command}: does not print {missing}:\n{printed}"


def _like(word: str, said: set[str]) -> bool:
    """Whether `word`, in which `...` stands for anything, is among the printed words."""
    pattern = ".*".join(map(re.escape, word.split("...")))
    return "..." in word and any(re.fullmatch(pattern, each) for each in said)
