"""Run in its own network: an import that loses its packets to PostgreSQL while it waits.

Arguments: the server's socket, the database, and the table to import. Prints how two imports ended,
as JSON: one with packets dropped from when it waits for a lock, and one after that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psycopg

from torture.web.proxy import Proxy

_HANG_S = 240.0
_LIMITS = "tcp_user_timeout=2000&keepalives_idle=1&keepalives_interval=1&keepalives_count=2"


def _import(url: str, table: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "venturi.cli.main", "import", table],
        env={
            **os.environ,
            "VENTURI_DATABASE_URL": url,
            "VENTURI_HOME": str(Path(table).parent / "home"),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _end(importing: subprocess.Popen[str]) -> tuple[int, str]:
    try:
        _, said = importing.communicate(timeout=_HANG_S)
    finally:
        importing.kill()
    return importing.returncode, said


def _waiting(own: psycopg.Connection[tuple[int]]) -> int:
    """The server's process that waits for a lock."""
    asked = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    deadline_s = time.monotonic() + _HANG_S
    while time.monotonic() < deadline_s:
        own.execute("SELECT pg_stat_clear_snapshot()")  # otherwise a transaction sees one snapshot
        if found := own.execute(f"{asked} AND wait_event_type = 'Lock'").fetchone():
            return found[0]
        time.sleep(0.01)
    raise TimeoutError("the import does not come to the lock")


def main(server: str, name: str, table: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    drop = ["tc", "qdisc", "add", "dev", "lo", "root", "pfifo", "limit", "0"]
    with Proxy(Path(server)) as proxy:
        url = f"postgresql+psycopg://venturi@127.0.0.1:{proxy.port}/{name}?{_LIMITS}"
        with psycopg.connect(host=str(Path(server).parent), user="venturi", dbname=name) as own:
            own.execute("LOCK TABLE trials IN ACCESS EXCLUSIVE MODE")
            importing = _import(url, table)
            waiting = _waiting(own)
            subprocess.run(drop, check=True)
            dropped = _end(importing)
            subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], check=True)
            own.execute("SELECT pg_terminate_backend(%s)", [waiting])
        sys.stdout.write(json.dumps([dropped, _end(_import(url, table))]))


if __name__ == "__main__":
    main(*sys.argv[1:])
