"""The native sort against the physical floor that DiskBench measures on the same directory just
before each sort, with the sort's own block size. Input cold, output durable inside the timer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import rows
from benchmarks.bench import Bench, Iteration, Unavailable, settle_disk
from benchmarks.figures import (
    Figure,
    core_ns_per_record,
    figure,
    missing,
    ratio_figure,
    rotated,
    time_over_alone_floor,
    time_over_mixed_floor,
)
from benchmarks.process import make_cold
from benchmarks.suites.disk import BLOCK_BYTES, SHORTEST_S, disk_rates
from benchmarks.suites.startup import find_cli
from benchmarks.verify import RECORD_BYTES

_GIB = 2**30
_SORT_BYTES = 4 * _GIB
_TWO_PASS_MEMORY = _GIB
_IN_MEMORY = 10 * _GIB
_CLI_BYTES = _GIB
_DISK_BYTES = 2 * _GIB


@dataclass(frozen=True, slots=True)
class SortJob:
    """One input to be sorted again and again in its own folder."""

    bench: Bench
    folder: Path
    size_bytes: int
    memory_bytes: int

    @property
    def source(self) -> Path:
        """The input file."""
        return self.folder / "input"

    @property
    def records(self) -> int:
        """The number of the input's records."""
        return self.size_bytes // RECORD_BYTES

    def arguments(self) -> list[str | Path]:
        """The agent's arguments."""
        return ["sort", "--input", self.source, *self.flags()]

    def flags(self) -> list[str | Path]:
        """The flags that the agent and `venturi sort` share."""
        return [
            "--output",
            self.folder / "output",
            "--scratch",
            self.folder / "scratch",
            "--memory",
            str(self.memory_bytes),
            "--threads",
            str(self.bench.threads),
            "--overwrite",
        ]

    def prepare(self) -> None:
        """Generate the input and the folders; not timed."""
        for name in ("output", "scratch"):
            (self.folder / name).mkdir()
        label = ("sort", "prepare", "venturi", 0)
        count = str(self.records)
        self.bench.run_agent(label, "gen", "--count", count, "--output", self.source)

    def plan(self) -> dict[str, Any]:
        """Return the engine's plan without executing it."""
        label = ("sort", "plan", "venturi", 0)
        return dict(self.bench.run_agent(label, *self.arguments(), "--plan-only").data)

    def sort(self, label: tuple[str, str, str, int]) -> Iteration:
        """One sort from a cold input; the old output is removed before, not inside, the timer."""
        self.clear()
        make_cold(self.source)
        self.bench.settle_memory(min(self.memory_bytes, self.size_bytes * 5 // 4))
        iteration = self.bench.run_agent(label, *self.arguments())
        out = iteration.data["output"]["records"]
        if out != self.records:
            raise Unavailable(f"{out} records came out of {self.records}")
        return iteration

    def clear(self) -> None:
        """Remove the output of the previous sort."""
        for file in (self.folder / "output").iterdir():
            file.unlink()

    def verify(self, iteration: Iteration) -> None:
        """Order, count and content of the whole output, once, by another program."""
        files = [Path(item["path"]) for item in iteration.data["output"]["files"]]
        before = self.bench.check([self.source], "fixed")
        problem = self.bench.check(files, "fixed").problem_as_sorted(before)
        if problem is not None:
            self.bench.reject(iteration, problem)
            raise Unavailable(f"the output is wrong: {problem}")

    def disk(
        self, turn: int, case: str, modes: str, block_bytes: int, *, once_bytes: int | None = None
    ) -> dict[str, float]:
        """Return DiskBench's bytes per second in the sort's folder with the sort's block size.

        Keys are mode and role, such as `read_write/read`. `once_bytes` are transferred once, to a
        new file; else a fast disk cycles through a file of 2 GiB until a second has passed.
        """
        size_bytes = once_bytes or self.bench.options.size(_DISK_BYTES, BLOCK_BYTES)
        once = ["--min-seconds", SHORTEST_S] if once_bytes else []
        self.clear()
        settle_disk()
        iteration = self.bench.run_agent(
            ("sort", case, "DiskBench", turn),
            "disk",
            "--dir",
            self.folder,
            "--mode",
            modes,
            "--bytes",
            str(size_bytes),
            "--block-bytes",
            str(block_bytes),
            "--iterations",
            "1",
            *once,
        )
        return {
            f"{mode}/{role}": rate["bytes_per_s"]
            for mode in modes.split(",")
            for role, rate in disk_rates(iteration.data, mode).items()
        }


def run(bench: Bench) -> list[Figure]:
    """Two-pass against the mixed floor, in memory against the floor of reading, then writing."""
    bench.agent()
    figures = [*two_pass(bench)]
    for part, row in ((in_memory, rows.IN_MEMORY_FLOOR), (command_line, rows.CLI_OVERHEAD)):
        try:
            figures.append(part(bench))
        except Unavailable as reason:
            figures.append(missing(row, str(reason)))
    return figures


def two_pass(bench: Bench) -> list[Figure]:
    """DiskBench, sort, DiskBench, sort, ...: each sort against the floor measured before it."""
    options = bench.options
    size_bytes, memory_bytes = options.size(_SORT_BYTES), options.size(_TWO_PASS_MEMORY)
    bench.need(3 * size_bytes + 2 * options.size(_DISK_BYTES, BLOCK_BYTES))
    overheads, over_budget_mib = [], []
    with bench.folder("two-pass") as folder:
        job = SortJob(bench, folder, size_bytes, memory_bytes)
        job.prepare()
        plan = job.plan()
        for turn in range(options.pairs):
            rates = job.disk(turn, "two-pass", "read_write", plan["io_bytes"])
            done = job.sort(("sort", "two-pass", "venturi", turn))
            if turn == 0:
                job.verify(done)
            moved = done.data["bytes_read"], done.data["bytes_written"]
            mixed = rates["read_write/read"], rates["read_write/write"]
            overheads.append(time_over_mixed_floor(done.time_s, *moved, *mixed))
            over_budget_mib.append((done.max_rss_bytes - memory_bytes) / 2**20)
    rss = figure(rows.TWO_PASS_RSS, over_budget_mib, "the worst of all")
    return [
        figure(rows.TWO_PASS_FLOOR, overheads, f"{done.data['regime']}, output verified"),
        # A budget holds always or not at all: the worst counts, not the median.
        replace(rss, value=max(over_budget_mib)),
    ]


def cpu(bench: Bench) -> list[Figure]:
    """CPU per record of the two-pass sort; of the sort suite's own iterations when they exist."""
    bench.agent()

    def sorts() -> list[Iteration]:
        key = ("sort", "two-pass", "venturi")
        return [i for i in bench.iterations if (i.suite, i.case, i.contender) == key]

    if not sorts():
        size_bytes = bench.options.size(_SORT_BYTES)
        bench.need(3 * size_bytes)
        with bench.folder("cpu") as folder:
            job = SortJob(bench, folder, size_bytes, bench.options.size(_TWO_PASS_MEMORY))
            job.prepare()
            for turn in range(bench.options.pairs):
                job.sort(("sort", "two-pass", "venturi", turn))
    per_record = [core_ns_per_record(i.cpu_s, i.data["output"]["records"]) for i in sorts()]
    own = [sum(i.data["cpu"].values()) for i in sorts()]
    count = sorts()[0].data["output"]["records"]
    note = f"the agent's own account: {core_ns_per_record(min(own), count):.1f} core-ns at best"
    return [figure(rows.TWO_PASS_CPU, per_record, note)]


def in_memory(bench: Bench) -> Figure:
    """DiskBench reading alone and writing alone, then the sort; and so on."""
    options = bench.options
    size_bytes, memory_bytes = options.size(_SORT_BYTES), options.size(_IN_MEMORY)
    need_memory(memory_bytes)
    bench.need(3 * size_bytes)
    overheads = []
    with bench.folder("in-memory") as folder:
        job = SortJob(bench, folder, size_bytes, memory_bytes)
        job.prepare()
        plan = job.plan()
        for turn in range(options.pairs):
            block_bytes = plan["io_bytes"]
            whole_bytes = size_bytes // block_bytes * block_bytes or block_bytes
            rates = job.disk(turn, "in-memory", "read,write", block_bytes, once_bytes=whole_bytes)
            done = job.sort(("sort", "in-memory", "venturi", turn))
            if turn == 0:
                job.verify(done)
            alone = rates["read/read"], rates["write/write"]
            data_bytes = job.records * RECORD_BYTES
            overheads.append(time_over_alone_floor(done.time_s, data_bytes, *alone))
    return figure(rows.IN_MEMORY_FLOOR, overheads, f"{done.data['regime']}, output verified")


def command_line(bench: Bench) -> Figure:
    """Measure the front end's overhead: `venturi sort` against the agent on the same input."""
    size_bytes = bench.options.size(_CLI_BYTES)
    bench.need(2 * size_bytes)
    times_s: dict[str, list[float]] = {"agent": [], "venturi sort": []}
    with bench.folder("command-line") as folder:
        job = SortJob(bench, folder, size_bytes, 2 * size_bytes + 2**28)
        job.prepare()
        env = {"VENTURI_HOME": str(folder / "home")}
        for turn in range(bench.options.pairs):
            for contender in rotated(list(times_s), turn):
                label = ("sort", "command line", contender, turn)
                if contender == "agent":
                    iteration = job.sort(label)
                else:
                    job.clear()
                    make_cold(job.source)
                    iteration = bench.run(
                        label, [find_cli(), "sort", job.source, *job.flags()], env=env
                    )
                if iteration.problem is not None:
                    raise Unavailable(f"{contender}: {iteration.problem}")
                times_s[contender].append(iteration.time_s)
    note = f"{size_bytes / 2**30:g} GiB in memory"
    return ratio_figure(rows.CLI_OVERHEAD, times_s["venturi sort"], times_s["agent"], note)


def need_memory(memory_bytes: int) -> None:
    """Refuse a budget that this host can't provide: swapping would be measured, not sorting."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:") and int(line.split()[1]) * 1024 < memory_bytes:
            raise Unavailable(f"needs {memory_bytes / 2**30:g} GiB of available memory")
