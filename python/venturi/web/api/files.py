"""Files from the repository: a trial's artifacts, and tables of trials."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi import Query as Parameter
from fastapi.responses import FileResponse, StreamingResponse

from venturi.core.errors import VenturiError
from venturi.record.query.trial_table import COLUMNS_MAX
from venturi.web.api import downloads
from venturi.web.api.computing import Computing
from venturi.web.api.context import TRIAL_ID, trial_of
from venturi.web.api.results.trials import KEY_LENGTH_MAX, KeyName
from venturi.web.api.routing import SelectionDep, ServicesDep

router = APIRouter(prefix="/api", tags=["repository"])


@router.get(
    "/trials/{id}/artifacts/{name}",
    response_class=FileResponse,
    responses={200: {"content": {"text/plain": {}, "application/octet-stream": {}}}},
)
def artifact(
    request: Request,
    services: ServicesDep,
    id: Annotated[str, Path(**TRIAL_ID.said)],
    name: Annotated[str, Path(max_length=KEY_LENGTH_MAX, examples=["agent.log"])],
) -> FileResponse:
    """An unchanged file of the trial, or the part of it that you request with a Range header."""
    found = trial_of(services, id)
    # The name is looked up and never used as a path.
    kept = next((each for each in found.artifacts if each.name == name), None)
    if kept is None:
        raise VenturiError(
            "VEN-RECORD-ARTIFACT",
            f"trial {id} has no artifact {name!r}",
            where={"trial": id, "artifact": name},
            hint="the trial's record lists its artifacts",
        )
    if not _is_part(request.headers.get("range", ""), kept.size_bytes):
        # Else the answer would be one of several parts, or no problem document.
        request.scope["headers"] = [
            each for each in request.scope["headers"] if each[0] != b"range"
        ]
    return FileResponse(
        services.repository.artifact_path(kept),
        media_type="text/plain" if kept.kind == "log" else "application/octet-stream",
        filename=kept.name,
        headers={"ETag": f'"{kept.sha256}"'},
    )


def _is_part(asked: str, size_bytes: int) -> bool:
    """Whether a header requests one valid range of `size_bytes`; others are ignored."""
    found = re.fullmatch(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))", asked)
    if found is None:
        return False
    first, last, length = found.groups()
    if length:
        return 0 < int(length) <= size_bytes
    return int(first) < size_bytes and (not last or int(first) <= int(last))


@router.get(
    "/download",
    response_class=StreamingResponse,
    responses={
        200: {"content": {kind.partition(";")[0]: {} for kind in downloads.MEDIA_TYPES.values()}}
    },
)
async def download(
    request: Request,
    services: ServicesDep,
    selection: SelectionDep,
    format: Annotated[
        downloads.DownloadFormat,
        Parameter(
            description="csv, parquet and ndjson: a row a trial (ndjson also says why a value is "
            "missing); records: whole records, one a line."
        ),
    ] = "ndjson",
    columns: Annotated[
        list[KeyName] | None,
        Parameter(
            description="Columns of the table, by name; by default all, or of very many "
            "those that most trials have.",
            max_length=COLUMNS_MAX,
            examples=[["id", "elapsed_s", "disk"]],
        ),
    ] = None,
) -> StreamingResponse:
    """All trials that meet the conditions, as a file.

    The header Venturi-Unreadable names those (10 at most) that cannot be read and have no row.
    """
    computers: Computing = request.app.state.computers
    content, unreadable = await computers.answer(
        "/download",
        lambda: downloads.stream(services.repository, selection.query(), format, columns or ()),
    )
    headers = {"Content-Disposition": f'attachment; filename="{downloads.FILE_NAMES[format]}"'}
    if unreadable:
        headers["Venturi-Unreadable"] = ", ".join(unreadable[:10])
    return StreamingResponse(content, media_type=downloads.MEDIA_TYPES[format], headers=headers)
