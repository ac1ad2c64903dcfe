"""A proxy to a server that breaks on command."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
from pathlib import Path

from venturi.record.store.closing import Closing

_RESET = struct.pack("ii", 1, 0)  # l_onoff, l_linger: closing sends RST


class Proxy(Closing):
    """Listens on 127.0.0.1 at `port` and hands on to the Unix socket `server`.

    `carried_bytes` have gone through since `carry` was called, both ways together.
    """

    def __init__(self, server: Path) -> None:
        self._server = server
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._reset_after_bytes: int | None = None
        self.carried_bytes = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def carry(self, reset_after_bytes: int | None) -> None:
        """Reset the counter, and reset the client's connection after this many bytes; None:
        never.
        """
        self._reset_after_bytes, self.carried_bytes = reset_after_bytes, 0

    def close(self) -> None:
        """Accept no more connections."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _serve(self) -> None:
        """One connection after the other: no command of a round has two."""
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            with client, server, contextlib.suppress(OSError):
                server.connect(str(self._server))
                self._carry(client, server)

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        others = {client: server, server: client}
        while True:
            for ready in select.select(list(others), (), ())[0]:
                data = ready.recv(1 << 12)
                if not data:
                    return
                left = self._left_bytes()
                if left is not None and left <= len(data):
                    others[ready].sendall(data[:left])
                    self.carried_bytes += left
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    return
                self.carried_bytes += len(data)
                others[ready].sendall(data)

    def _left_bytes(self) -> int | None:
        at = self._reset_after_bytes
        return None if at is None else max(0, at - self.carried_bytes)
