"""Authentication, authorization, and the security headers of every answer.

Tokens are sent as `Authorization: Bearer`; a browser trades one for a cookie (POST /api/session).
There are the repository's named tokens (`record.tokens`), and one for reading and one for writing
in the server's own settings. On loopback without a token, all users of this machine may read, and
may make the small reversible changes (exclusions, views, the starter data) from the server's own
pages. Uploads always need a token for writing. Clients are identified by their token only: the
author that a request states is kept as a stated name.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import unquote, urlsplit

from anyio import CapacityLimiter, to_thread
from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from venturi.core.errors import VenturiError
from venturi.record.access import tokens
from venturi.record.access.authors import Author
from venturi.record.access.tokens import Role, Token
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import now
from venturi.web.api import problems
from venturi.web.api.context import Services
from venturi.web.api.health import METRICS
from venturi.web.api.reply import Reply

TOKEN_LENGTH_MIN = 16
BODY_BYTES_MAX = 1 << 20
URL_BYTES_MAX = 1 << 15
UPLOADS, SESSION = "/api/uploads", "/api/session"
COOKIE = "venturi_session"
SESSION_S = 7 * 24 * 3600
READING = frozenset({"GET", "HEAD", "OPTIONS"})
_HOW = (
    "make one by `venturi token add NAME --role write` (or `serve --write-token-file FILE`), and "
    "send it"
)
# Concurrent look-ups: with the threads that answer, no more than a pool's connections.
_LOOK_UPS = 2
# Headers by which proxies describe their clients.
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")


@dataclass(frozen=True, slots=True)
class Access:
    """The server's access rules; a server that is not on loopback requires a token.

    `hosts` are other names it answers for, `https` says that it is reached by https (through a
    proxy), `upload_bytes_max` is the size of the biggest archive. With `closed`, loopback requires
    a token too. A request through one of `proxies` has the client's address from the proxy.
    """

    read_token: str | None = field(default=None, repr=False)
    write_token: str | None = field(default=None, repr=False)
    loopback: bool = True
    hosts: frozenset[str] = frozenset()
    https: bool = False
    upload_bytes_max: int = 1 << 30
    closed: bool = False
    proxies: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        own = [token for token in (self.read_token, self.write_token) if token is not None]
        if any(len(token) < TOKEN_LENGTH_MIN or not _plain(token) for token in own):
            raise VenturiError(
                "VEN-SERVE-TOKEN",
                f"a token has at least {TOKEN_LENGTH_MIN} characters, no spaces among them",
                hint="make one: openssl rand -hex 32",
            )
        if self.read_token is not None and self.read_token == self.write_token:
            raise VenturiError(
                "VEN-SERVE-TOKEN",
                "the tokens for reading and for writing are the same",
                hint="make two, or leave one out",
            )

    def role_of_token(self, token: str) -> Role | None:
        """The role of `token`. Both comparisons take constant time."""
        writes, reads = _same(token, self.write_token), _same(token, self.read_token)
        return "write" if writes else "read" if reads else None

    @property
    def needs_token(self) -> bool:
        """Whether every request needs a token, regardless of which tokens exist."""
        return not self.loopback or self.closed or bool(self.proxies)

    @property
    def role_without_token(self) -> Role | None:
        """The role of requests without a token."""
        if self.needs_token or self.read_token is not None:
            return None
        return "write" if self.write_token is None else "read"

    def new_session(self, role: Role) -> str:
        """The value of a cookie that replaces a token of `role` for a week."""
        expires = int(time.time()) + SESSION_S
        return f"{role}.{expires}.{self._signature(role, expires)}"

    def role_of_session(self, value: str) -> Role | None:
        """The role of the cookie `value`; None if it is expired or not from this server."""
        name, _, rest = value.partition(".")
        expires, _, signature = rest.partition(".")
        roles: dict[str, Role] = {"read": "read", "write": "write"}
        role = roles.get(name)
        if role is None or not (expires.isascii() and expires.isdigit() and len(expires) < 16):
            return None
        if not _same(signature, self._signature(role, int(expires))):
            return None
        return role if time.time() < int(expires) else None

    def _signature(self, role: Role, expires: int) -> str | None:
        """Made of the role's token, so that another token ends all its sessions."""
        token = self.write_token if role == "write" else self.read_token
        if token is None:
            return None
        text = f"venturi session {role} {expires}"
        return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()

    def answers_for(self, host: str) -> bool:
        """Whether a request for `host` (as in its header) is meant for this server.

        A different name that leads here is DNS rebinding: a page's attempt to read this server as
        its own.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name == "localhost" or name in self.hosts:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self.loopback


@dataclass(frozen=True, slots=True)
class Caller:
    """The client: its role, its author, and its named `token` of the repository."""

    role: Role
    author: Author
    token: Token | None = None


class Guard:
    """Checks each request before anything else sees it, and seals each answer."""

    def __init__(self, app: ASGIApp, access: Access, services: Services) -> None:
        self._app, self._access, self._services = app, access, services
        self._look_ups = CapacityLimiter(_LOOK_UPS)
        self._noting: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, reply = Request(scope), Reply(scope, send)
        try:
            self._check(request)
            who = await self._admit(request)
        except VenturiError as error:
            await problems.response(error)(scope, receive, reply.send)
            return
        scope.setdefault("state", {})["who"] = who
        try:
            await self._app(scope, _limited(request, receive), reply.send)
        except ClientDisconnect:
            return
        except Exception as error:
            if reply.started:
                raise  # the connection breaks, so the client knows that data are missing
            await problems.internal(error)(scope, receive, reply.send)
        if who is not None and who.token is not None and who.token.use_is_old(now()):
            await self._note(who.token)

    def _check(self, request: Request) -> None:
        """Raise VenturiError if no client may send such a request."""
        access, path = self._access, request.url.path
        if not access.answers_for(request.headers.get("host", "")):
            raise VenturiError(
                "VEN-API-HOST",
                "this server does not answer requests for this host name",
                where={"host": request.headers.get("host", "")},
                hint="--allow-host NAME lets it",
            )
        query = request.scope.get("query_string", b"")
        if len(query) + len(path) > URL_BYTES_MAX:
            raise VenturiError("VEN-API-SIZE", f"the address has more than {URL_BYTES_MAX} bytes")
        if tokens.SECRET.search(f"{path}?{unquote(query.decode('latin-1'))}"):
            raise VenturiError(
                "VEN-API-REQUEST",
                "a token is in the address, where logs and histories keep it",
                hint="revoke it (`venturi token revoke NAME`); send another as `Authorization: "
                "Bearer TOKEN`",
            )
        if prefix := request.headers.get("x-forwarded-prefix", "").strip("/ "):
            raise VenturiError(
                "VEN-API-HOST",
                "this server has its pages at /, not below another path",
                where={"prefix": prefix},
                hint="give it a host name (or a port) of its own in the proxy's settings",
            )
        most = access.upload_bytes_max if path == UPLOADS else BODY_BYTES_MAX
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > most:
            raise VenturiError(
                "VEN-API-SIZE",
                f"the body has more than {most} bytes",
                where={"content-length": length},
                hint="send it in several parts",
            )

    async def _admit(self, request: Request) -> Caller | None:
        """Who asks (None where it does not matter); VenturiError if they may not ask this."""
        path = request.url.path
        if not (path in {"/api", METRICS} or path.startswith("/api/")):
            return None
        changes = request.method not in READING
        if changes and not self._same_origin(request):
            raise VenturiError(
                "VEN-API-FORBIDDEN",
                "the request comes from a page of another site and is refused",
                where={"origin": request.headers.get("origin")},
                hint="open this server's own pages, or give its address with --allow-host",
            )
        if path == SESSION:
            return None
        who = await self._who(request)
        if changes and (who.role != "write" or (path == UPLOADS and who.author.name is None)):
            await self._refuse_change(who)
        return who

    async def _who(self, request: Request) -> Caller:
        """The client with the sent token, or with a cookie for it; the anonymous client, if
        allowed.
        """
        access, sent = self._access, request.headers.getlist("authorization")
        if len(sent) > 1:
            raise VenturiError("VEN-API-TOKEN", "the request has several Authorization headers")
        if sent:
            scheme, _, secret = sent[0].partition(" ")
            secret = secret.strip(" ") if scheme.lower() == "bearer" else ""
            if (role := access.role_of_token(secret)) is not None:
                return _own(role)
            return _of(require_valid(await self._looked_up(tokens.holder, secret)))
        cookie = request.cookies.get(COOKIE, "")
        if (role := access.role_of_session(cookie)) is not None:
            return _own(role)
        if (token := await self._looked_up(tokens.holder_of_session, cookie)) is not None:
            return _of(token)
        role = access.role_without_token
        if role is None:
            raise VenturiError(
                "VEN-API-TOKEN",
                "this server asks for a token",
                hint="send it as `Authorization: Bearer TOKEN`, or log in on the web page",
            )
        if any(name in request.headers for name in _FORWARDED):
            raise VenturiError(
                "VEN-API-TOKEN",
                "without a token only this machine is answered, and no proxy",
                hint="start the server with --proxy ADDRESS, and send a token",
            )
        return Caller(role, Author())

    async def _looked_up(
        self, look_up: Callable[[TrialRepository, str], Token | None], secret: str
    ) -> Token | None:
        if not tokens.is_secret(secret):
            return None
        return await to_thread.run_sync(
            look_up, self._services.repository, secret, limiter=self._look_ups
        )

    async def _refuse_change(self, who: Caller) -> None:
        if who.author.name is not None:
            raise VenturiError("VEN-API-FORBIDDEN", "this token is for reading only", hint=_HOW)
        if self._access.write_token is None and not await to_thread.run_sync(
            tokens.any_writer, self._services.repository, limiter=self._look_ups
        ):
            raise VenturiError("VEN-API-FORBIDDEN", "this server has no write token", hint=_HOW)
        raise VenturiError("VEN-API-TOKEN", "this needs a token for writing", hint=_HOW)

    def _same_origin(self, request: Request) -> bool:
        """Whether a browser states that the request comes from this server's pages; others state
        nothing.
        """
        site = request.headers.get("sec-fetch-site")
        if site is not None:
            return site in {"same-origin", "none"}
        origin = request.headers.get("origin")
        if origin is None:
            return True
        parts = urlsplit(origin)
        if parts.scheme != "https" and by_https(self._access, request):
            return False
        return parts.netloc == request.headers.get("host")

    async def _note(self, token: Token) -> None:
        """Writes down that `token` is in use: after the answer, for writers may have to wait."""
        changes = self._services.changes
        if changes is None or token.name in self._noting:
            return
        self._noting.add(token.name)
        try:
            await to_thread.run_sync(changes.note_use, token, limiter=self._look_ups)
        except VenturiError as error:
            problems.LOG.warning("the last use of a token is not noted: %s", error.message)
        finally:
            self._noting.discard(token.name)


def by_https(access: Access, request: Request) -> bool:
    """Whether the client uses https, as stated by a proxy or the command line."""
    return access.https or request.url.scheme == "https"


def caller_of(request: Request) -> Caller:
    """Who the guard has found."""
    who: Caller = request.scope["state"]["who"]
    return who


def author_of(request: Request, said: str | None = None) -> Author:
    """The author of a change: the token's name, and the name that the request states."""
    return caller_of(request).author.saying(said)


def require_valid(token: Token | None) -> Token:
    """Return `token` if it is valid; VEN-API-TOKEN says why not."""
    if token is None:
        raise VenturiError("VEN-API-TOKEN", "the token is not one this server knows")
    if (state := token.state(now())) != "in force":
        told = "has been revoked" if state == "revoked" else "has expired"
        raise VenturiError(
            "VEN-API-TOKEN",
            f"the token {token.name} {told}",
            hint="ask the server's administrator for a new one (`venturi token add`)",
        )
    return token


def _own(role: Role) -> Caller:
    return Caller(role, Author(tokens.OWN[role], "token"))


def _of(token: Token) -> Caller:
    return Caller(token.role, Author(token.name, "token"), token)


def _same(given: str, expected: str | None) -> bool:
    """Compared in a time that does not depend on where they differ; None is equal to nothing."""
    same = hmac.compare_digest(given.encode("utf-8", "replace"), (expected or "").encode())
    return same and expected is not None


def _plain(token: str) -> bool:
    return token.isascii() and token.isprintable() and " " not in token


def _limited(request: Request, receive: Receive) -> Receive:
    """`receive`, which breaks off when a body without a stated length gets too big."""
    if request.url.path == UPLOADS:
        return receive  # counted where it is written
    received = 0

    async def limited() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > BODY_BYTES_MAX:
            raise HTTPException(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"the body has more than {BODY_BYTES_MAX} bytes",
            )
        return message

    return limited
