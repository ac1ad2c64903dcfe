"""How the server fares, for Prometheus: its text format, version 0.0.4.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from venturi.web.api.health import BUCKETS_S, ServerState

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]


def metrics(watch: ServerState) -> str:
    """All metrics of `watch`, the repository's size and the process's resources; Linux only."""
    return "".join(f"{line}\n" for line in _all(watch))


def _all(watch: ServerState) -> Iterator[str]:
    yield from _family(
        "venturi_http_requests_total",
        "counter",
        "Requests that were answered.",
        [
            ({"route": route, "status": str(status)}, count)
            for (route, status), count in sorted(watch.answers.items())
        ],
    )
    name = "venturi_http_request_duration_seconds"
    yield from _family(name, "histogram", "Time from a request's header to its answer's end.", [])
    for route, total_s in sorted(watch.elapsed_s.items()):
        n = 0
        for bound_s in (*BUCKETS_S, float("inf")):
            n += watch.buckets[route, bound_s]
            bound = "+Inf" if bound_s == float("inf") else f"{bound_s:g}"
            yield _line(f"{name}_bucket", {"route": route, "le": bound}, n)
        yield _line(f"{name}_sum", {"route": route}, total_s)
        yield _line(f"{name}_count", {"route": route}, n)
    yield from _family(
        "venturi_connections",
        "gauge",
        "Connections, by phase.",
        [({"phase": phase}, n) for phase, n in watch.connections().items()],
    )
    yield from _gauge("venturi_requests_in_flight", "Active requests.", watch.in_flight)
    yield from _gauge(
        "venturi_requests_overdue",
        "Requests that timed out and are still active.",
        len(watch.overdue),
    )
    yield from _family(
        "venturi_refused_total",
        "counter",
        "Refused or canceled, by the exceeded limit.",
        [({"reason": reason}, n) for reason, n in sorted(watch.refused.items())],
    )
    yield from _gauge(
        "venturi_repository_bytes",
        "Size of the database, without artifacts.",
        watch.repository.size_bytes(),
    )
    yield from _process()


def _process() -> Iterator[str]:
    """The names that Prometheus' own libraries use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    times = os.times()
    yield from _gauge(
        "process_resident_memory_bytes", "Memory in use.", pages * os.sysconf("SC_PAGE_SIZE")
    )
    yield from _gauge("process_open_fds", "Open files.", len(list(Path("/proc/self/fd").iterdir())))
    yield from _family(
        "process_cpu_seconds_total", "counter", "CPU time.", [({}, times.user + times.system)]
    )


def _gauge(name: str, help: str, value: float) -> Iterator[str]:
    return _family(name, "gauge", help, [({}, value)])


def _family(
    name: str, kind: str, help: str, values: Iterable[tuple[Labels, float]]
) -> Iterator[str]:
    yield f"# HELP {name} {help}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        yield _line(name, labels, value)


def _line(name: str, labels: Labels, value: float) -> str:
    told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{told}}} {value:.17g}" if told else f"{name} {value:.17g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
