"""Trials as a quickstart leaves them, and hostile ones, for the tests of the report."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import polars as pl

from venturi.machines.advice.hardware import advise
from venturi.machines.advice.question import HardwareRequest
from venturi.machines.catalog import load_shipped
from venturi.machines.cost.job import sort_job
from venturi.machines.cost.predict import (
    NativeSortPlan,
    Prediction,
    disk_rates_from_trial,
    predict_native_sort,
)
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Host,
    Phase,
    Provenance,
    ProvenanceKind,
    Sample,
    Software,
    State,
    Trial,
    TrialWarning,
    Workload,
)
from venturi.web.report.build import report_data
from venturi.web.report.data import PriceRow, ReportData, SkippedMeasurement
from venturi.web.report.prices import price_rows

AT = datetime(2026, 7, 14, 9, 30, tzinfo=UTC)
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">{{7*7}}&amp;\u2028"
STORABLE = HOSTILE.rstrip("\u2028")
"""The part of it that a record may hold."""
LONG = "a-directory-whose-name-never-ends-" * 8

FACTS: dict[str, Any] = {
    "schema_version": 1,
    "hostname": "bench-01",
    "kernel_release": "6.12.9-amd64",
    "os_name": "Debian GNU/Linux 13",
    "architecture": "x86_64",
    "virtualisation": "kvm",
    "container": "none",
    "cpu_model": "AMD EPYC 9575F 64-Core Processor",
    "cpu_sockets": 1,
    "cpu_cores": 1,
    "cpu_threads": 2,
    "numa_nodes": 1,
    "memory_total_bytes": 24_690_000_000,
    "transparent_huge_pages": "madvise",
    "block_devices": [
        {
            "name": "vda",
            "size_bytes": 270_582_939_648,
            "rotational": True,
            "transport": "virtio",
            "scheduler": "none",
            "model": None,
            "write_cache": "write back",
        }
    ],
    "file_systems": [
        {
            "mount_point": "/",
            "kind": "ext4",
            "device": "/dev/vda1",
            "block_device": "vda",
            "options": ["rw", "relatime"],
            "total_bytes": 265e9,
            "free_bytes": 83e9,
        }
    ],
    "network_interfaces": [
        {"name": "lo", "kind": "loopback", "mtu_bytes": 65536},
        {
            "name": "eth0",
            "kind": "physical",
            "state": "up",
            "speed_bits_per_s": None,
            "mtu_bytes": 1500,
            "driver": "virtio_net",
        },
    ],
    "missing": {},
}

# phase -> stage -> (workers, share of the phase before it starts, useful, idle, memory, blocked)
IN_MEMORY = {
    "sample": {"sample": (1, 0, 0.9, 0.1, 0, 0)},
    "map+shuffle": {
        "read": (2, 0, 0.93, 0, 0.03, 0.04),
        "distribute": (2, 0, 0.22, 0.75, 0.03, 0),
    },
    "sort+reduce": {
        "sort": (2, 0, 0.42, 0.1, 0, 0.48),
        "reduce": (1, 0.05, 0.08, 0.6, 0, 0.32),
        "write_output": (2, 0.08, 0.97, 0.03, 0, 0),
    },
}
TWO_PASSES = {
    "sample": {"sample": (1, 0, 0.9, 0.1, 0, 0)},
    "map+shuffle": {
        "read": (2, 0, 0.74, 0, 0.08, 0.18),
        "distribute": (2, 0, 0.14, 0.58, 0.06, 0.22),
        "write_partitions": (2, 0.02, 0.96, 0.04, 0, 0),
    },
    "sort+reduce": {
        "read_partition": (2, 0, 0.71, 0, 0.21, 0.08),
        "sort": (2, 0.03, 0.24, 0.58, 0, 0.18),
        "reduce": (1, 0.04, 0.06, 0.66, 0, 0.28),
        "write_output": (2, 0.06, 0.95, 0.05, 0, 0),
    },
}
IO_STAGES = {"sample", "read", "write_partitions", "read_partition", "write_output"}


def trial(number: int, name: str, engine: str, **changes: Any) -> Trial:
    """A succeeded trial, `number` minutes after the first."""
    base = Trial(
        id=f"01JZTHREP0RT{number:014d}",
        workload=Workload(name, "3f2a91c4"),
        engine=Engine(engine, "0.1.0"),
        cluster=Cluster((Host("bench-01", FACTS),), {"input": ("/data",), "output": ("/data",)}),
        configuration={},
        software=Software("0.1.0", "ff96542", "release", "6.12.9-amd64", {"rustc": "1.95.0"}),
        provenance=Provenance(ProvenanceKind.MEASURED, "venturi"),
        started_at=AT + timedelta(minutes=number),
        state=State.SUCCEEDED,
        elapsed_s=20.0,
    )
    return replace(base, **changes)


def disk_probe(where: str = "/data") -> Trial:
    """DiskBench on one directory, three iterations, latency and random reads."""
    noise = random.Random(7)
    rates = {
        "disk_read_bytes_per_s": 1.24e9,
        "disk_write_bytes_per_s": 1.82e9,
        "disk_mixed_read_bytes_per_s": 0.66e9,
        "disk_mixed_write_bytes_per_s": 0.63e9,
        "disk_shuffle_read_bytes_per_s": 0.48e9,
    }
    samples = [
        Sample(
            metric,
            rate * noise.uniform(0.94, 1.06),
            "B/s",
            labels={
                "dir": directory,
                "block_bytes": 4 << 20,
                "queue_depth": 4,
                "iteration": iteration,
            },
        )
        for metric, rate in rates.items()
        for directory in (None, where)
        for iteration in range(3)
    ]
    modes = {("read", 4 << 20): 0.012, ("write", 4 << 20): 0.008, ("random_read", 4096): 0.00018}
    for (mode, block), p50_s in modes.items():
        for name, factor in (("p50", 1), ("p90", 1.6), ("p99", 4.2), ("p99_9", 11), ("max", 23)):
            labels = {"mode": mode, "quantile": name, "block_bytes": block, "queue_depth": 4}
            samples.append(Sample("disk_latency_s", p50_s * factor, "s", labels=labels))
    for block, depth, iops in ((4096, 1, 5_400), (4096, 32, 88_000), (1 << 20, 32, 1_350)):
        labels = {"dir": None, "block_bytes": block, "queue_depth": depth, "iteration": 0}
        samples.append(Sample("disk_random_read_iops", iops, "1/s", labels=labels))
    return trial(0, "diskbench", "diskbench", samples=tuple(samples))


def network_probe() -> Trial:
    """NetBench on loopback."""
    samples = tuple(
        Sample(
            metric,
            rate * (1 + iteration / 50),
            "B/s",
            labels={
                "peers": peers,
                "sockets_per_peer": 1,
                "iteration": iteration,
                "slowest": True,
            },
        )
        for metric, peers, rate in (
            ("net_pairwise_bytes_per_s", 2, 4.9e9),
            ("net_all_to_all_bytes_per_s", 2, 3.1e9),
            ("net_all_to_all_bytes_per_s", 4, 1.7e9),
        )
        for iteration in range(3)
    )
    label = "loopback: memory copying, not a network"
    probe = trial(1, "netbench", "netbench", samples=samples)
    return replace(probe, cluster=replace(probe.cluster, network=label))


def sort_trial(
    number: int,
    size_bytes: int,
    spilled_bytes: int,
    lengths_s: dict[str, float],
    *,
    where: str | None = "/data",
) -> Trial:
    """A succeeded sort with phases that last `lengths_s`."""
    shapes = TWO_PASSES if spilled_bytes else IN_MEMORY
    phases, samples, at_s = [], [], 0.0
    timed = [name for name in lengths_s if name in shapes]
    for name, length_s in lengths_s.items():
        phases.append(Phase(name, at_s, length_s))
        before_s = sum(lengths_s[n] for n in timed[: timed.index(name)]) if name in timed else 0.0
        for stage, (workers, late, *shares) in shapes.get(name, {}).items():
            labels = {"stage": stage, "device": where if stage in IO_STAGES else None}
            moved = spilled_bytes if "partition" in stage else size_bytes
            moved = 8 << 20 if stage == "sample" else moved
            span_s = length_s * (1 - late)
            whats = ("useful", "idle", "waiting_for_memory", "blocked")
            values = {f"{w}_s": s * span_s * workers for w, s in zip(whats, shares, strict=True)}
            values |= {"started_s": before_s + length_s * late, "ended_s": before_s + length_s}
            samples += [Sample(f"stage_{k}", v, "s", name, labels) for k, v in values.items()]
            samples.append(Sample("stage_bytes", moved, "B", name, labels))
            samples.append(Sample("stage_workers", workers, "1", name, labels))
        at_s += length_s
    records = size_bytes / 100
    samples += [
        Sample("cpu_user_s", records * 42e-9, "s"),
        Sample("cpu_system_s", records * 13e-9, "s"),
        Sample("spilled_bytes", spilled_bytes, "B"),
        Sample("peak_rss_bytes", 1.06e9 if spilled_bytes else 2.4e9, "B"),
    ]
    return trial(
        number,
        "terasort",
        "native",
        workload=Workload("terasort", "3f2a91c4", "tiny", size_bytes, size_bytes // 100),
        configuration={"memory_bytes": (1 if spilled_bytes else 10) << 30, "threads": 2},
        elapsed_s=sum(lengths_s[name] for name in timed),
        phases=tuple(phases),
        samples=tuple(samples),
    )


def series_of(sort: Trial) -> pl.DataFrame:
    """A host series at 2 Hz that fits the phases of `sort`."""
    noise, rows = random.Random(11), []
    use = {  # cpu user, system, iowait; disk read, write in B/s
        "generate": (0.55, 0.2, 0.1, 0.0, 1.5e9),
        "sample": (0.1, 0.1, 0.3, 0.3e9, 0.0),
        "map+shuffle": (0.16, 0.09, 0.42, 0.63e9, 0.61e9),
        "sort+reduce": (0.34, 0.1, 0.33, 0.62e9, 0.6e9),
        "validate": (0.3, 0.12, 0.4, 1.2e9, 0.0),
    }
    end_s = max(phase.started_s + phase.elapsed_s for phase in sort.phases)
    for step in range(int(end_s * 2) + 1):
        at_s = step / 2
        phase = next(p for p in reversed(sort.phases) if p.started_s <= at_s + 1e-9)
        user, system, iowait, read, write = (
            v * noise.uniform(0.88, 1.1) for v in use.get(phase.name, (0.1, 0.1, 0.1, 0.0, 0.0))
        )
        rows += [
            (at_s, "cpu_user", None, user, "fraction"),
            (at_s, "cpu_system", None, system, "fraction"),
            (at_s, "cpu_iowait", None, iowait, "fraction"),
            (at_s, "cpu_steal", None, 0.01, "fraction"),
            (at_s, "disk_read_bytes_per_s", "vda", read, "B/s"),
            (at_s, "disk_read_bytes_per_s", "vda1", read, "B/s"),
            (at_s, "disk_write_bytes_per_s", "vda", write, "B/s"),
            (at_s, "net_receive_bytes_per_s", "eth0", 2e4, "B/s"),
            (at_s, "net_transmit_bytes_per_s", "eth0", 9e3, "B/s"),
            (at_s, "net_receive_bytes_per_s", "lo", 5e9, "B/s"),
        ]
    columns = ["t_s", "metric", "device", "value", "unit"]
    return pl.DataFrame(rows, schema=columns, orient="row", infer_schema_length=None)


def prices() -> tuple[PriceRow, ...]:
    """The price table of a 100 TB sort on a shipped catalog."""
    catalogs = [load_shipped("ec2-2014")]
    return price_rows(
        advise(HardwareRequest(sort_job(100e12), today=date(2026, 7, 14)), catalogs), catalogs
    )


def prediction_of(probe: Trial, sort: Trial) -> Prediction:
    """The model's prediction of `sort`."""
    spilled = round(sort.values("spilled_bytes")[0])
    plan = NativeSortPlan(sort.workload.input_bytes or 0, spilled)
    return predict_native_sort(plan, disk_rates_from_trial(probe))


def realistic() -> ReportData:
    """A quickstart on a small virtual machine."""
    probe = disk_probe()
    small = sort_trial(
        2,
        1_000_000_000,
        0,
        {"generate": 0.7, "sample": 0.03, "map+shuffle": 0.86, "sort+reduce": 0.6, "validate": 0.9},
    )
    large = sort_trial(
        3,
        4_000_000_000,
        3_100_000_000,
        {"generate": 2.6, "sample": 0.05, "map+shuffle": 5.7, "sort+reduce": 5.6, "validate": 3.4},
    )
    warning = TrialWarning(
        "VEN-DISK-ROTATIONAL", "the virtual disk says it rotates; virtual disks often do"
    )
    probe = replace(probe, warnings=(warning,))
    return report_data(
        [probe, network_probe(), small, large],
        series={small.id: series_of(small), large.id: series_of(large)},
        predictions={sort.id: prediction_of(probe, sort) for sort in (small, large)},
        prices=prices(),
        generated_at=AT + timedelta(minutes=5),
        skipped=[SkippedMeasurement("Page cache dropped before the sort", "needs root")],
        commands=["venturi quickstart --time-budget 3min --report report.html"],
    )


def edge() -> ReportData:
    """All faults together: hostile and endless names, a failed trial, no series."""
    probe = disk_probe(HOSTILE)
    hostile = sort_trial(
        2, 10**9, 0, {"sample": 0.0, "map+shuffle": 0.9, HOSTILE: 0.5}, where=HOSTILE
    )
    hostile = replace(
        hostile,
        cluster=Cluster((Host(HOSTILE, {"cpu_model": LONG, "missing": {"container": HOSTILE}}),)),
        warnings=(TrialWarning("VEN-X", HOSTILE),),
    )
    endless = sort_trial(3, 2 * 10**9, 10**9, {"map+shuffle": 3.0, "sort+reduce": 2.0}, where=LONG)
    silent = replace(
        endless,
        id="01JZTHREP0RTS000000000000S",
        samples=(Sample("stage_useful_s", None, "s", "map+shuffle", {"stage": "read"}, "lost"),),
    )
    failed = replace(
        sort_trial(4, 10**9, 0, {"sample": 0.1}),
        state=State.FAILED,
        elapsed_s=None,
        samples=(),
        failure=Failure("space", "VEN-SORT-SPACE", f"no space left in {LONG}"),
    )
    network = replace(
        network_probe(),
        state=State.FAILED,
        elapsed_s=None,
        samples=(),
        failure=Failure("timeout", "VEN-NET-TIMEOUT", HOSTILE),
    )
    broken = series_of(hostile).with_columns(value=pl.lit(None, dtype=pl.Float64))
    return report_data(
        [probe, network, hostile, endless, silent, failed],
        series={hostile.id: broken},
        predictions={},
        prices=None,
        generated_at=AT,
        job=HOSTILE,
        skipped=[SkippedMeasurement(HOSTILE, LONG)],
        commands=[f"venturi sort --input {LONG} {HOSTILE}"],
    )


def single() -> ReportData:
    """One sort, and nothing else."""
    sort = sort_trial(2, 10**9, 0, {"sample": 0.03, "map+shuffle": 0.86, "sort+reduce": 0.6})
    return report_data([sort], series={}, predictions={}, prices=[], generated_at=AT, commands=[])


def empty() -> ReportData:
    """No trial at all."""
    return report_data([], series={}, predictions={}, prices=None, generated_at=AT)
