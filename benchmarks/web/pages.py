"""Milliseconds of the data behind every page: `python -m benchmarks.web.pages`.

The 50,000 synthetic trials of `benchmarks.repository` are stored in a new folder, on SQLite or in
the empty database of VENTURI_DATABASE_URL, and served by its own `venturi serve`. After a first
request, with a column of its own, each request is made 20 times over one connection, compressed, as
by a browser; the bar is 300 ms at the 95th percentile. Between requests the server keeps only the
answers of /api/keys and /api/advice and the choices for a repeat group. The CPU time is that of the
server per request (Linux only), without PostgreSQL's: on a busy machine it is more reliable than
the clock.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import httpx

from benchmarks.repository import VALUES, synthetic_trials
from venturi.core.settings import Settings
from venturi.record.query.paging import rows
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository

REPEATS = 20


def requests(repository: TrialRepository) -> dict[str, str]:
    """The requests that are timed, by the page they are of."""
    some = rows(repository, Query()).rows[0].id
    filters = "where=workload%3Dterasort&where=elapsed_s%3C5000"
    by = "by=disk&by=net&by=replication&by=maps"  # 480 groups
    eight = "&".join(f"key={key}" for key in list(VALUES)[:8])
    two = "".join(f"&group={quote(json.dumps([disk]))}" for disk in ("SSD", "HDD"))
    prices = "usd_per_hour=3.5&plus=disk%3DSSD:0.7&plus=net%3DIB:0.8"
    return {
        "start": "/api/status",
        "keys": "/api/keys",
        "repository": "/api/trials",
        "repository, 1,000 rows": "/api/trials?limit=1000",
        "repository, filters": f"/api/trials?{filters}&sort=elapsed_s",
        "repository, by a setting": "/api/trials?sort=maps",
        "facets": "/api/facets",
        "facets, filters": f"/api/facets?{filters}",
        "facets of 8 settings": f"/api/facets?{eight}",
        "trial": f"/api/trials/{some}",
        "series": f"/api/trials/{some}/series",
        "480 groups": f"/api/groups?{by}",
        "cost": f"/api/cost?{filters}&by=disk&by=net&objective=cost&{prices}",
        "cost, everything": f"/api/cost?by=disk&by=net&objective=pareto&{prices}",
        "cost, 480 groups": f"/api/cost?{by}&usd_per_hour=3.5",
        "compare": f"/api/compare?{filters}&by=disk{two}",
        "compare, everything": f"/api/compare?by=disk{two}",
        "effect": f"/api/effect?{filters}&key=disk",
        "effect, everything": "/api/effect?key=disk",
        "scaling": f"/api/scaling?{filters}&x=hosts&by=disk",
        "scaling, everything": "/api/scaling?x=hosts&by=workload",
        "scaling, a setting": "/api/scaling?x=maps&by=workload&by=disk",
        "effect of combinations": f"/api/effect?{filters}&key=disk&key=net",
        "effect of combinations, everything": "/api/effect?key=disk&key=net&key=maps",
        "advice": "/api/advice",
        "exclusions": "/api/exclusions",
        "views": "/api/views",
    }


@contextmanager
def served(home: Path) -> Iterator[httpx.Client]:
    """Yield a client of a server in its own process; `client.headers` has its id as `pid`."""
    command = [sys.executable, "-m", "venturi.cli.main", "serve", "--port", "0"]
    environment = {**os.environ, "VENTURI_HOME": str(home)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            headers = {"pid": str(server.pid)}  # for `measure`; the server does not look at it
            with httpx.Client(base_url=url, timeout=60, trust_env=False, headers=headers) as client:
                yield client
        finally:
            server.terminate()


def processor_ms(pid: int) -> float:
    """The processor time that the process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")


def measure(client: httpx.Client, asked: dict[str, str]) -> None:
    """Print a line per request, and the slowest."""
    titles = ("first ms", "median ms", "p95 ms", "cpu ms")
    print(f"{'data of':28}" + "".join(f" {title:>10}" for title in titles) + f" {'bytes':>10}")
    pid, highest = int(client.headers["pid"]), 0.0
    for name, url in asked.items():
        elapsed_ms = []
        for number in range(REPEATS + 1):
            if number == 1:
                used = processor_ms(pid)
            begun = time.perf_counter()
            answer = client.get(url)
            elapsed_ms.append((time.perf_counter() - begun) * 1e3)
        used_ms = (processor_ms(pid) - used) / REPEATS
        first, *others = elapsed_ms
        others.sort()
        median, high = others[REPEATS // 2], others[REPEATS * 95 // 100 - 1]
        highest = max(highest, high)
        said = "" if answer.is_success else f"  {answer.status_code} {answer.json()['detail']}"
        sent = int(answer.headers.get("content-length", 0))
        row = "".join(f" {each:>10.1f}" for each in (first, median, high, used_ms))
        print(f"{name:28}{row} {sent:>10,}{said}", flush=True)
    print(f"{'the slowest':28} {'':10} {'':10} {highest:>10.1f}")


def main() -> None:
    """Store the trials, start the server, send the requests."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        url = os.environ.get("VENTURI_DATABASE_URL")
        with TrialRepository.open(Settings(home, url, None, allow_debug=False)) as repository:
            repository.add_many(synthetic_trials())
            asked = requests(repository)
        with served(home) as client:
            measure(client, asked)


if __name__ == "__main__":
    main()
