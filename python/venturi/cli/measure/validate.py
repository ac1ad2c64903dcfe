"""`venturi validate`: order, count, checksum and duplicates, compatible with valsort."""

from __future__ import annotations

from pathlib import Path

import click

from venturi.cli.measure.measuring import find_agent
from venturi.cli.options import (
    InputPath,
    json_option,
    key_bytes_option,
    print_json,
    quiet_option,
    record_bytes_option,
)
from venturi.cli.outputs import ready_folder
from venturi.cli.progress import progress_bars
from venturi.core import units
from venturi.core.errors import ExitCode, VenturiError


@click.command()
@click.argument("inputs", nargs=-1, required=True, type=InputPath())
@record_bytes_option
@key_bytes_option
@click.option(
    "--format",
    "format_",
    type=click.Choice(("fixed", "kv")),
    default="fixed",
    show_default=True,
    help="Records of fixed length, or length-prefixed pairs.",
)
@click.option(
    "--threads", type=click.IntRange(1), help="Number of threads (default: one per core)."
)
@click.option(
    "--summary-out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a summary as valsort does.",
)
@click.option("--summaries", is_flag=True, help="Treat INPUTS as summaries of one output.")
@quiet_option
@json_option
def command(
    inputs: tuple[Path, ...],
    record_bytes: int,
    key_bytes: int,
    *,
    format_: str,
    threads: int | None,
    summary_out: Path | None,
    summaries: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Check that files are sorted, as valsort does.

    INPUTS are checked in the order given, as one sequence. Exits with 3 if they are not in order.
    """
    from venturi.measure.hosts.agent import repeated

    framing = ("--format", format_, "--record-bytes", record_bytes, "--key-bytes", key_bytes)
    arguments = [*repeated("--input", inputs), *framing]
    if threads is not None:
        arguments += ["--threads", threads]
    if summary_out is not None:
        ready_folder(summary_out.absolute().parent)
        arguments += ["--summary-out", summary_out]
    if summaries:
        arguments.append("--summaries")
    with progress_bars(enabled=not quiet and not as_json) as on_progress:
        result = find_agent().run("validate", *arguments, on_progress=on_progress)
    from venturi.measure.hosts.agent_results import ValidateResult

    seen = result.read(ValidateResult)
    if not seen.records:
        raise VenturiError(
            "VEN-MEASURE-INPUT",
            "there is no record to validate",
            where={"inputs": ", ".join(map(str, inputs))},
            hint="the file is empty: check that it was written, and that it is the one you mean",
        )
    if as_json:
        print_json(dict(result.data), tuple(w.message for w in result.warnings))
    else:
        rate = seen.bytes / seen.elapsed_s if seen.elapsed_s > 0 and seen.bytes else None
        click.echo(f"records         {seen.records:,}")
        click.echo(f"checksum        {seen.checksum}")
        click.echo(f"duplicate keys  {seen.duplicate_keys:,}")
        took = (
            ""
            if summaries
            else (f" in {units.format_duration(seen.elapsed_s)} ({units.format_rate(rate)})")
        )
        click.echo(
            f"{'described' if summaries else 'read':<16}"
            f"{units.format_bytes_decimal(seen.bytes)}{took}"
        )
        if seen.ordered:
            click.echo("all records are in order")
        else:
            click.echo(
                f"NOT IN ORDER: {seen.unordered_records:,} records, first {seen.first_unordered:,}"
            )
    return ExitCode.OK if seen.ordered else ExitCode.INVALID
