"""`python -m benchmarks.diagnosis`: ten Spark programs with a planted fault each, and without it.

Each is run in a process of its own, its log is read, and what Venturi finds first is compared with
what was planted; of those without a fault nothing above a tenth of the time may be found. Then what
is advised is done: the settings of the first finding are made, or, where the program has to change,
the program without the fault is it; what that saved stands beside what was promised. All are run
in turn, `--repeats` times; figures are medians. `--keep` writes the first logs, trimmed, as
`tests/data/spark` has them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import click

from benchmarks.diagnosis.programs import PROGRAMS
from benchmarks.diagnosis.runs import Looked, looked_at

KINDS = ("faulty", "sound")
MOST = 0.1  # of the time, where nothing was planted
LEAST = 0.5  # of what was promised


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(tuple(PROGRAMS)))
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True)
@click.option("--keep", type=click.Path(path_type=Path), help="A folder for the trimmed logs.")
def main(names: tuple[str, ...], repeats: int, keep: Path | None) -> None:
    """Runs the programs, or those named, and prints what was found; status 1 if it is wrong."""
    click.echo(
        "| program | | elapsed | without a cause | first finding | promised | saved | right |"
    )
    click.echo("|---|---|--:|--:|---|--:|--:|---|")
    wrong = 0
    for name in names or PROGRAMS:
        wrong += _program(name, repeats, keep)
    sys.exit(wrong > 0)


def _program(name: str, repeats: int, keep: Path | None) -> int:
    """Runs a program in all ways and prints a row for each; how many are not as they should be."""
    faulty: list[Looked] = []
    sound: list[Looked] = []
    mended: list[Looked] = []
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
    planted = all(_first(each) == PROGRAMS[name].finding for each in faulty)
    kept = before_s - after_s >= LEAST * promised_s > 0
    clean = all(each.share <= MOST for of in sound for each in of.diagnosis.findings)
    _row(name, "faulty", faulty, f"{promised_s:.1f} s", f"{before_s - after_s:.1f} s",
         right=planted and kept)  # fmt: skip
    _row(name, "sound", sound, "-", "-", right=clean)
    if mended:
        _row(name, "settings made", mended, "-", "-", right=True)
    return (not (planted and kept)) + (not clean)


def _first(looked: Looked) -> str:
    return next((each.rule for each in looked.diagnosis.findings), "none")


def _row(
    name: str, kind: str, found: Sequence[Looked], promised: str, saved: str, *, right: bool
) -> None:
    elapsed_s = median(each.elapsed_s for each in found)
    without = median(each.without_cause for each in found)
    firsts = ", ".join(sorted({_first(each) for each in found}))
    click.echo(
        f"| {name} | {kind} | {elapsed_s:.1f} s | {without:.0%} | {firsts} | {promised} | {saved} "
        f"| {'yes' if right else 'NO'} |"
    )


if __name__ == "__main__":
    main()
