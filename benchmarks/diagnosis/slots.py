"""`python -m benchmarks.diagnosis.slots`: predicted and measured times with other numbers of slots.

The programs in one process run with one slot and with two, on a machine with the same number of
cores; with `--bound` the cores are limited to that number, as on a different machine, and driver
and tasks share them. From each log the time with the other number is predicted by replay and
compared with the measurement. The input has the same partitions both times, as files would: a
replay keeps the recorded tasks. Figures are medians of `--repeats`, run in turn. `--page` writes
the table into docs/studies/diagnosis.md: programs can be run in parts, and the rows of the others
stay.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import click

from benchmarks.diagnosis.program import FAULTY, FIXED, LOCAL, files, load
from benchmarks.diagnosis.runs import LOGS, DiagnosedLog, Programs
from benchmarks.into_page import write_table
from venturi.jobs.whatif.outlook import outlooks

CORES = (1, 2)
# Partitions of generated input: by default as many as cores.
PARTITIONS = {"spark.default.parallelism": "4"}
HEAD = (
    "| program | recorded on | measured there | on | predicted | measured | error | by others |",
    "|---|--:|--:|--:|--:|--:|--:|--:|",
)
NAMES = tuple(name for name in files() if load(name).master == LOCAL)


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True)
@click.option("--bound", is_flag=True, help="To as many cores as there are slots.")
@click.option("--faulty", is_flag=True, help="The programs with their fault.")
@click.option("--logs", type=click.Path(path_type=Path), default=LOGS, help="For their input.")
@click.option("--page", type=click.Path(path_type=Path, exists=True), help="Write the table there.")
def main(
    names: tuple[str, ...],
    repeats: int,
    logs: Path,
    page: Path | None,
    *,
    bound: bool,
    faulty: bool,
) -> None:
    """Run all programs, or those named, and print how far predictions are from measurements."""
    click.echo("\n".join(HEAD))
    errors = []
    programs = Programs(logs)
    for name in names or NAMES:
        runs: dict[int, list[DiagnosedLog]] = {cores: [] for cores in CORES}
        for _ in range(repeats):
            for cores, found in runs.items():
                chosen = {"spark.master": f"local[{cores},4]", **PARTITIONS}
                variant = FAULTY if faulty else FIXED
                found.append(programs.measured(name, variant, chosen, cores if bound else None))
        measured_s = {cores: median(each.elapsed_s for each in runs[cores]) for cores in CORES}
        rows = []
        for here, there in (CORES, CORES[::-1]):
            foretold_s = median(_predicted_s(each, there) for each in runs[here])
            error = foretold_s / measured_s[there] - 1
            errors.append(abs(error))
            others = median(each.others for cores in CORES for each in runs[cores])
            rows.append(
                f"| {name} | {here} | {measured_s[here]:.1f} s | {there} | {foretold_s:.1f} s "
                f"| {measured_s[there]:.1f} s | {error:+.0%} | {others:.0%} |"
            )
            click.echo(rows[-1])
        if page is not None:
            write_table(page, "cores" if bound else "slots", HEAD, rows)
    click.echo(f"\nmedian error {median(errors):.0%}, largest {max(errors):.0%}")


def _predicted_s(looked: DiagnosedLog, slots: int) -> float:
    found = outlooks(looked.line)
    (time_s,) = (each.time_s for each in found.found if each.slots == slots)
    return time_s


if __name__ == "__main__":
    main()
