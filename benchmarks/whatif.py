"""`python -m benchmarks.whatif`: predictions of `venturi whatif` against measured trials.

`measure` runs workloads on Spark with several numbers of slots and sizes of data. `evaluate` takes
all pairs of trials of one workload in the repository, predicts each from the other, and prints the
errors next to those of the simpler predictions. A pair counts for the one kind of change that it
has; pairs with several, or beyond the range that the model claims, are shown as such. Trials that
others disturbed are left out, unless --disturbed is given. `--write` updates the table of errors
that intervals rest on, from undisturbed trials only.

`published` predicts published figures from one another, and needs no repository.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from statistics import median, quantiles

import click

import venturi.jobs.whatif
from benchmarks.models.published import (
    NOT_MODELED,
    PublishedPair,
    published_pairs,
    summary,
)
from venturi.cli.open_repository import open_repository
from venturi.core.errors import VenturiError
from venturi.jobs.whatif.answer import BASELINES, RecordedJob
from venturi.jobs.whatif.uncertainty import LEAST_PAIRS, calibration
from venturi.jobs.whatif.validation import ValidationPair, validate
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import whole_trials
from venturi.record.trial import DISTURBED, State

TABLE = Path(venturi.jobs.whatif.__file__).with_name("calibration.toml")
WORKLOADS = ("sql-analysis", "terasort", "wordcount")
_SEVERAL, _EXTRAPOLATED = "several", "extrapolated"


@click.group()
def main() -> None:
    """Measure trials, and compare predictions with them."""


@main.command()
@click.option("--workload", "workloads", multiple=True, default=WORKLOADS, show_default=True)
@click.option("--slots", multiple=True, type=int, default=(1, 2), show_default=True)
@click.option(
    "--bytes", "sizes", multiple=True, default=("100MB", "200MB", "400MB"), show_default=True
)
@click.option("--repeats", type=click.IntRange(1), default=1, show_default=True)
@click.option("--dir", "folder", type=click.Path(path_type=Path), default=Path(), help="For data.")
def measure(
    workloads: Sequence[str],
    slots: Sequence[int],
    sizes: Sequence[str],
    repeats: int,
    folder: Path,
) -> None:
    """Run each workload with each number of slots and size of input, into VENTURI_HOME."""
    for _, workload, count, size in product(range(repeats), workloads, slots, sizes):
        command = [*(sys.executable, "-m", "venturi", "run", workload), "--engine", "spark"]
        command += ["--threads", str(count), "--bytes", size, "--memory", "1GiB"]
        command += ["--repeat", "1", "--warm-up", "0", "--dir", str(folder), "-q"]
        subprocess.run(command, check=False)  # a failed trial is recorded as such


@main.command()
@click.option("--disturbed", is_flag=True, help="Use trials that others disturbed, too.")
@click.option("--write", is_flag=True, help="Update the table of errors.")
def evaluate(*, disturbed: bool, write: bool) -> None:
    """Predict each trial in VENTURI_HOME from each other one of its workload."""
    if disturbed and write:
        raise click.UsageError("errors from disturbed trials don't describe the model")
    found: dict[str, list[ValidationPair]] = {}
    click.echo(
        "| workload | change | measured | predicted | error | " + " | ".join(BASELINES) + " |"
    )
    click.echo("|---|---|--:|--:|--:|" + "--:|" * len(BASELINES))
    for workload, pair in _pairs(disturbed):
        kind = pair.changed[0] if len(pair.changed) == 1 else _SEVERAL
        if pair.predicted.extrapolated:
            kind = _EXTRAPOLATED
        found.setdefault(kind, []).append(pair)
        others = " | ".join(f"{pair.baseline_errors[name]:+.0%}" for name in BASELINES)
        click.echo(
            f"| {workload} | {', '.join(pair.changed)} | {pair.measured_s:.1f} s "
            f"| {pair.predicted.time_s.value:.1f} s | {pair.error:+.0%} | {others} |"
        )
    for kind, pairs in found.items():
        click.echo(f"\n{kind}: {_summary(pairs)}")
    if write:
        TABLE.write_text(_written(TABLE.read_text("utf-8"), found), "utf-8")


@main.command()
@click.option("--all", "all_pairs", is_flag=True, help="Print each figure, not only the groups.")
def published(*, all_pairs: bool) -> None:
    """Predict published figures from one another with the same models."""
    groups: dict[str, list[PublishedPair]] = {}
    if all_pairs:
        click.echo("| figure | from | predicted | published | error | range holds |")
        click.echo("|---|---|--:|--:|--:|---|")
    for pair in published_pairs():
        groups.setdefault(pair.group, []).append(pair)
        if all_pairs:
            held = {None: "no range", True: "yes", False: "no"}[pair.held]
            click.echo(
                f"| {pair.table}, {pair.target} | {pair.source} | {pair.predicted_s:.1f} s "
                f"| {pair.published_s:.1f} s | {pair.error:+.0%} | {held} |"
            )
    for name, pairs in sorted(groups.items()):
        click.echo(f"{name}: {summary(pairs)}")
    click.echo(f"all: {summary([pair for pairs in groups.values() for pair in pairs])}")
    for case, reason in NOT_MODELED.items():
        click.echo(f"not modeled: {case}: {reason}")


def _pairs(disturbed: bool) -> Iterator[tuple[str, ValidationPair]]:
    """Ordered pairs of trials of one workload that differ in something."""
    with open_repository() as repository:
        jobs: dict[tuple[str, str], list[RecordedJob]] = {}
        for trial in whole_trials(repository, Condition.equal("engine", "spark")):
            noisy = any(each.code == DISTURBED for each in trial.warnings)
            if trial.state is not State.SUCCEEDED or (noisy and not disturbed):
                continue
            work = trial.workload.name, trial.workload.version
            try:
                jobs.setdefault(work, []).append(RecordedJob(repository, trial))
            except VenturiError as error:
                click.echo(f"left out: {error.message}", err=True)
    for (workload, _), own in jobs.items():
        for one, other in permutations(own, 2):
            (pair,) = validate(one, [other]).pairs
            if pair.changed:
                yield workload, pair


def _summary(pairs: Sequence[ValidationPair]) -> str:
    """Median and 90th percentile of errors, of the model and of each baseline; held intervals."""

    def errors(of: Sequence[float]) -> str:
        sizes = sorted(map(abs, of))
        high = quantiles(sizes, n=10, method="inclusive")[-1] if len(sizes) > 1 else sizes[0]
        return f"{median(sizes):.0%} (p90 {high:.0%})"

    named = {name: errors([pair.baseline_errors[name] for pair in pairs]) for name in BASELINES}
    held = sum(pair.held for pair in pairs)
    others = ", ".join(f"{name} {text}" for name, text in named.items())
    own = errors([pair.error for pair in pairs])
    return f"{len(pairs)} pairs, median error {own}; {others}; {held} intervals hold"


def conformal(residuals: Sequence[float], judged: float) -> float:
    """The error that 90 % of new predictions won't exceed; with few residuals, `judged` or more."""
    ordered = sorted(residuals)
    if len(ordered) < LEAST_PAIRS:
        return max([judged, *ordered])
    return ordered[min(math.ceil(0.9 * (len(ordered) + 1)), len(ordered)) - 1]


def _written(text: str, found: Mapping[str, Sequence[ValidationPair]]) -> str:
    """The table with the errors of the kinds in `found`; its comments and other kinds stay."""
    for kind, pairs in found.items():
        if kind in (_SEVERAL, _EXTRAPOLATED):
            continue
        residuals = [abs(math.log1p(pair.error)) for pair in pairs]
        error = conformal(residuals, calibration()[kind].error)
        section = f"[{kind}]\npairs = {len(pairs)}\nerror = {error:.3g}\n"
        text = re.sub(rf"\[{kind}\]\npairs = .*\nerror = .*\n", section, text)
    return text


if __name__ == "__main__":
    main()
