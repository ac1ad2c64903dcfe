"""A PostgreSQL server that is lost: clients don't wait for it for hours."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import dropped_packets
import pytest

from torture.postgresql import Postgresql
from torture.record.import_kills import write_results
from torture.web.proxy import Proxy
from venturi.core.settings import Settings
from venturi.record.query import counting
from venturi.record.query.selection import Query
from venturi.record.store.database import Database
from venturi.record.store.repository import TrialRepository


@pytest.mark.parametrize(
    ("said", "user_timeout_ms", "idle_s"),
    [("", 30_000, 10), ("?tcp_user_timeout=5000&keepalives_idle=3", 5_000, 3)],
)
def test_the_kernel_gives_up_a_server_that_is_silent(
    postgresql: Postgresql, said: str, user_timeout_ms: int, idle_s: int
) -> None:
    name = postgresql.new_repository().partition("@/")[2].partition("?")[0]
    with Proxy(postgresql.socket) as proxy:
        url = f"postgresql+psycopg://venturi@127.0.0.1:{proxy.port}/{name}{said}"
        database = Database(url)
        try:
            with database.reading() as connection:
                driver = connection.connection.driver_connection
                assert driver is not None
                with socket.fromfd(driver.fileno(), socket.AF_INET, socket.SOCK_STREAM) as used:
                    tcp = socket.IPPROTO_TCP
                    assert used.getsockopt(tcp, socket.TCP_USER_TIMEOUT) == user_timeout_ms
                    assert used.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
                    assert used.getsockopt(tcp, socket.TCP_KEEPIDLE) == idle_s
        finally:
            database.close()


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="makes a network of its own, which needs root")
@pytest.mark.skipif(not shutil.which("tc") or not shutil.which("unshare"), reason="needs tc")
def test_packets_that_vanish_end_an_import_and_a_later_one_completes(
    postgresql: Postgresql, tmp_path: Path
) -> None:
    table, url = tmp_path / "CP_sort.csv", postgresql.new_repository()
    write_results(table, 20)
    name = url.partition("@/")[2].partition("?")[0]
    program = [sys.executable, dropped_packets.__file__, str(postgresql.socket), name, str(table)]
    ran = subprocess.run(
        ["unshare", "--net", *program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    (status, said), (again, told) = json.loads(ran.stdout)
    assert status == 1
    assert "[VEN-RECORD-DATABASE]" in said
    assert again == 0, told
    with TrialRepository.open(
        Settings(tmp_path / "home", url, None, allow_debug=False)
    ) as repository:
        assert counting.count(repository, Query()) == 20
