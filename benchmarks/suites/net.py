"""NetBench against iperf3 on loopback: memory copying, not a network, and the same on both sides.

Same number of sockets, same bytes, messages of 1 MiB (iperf3's largest). iperf3 also runs with its
default message (128 KiB); whichever is faster here is the one to reach.
"""

from __future__ import annotations

import json
import shutil
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import rows
from benchmarks.bench import Bench, Unavailable
from benchmarks.figures import Figure, ratio_figure, rotated
from benchmarks.process import background

_BYTES = 16 * 2**30
_MESSAGES = {"iperf3 128 KiB": "128K", "iperf3 1 MiB": "1M"}
_START_S = 10.0


def iperf_rate(text: str) -> dict[str, float]:
    """Received bytes per second, all sockets together, out of iperf3's JSON."""
    report = json.loads(text)
    if "error" in report:
        raise ValueError(report["error"])
    return {"bytes_per_s": report["end"]["sum_received"]["bits_per_second"] / 8}


def net_rate(result: Mapping[str, Any], sockets: int) -> float:
    """Bytes per second of the pair out of a NetBench result."""
    for item in result["measurements"]:
        if item["pattern"] == "pairwise" and item["sockets_per_peer"] == sockets:
            rate: float = item["bytes_per_s"]["mean"]
            return rate
    raise ValueError(f"no pairwise measurement with {sockets} sockets in the result")


def run(bench: Bench) -> list[Figure]:
    """One and two sockets."""
    bench.agent()
    if shutil.which("iperf3") is None:
        raise Unavailable("iperf3 is not installed (Debian package iperf3)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with background(["iperf3", "--server", "--bind", "127.0.0.1", "--port", str(port)]):
        _wait_for(port)
        return [_compare(bench, sockets, port) for sockets in rows.NET]


def _wait_for(port: int) -> None:
    # A trial connection would count as a client; the kernel's list of listeners does not disturb.
    until_s = time.monotonic() + _START_S
    listening = f"0100007F:{port:04X} 00000000:0000 0A"
    while listening not in Path("/proc/net/tcp").read_text():
        if time.monotonic() > until_s:
            raise Unavailable("the iperf3 server does not listen")
        time.sleep(0.05)


def _compare(bench: Bench, sockets: int, port: int) -> Figure:
    size_bytes = bench.options.size(_BYTES, 4 * 2**20)
    case = f"{sockets} socket{'s' if sockets > 1 else ''}"
    rates: dict[str, list[float]] = {name: [] for name in (*_MESSAGES, "venturi")}
    for turn in range(2 * bench.options.pairs):
        for contender in rotated(list(rates), turn):
            label = ("net", case, contender, turn)
            if contender == "venturi":
                iteration = bench.run_agent(
                    label,
                    "net",
                    "--loopback",
                    "2",
                    "--pattern",
                    "pairwise",
                    "--iterations",
                    "1",
                    "--sockets-per-peer",
                    str(sockets),
                    "--bytes",
                    str(size_bytes),
                    "--message-bytes",
                    str(2**20),
                    "--max-seconds",
                    "600",
                )
                rates[contender].append(net_rate(iteration.data, sockets))
                continue
            command = [
                "iperf3",
                "--client",
                "127.0.0.1",
                "--port",
                str(port),
                "--json",
                "--parallel",
                str(sockets),
                "--bytes",
                str(size_bytes),
                "--length",
                _MESSAGES[contender],
            ]
            iteration = bench.run(label, command, read=iperf_rate)
            if iteration.problem is not None:
                raise Unavailable(f"iperf3: {iteration.problem}")
            rates[contender].append(iteration.data["bytes_per_s"])
    best = max(_MESSAGES, key=lambda name: median(rates[name]))
    note = f"{best}: {median(rates[best]) / 1e6:,.0f} MB/s"
    return ratio_figure(rows.NET[sockets], rates["venturi"], rates[best], note)
