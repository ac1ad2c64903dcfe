"""`python -m benchmarks.diagnosis.pairs FOLDER...`: measured against replayed savings.

A pair is a log `NAME-faulty*` or `NAME/faulty*` of a program with a planted cause, and one with
`fixed` in its place. The rule is that of the first finding, because a user reads its saving first.
The time before the first query doesn't count, because no fix changes it. Writes the pairs into
`jobs/diagnosis/measured_savings.csv`, from which Venturi derives the ranges of savings. Pairs of
programs and versions without a log here stay as they are.

Then each program is left out in turn, and its saving predicted from the others: the median of
measured to expected saving, and how often the 90 % range holds.

Concurrent load lengthens both runs, and changes between them. `NAME*.json` next to a log has the
share of CPU time of other programs as `others`. A pair above `--load` counts only if the fixed
program took less than a third of the time: then the load is the smaller part of the difference.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from statistics import median

import click

from benchmarks.into_page import write_table
from venturi.jobs import diagnosis
from venturi.jobs.diagnosis.calibration import Calibration, MeasuredPair, measured_pairs
from venturi.jobs.diagnosis.find import diagnose
from venturi.jobs.logs import spark
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.elapsed import BEFORE, START_UP
from venturi.jobs.stages.stage import Analysis
from venturi.jobs.stages.timeline import timeline
from venturi.record.importing.formats import Log

HEAD = (
    "| rule | program | Spark | replayed | expected | 90 % range | saved | in range |",
    "|---|---|---|--:|--:|--:|--:|---|",
)
TABLE = Path(diagnosis.__file__).with_name("measured_savings.csv")
_DISTURBED = 3.0


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--load", default=0.25, show_default=True, help="Most CPU time of other programs.")
@click.option("--page", type=click.Path(path_type=Path, exists=True), help="Write the table there.")
def main(folders: tuple[Path, ...], load: float, page: Path | None) -> None:
    """Measure the pairs in FOLDERS, write the table, and evaluate the ranges."""
    pairs = {(each.program, each.engine_version): each for each in measured_pairs()}
    for folder in folders:
        for each in _pairs_in(folder, load):
            pairs[each.program, each.engine_version] = each
    if folders:
        with TABLE.open("w", encoding="ascii", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(each.name for each in fields(MeasuredPair))
            writer.writerows(map(astuple, sorted(pairs.values(), key=lambda each: each.program)))
    rows, summary = _evaluate(tuple(pairs.values()))
    click.echo("\n".join([*HEAD, *rows, "", summary]))
    if page is not None:
        write_table(page, "savings", HEAD, rows)


def _pairs_in(folder: Path, load: float) -> Iterator[MeasuredPair]:
    for faulty in sorted(folder.rglob("*faulty*.zst*")):
        named = (
            faulty.with_name(faulty.name.replace("faulty", each)) for each in ("fixed", "sound")
        )
        fixed = next((each for each in named if each.exists()), None)
        name = faulty.name.split("faulty")[0].strip("-") or faulty.parent.name
        if fixed is None:
            click.echo(f"{name}: no log of the fixed program", err=True)
        elif (pair := _pair(name, faulty, fixed, load)) is not None:
            yield pair


def _others(log: Path) -> float:
    """The share of CPU time of other programs, 0 if it is not recorded."""
    file = log.with_suffix(".json")
    return float(json.loads(file.read_text("ascii"))["others"]) if file.exists() else 0.0


def _pair(name: str, faulty: Path, fixed: Path, load: float) -> MeasuredPair | None:
    before, after = (timeline(spark.read(Log(each, (each,)))) for each in (faulty, fixed))
    slow, fast = (analyse(each.account, None, each) for each in (before, after))
    slow_s, fast_s = _since_first_query_s(slow), _since_first_query_s(fast)
    found = diagnose(before, slow).findings
    if not found or found[0].replayed_s <= 0:
        click.echo(f"{name}: no finding with a saving", err=True)
        return None
    if max(map(_others, (faulty, fixed))) > load and fast_s * _DISTURBED > slow_s:
        click.echo(f"{name}: other programs were too busy", err=True)
        return None
    return MeasuredPair(
        found[0].rule,
        name,
        before.account.application.engine_version,
        round(slow.elapsed_s or 0.0, 1),
        round(found[0].replayed_s, 2),
        round(slow_s - fast_s, 2),
    )


def _since_first_query_s(analysis: Analysis) -> float:
    """The elapsed time from the first query on; no fix changes the start-up before it."""
    shares = analysis.verdict.shares
    before = sum(shares.get(part, 0.0) for part in (START_UP, BEFORE))
    return (1 - before) * (analysis.elapsed_s or 0.0)


def _evaluate(pairs: Sequence[MeasuredPair]) -> tuple[list[str], str]:
    """Predict each program's savings from the others': the rows of a table, and a summary."""
    if not pairs:
        sys.exit("no pairs")
    rows, ratios, held = [], [], []
    for pair in sorted(pairs, key=lambda each: (each.rule, each.program, each.engine_version)):
        others = [each for each in pairs if each.program != pair.program]
        found = Calibration(others).saving(pair.rule, pair.replayed_s, pair.elapsed_s, bound=False)
        ratios.append(pair.saved_s / found.expected_s)
        held.append(found.low_s <= pair.saved_s <= found.high_s)
        rows.append(
            f"| {pair.rule} | {pair.program} | {pair.engine_version} | {pair.replayed_s:.1f} s "
            f"| {found.expected_s:.1f} s | {found.low_s:.1f} to {found.high_s:.1f} s "
            f"| {pair.saved_s:.1f} s | {'yes' if held[-1] else 'NO'} |"
        )
    return rows, (
        f"{len(pairs)} pairs, each program left out in turn: median of measured to expected "
        f"{median(ratios):.2f}, ranges hold in {sum(held) / len(held):.0%}"
    )


if __name__ == "__main__":
    main()
