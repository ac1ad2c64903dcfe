"""PerfKitBenchmarker's runs of fio, iperf and netperf, in the metrics of Venturi's own probes.

Bandwidths of fio are KiB/s under the unit `KB/s`, as fio's `bw` is; latencies are microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from venturi.record.trial import Sample, Scalar
from venturi.results.importers.fio import block_bytes
from venturi.results.importers.probe_trials import (
    DISK,
    NETWORK,
    DiskTest,
    access,
    access_named,
    quantile_name,
)

_FIO = re.compile(r"(?P<job>.+):(?P<direction>read|write|trim):(?P<figure>bandwidth|iops)")
_LATENCY = re.compile(
    r"(?P<job>.+):(?P<direction>read|write|trim):(?:latency|clat):(?P<statistic>[a-z0-9.]+)"
)
_BYTES_PER_S = {"kb/s": 1024.0, "kib/s": 1024.0, "mb/s": 1e6, "mib/s": float(1 << 20), "b/s": 1.0}
_BITS_PER_S = {"mbits/sec": 1e6, "mbps": 1e6, "gbits/sec": 1e9, "kbits/sec": 1e3, "bits/sec": 1.0}
_SECONDS = {"usec": 1e-6, "us": 1e-6, "nsec": 1e-9, "ns": 1e-9, "msec": 1e-3, "ms": 1e-3, "s": 1.0}
_KEPT = frozenset({"p50", "p90", "p95", "p99", "p99.9", "p99.99", "mean", "max"})
_NETWORK_TESTS = frozenset({"iperf", "netperf"})
# The total of several concurrent streams is the link's rate; their mean or maximum is one stream's.
_STREAM = re.compile(r"(?:Throughput|TCP_STREAM_Throughput(?:_total)?)")
_TIMES = ("runtime_in_seconds", "netperf_test_length", "test_length", "runtime")


class SampleLine(Protocol):
    """A sample of PerfKitBenchmarker."""

    @property
    def metric(self) -> str: ...
    @property
    def value(self) -> float | None: ...
    @property
    def unit(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, Scalar]: ...


@dataclass(frozen=True, slots=True)
class ProbeSamples:
    """A run that is a probe: the workload, its rates, and its time if the labels say it."""

    kind: str
    samples: tuple[Sample, ...]
    elapsed_s: float | None


def probe_of(test: str, lines: Sequence[SampleLine]) -> ProbeSamples | None:
    """Return the rates of a run of fio, iperf or netperf; None for any other run."""
    if test == "fio" or test.startswith("fio_"):
        kind, samples = DISK, tuple(_of_fio(lines))
    elif test in _NETWORK_TESTS:
        kind, samples = NETWORK, tuple(_of_network(lines))
    else:
        return None
    # A run with only transactions or connections, without any rate, is a probe, too.
    return ProbeSamples(kind, samples, _elapsed_s(lines))


def _of_fio(lines: Sequence[SampleLine]) -> Iterator[Sample]:
    for line in lines:
        if line.value is None:
            continue
        if found := _FIO.fullmatch(line.metric):
            test = _test(found["job"], found["direction"], line.labels)
            if found["figure"] == "iops":
                yield from test.rates(found["direction"], None, line.value)
            elif (scale := _BYTES_PER_S.get(line.unit.casefold())) is not None:
                yield from test.rates(found["direction"], line.value * scale, None)
        elif found := _LATENCY.fullmatch(line.metric):
            scale, name = _SECONDS.get(line.unit.casefold()), found["statistic"]
            if scale is not None and name in _KEPT:
                test = _test(found["job"], found["direction"], line.labels)
                quantile = quantile_name(float(name[1:])) if name.startswith("p") else name
                yield from test.latencies(found["direction"], {quantile: line.value * scale})


def _test(job: str, direction: str, labels: Mapping[str, Scalar]) -> DiskTest:
    written = labels.get("rw") or labels.get("readwrite")
    rw = access(written) if written else access_named(job)
    options = {key: str(value) for key, value in labels.items() if value is not None}
    sized = any(key in options for key in ("bs", "blocksize", "bsrange", "bssplit"))
    depth, jobs = labels.get("iodepth"), labels.get("numjobs")
    found: dict[str, Scalar] = {
        "job": job,
        "block_bytes": block_bytes(options, direction) if sized else None,
        "queue_depth": depth if isinstance(depth, int) else None,
    }
    if isinstance(jobs, int) and jobs > 1:
        found["jobs"] = jobs
    return DiskTest(rw, found)


def _of_network(lines: Sequence[SampleLine]) -> Iterator[Sample]:
    """The rates of pairs; over public addresses only if the file has no others."""
    internal = any(line.labels.get("ip_type") == "internal" for line in lines)
    for line in lines:
        if internal and line.labels.get("ip_type") == "external":
            continue
        scale = _BITS_PER_S.get(line.unit.casefold())
        if line.value is None or scale is None or not _STREAM.fullmatch(line.metric):
            continue
        labels: dict[str, Scalar] = {"peers": 2, "slowest": False}
        streams = line.labels.get("sending_thread_count", line.labels.get("num_streams"))
        labels["streams"] = streams if isinstance(streams, int) else None
        for key in ("ip_type", "sending_zone", "receiving_zone"):
            if line.labels.get(key) is not None:
                labels[key] = line.labels[key]
        yield Sample("net_pairwise_bytes_per_s", line.value * scale / 8, "B/s", labels=labels)


def _elapsed_s(lines: Sequence[SampleLine]) -> float | None:
    """Return the longest time that a test was to take, None if no label says it."""
    found = [
        float(value)
        for line in lines
        for key in _TIMES
        if isinstance(value := line.labels.get(key), int | float) and value > 0
    ]
    return max(found, default=None)
