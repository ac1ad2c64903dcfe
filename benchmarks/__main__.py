"""`python -m benchmarks`: compares Venturi with its peers and with the physical limit of this
host.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from benchmarks import history, host, report
from benchmarks.bench import REPOSITORY, Bench, BenchOptions, Unavailable, find_agent, work_folder
from benchmarks.figures import Figure, missing
from benchmarks.limits import why_not_enforced
from benchmarks.rows import ROWS
from benchmarks.suites import disk, engines, gen, net, peers, predict, sampler, sort, startup
from venturi.core.errors import ExitCode

SUITES: dict[str, Callable[[Bench], list[Figure]]] = {
    "startup": startup.run,
    "sampler": sampler.run,
    "gen": gen.run,
    "disk": disk.run,
    "net": net.run,
    "sort": sort.run,
    "cpu": sort.cpu,
    "peers": peers.run,
    "engines": engines.run,
    "predict": predict.run,
}
_CORES = 2
_QUICK = BenchOptions(pairs=2, scale=1 / 4)


def _suites(ctx: click.Context, param: click.Parameter, value: str) -> list[str]:
    chosen = [name.strip() for name in value.split(",") if name.strip()]
    unknown = [name for name in chosen if name not in SUITES]
    if unknown or not chosen:
        known = ", ".join(SUITES)
        raise click.BadParameter(f"{', '.join(unknown) or 'nothing'}: suites are {known}")
    return [name for name in SUITES if name in chosen]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--only",
    "suites",
    default=",".join(SUITES),
    callback=_suites,
    metavar="SUITE,...",
    help=f"Suites to measure: {', '.join(SUITES)}.",
)
@click.option(
    "--quick", is_flag=True, help="2 pairs at a quarter of the sizes: a smoke test, not judged."
)
@click.option("--pairs", type=click.IntRange(1), help="Rounds per comparison (default 5).")
@click.option(
    "--scale",
    type=click.FloatRange(0, min_open=True),
    help="Multiply all sizes; only scale 1 is judged.",
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=REPOSITORY / "target" / "bench",
    show_default="target/bench",
    help="Where to measure; on the disk of interest.",
)
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=REPOSITORY / "benchmarks" / "results",
    show_default="benchmarks/results",
    help="Where to keep the results.",
)
@click.option(
    "--no-cgroup", is_flag=True, help="Peers: each tool's own memory setting is the only limit."
)
@click.option(
    "--history",
    "show_history",
    is_flag=True,
    help="Measure nothing: print the kept figures over time.",
)
def main(
    *,
    suites: list[str],
    quick: bool,
    pairs: int | None,
    scale: float | None,
    folder: Path,
    results: Path,
    no_cgroup: bool,
    show_history: bool,
) -> None:
    """Compare Venturi with its peers on this machine; the table goes to stdout."""
    if show_history:
        click.echo(history.table(history.points(history.load(results), suites)), nl=False)
        return
    base = _QUICK if quick else BenchOptions()
    options = BenchOptions(pairs or base.pairs, scale or base.scale, not no_cgroup)
    # Every contender inherits the same cores.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_CORES])
    agent, why_not = find_agent(os.environ)
    if agent is not None:
        os.environ["VENTURI_AGENT"] = str(agent)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with work_folder(folder.resolve()) as work:
            interrupted = _measure(Bench(options, work, agent, why_not), suites, results)
    except KeyboardInterrupt:
        interrupted = True
    sys.exit(ExitCode.INTERRUPTED if interrupted else ExitCode.OK)


def _measure(bench: Bench, suites: list[str], results: Path) -> bool:
    """Run the suites, keeping all results after each; return True if the user stopped it."""
    name = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    scale = bench.options.scale
    figures: dict[str, Figure] = {}
    interrupted = False
    facts = host.facts(bench)
    for suite in suites:
        bench.say(f"{suite}:")
        try:
            measured = SUITES[suite](bench)
        except Unavailable as reason:
            bench.say(f"  {suite}: not measured: {reason}")
            measured = [missing(row, str(reason)) for row in ROWS[suite]]
        except KeyboardInterrupt:
            interrupted = True
            measured = [missing(row, "interrupted") for row in ROWS[suite]]
        figures |= {fig.row.key: fig for fig in measured}
        context = _context(bench, name, suites, facts, interrupted)
        whole = report.document(bench, list(figures.values()), context, scale)
        text = report.table(list(figures.values()), scale)
        paths = report.write(results, name, whole, _headed(text, whole))
        if interrupted:
            break
    click.echo(text, nl=False)
    bench.say(f"kept in {paths[0]} and {paths[1].name}")
    return interrupted


def _context(
    bench: Bench, name: str, suites: list[str], facts: dict[str, Any], interrupted: bool
) -> dict[str, Any]:
    own_settings = None if bench.options.enforce else "switched off (--no-cgroup)"
    return {
        "measured_at": name,
        "command": ["python", "-m", "benchmarks", *sys.argv[1:]],
        "suites": suites,
        "pairs": bench.options.pairs,
        "scale": bench.options.scale,
        "interrupted": interrupted,
        "memory_limit_not_enforced_because": own_settings or why_not_enforced(),
        "versions": host.versions(bench),
        "host": facts,
    }


def _headed(text: str, whole: dict[str, Any]) -> str:
    programs = "\n".join(f"- {k} {v}" for k, v in whole["versions"].items() if v)
    return (
        f"# {whole['measured_at']}\n\n`{' '.join(whole['command'])}`: {whole['pairs']} pairs, "
        f"scale {whole['scale']:g}, {whole['host']['cores_used']} cores. "
        f"Programs:\n\n{programs}\n\n{text}"
    )


if __name__ == "__main__":
    main()
