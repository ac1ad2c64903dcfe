"""`python -m benchmarks.diagnosis`: ten Spark programs, each with and without a planted fault.

Each runs in its own process, and Venturi's first finding in its log is compared with the planted
fault; without a fault, no finding may exceed a tenth of the time. Then the advice is followed: with
the settings of the first finding or, where the program has to change, with the program without the
fault. The time saved is compared with the predicted one. All run in turn, `--repeats` times;
figures are medians. `--keep` writes the first logs, trimmed, in the form of `tests/data/spark`;
`--page` writes the table of this version of Spark into docs/studies/diagnosis.md. Programs can be
run in parts: the rows of the others stay.

The version is that of the imported pyspark. For a different one, `pip install --target FOLDER
pyspark==VERSION`, and then `PYTHONPATH=FOLDER python -m benchmarks.diagnosis`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import click
import pyspark

from benchmarks.diagnosis.programs import PROGRAMS
from benchmarks.diagnosis.runs import DiagnosedLog, looked_at
from benchmarks.into_page import write_table

KINDS = ("faulty", "sound")
MOST = 0.1  # of the time, where nothing was planted
LEAST = 0.5  # of the predicted saving
HEAD = (
    "| program | | elapsed | by others | without a cause | waiting | queued | first finding "
    "| promised | saved | right |",
    "|---|---|--:|--:|--:|--:|--:|---|--:|--:|---|",
)


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(tuple(PROGRAMS)))
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True)
@click.option("--keep", type=click.Path(path_type=Path), help="A folder for the trimmed logs.")
@click.option("--page", type=click.Path(path_type=Path, exists=True), help="Write the table there.")
def main(names: tuple[str, ...], repeats: int, keep: Path | None, page: Path | None) -> None:
    """Runs the programs, or those named, and prints what was found; status 1 if it is wrong."""
    click.echo("\n".join(HEAD))
    wrong = False
    for name in names or PROGRAMS:
        rows = []
        for row, right in _program(name, repeats, keep):
            click.echo(row)
            rows.append(row)
            wrong |= not right
        if page is not None:
            write_table(page, f"faults, Spark {pyspark.__version__}", HEAD, rows)
    sys.exit(wrong)


def _program(name: str, repeats: int, keep: Path | None) -> Iterator[tuple[str, bool]]:
    """Run a program in all ways; return a row for each, and whether the results are as expected."""
    faulty: list[DiagnosedLog] = []
    sound: list[DiagnosedLog] = []
    mended: list[DiagnosedLog] = []
    for n in range(repeats):
        for kind, found in zip(KINDS, (faulty, sound), strict=True):
            log = None if keep is None or n else keep / f"{name}-{kind}.zstd"
            found.append(looked_at(name, kind, keep=log))
        first = next(iter(faulty[0].diagnosis.findings), None)
        if first is not None and first.settings:
            mended.append(looked_at(name, "faulty", first.settings))
    before_s, after_s = (median(each.elapsed_s for each in of) for of in (faulty, mended or sound))
    promised_s = median(
        each.diagnosis.findings[0].saves_s if each.diagnosis.findings else 0.0 for each in faulty
    )
    saved_s = before_s - after_s
    planted = all(_first(each) == PROGRAMS[name].finding for each in faulty)
    kept = planted and saved_s >= LEAST * promised_s > 0
    clean = all(each.share <= MOST for of in sound for each in of.diagnosis.findings)
    yield _row(name, "faulty", faulty, (f"{promised_s:.1f} s", f"{saved_s:.1f} s"), kept), kept
    yield _row(name, "sound", sound, ("-", "-"), clean), clean
    if mended:
        yield _row(name, "settings made", mended, ("-", "-"), None), True


def _first(looked: DiagnosedLog) -> str:
    return next((each.rule for each in looked.diagnosis.findings), "none")


def _row(
    name: str, kind: str, found: Sequence[DiagnosedLog], saved: tuple[str, str], right: bool | None
) -> str:
    elapsed_s, *shares = (
        median(getattr(each, what) for each in found)
        for what in ("elapsed_s", "others", "without_cause", "waiting")
    )
    queued = [each.queued for each in found if each.queued is not None]
    shares += [median(queued)] if queued else []
    firsts = ", ".join(sorted({_first(each) for each in found}))
    said = "-" if right is None else "yes" if right else "NO"
    told = " | ".join([*(f"{share:.0%}" for share in shares), *([] if queued else ["-"])])
    return (
        f"| {name} | {kind} | {elapsed_s:.1f} s | {told} | {firsts} | {saved[0]} | {saved[1]} "
        f"| {said} |"
    )


if __name__ == "__main__":
    main()
