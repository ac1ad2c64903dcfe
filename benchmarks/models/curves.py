"""`python -m benchmarks.models.curves FOLDER`: how well curves of time predict points left out.

FOLDER has the public tables (scout.csv, ibm_multicloud.csv, cherrypick/CP_*.csv,
aloja_dataset4.csv; missing ones are skipped). They are imported into a new repository and split
into contexts as by `venturi scaling`; simulations are seeded. Each point of each curve is left out
in turn, the curve fitted to the others, and its predicted time and interval compared with the
point. Next to it is Ernest's formula (Venkataraman et al. 2016) by least squares of relative errors
with no coefficient below 0, on the same points. `docs/method/scaling-fits.md` has the tables.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
import numpy as np
import numpy.typing as npt

from venturi.core.settings import Settings
from venturi.record.importing.importer import import_file
from venturi.record.query.columns import Column
from venturi.record.query.selection import Query
from venturi.record.query.trial_columns import TrialColumns, trial_columns
from venturi.record.store.repository import TrialRepository
from venturi.results.scaling.contexts import contexts_of
from venturi.results.scaling.curves import (
    MIN_POINTS,
    CurveFit,
    Points,
    SharedShape,
    ernest,
    fit_curve,
    shared_shape,
)
from venturi.results.scaling.formulas import Meaning
from venturi.results.scaling.meaning import meaning_of

Array = npt.NDArray[np.float64]
TrueCurve = Callable[[Array, Array], Array]
"""Seconds at each x, by four numbers between 0 and 1 that make a job."""

# Files to import, their format, and the variable of their curves.
PUBLIC: dict[str, tuple[str, str, str]] = {
    "scout": ("scout.csv", "scout", "hosts"),
    "CherryPick": ("cherrypick/CP_*.csv", "cherrypick", "hosts"),
    "IBM": ("ibm_multicloud.csv", "ibm", "hosts"),
    "ALOJA, maps": ("aloja_dataset4.csv", "aloja", "maps"),
    "ALOJA, block size": ("aloja_dataset4.csv", "aloja", "block_bytes"),
    "ALOJA, file buffer": ("aloja_dataset4.csv", "aloja", "io_file_buffer_bytes"),
}
NODES = np.array([2.0, 4, 6, 8, 12, 16, 24])
SIZES = np.array([1.0, 2, 5, 10, 20, 50, 100])
SIMULATED: dict[str, tuple[TrueCurve, Meaning, Array]] = {
    "Amdahl": (lambda x, p: 20 + 200 * p[0] + (200 + 2000 * p[1]) / x, Meaning.RESOURCE, NODES),
    "Ernest": (
        lambda x, p: (
            10 + 100 * p[0] + (200 + 2000 * p[1]) / x + 40 * p[2] * np.log2(x) + 8 * p[3] * x
        ),
        Meaning.RESOURCE,
        NODES,
    ),
    "power": (lambda x, p: 1000 * x ** -(0.3 + 0.6 * min(1, p[0])), Meaning.RESOURCE, NODES),
    "waves": (lambda x, p: 30 + 60 * np.ceil((20 + 100 * p[0]) / x / 4), Meaning.RESOURCE, NODES),
    "line": (lambda x, p: 20 + 100 * p[0] + (2 + 10 * p[1]) * x, Meaning.AMOUNT, SIZES),
    "n log n": (
        lambda x, p: 20 + 100 * p[0] + (1 + 3 * p[1]) * x * np.log2(1 + x),
        Meaning.AMOUNT,
        SIZES,
    ),
    "power of the data": (lambda x, p: 10 * x ** (0.6 + 0.7 * min(1, p[0])), Meaning.AMOUNT, SIZES),
}


@dataclass(frozen=True, slots=True)
class Miss:
    """A point left out: ln(predicted / measured) by the curve and by Ernest, and the interval.

    `place` is "inside", "end" or, where the largest half of the x was left out, "twice".
    """

    place: str
    curve: float
    ernest: float
    half: float | None


def misses(
    jobs: Sequence[Sequence[Points]], meaning: Meaning, least: int = MIN_POINTS + 1, most: int = 0
) -> Iterator[Miss]:
    """Yield the miss at each point of each curve with `least` points or more, at most `most` curves
    a job (0: all).

    Each element of `jobs` has the curves of one job, which may borrow each other's shape.
    """
    for curves in jobs:
        whole = shared_shape(curves)
        long = [place for place, points in enumerate(curves) if len(points) >= least]
        for place in long[: most or None]:
            points = curves[place]
            others = [each for number, each in enumerate(curves) if number != place]
            rest = whole.without(points)
            for out in range(len(points)):
                kept = np.arange(len(points)) != out
                end = out in (0, len(points) - 1)
                yield from _missed(points, kept, out, meaning, (others, rest, end))
            half = points.x <= points.x[-1] / 2
            if np.count_nonzero(half) >= MIN_POINTS and meaning is Meaning.RESOURCE:
                at = int(np.flatnonzero(points.x <= 2 * points.x[half][-1])[-1])
                if points.x[at] == 2 * points.x[half][-1]:
                    yield from _missed(points, half, at, meaning, (others, rest, None))


def _missed(
    points: Points,
    kept: npt.NDArray[np.bool_],
    out: int,
    meaning: Meaning,
    job: tuple[Sequence[Points], SharedShape, bool | None],
) -> Iterator[Miss]:
    others, rest, end = job
    left = Points(points.x[kept], points.elapsed_s[kept])
    fit = fit_curve(left, meaning, others, rest)
    if not isinstance(fit, CurveFit):
        return
    x, log = points.x[out : out + 1], math.log(points.elapsed_s[out])
    place = "twice" if end is None else ("end" if end else "inside")
    half = None if fit.reach is None or end is None else fit.reach[bool(end)]
    yield Miss(place, float(fit.logs(x)[0]) - log, float(np.log(ernest(left, x))[0]) - log, half)


@cache
def _trials(folder: Path, pattern: str, format_: str) -> TrialColumns:
    """The trials of public tables, of which several kinds of curves may be made."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(Path(home), None, None, allow_debug=False)
        with TrialRepository.open(settings) as repository:
            for file in sorted(folder.glob(pattern)):
                import_file(repository, format_, file)
            return trial_columns(repository, Query(()))


def public(folder: Path, name: str) -> tuple[list[list[Points]], Meaning]:
    """The curves of a public table by job, as `venturi scaling` finds them."""
    pattern, format_, _ = PUBLIC[name]
    return curves_of(_trials(folder, pattern, format_), name)


def curves_of(found: TrialColumns, name: str) -> tuple[list[list[Points]], Meaning]:
    """The curves by job of a public table's imported trials."""
    x = PUBLIC[name][2]
    kept = np.flatnonzero(found.counted)
    columns = {key: Column(each.values, each.codes[kept]) for key, each in found.columns.items()}
    jobs: dict[object, list[Points]] = {}
    for context in contexts_of(columns, found.elapsed_s[kept], x).contexts:
        settings_ = context.settings
        job = settings_.get("workload"), settings_.get("engine")
        jobs.setdefault(job, []).append(context.points)
    return list(jobs.values()), meaning_of(x)


def simulated(name: str, contexts: int, curves: int, noise: float) -> list[list[Points]]:
    """Return curves of one form, `contexts` a job, with varied levels and with shapes that differ
    by about 20%.
    """
    truth, _, x = SIMULATED[name]
    rng = np.random.default_rng([15, contexts, len(name)])
    jobs = []
    for _ in range(curves // contexts):
        job, made = rng.uniform(size=4), []
        for _ in range(contexts):
            of = np.sort(rng.choice(x, rng.integers(5, len(x) + 1), replace=False))
            level = math.exp(rng.normal(0, 0.4))
            exact = level * truth(of, job * np.exp(rng.normal(0, 0.2, 4)))
            made.append(Points(of, exact * np.exp(rng.normal(0, noise, len(of)))))
        jobs.append(made)
    return jobs


def miss_row(name: str, found: Sequence[Miss], place: str) -> str:
    """Return a row of the table: misses in %, and the coverage of the interval in %."""
    here = [miss for miss in found if miss.place == place]
    if not here:
        return f"| {name} | {place} | 0 | | | | |"
    own, theirs = (
        100 * np.abs(np.expm1([getattr(m, by) for m in here])) for by in ("curve", "ernest")
    )
    halves = [(abs(miss.curve), miss.half) for miss in here if miss.half is not None]
    held = [abs(miss) <= half for miss, half in halves]
    covered = f"{100 * np.mean(held):.0f} ({len(held):,})" if held else "none"
    width = f"{100 * np.median(np.expm1([half for _, half in halves])):.0f}" if held else ""
    return (
        f"| {name} | {place} | {len(here):,} | {np.median(own):.1f} / {np.quantile(own, 0.9):.0f} "
        f"| {np.median(theirs):.1f} / {np.quantile(theirs, 0.9):.0f} | {covered} | {width} |"
    )


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--curves",
    type=click.IntRange(12),
    default=240,
    show_default=True,
    help="Simulated curves of each form.",
)
@click.option(
    "--most",
    type=click.IntRange(1),
    default=60,
    show_default=True,
    help="Curves of one job of which points are left out.",
)
def main(folder: Path, curves: int, most: int) -> None:
    """Misses (median / 90th percentile, %), coverage of 90 % intervals, their half width (%)."""
    click.echo(
        "| curves | place | points | missed by, % | Ernest, % | held, % (of) | +- % |\n"
        "|---|---|---|---|---|---|---|"
    )
    every: list[Miss] = []
    for name, (pattern, _, _) in PUBLIC.items():
        if not any(folder.glob(pattern)):
            click.echo(f"{name}: no {pattern} in {folder}", err=True)
            continue
        jobs, meaning = public(folder, name)
        found = list(misses(jobs, meaning, most=most))
        for place in ("inside", "end", *(["twice"] if meaning is Meaning.RESOURCE else [])):
            click.echo(miss_row(name, found, place))
    for name, (_, meaning, _) in SIMULATED.items():
        for contexts in (1, 6):
            found = list(misses(simulated(name, contexts, curves, 0.08), meaning, 5))
            every += found
            for place in ("inside", "end"):
                click.echo(miss_row(f"{name}, {contexts} a job", found, place))
    for place in ("inside", "end"):
        click.echo(miss_row("all simulated", every, place))


if __name__ == "__main__":
    main()
