"""`python -m benchmarks.models.verdicts`: error rates, power and speed of the two-group test.

Seeded, simulated groups with known distributions of their logarithms, compared with scipy's
Mann-Whitney test. `docs/method/statistics.md` has the tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import click
import numpy as np
import numpy.typing as npt
from scipy import stats

from venturi.core.statistics.two_groups import compare_samples, p_value

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]
ALPHA = 0.05


def normal(spread: float) -> Draw:
    return lambda rng, n: rng.normal(0, spread, n)


def skewed(spread: float) -> Draw:
    """An exponential tail, its median at 0."""
    return lambda rng, n: np.asarray(spread * (rng.exponential(1, n) - np.log(2)))


def slow_mode(rng: np.random.Generator, n: int) -> Array:
    """One trial in five takes half as long again."""
    return np.asarray(rng.normal(0, 0.1, n) + np.log(1.5) * (rng.random(n) < 0.2))


# Pairs without a tendency to be lower: equal, or both symmetric about the same value.
ALIKE: dict[str, tuple[Draw, Draw, int, int]] = {
    "spread .1 and .1, 5 and 5": (normal(0.1), normal(0.1), 5, 5),
    "spread .1 and .1, 3 and 3": (normal(0.1), normal(0.1), 3, 3),
    "spread .05 and .25, 4 and 4": (normal(0.05), normal(0.25), 4, 4),
    "spread .05 and .25, 20 and 5": (normal(0.05), normal(0.25), 20, 5),
    "spread .05 and .25, 40 and 5": (normal(0.05), normal(0.25), 40, 5),
    "spread .05 and .25, 40 and 10": (normal(0.05), normal(0.25), 40, 10),
    "skewed, spread .1, 10 and 10": (skewed(0.1), skewed(0.1), 10, 10),
    "slow mode in both, 5 and 20": (slow_mode, slow_mode, 5, 20),
}
# The second group takes 1.2 times as long.
APART: dict[str, tuple[Draw, int]] = {
    "spread .1, 5 and 5": (normal(0.1), 5),
    "spread .1, 10 and 10": (normal(0.1), 10),
    "slow mode in both, 5 and 5": (slow_mode, 5),
    "slow mode in both, 10 and 10": (slow_mode, 10),
}
SIZES = ((5, 5), (40, 40), (1_000, 1_000), (100_000, 100_000))


def found(
    draws: tuple[Draw, Draw], sizes: tuple[int, int], ratio: float, rounds: int
) -> tuple[int, int]:
    """Count the rounds in which Venturi's test and Mann-Whitney's find a difference between the
    groups.
    """
    rng = np.random.default_rng(13)
    ours = theirs = 0
    for _ in range(rounds):
        a, b = (np.exp(draw(rng, n)) for draw, n in zip(draws, sizes, strict=True))
        b = ratio * b
        ours += p_value(a.tolist(), b.tolist()) <= ALPHA
        theirs += float(stats.mannwhitneyu(a, b).pvalue) <= ALPHA
    return ours, theirs


def times() -> Iterator[tuple[int, int, float]]:
    """The least time of a comparison with its interval, in seconds."""
    rng = np.random.default_rng(13)
    for n, m in SIZES:
        a, b = rng.lognormal(5, 0.1, n).tolist(), rng.lognormal(5.05, 0.2, m).tolist()
        best = np.inf
        for _ in range(5):
            begun = time.process_time()
            compare_samples(a, b)
            best = min(best, time.process_time() - begun)
        yield n, m, float(best)


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=4_000, show_default=True)
def main(rounds: int) -> None:
    """False verdicts and power, in per cent of the rounds, then the times."""
    click.echo("| alike | Venturi | Mann-Whitney |\n|---|---|---|")
    for name, (first, second, n, m) in ALIKE.items():
        ours, theirs = found((first, second), (n, m), 1.0, rounds)
        click.echo(f"| {name} | {100 * ours / rounds:.1f} | {100 * theirs / rounds:.1f} |")
    click.echo("\n| 1.2 times as long | Venturi | Mann-Whitney |\n|---|---|---|")
    for name, (draw, n) in APART.items():
        ours, theirs = found((draw, draw), (n, n), 1.2, rounds)
        click.echo(f"| {name} | {100 * ours / rounds:.0f} | {100 * theirs / rounds:.0f} |")
    for n, m, seconds in times():
        click.echo(f"{n} and {m} values: {1e3 * seconds:.2f} ms")


if __name__ == "__main__":
    main()
