"""NetBench and iperf3 on one path: `python -m benchmarks.measure.links [MBIT_PER_S ...]`, as root.

Two hosts of a lab with links of each rate; both programs in turn, three times; medians.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from venturi.core import settings
from venturi.measure.hosts.agent import Agent
from venturi.measure.lab import lab
from venturi.measure.lab.lab_file import lab_of
from venturi.measure.probes.net_rounds import message_bytes

ROUNDS, SECONDS = 3, 0.75
PREFIX = "10.79.7"
LAB = """
name = "{name}"
[network]
rate = "{rate}Mbit/s"
addresses = "{prefix}.0/24"
[[hosts]]
name = "h"
count = 2
"""


def ours(into: list[tuple[str, ...]], agent: str, mbit_per_s: float) -> float:
    """Mbit/s from the first host to the second, by NetBench."""
    env = {**os.environ, "VENTURI_NET_TOKEN": "links"}
    peers, addresses = [], []
    for place, enter in enumerate(into, start=1):
        listen = [*enter, agent, "net", "--listen", f"{PREFIX}.{place}:0", "--listen-seconds", "60"]
        peer = subprocess.Popen(listen, stdout=subprocess.PIPE, text=True, env=env)
        peers.append(peer)
        assert peer.stdout is not None
        heard = (json.loads(line) for line in peer.stdout)
        addresses.append(next(e["address"] for e in heard if e["event"] == "listening"))
    size = message_bytes(mbit_per_s * 1e6 / 8, SECONDS)
    measure = [
        *into[0],
        agent,
        "net",
        "--peer",
        addresses[0],
        "--peer",
        addresses[1],
        "--pattern",
        "every_pair",
        "--iterations",
        "1",
        "--max-seconds",
        str(SECONDS),
        "--message-bytes",
        str(size),
    ]
    done = subprocess.run(measure, capture_output=True, text=True, env=env, check=True)
    for peer in peers:
        peer.terminate()
        peer.wait()
    report = json.loads(done.stdout.splitlines()[-1])["data"]
    return float(report["measurements"][0]["matrix"][0][1]) * 8 / 1e6


def iperf3(into: list[tuple[str, ...]]) -> float:
    """Mbit/s received by the second host from the first, by iperf3 in 2 s."""
    server = subprocess.Popen([*into[1], "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    client = [*into[0], "iperf3", "-c", f"{PREFIX}.2", "-t", "2", "-J"]
    done = subprocess.run(client, capture_output=True, text=True, check=True)
    server.wait()
    return float(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]) / 1e6


def main() -> None:
    """One line for each rate."""
    agent = Agent.find(settings.load()).path
    name = f"links{os.getpid()}"
    for rate in map(float, sys.argv[1:] or ("50", "400", "1000", "4000")):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            text = LAB.format(name=name, rate=rate, prefix=PREFIX)
            lab.up(lab_of(text, Path("lab.toml")), home, cores=2)
            try:
                into = [lab.enter(home, name, host) for host in ("h1", "h2")]
                rounds = [(ours(into, agent, rate), iperf3(into)) for _ in range(ROUNDS)]
            finally:
                lab.down(home, name)
        mine, theirs = (median(each) for each in zip(*rounds, strict=True))
        print(
            f"{rate:g} Mbit/s: NetBench {mine:,.1f}, iperf3 {theirs:,.1f}, "
            f"ratio {mine / theirs:.3f}; NetBench / link {mine / rate:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
