"""An honest client among hostile ones, and the memory of the worst requests.

`python -m benchmarks.web.clients [idle] [half-open] [memory]` starts its own `venturi serve` for
each and prints the honest client's figures. Bars: p95 of an honest page <= 500 ms under 10,000 idle
and 200 slow connections; honest pages are answered at `ulimit -n 1024` under 1,100 half-open
connections; at most 1 GB under 8 concurrent requests for series of 20 million rows.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import polars as pl

from benchmarks.repository import synthetic_trials
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository

IDLE, SLOW, HALF_OPEN, PAGES, AT_ONCE = 10_000, 200, 1_100, 200, 8
ROWS, DAY_S, METRICS = 20_000_000, 86_400, 200
TRIALS = 1_000
_SLOW = (
    b"GET /api/status HTTP/1.1\r\nHost: localhost\r\n",
    b"POST /api/views HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100000\r\n\r\n{",
)


@contextmanager
def served(home: Path, files: int | None = None) -> Iterator[tuple[str, int, Path]]:
    """A server's address, process and log."""
    log = home / "log"
    limited = ["prlimit", f"--nofile={files}"] if files else []
    command = [*limited, sys.executable, "-m", "venturi.cli.main", "serve", "--port", "0"]
    environment = {**os.environ, "VENTURI_HOME": str(home)}
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as server,
    ):
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip(), server.pid, log
        finally:
            server.terminate()


def connections(url: str, n: int, sent: Sequence[bytes], stack: ExitStack) -> list[socket.socket]:
    """`n` connections that have sent the beginning of a request, or nothing."""
    host, port = httpx.URL(url).host, httpx.URL(url).port
    assert port is not None
    made = []
    for number in range(n):
        one = stack.enter_context(socket.create_connection((host, port), 30))
        one.setblocking(False)
        if sent:
            one.send(sent[number % len(sent)])
        made.append(one)
    return made


def trickle(url: str, n: int, over: threading.Event) -> None:
    """Hold `n` connections open, one byte per second each; replace closed ones."""
    with ExitStack() as stack:
        slow = connections(url, n, _SLOW, stack)
        while not over.wait(1):
            for place, one in enumerate(slow):
                try:
                    one.send(b"X")
                except BlockingIOError:
                    continue
                except OSError:
                    one.close()
                    slow[place : place + 1] = connections(url, 1, (_SLOW[place % 2],), stack)


def pages_ms(url: str) -> list[float]:
    """Return an honest client's waiting times for pages, each over its own connection, in order."""
    elapsed_ms = []
    for number in range(PAGES):
        path = ("trials", "api/status", "api/trials?limit=50", "api/start")[number % 4]
        begun_s = time.perf_counter()
        httpx.get(f"{url}{path}", trust_env=False, timeout=60).raise_for_status()
        elapsed_ms.append((time.perf_counter() - begun_s) * 1e3)
    return sorted(elapsed_ms)


def memory_bytes(pid: int, what: str) -> int:
    """VmRSS (now) or VmHWM (the most) of a process."""
    told = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(rf"{what}:\s+(\d+) kB", told)[0]) * 1_024


def say(name: str, elapsed_ms: list[float]) -> None:
    """One line: median, p95, highest."""
    median, p95 = elapsed_ms[len(elapsed_ms) // 2], elapsed_ms[len(elapsed_ms) * 95 // 100 - 1]
    print(
        f"{name}: {len(elapsed_ms)} honest pages, median {median:.1f} ms, p95 {p95:.1f} ms, "
        f"highest {elapsed_ms[-1]:.1f} ms",
        flush=True,
    )


def idle(home: Path) -> None:
    """Honest pages under IDLE connections that say nothing and SLOW that say little."""
    with served(home) as (url, pid, log), ExitStack() as stack:
        say("nobody else", pages_ms(url))
        over = threading.Event()
        slow = threading.Thread(target=trickle, args=(url, SLOW, over))
        slow.start()
        try:
            connections(url, IDLE, (), stack)
            say(f"{IDLE:,} idle and {SLOW} slow connections", pages_ms(url))
        finally:
            over.set()
            slow.join()
        used = memory_bytes(pid, "VmHWM")
    print(f"  the server: at most {used / 1e6:.0f} MB, {log.stat().st_size:,} bytes of log")


def half_open(home: Path) -> None:
    """Honest pages at `ulimit -n 1024` under HALF_OPEN connections that end within a header."""
    with served(home, files=1_024) as (url, _, log), ExitStack() as stack:
        connections(url, HALF_OPEN, _SLOW[:1], stack)
        say(f"{HALF_OPEN:,} half-open connections, 1,024 files", pages_ms(url))
    print(f"  the server: {log.stat().st_size:,} bytes of log")


def memory(home: Path) -> None:
    """The memory of AT_ONCE requests for the largest series."""
    names = [f"large{number}" for number in range(2)]
    with TrialRepository.open(Settings(home, None, None, allow_debug=False)) as repository:
        first = next(iter(synthetic_trials()))
        for name, write in zip(names, (equal_rows, honest_day), strict=True):
            write(home / "series.parquet")
            trial = replace(first, id=name)
            repository.add(
                repository.attach(trial, "series", "host.parquet", home / "series.parquet")
            )
    with served(home) as (url, pid, _):
        httpx.get(f"{url}api/start", trust_env=False, timeout=60)
        before = memory_bytes(pid, "VmRSS")
        begun_s = time.perf_counter()
        urls = [f"{url}api/trials/{names[number % 2]}/series" for number in range(AT_ONCE)]
        with ThreadPoolExecutor(AT_ONCE + 1) as threads:
            asked = [threads.submit(httpx.get, each, trust_env=False, timeout=600) for each in urls]
            honest = threads.submit(pages_ms, url)
            for each in asked:
                each.result().raise_for_status()
            took_s = time.perf_counter() - begun_s
            say(f"{AT_ONCE} requests for series of {ROWS:,} rows", honest.result())
        time.sleep(3)
        most, after = memory_bytes(pid, "VmHWM"), memory_bytes(pid, "VmRSS")
    print(
        f"  the server: {before / 1e6:.0f} MB before, at most {most / 1e6:.0f} MB, "
        f"{after / 1e6:.0f} MB 3 s later; all answered in {took_s:.1f} s"
    )


def equal_rows(file: Path) -> None:
    """ROWS equal rows, in one group of a few kilobytes."""
    pl.select(
        t_s=pl.repeat(1.0, ROWS),
        metric=pl.lit("cpu_user"),
        device=pl.lit(None, pl.String),
        value=pl.lit(0.5),
        unit=pl.lit("fraction"),
    ).write_parquet(file, row_group_size=ROWS)


def honest_day(file: Path) -> None:
    """A day of METRICS metrics, once a second."""
    times = pl.DataFrame({"t_s": pl.int_range(DAY_S, eager=True).cast(pl.Float64)})
    names = pl.DataFrame({"metric": [f"metric_{number:03}" for number in range(METRICS)]})
    times.join(names, how="cross").with_columns(
        device=pl.lit(None, pl.String), value=pl.col("t_s") * 7_919 % 1_013, unit=pl.lit("B/s")
    ).select("t_s", "metric", "device", "value", "unit").write_parquet(file)


def main() -> None:
    """Those that are named, or all."""
    all_ = {"idle": idle, "half-open": half_open, "memory": memory}
    for name in sys.argv[1:] or all_:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            with TrialRepository.open(Settings(home, None, None, allow_debug=False)) as repository:
                repository.add_many(synthetic_trials(TRIALS))
            all_[name](home)


if __name__ == "__main__":
    main()
