"""`venturi trace`: records a job's block I/O, and analyzes traces."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.html import PageFile, html_options
from venturi.cli.measure.measuring import find_agent
from venturi.cli.open_repository import open_repository
from venturi.cli.options import (
    DURATION,
    SIZE,
    SPECIAL,
    InputPath,
    is_special,
    json_option,
    print_json,
    quiet_option,
)
from venturi.cli.progress import progress_bars
from venturi.cli.screen import show as show_on_screen
from venturi.core.errors import UsageError, VenturiError
from venturi.core.units import binary_size, format_bytes_decimal, format_duration
from venturi.core.wording import percent
from venturi.record import io_trace
from venturi.record.job_account import has_tables, load

if TYPE_CHECKING:
    from venturi.measure.hosts.agent import AgentResult, OnProgress
    from venturi.measure.hosts.concurrent_commands import Outcome
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial

BY = ("class", "stage", "task", "process", "device", "host")
"""Keys by which requests can be summarized."""
MARKS = ("input", "output", "scratch")
"""Purposes that a folder's files can have."""
BUFFER_BYTES = range(1 << 12, (1 << 32) + 1)
"""Buffer sizes per CPU that the agent accepts."""
STDIN = "-"
"""The trace on standard input."""
RECORDING_BYTES = 1 << 36
"""Largest recording that is kept with a trial."""
output_option = click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for the recording; new or empty.",
)


@click.group()
def command() -> None:
    """Record and analyze a job's block I/O."""


@command.command("record")
@click.option(
    "--dir",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Record the disk of this folder; repeatable.",
)
@click.option(
    "--device",
    "devices",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DEVICE",
    help="Record this disk, such as /dev/sdb; repeatable.",
)
@click.option(
    "--mark",
    "marks",
    multiple=True,
    metavar="CLASS=DIR",
    help="Purpose of a folder's files: input, output or scratch; repeatable. Files of Spark and "
    "Hadoop are recognized by their names.",
)
@click.option(
    "--for",
    "lasts_s",
    type=DURATION,
    metavar="TIME",
    help="Duration, without COMMAND (default: until COMMAND ends, or Ctrl-C).",
)
@click.option(
    "--buffer",
    "buffer_bytes",
    type=SIZE,
    metavar="SIZE",
    help="Buffer per CPU (default: 16 MiB; at most 1/32 of memory for all).",
)
@output_option
@quiet_option
@json_option
@click.argument("words", metavar="[-- COMMAND...]", nargs=-1, type=click.UNPROCESSED)
def record(
    *,
    folders: tuple[Path, ...],
    devices: tuple[Path, ...],
    marks: tuple[str, ...],
    lasts_s: float | None,
    buffer_bytes: int | None,
    output: Path,
    words: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> None:
    """Record every disk request for a time, or while COMMAND runs.

    It needs root and the kernel's tracepoints (tracefs), which work even where blktrace is
    disabled. If tracefs is read-only, it uses perf from the PATH, and files have no names. Requests
    of all processes to these disks are recorded. Press Ctrl-C to end; the recording is kept.
    """
    if not folders and not devices:
        raise click.UsageError("which disks? Give --dir or --device")
    if words and lasts_s is not None:
        raise click.UsageError(
            "--for and a command: which of them is to end the recording? Leave out --for to record "
            "until the command has ended; or give --for alone, and start the command elsewhere"
        )
    if lasts_s is not None and lasts_s <= 0:
        raise click.UsageError("--for: give a time above 0")
    if buffer_bytes is not None and buffer_bytes not in BUFFER_BYTES:
        raise click.UsageError("--buffer: give one from 4KiB to 4GiB")
    if words and shutil.which(words[0]) is None:
        raise VenturiError(
            "VEN-TRACE-COMMAND",
            f"there is no program {words[0]}",
            where={"command": words[0]},
            hint="is it on PATH?",
        )
    from venturi.measure.hosts.agent import repeated

    options: list[object] = ["--output", output.absolute()]
    for option, paths in (("--dir", folders), ("--device", devices)):
        options += repeated(option, (path.absolute() for path in paths))
    options += repeated("--mark", map(_mark, marks))
    options += ["--for", lasts_s] if lasts_s is not None else []
    options += ["--buffer", buffer_bytes] if buffer_bytes is not None else []
    with progress_bars(enabled=not quiet and not as_json and not words) as on_progress:
        outcome, status = _record(options, words, on_progress)
    if isinstance(outcome, VenturiError):
        raise outcome
    if as_json:
        print_json(dict(outcome.data), tuple(each.message for each in outcome.warnings))
    else:
        _print_recording(outcome, output)
    if status != 0:
        raise VenturiError(
            "VEN-TRACE-COMMAND",
            f"{words[0]} ended with status {status}; what it did until then is recorded",
            where={"command": words[0], "status": status},
        )


def _mark(text: str) -> str:
    """Make the folder of a mark absolute: the agent has a different working directory."""
    what, equals, folder = text.partition("=")
    if not equals or what not in MARKS:
        raise click.UsageError(f"--mark {text}: give one of {', '.join(MARKS)} = a folder")
    return f"{what}={Path(folder).absolute()}"


def _print_recording(recorded: AgentResult, output: Path) -> None:
    """Print a summary of the recording, and how to read it."""
    from venturi.measure.hosts.trace_results import TraceRecording

    found = recorded.read(TraceRecording)
    lines = [
        f"{', '.join(found.disks)}: {found.events:,} events while it recorded for "
        f"{format_duration(found.elapsed_s)}, "
        f"{found.lost:,} lost; {format_bytes_decimal(found.bytes)} in {output}"
    ]
    if found.buffer_kib is not None and found.buffer_peak_kib is not None:
        lines.append(
            f"each CPU used at most {percent(found.buffer_peak_kib / found.buffer_kib)} of "
            f"its buffer of {binary_size(found.buffer_kib << 10)}"
        )
    is_any = found.events or found.lost
    then = f"read it: venturi trace show {output}" if is_any else "no requests to these disks"
    show_on_screen(*lines, then)
    _warn([(each.code, each.message) for each in recorded.warnings])


def _record(
    options: Sequence[object], words: Sequence[str], on_progress: OnProgress | None
) -> tuple[Outcome, int]:
    """Record, and return the outcome and the exit status of the command."""
    from venturi.measure.hosts.concurrent_commands import FollowedCommand

    begun = threading.Event()
    following = FollowedCommand(
        find_agent(),
        "trace",
        "record",
        *options,
        on_progress=on_progress,
        on_event=lambda _: begun.set(),
    )
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
    """Run a command to its end. Ctrl-C is forwarded to the command, which decides how to react."""
    with subprocess.Popen(words) as child:
        while True:
            with suppress(KeyboardInterrupt):
                return child.wait()


@command.command("show")
@click.argument("what", metavar="PATH|TRIAL")
@click.option(
    "--by",
    type=click.Choice(BY),
    help="Show only a summary of the requests by this (default: everything).",
)
@html_options()
@quiet_option
@json_option
def show(what: str, *, by: str | None, html: PageFile | None, quiet: bool, as_json: bool) -> None:
    """Show a trace: request sizes, latencies, seeks, runs and origin.

    PATH is a recording, a folder of blktrace files, one such file, or the output of `blkparse -d`.
    It can also be text by blkparse (default format), ftrace or perf script. `-` is standard input.
    Missing and damaged parts are reported. A TRIAL of `venturi run --trace` contains its trace;
    `last` is the trial that you recorded last.
    """
    from venturi.terminal.io_shares import share_tables
    from venturi.terminal.io_trace import parts, read

    with TemporaryDirectory(prefix="venturi-") as folder:
        heat = None if html is None else Path(folder) / io_trace.HEAT_NAME
        data, warnings = _found(what, heat, show_progress=not quiet and not as_json)
        if html is not None:
            from venturi.web.io.charts import trace_page

            title = f"Venturi trace of {_called(what)}"
            said = tuple(message for _, message in warnings)
            html.write("/trace", trace_page(title, read(data), heat, said))
    if as_json:
        print_json(data, tuple(message for _, message in warnings))
        return
    trace = read(data)
    show_on_screen(*(parts(trace) if by is None else share_tables(trace, by)))
    _warn(warnings)


@command.command("convert")
@click.argument("path", metavar="PATH", type=InputPath(allow_dash=True))
@output_option
@quiet_option
@json_option
def convert(*, path: Path, output: Path, quiet: bool, as_json: bool) -> None:
    """Convert a trace by blktrace, blkparse, ftrace or perf into a recording.

    PATH is the same as for `trace show`. The recording is one folder, sorted by time, without
    events that no analysis needs. Missing and damaged parts are reported, now and whenever you read
    the recording.
    """
    from venturi.measure.hosts.trace_results import TraceConversion

    with progress_bars(enabled=not quiet and not as_json) as on_progress:
        result = find_agent().run(
            "trace",
            "convert",
            _place(str(path)),
            "--output",
            output.absolute(),
            on_progress=on_progress,
        )
    if as_json:
        print_json(dict(result.data), tuple(each.message for each in result.warnings))
        return
    found = result.read(TraceConversion)
    show_on_screen(
        f"{found.events:,} events of {found.records:,} records; "
        f"{format_bytes_decimal(found.bytes)} in {output}",
        f"read it: venturi trace show {output}",
    )
    _warn([(each.code, each.message) for each in result.warnings])


@command.command("compare")
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@quiet_option
@json_option
def compare(before: str, after: str, *, quiet: bool, as_json: bool) -> None:
    """Compare two traces, pattern by pattern.

    Each is a path or a trial, as for `trace show`.
    """
    both = [_found(each, None, show_progress=not quiet and not as_json) for each in (before, after)]
    (one, first), (other, second) = both
    said = [
        (code, f"{name}: {message}")
        for name, warned in (("before", first), ("after", second))
        for code, message in warned
    ]
    if as_json:
        print_json({"before": one, "after": other}, tuple(message for _, message in said))
        return
    from venturi.terminal.io_compare import parts
    from venturi.terminal.io_trace import read

    show_on_screen(*parts(read(one), read(other)))
    _warn(said)


Warned = list[tuple[str, str]]


def _warn(warnings: Warned) -> None:
    for code, message in warnings:
        click.echo(f"warning[{code}]: {message}", err=True)


def _found(what: str, heat: Path | None, *, show_progress: bool) -> tuple[dict[str, Any], Warned]:
    """The trace at a path, or of a trial, with codes and texts of its warnings. The cells of its
    charts, if any, are written to `heat`.
    """
    place = _place(what)
    if not place.exists():
        return _of_trial(what, heat)
    if what != STDIN and is_special(place):
        raise UsageError(
            "VEN-TRACE-READ",
            f"{what} is {SPECIAL}",
            where={"path": what},
            hint="write its content to a file first; `-` reads standard input",
        )
    options = [] if heat is None else ["--heat", heat]
    with progress_bars(enabled=show_progress) as on_progress:
        result = find_agent().run("trace", "analyze", place, *options, on_progress=on_progress)
    said = [(each.code, each.message) for each in result.warnings]
    if what == STDIN:
        said = [(code, message.replace(str(place), _called(what))) for code, message in said]
    return result.data["trace"], said


def _called(what: str) -> str:
    return "standard input" if what == STDIN else what


def _place(what: str) -> Path:
    """The agent's path to the trace: it has a different standard input."""
    return Path(f"/proc/{os.getpid()}/fd/0") if what == STDIN else Path(what).absolute()


def _of_trial(name: str, heat: Path | None) -> tuple[dict[str, Any], Warned]:
    """The trace of a trial, as from `_found`."""
    with open_repository() as repository:
        try:
            trial = repository.get(name)
        except VenturiError as error:
            if error.code != "VEN-RECORD-UNKNOWN":
                raise
            raise VenturiError(
                "VEN-TRACE-READ",
                f"{name} is neither a file or folder nor a trial",
                where={"path": name},
                hint="venturi ls lists the trials",
            ) from error
        data = io_trace.load(repository, trial)
        if heat is not None:
            _cells_of(repository, trial, heat)
    told = [(each.code, each.message) for each in trial.warnings]
    return data, [each for each in told if each[0].startswith("VEN-TRACE-")]


def _cells_of(repository: TrialRepository, trial: Trial, heat: Path) -> None:
    """Write the cells of the charts of `trial` to `heat`: its stored cells, else made from its
    recording.
    """
    kept = {each.name: each for each in trial.artifacts}
    if (cells := kept.get(io_trace.HEAT_NAME)) is not None:
        shutil.copyfile(repository.artifact_path(cells), heat)
    elif (recording := kept.get(io_trace.RECORDING_NAME)) is not None:
        _read_again(repository, trial, repository.artifact_path(recording), heat)


def _read_again(repository: TrialRepository, trial: Trial, recording: Path, heat: Path) -> None:
    """Analyze a stored recording by the stages of its job, for the cells of its charts."""
    from venturi.measure.trial.tracing import stages_of

    stages = stages_of(load(repository, trial)) if has_tables(trial) else ()
    with TemporaryDirectory(prefix="venturi-") as folder:
        told = Path(folder) / "stages.json"
        told.write_text(json.dumps([asdict(each) for each in stages]))
        try:
            with tarfile.open(recording) as packed:
                if sum(each.size for each in packed) > RECORDING_BYTES:
                    raise ValueError(f"it has more than {RECORDING_BYTES:,} bytes")
                packed.extractall(folder, filter="data")
        except (tarfile.TarError, EOFError, ValueError) as error:
            raise VenturiError(
                "VEN-RECORD-ARTIFACT",
                f"the recording of trial {trial.id} is damaged: {error}",
                where={"trial": trial.id, "file": recording.name},
                hint="run `venturi repository check`, which checks all artifacts",
            ) from error
        options = ("--stages", told, "--heat", heat)
        find_agent().run("trace", "analyze", Path(folder) / "trace", *options)
