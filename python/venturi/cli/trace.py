"""`venturi trace`: what a job does to its disks: its block I/O is recorded, and traces are read."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from venturi.cli.measuring import find_agent
from venturi.cli.options import DURATION, SIZE, json_option, print_json, quiet_option
from venturi.cli.progress import progress_bars
from venturi.cli.screen import show as show_on_screen
from venturi.errors import VenturiError
from venturi.units import format_bytes_decimal, format_duration

if TYPE_CHECKING:
    from venturi.measure.hosts.agent import AgentResult, OnProgress
    from venturi.measure.hosts.at_once import Outcome


@click.group()
def command() -> None:
    """What a job does to its disks: record its block I/O, read traces of it."""


@command.command("record")
@click.option("--dir", "folders", multiple=True, type=click.Path(path_type=Path), metavar="DIR",
              help="A folder whose disk is recorded; may be given again.")  # fmt: skip
@click.option("--device", "devices", multiple=True, type=click.Path(path_type=Path),
              metavar="DEVICE",
              help="A disk that is recorded, such as /dev/sdb; may be given again.")  # fmt: skip
@click.option("--for", "lasts_s", type=DURATION, metavar="TIME",
              help="For how long (default: until COMMAND has ended, or Ctrl-C).")  # fmt: skip
@click.option("--buffer", "buffer_bytes", type=SIZE, metavar="SIZE",
              help="What each processor may hold back (default: 16 MiB, at most 1/32 of the "
              "memory for all).")  # fmt: skip
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FOLDER",
              help="Where the recording is put: a new folder, or an empty one.")  # fmt: skip
@quiet_option
@json_option
@click.argument("words", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def record(
    *,
    folders: tuple[Path, ...],
    devices: tuple[Path, ...],
    lasts_s: float | None,
    buffer_bytes: int | None,
    output: Path,
    words: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> None:
    """Record every request to the disks of folders, for a time or while COMMAND runs.

    It takes root, and the kernel's tracepoints (tracefs), which work where blktrace is locked out.
    Everybody's requests to these disks are recorded. Ctrl-C ends it; what was recorded is kept.
    """
    if not folders and not devices:
        raise click.UsageError("which disks? Give --dir or --device")
    if words and lasts_s is not None:
        raise click.UsageError("--for and a command: which of them is to end the recording?")
    if words and shutil.which(words[0]) is None:
        raise VenturiError(
            "VEN-TRACE-COMMAND",
            f"there is no program {words[0]}",
            where={"command": words[0]},
            hint="is it on PATH?",
        )
    options: list[object] = ["--output", output.absolute()]
    for option, paths in (("--dir", folders), ("--device", devices)):
        options += [word for path in paths for word in (option, path.absolute())]
    options += ["--for", lasts_s] if lasts_s is not None else []
    options += ["--buffer", buffer_bytes] if buffer_bytes is not None else []
    with progress_bars(enabled=not quiet and not as_json and not words) as on_progress:
        outcome, status = _record(options, words, on_progress)
    if isinstance(outcome, VenturiError):
        raise outcome
    if as_json:
        print_json(dict(outcome.data), tuple(each.message for each in outcome.warnings))
    else:
        _tell(outcome, output)
    if status != 0:
        raise VenturiError(
            "VEN-TRACE-COMMAND",
            f"{words[0]} ended with status {status}; what it did until then is recorded",
            where={"command": words[0], "status": status},
        )


def _tell(recorded: AgentResult, output: Path) -> None:
    """Says what was recorded, and how to read it."""
    from venturi.measure.hosts.agent_results import TraceRecorded

    found = recorded.read(TraceRecorded)
    show_on_screen(
        f"{', '.join(found.disks)}: {found.events:,} events in {format_duration(found.elapsed_s)}, "
        f"{found.lost:,} lost; {format_bytes_decimal(found.bytes)} in {output}",
        f"read it: venturi trace show {output}",
    )
    for warning in recorded.warnings:
        click.echo(f"warning[{warning.code}]: {warning.message}", err=True)


def _record(
    options: Sequence[object], words: Sequence[str], on_progress: OnProgress | None
) -> tuple[Outcome, int]:
    """What came of the recording, and the exit status of the command."""
    from venturi.measure.hosts.at_once import Following

    begun = threading.Event()
    following = Following(
        find_agent(), "trace", "record", *options,
        on_progress=on_progress, on_event=lambda _: begun.set(),
    )  # fmt: skip
    status = 0
    try:
        while following.outcome is None and not begun.wait(0.05):
            pass
        if words and following.outcome is None:
            status = _run(words)
            following.end()
        return following.wait(), status
    except KeyboardInterrupt:
        following.end()
        return following.wait(), status
    except BaseException:
        following.stop()
        raise


def _run(words: Sequence[str]) -> int:
    """Runs a command to its end. Ctrl-C reaches it, too; what comes of that is its affair."""
    with subprocess.Popen(words) as child:
        while True:
            with suppress(KeyboardInterrupt):
                return child.wait()


@command.command("show")
@click.argument("path", type=click.Path(path_type=Path))
@quiet_option
@json_option
def show(path: Path, *, quiet: bool, as_json: bool) -> None:
    """Show sizes, latencies, seeks and runs of the requests in PATH.

    PATH is the folder of a recording or with blktrace's files, one such file, what `blkparse -d`
    wrote, or text by blkparse in its default format, ftrace or perf script. What is missing or
    damaged in it is told.
    """
    with progress_bars(enabled=not quiet and not as_json) as on_progress:
        result = find_agent().run("trace", "analyze", path.absolute(), on_progress=on_progress)
    if as_json:
        print_json(result.data["trace"], tuple(each.message for each in result.warnings))
        return
    from venturi.measure.hosts.agent_results import TraceAnalyzed
    from venturi.present.io_trace import parts

    show_on_screen(*parts(result.read(TraceAnalyzed).trace))
    for warning in result.warnings:
        click.echo(f"warning[{warning.code}]: {warning.message}", err=True)
