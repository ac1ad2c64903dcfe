"""Who may do what, and what every answer says to browsers.

Tokens are sent as `Authorization: Bearer`; a browser trades one for a cookie (POST /api/session).
On loopback without tokens everyone on this machine reads, and makes the small changes that can be
taken back (exclusions, views, the starter data) from the server's own pages. Uploads always need
the write token.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Literal
from urllib.parse import urlsplit

from fastapi import Request
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from venturi.errors import VenturiError
from venturi.present.api import problems
from venturi.present.api.reply import Reply

TOKEN_LENGTH_MIN = 16
BODY_BYTES_MAX = 1 << 20
URL_BYTES_MAX = 1 << 15
UPLOADS, SESSION = "/api/uploads", "/api/session"
COOKIE = "venturi_session"
SESSION_S = 7 * 24 * 3600
READING = frozenset({"GET", "HEAD", "OPTIONS"})
_HOW = "start the server with --write-token-file FILE or VENTURI_WRITE_TOKEN, and send that token"

Role = Literal["read", "write"]


@dataclass(frozen=True, slots=True)
class Access:
    """What the server asks of a request; one that is not on loopback must have a token.

    `hosts` are further names it answers for, `https` says that it is reached by https (through a
    proxy), `upload_bytes_max` is the size of the biggest archive.
    """

    read_token: str | None = field(default=None, repr=False)
    write_token: str | None = field(default=None, repr=False)
    loopback: bool = True
    hosts: frozenset[str] = frozenset()
    https: bool = False
    upload_bytes_max: int = 1 << 30

    def __post_init__(self) -> None:
        tokens = [token for token in (self.read_token, self.write_token) if token is not None]
        if not self.loopback and not tokens:
            raise VenturiError(
                "VEN-SERVE-TOKEN",
                "without a token the server listens on loopback only",
                hint="add --read-token-file (and --write-token-file), or leave --host out",
            )
        if any(len(token) < TOKEN_LENGTH_MIN or not _plain(token) for token in tokens):
            raise VenturiError(
                "VEN-SERVE-TOKEN",
                f"a token has at least {TOKEN_LENGTH_MIN} characters, no spaces among them",
                hint="make one: openssl rand -hex 32",
            )
        if self.read_token is not None and self.read_token == self.write_token:
            raise VenturiError(
                "VEN-SERVE-TOKEN", "the tokens for reading and for writing are the same",
                hint="make two, or leave one out",
            )  # fmt: skip

    def role_of_token(self, token: str) -> Role | None:
        """What who has `token` may do; both comparisons take the same time whatever it is."""
        writes, reads = _same(token, self.write_token), _same(token, self.read_token)
        return "write" if writes else "read" if reads else None

    @property
    def role_without_token(self) -> Role | None:
        """What everyone may do."""
        if not self.loopback or self.read_token is not None:
            return None
        return "write" if self.write_token is None else "read"

    def new_session(self, role: Role) -> str:
        """The value of a cookie that stands for a token of `role`, for a week."""
        expires = int(time.time()) + SESSION_S
        return f"{role}.{expires}.{self._signature(role, expires)}"

    def role_of_session(self, value: str) -> Role | None:
        """What who has the cookie `value` may do; nothing if it is old or not ours."""
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

        Another name that leads here is a page's attempt to read us as its own (DNS rebinding).
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


class Guard:
    """Checks each request before anything else sees it, and seals each answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, reply = Request(scope), Reply(scope, send)
        try:
            role = self._admit(request)
        except VenturiError as error:
            await problems.response(error)(scope, receive, reply.send)
            return
        scope.setdefault("state", {})["role"] = role
        try:
            await self._app(scope, _limited(request, receive), reply.send)
        except Exception as error:
            if reply.started:
                raise  # the connection breaks off, which tells the reader that data are missing
            await problems.internal(error)(scope, receive, reply.send)

    def _admit(self, request: Request) -> Role | None:
        """The role of who asks; VenturiError if it may not ask this."""
        access, path = self._access, request.url.path
        if not access.answers_for(request.headers.get("host", "")):
            raise VenturiError(
                "VEN-API-HOST", "this server does not answer requests for this host name",
                where={"host": request.headers.get("host", "")},
                hint="--allow-host NAME lets it",
            )  # fmt: skip
        if len(request.scope.get("query_string", b"")) + len(path) > URL_BYTES_MAX:
            raise VenturiError("VEN-API-SIZE", f"the address has more than {URL_BYTES_MAX} bytes")
        most = access.upload_bytes_max if path == UPLOADS else BODY_BYTES_MAX
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > most:
            raise VenturiError(
                "VEN-API-SIZE", f"the body has more than {most} bytes",
                where={"content-length": length}, hint="send it in several parts",
            )  # fmt: skip
        if not (path == "/api" or path.startswith("/api/")):
            return None
        changes = request.method not in READING
        if changes and not _same_origin(request):
            raise VenturiError(
                "VEN-API-FORBIDDEN", "the request comes from a page of another site and is refused",
                where={"origin": request.headers.get("origin")},
                hint="open this server's own pages, or give its address with --allow-host",
            )  # fmt: skip
        if path == SESSION:
            return None
        role, by_token = self._role(request)
        if changes and (role != "write" or (path == UPLOADS and not by_token)):
            self._refuse_change(by_token)
        return role

    def _role(self, request: Request) -> tuple[Role, bool]:
        """The role, and whether a token (or the cookie for it) gave it; 401 without one."""
        access = self._access
        sent = request.headers.get("authorization")
        if sent is not None:
            scheme, _, token = sent.partition(" ")
            role = access.role_of_token(token.strip()) if scheme.lower() == "bearer" else None
            if role is None:
                raise VenturiError("VEN-API-TOKEN", "the token is not one this server knows")
            return role, True
        role = access.role_of_session(request.cookies.get(COOKIE, ""))
        if role is not None:
            return role, True
        role = access.role_without_token
        if role is None:
            raise VenturiError(
                "VEN-API-TOKEN", "this server asks for a token",
                hint="send it as `Authorization: Bearer TOKEN`, or log in on the web page",
            )  # fmt: skip
        return role, False

    def _refuse_change(self, by_token: bool) -> None:
        if self._access.write_token is None:
            raise VenturiError("VEN-API-FORBIDDEN", "this server has no write token", hint=_HOW)
        if by_token:
            raise VenturiError("VEN-API-FORBIDDEN", "this token is for reading only", hint=_HOW)
        raise VenturiError("VEN-API-TOKEN", "this needs the write token", hint=_HOW)


def role_of(request: Request) -> Role:
    """The role that the guard has found."""
    role: Role = request.scope["state"]["role"]
    return role


def _same(given: str, expected: str | None) -> bool:
    """Compared in a time that does not depend on where they differ; None is equal to nothing."""
    same = hmac.compare_digest(given.encode("utf-8", "replace"), (expected or "").encode())
    return same and expected is not None


def _plain(token: str) -> bool:
    return token.isascii() and token.isprintable() and " " not in token


def _same_origin(request: Request) -> bool:
    """Whether a browser says that the request is of our own pages; other clients say nothing."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


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
