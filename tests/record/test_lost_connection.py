"""A PostgreSQL server that is lost: nobody waits for it for hours."""

from __future__ import annotations

import socket

import pytest

from torture.postgresql import Postgresql
from torture.proxy import Proxy
from venturi.record.database import Database


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
