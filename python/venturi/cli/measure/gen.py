"""`venturi gen`: sort-benchmark records, compatible with gensort."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from venturi.cli.measure.measuring import find_agent
from venturi.cli.options import BYTES, json_option, print_json, quiet_option
from venturi.cli.outputs import ready_file, ready_folder
from venturi.cli.progress import progress_bars
from venturi.core import units
from venturi.core.errors import Interrupted

if TYPE_CHECKING:
    from venturi.measure.hosts.agent_results import GenResult

RECORD_BYTES = 100


@click.command()
@click.argument("output", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--count", type=click.IntRange(0, 2**64), help="Number of 100-byte records.")
@click.option(
    "--bytes", "size_bytes", type=BYTES, help="Size of the output instead of --count: 4GiB, 1GB."
)
@click.option(
    "--start", type=click.IntRange(0, 2**64), default=0, help="Number of the first record."
)
@click.option("--ascii", "as_text", is_flag=True, help="Generate printable records.")
@click.option("--skew", is_flag=True, help="Generate skewed keys.")
@click.option("--threads", type=click.IntRange(1), help="Threads (default: one per core).")
@click.option("--checksum", is_flag=True, help="Also print the checksum that `validate` prints.")
@click.option("--overwrite", is_flag=True, help="Replace OUTPUT if it exists.")
@quiet_option
@json_option
def command(
    output: Path,
    count: int | None,
    size_bytes: int | None,
    start: int,
    threads: int | None,
    *,
    as_text: bool,
    skew: bool,
    checksum: bool,
    overwrite: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Generate sort-benchmark records, as gensort does.

    OUTPUT is bit-compatible with gensort 1.5. Give either --count or --bytes.
    """
    if (count is None) == (size_bytes is None):
        raise click.UsageError("give either --count or --bytes")
    if count is None:
        assert size_bytes is not None
        if size_bytes % RECORD_BYTES:
            raise click.UsageError(
                f"--bytes {size_bytes} is not a multiple of {RECORD_BYTES}, the size of a record"
            )
        count = size_bytes // RECORD_BYTES
    ready_file(output, overwrite=overwrite)
    ready_folder(output.absolute().parent)
    arguments: list[object] = ["--count", count, "--start", start, "--output", output]
    if threads is not None:
        arguments += ["--threads", threads]
    flags = {
        "--ascii": as_text,
        "--skew": skew,
        "--checksum": checksum,
        "--overwrite": overwrite,
    }
    arguments += [flag for flag, wanted in flags.items() if wanted]
    try:
        with progress_bars(enabled=not quiet and not as_json) as on_progress:
            result = find_agent().run("gen", *arguments, on_progress=on_progress)
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted(f"interrupted: nothing was written to {output}") from None
    if as_json:
        print_json(dict(result.data), tuple(w.message for w in result.warnings))
        return
    from venturi.measure.hosts.agent_results import GenResult

    _print(result.read(GenResult), output)


def _print(made: GenResult, output: Path) -> None:
    rate = made.bytes / made.elapsed_s if made.elapsed_s > 0 else None
    click.echo(
        f"{output}: {made.records:,} records, {units.format_bytes_decimal(made.bytes)} in "
        f"{units.format_duration(made.elapsed_s)} ({units.format_rate(rate)})"
    )
    if made.checksum is not None:
        click.echo(f"checksum {made.checksum}")
