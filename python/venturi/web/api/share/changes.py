"""Changes by users: sessions, uploads, exclusions, views, the starter data."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path as FilePath
from typing import IO, Annotated

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from venturi.core.errors import VenturiError
from venturi.record import starter
from venturi.record.access import tokens
from venturi.record.access.exclusions import CONDITIONS_MAX, Exclusion
from venturi.record.access.tokens import OWN
from venturi.record.access.views import View
from venturi.record.importing.tally import ImportReport
from venturi.web.api import shapes
from venturi.web.api.context import RepositoryWriter, Services
from venturi.web.api.results.trials import KEY_LENGTH_MAX
from venturi.web.api.routing import ServicesDep
from venturi.web.api.security import (
    COOKIE,
    SESSION,
    SESSION_S,
    UPLOADS,
    Access,
    author_of,
    by_https,
    require_valid,
)

router = APIRouter(prefix="/api", tags=["changes"])


async def _in_turn(request: Request) -> AsyncIterator[None]:
    """Queue writers without blocking threads, so readers have threads while another
    program writes.
    """
    state = request.app.state
    try:
        async with asyncio.timeout(state.limits.write_timeout_s):
            await state.writers.acquire_on_behalf_of(request)
    except TimeoutError as error:
        raise VenturiError(
            "VEN-RECORD-BUSY",
            "too many changes wait for others to be written",
            hint="nothing was changed; try again later",
        ) from error
    try:
        yield
    finally:
        state.writers.release_on_behalf_of(request)


IN_TURN = (Depends(_in_turn),)

# Printable, and not only blanks: the record says exactly what it takes.
_LINE = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"
Said = Annotated[
    str | None,
    Field(
        description="The author's own name, recorded in addition to the token's name.",
        max_length=100,
        pattern=_LINE,
        examples=["Ada Lovelace"],
    ),
]
Name = Annotated[str, Field(max_length=100, pattern=_LINE, examples=["SSD against InfiniBand"])]


@dataclass(frozen=True, slots=True)
class NewExclusion:
    """Trials that meet all `conditions` are left out of analyses, because of `reason`."""

    conditions: Annotated[
        tuple[Annotated[str, Field(min_length=2, max_length=1_000)], ...],
        Field(
            min_length=1,
            max_length=CONDITIONS_MAX,
            examples=[["workload=terasort", "elapsed_s>5000"]],
        ),
    ]
    reason: Annotated[
        str, Field(max_length=1_000, pattern=_LINE, examples=["sorts of 1 TB under another tag"])
    ]
    author: Said = None


@dataclass(frozen=True, slots=True)
class Revocation:
    author: Said = None


@dataclass(frozen=True, slots=True)
class NewView:
    """`url` is the path and query of a page of this server."""

    name: Name
    url: Annotated[
        str,
        Field(
            max_length=8_000,
            pattern=r"^/([^\x00-\x20\x7f/\\][^\x00-\x20\x7f\\]*)?$",
            examples=["/cost?by=disk&by=net&where=workload%3Dterasort"],
        ),
    ]
    author: Said = None


@dataclass(frozen=True, slots=True)
class Login:
    token: Annotated[str, Field(max_length=1_000, examples=["the token of this server"])]


@router.post(SESSION.removeprefix("/api"), dependencies=IN_TURN)
def login(
    login: Login, request: Request, response: Response, services: ServicesDep
) -> shapes.SessionData:
    """Trades a token for a cookie, so that a browser need not keep it."""
    access: Access = request.app.state.access
    secret = login.token.strip()
    if (role := access.role_of_token(secret)) is not None:
        session, name = access.new_session(role), OWN[role]
    else:
        token = require_valid(tokens.holder(services.repository, secret))
        session, name, role = _changes(services).open_session(token), token.name, token.role
    response.set_cookie(
        COOKIE,
        session,
        max_age=SESSION_S,
        path="/",
        httponly=True,
        samesite="strict",
        secure=by_https(access, request),
    )
    return shapes.SessionData(role, name)


@router.delete(
    SESSION.removeprefix("/api"), status_code=HTTPStatus.NO_CONTENT, dependencies=IN_TURN
)
def logout(request: Request, response: Response, services: ServicesDep) -> None:
    """End the session, and delete the cookie."""
    access: Access = request.app.state.access
    if services.changes is not None:
        services.changes.close_session(request.cookies.get(COOKIE, ""))
    response.delete_cookie(
        COOKIE, path="/", httponly=True, samesite="strict", secure=by_https(access, request)
    )


@router.post(
    UPLOADS.removeprefix("/api"),
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "An archive of `venturi export`.",
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
    responses={HTTPStatus.CREATED: {"model": shapes.UploadReport, "description": "Trials added"}},
)
async def upload(
    request: Request, response: Response, services: ServicesDep
) -> shapes.UploadReport:
    """Imports the trials of an archive. Each trial is checked; the report counts the stored ones.

    You get 201 if trials were added, and 200 if all existed. If every trial is refused, the problem
    document names the first with its line. You can send an archive again: nothing changes.
    """
    changes = _changes(services)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/zip":
        raise VenturiError(
            "VEN-API-REQUEST",
            "an upload is an archive of type application/zip",
            where={"content-type": kind},
            hint="`venturi push` sends it",
        )
    most = request.app.state.access.upload_bytes_max
    # The file has no name: nothing is left of it however the process ends.
    with tempfile.TemporaryFile(dir=services.repository.artifacts_dir.parent) as file:
        await _receive(request.stream(), file, most)
        # However many wait for their turn, there are threads for those who read.
        async with request.app.state.uploads:
            report = await run_in_threadpool(
                changes.take_in, FilePath(f"/proc/self/fd/{file.fileno()}"), author_of(request)
            )
    if report.refused and not report.added and not report.already_present:
        _refuse(report)
    response.status_code = HTTPStatus.CREATED if report.added else HTTPStatus.OK
    return shapes.UploadReport(
        tuple(each.trial for each in report.trials if each.added),
        tuple(each.trial for each in report.trials if not each.added),
        tuple(shapes.RefusedTrial(r.line, r.value, r.code, r.reason) for r in report.refused),
    )


@router.post("/exclusions", status_code=HTTPStatus.CREATED, dependencies=IN_TURN)
def exclude(new: NewExclusion, request: Request, services: ServicesDep) -> Exclusion:
    """Leaves trials out of analyses; nothing is deleted, and it can be revoked."""
    author = author_of(request, new.author)
    return _changes(services).exclude(new.conditions, author, new.reason)


@router.post("/exclusions/{id}/revoke", dependencies=IN_TURN)
def revoke(
    id: Annotated[str, Path(pattern=r"^[0-9A-Za-z_-]{1,64}$", examples=["01JZX3J8V0W4Q6N7T2B5"])],
    revocation: Revocation,
    request: Request,
    services: ServicesDep,
) -> Exclusion:
    """Revokes an exclusion: its trials count again. The rule stays on record."""
    return _changes(services).revoke(id, author_of(request, revocation.author))


@router.post("/views", status_code=HTTPStatus.CREATED, dependencies=IN_TURN)
def save_view(new: NewView, request: Request, services: ServicesDep) -> View:
    """Save a page's address under a name."""
    return _changes(services).save_view(new.name, new.url, author_of(request, new.author))


@router.delete("/views/{name:path}", status_code=HTTPStatus.NO_CONTENT, dependencies=IN_TURN)
def delete_view(
    name: Annotated[
        str, Path(min_length=1, max_length=KEY_LENGTH_MAX, pattern=_LINE, examples=["my view"])
    ],
    request: Request,
    services: ServicesDep,
) -> None:
    """Delete a view; its deletion stays on record with the author."""
    _changes(services).delete_view(name, author_of(request))


@router.post("/starter", dependencies=IN_TURN)
def import_starter(services: ServicesDep) -> shapes.StarterReport:
    """Import the published tables that come with Venturi; idempotent."""
    results = _changes(services).import_starter()
    sources = tuple(table.stem for table in starter.TABLES)
    return shapes.StarterReport(results.added, results.already_present, sources)


def _changes(services: Services) -> RepositoryWriter:
    if services.changes is None:
        raise VenturiError("VEN-API-FORBIDDEN", "this server is read-only: it takes no changes")
    return services.changes


async def _receive(parts: AsyncIterator[bytes], file: IO[bytes], most: int) -> None:
    received = 0
    async for part in parts:
        received += len(part)
        if received > most:
            raise VenturiError(
                "VEN-API-SIZE",
                f"the archive has more than {most} bytes",
                hint="`venturi push` sends trials in several archives",
            )
        await run_in_threadpool(file.write, part)
    await run_in_threadpool(file.flush)


def _refuse(report: ImportReport) -> None:
    first, n = report.refused[0], report.refused_count
    raise VenturiError(
        first.code,
        f"no trial was imported, {n} refused; line {first.line} of trials.ndjson "
        f"(trial {first.value}): {first.reason}",
        where={"line": first.line, "trial": first.value, "refused": n},
        hint="export them again where they were recorded",
    )
