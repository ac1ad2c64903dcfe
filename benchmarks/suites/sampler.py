"""The cost of monitoring: CPU of the 1 Hz sampler, start included, over at least twenty seconds."""

from __future__ import annotations

from benchmarks import rows
from benchmarks.bench import Bench
from benchmarks.figures import Figure, figure

_DURATION_S = 20


def run(bench: Bench) -> list[Figure]:
    """Percent of one core: (user + sys) / wall, as the kernel accounts it."""
    duration_s = max(2, round(_DURATION_S * min(1.0, bench.options.scale)))
    shares = []
    for turn in range(bench.options.pairs):
        label = ("sampler", "1 Hz", "venturi", turn)
        arguments = ("sample", "--interval-ms", "1000", "--duration-s", str(duration_s))
        iteration = bench.run_agent(label, *arguments)
        shares.append(100.0 * iteration.cpu_s / iteration.wall_s)
    return [figure(rows.SAMPLER, shares, f"{duration_s} s each")]
