"""`venturi serve`: the repository as web pages and an HTTP interface."""

from __future__ import annotations

import gc
import ipaddress
import os
import resource
import socket
import sys
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import click

from venturi.cli.open_repository import open_repository, open_to_others
from venturi.cli.options import BYTES, InputPath
from venturi.cli.share.token_files import token_in
from venturi.core import settings
from venturi.core.errors import VenturiError

if TYPE_CHECKING:
    from venturi.core.settings import ServerLimits, Settings
    from venturi.record.store.repository import TrialRepository
    from venturi.web.api.security import Access

_BACKLOG = 256
_OWN_FILES = 160  # of the database, and connections that are taken in or given up
_TOKEN_FILE = InputPath(dir_okay=False)


@click.command()
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on; any address but loopback needs a token (`venturi token add`).",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8321,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@click.option(
    "--read-token-file",
    type=_TOKEN_FILE,
    help="File with a token that readers need (or set VENTURI_READ_TOKEN).",
)
@click.option(
    "--write-token-file",
    type=_TOKEN_FILE,
    help="File with a token for uploads and changes (or set VENTURI_WRITE_TOKEN).",
)
@click.option("--require-token", is_flag=True, help="Require a token on loopback, too.")
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="Trusted proxy (address or CIDR); its X-Forwarded-* headers are used. Requires tokens.",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="Accept requests for this host name, too; other names are refused.",
)
@click.option(
    "--https",
    is_flag=True,
    help="Send cookies over https only, because clients reach the proxy by https.",
)
@click.option(
    "--upload-limit",
    type=BYTES,
    default="1GiB",
    show_default=True,
    metavar="SIZE",
    help="Largest archive to accept.",
)
def command(
    *,
    host: str,
    port: int,
    read_token_file: Path | None,
    write_token_file: Path | None,
    require_token: bool,
    proxies: tuple[str, ...],
    allow_host: tuple[str, ...],
    https: bool,
    upload_limit: int,
) -> None:
    """Serve the repository as web pages and as JSON.

    The pages are at /, their data under /api. Without tokens it listens on loopback only: everyone
    on this machine can read, exclude trials and save views. Uploads (`venturi push`) always need a
    token with write access, from `venturi token add`. It prints its address when it is ready. Press
    Ctrl-C to stop it.
    """
    # Requests run side by side already, and their matrices are tiny. Read when numpy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from venturi.web.api.security import Access

    found = settings.load()
    access = Access(
        read_token=token_in(read_token_file) or found.read_token,
        write_token=token_in(write_token_file) or found.write_token,
        loopback=_is_loopback(host),
        hosts=frozenset(name.lower() for name in (host, *allow_host)),
        https=https,
        upload_bytes_max=upload_limit,
        closed=require_token,
        proxies=tuple(map(_network, proxies)),
    )
    with open_repository(found.server.write_timeout_s) as repository:
        if told := open_to_others(found.home):
            click.echo(f"note: {told}", err=True)
        _require_token(repository, access)
        with _listen(host, port) as listener:
            _serve(repository, access, listener, found)


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text))
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not an address or network: {error}") from error


def _require_token(repository: TrialRepository, access: Access) -> None:
    """Refuse to start a server that no client could use."""
    from venturi.record.access import tokens

    own = access.read_token or access.write_token
    if access.needs_token and not own and not tokens.in_force(repository):
        raise VenturiError(
            "VEN-SERVE-TOKEN",
            "without a token the server listens on loopback only, and for no proxy",
            hint="make one by `venturi token add NAME --role write`, or leave out --host, --proxy "
            "and --require-token",
        )


def _serve(
    repository: TrialRepository, access: Access, listener: socket.socket, found: Settings
) -> None:
    from venturi.cli.share.changes import RepositoryChanges
    from venturi.cli.share.server import server_of
    from venturi.web.api.app import create_app
    from venturi.web.api.context import Services
    from venturi.web.api.health import ServerState
    from venturi.web.api.results.start import start

    services = Services(repository, RepositoryChanges(repository, access.upload_bytes_max))
    watch = ServerState(repository, metrics=found.metrics)
    limits = _with_files(found.server)
    _warm_up()
    # The first page looks at all trials; what it finds is kept for it and for the analyses.
    first = Thread(target=start, args=(services,))
    app = create_app(services, access=access, limits=limits, watch=watch)
    server = server_of(
        app, limits, watch, proxies=access.proxies, listening=lambda: _say_url(listener)
    )
    first.start()
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:  # how it is meant to end
        click.echo("the server has ended", err=True)
    finally:
        first.join()


def _say_url(listener: socket.socket) -> None:
    click.echo(_url(listener))
    sys.stdout.flush()


def _with_files(limits: ServerLimits) -> ServerLimits:
    """`limits`, with no more connections than this process may have files, after its own files."""
    own = _OWN_FILES + 2 * limits.requests_max
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = own + limits.connections_max
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed == needed:
        return limits
    room = max(1, allowed - own)
    click.echo(
        f"note: {allowed:,} files may be open (ulimit -n), so that there are at most {room:,} "
        f"connections instead of {limits.connections_max:,}",
        err=True,
    )
    return replace(limits, connections_max=room)


def _warm_up() -> None:
    """Load the modules that the first request of a page would wait for."""
    import venturi.record.store.frames  # noqa: F401

    # Freeze the present objects: else the collector would scan them during each answer of many
    # trials.
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def _is_loopback(host: str) -> bool:
    """Whether all addresses of `host` are on loopback; False for an unknown host."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(address[4][0]).is_loopback for address in found)


def _listen(host: str, port: int) -> socket.socket:
    where = {"host": host, "port": port}
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise VenturiError(
            "VEN-SERVE-ADDRESS",
            f"{host!r} is not an address of this machine: {error.strerror}",
            where=where,
            hint="leave --host out to listen on loopback",
        ) from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise VenturiError(
            "VEN-SERVE-ADDRESS",
            f"cannot listen on port {port} of {host}: {error.strerror}",
            where=where,
            hint="another server may run there; --port 0 takes a free port",
        ) from error
    return listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
