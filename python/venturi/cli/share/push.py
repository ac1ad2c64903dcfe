"""`venturi push`: trials to a server."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from venturi.cli.open_repository import conditions_in, counting, filter_options, open_repository
from venturi.cli.options import DURATION, InputPath, json_option, print_json, where_option
from venturi.cli.share.token_files import token_in
from venturi.core import settings
from venturi.core.errors import ExitCode, UsageError, VenturiError
from venturi.core.retry import delay_s
from venturi.record.trial import TERMINAL, Trial

if TYPE_CHECKING:
    import httpx

    from venturi.record.store.repository import TrialRepository

_BATCH_TRIALS = 200
_BATCH_BYTES = 64 << 20
_PART_BYTES = 1 << 20
_TIMEOUT_S = 120.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.2, 5.0
_SHOWN = 10
# Statuses of a server that is only temporarily unable.
_LATER = {429, 502, 503, 504}
_TOO_MUCH = {
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.CONFLICT,
}


@dataclass
class PushReport:
    """The server's answers about the trials; all but `refused` are stored there for good."""

    added: list[str] = field(default_factory=list)
    already_present: list[str] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)

    @property
    def total(self) -> int:
        return len(self.added) + len(self.already_present) + len(self.refused)


@click.command()
@click.argument("url")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--all", "everything", is_flag=True, help="Send every finished trial.")
@filter_options(default_limit=None)
@where_option()
@click.option(
    "--token-file",
    type=InputPath(dir_okay=False),
    help="File with the server's write token (or set VENTURI_PUSH_TOKEN).",
)
@click.option(
    "--insecure", is_flag=True, help="Allow sending the token to another machine over http."
)
@click.option(
    "--retry-for",
    type=DURATION,
    default="60s",
    show_default=True,
    metavar="DURATION",
    help="Retry for this long if the server doesn't answer.",
)
@json_option
def command(
    *,
    url: str,
    ids: tuple[str, ...],
    everything: bool,
    token_file: Path | None,
    insecure: bool,
    retry_for: float,
    as_json: bool,
    **options: Any,
) -> int:
    """Send trials to a server.

    Finished trials are sent with their artifacts to the server at URL. Choose them by ID (or its
    beginning; `last`, `last~1`), by --all, or by the filters of `ls`. Sending a trial twice changes
    nothing, so a batch without an answer is sent again. Exits with 1 if the server refused a trial.
    """
    conditions = conditions_in(options)
    if sum((bool(ids), everything, bool(conditions or options["limit"]))) != 1:
        raise click.UsageError(
            "say which trials to push: their IDs, --all, or filters such as --workload NAME"
        )
    token = token_in(token_file) or settings.load().push_token
    target = _target(url, token, insecure)
    import httpx

    with (
        open_repository() as repository,
        httpx.Client(
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/zip"},
            timeout=_TIMEOUT_S,
        ) as client,
        counting("push") as progress,
    ):
        chosen = _chosen(repository, ids, conditions, options["limit"])
        push = _Push(repository, client, target, retry_for)
        for batch in _batches(repository, chosen):
            push.send(batch)
            progress(push.sent.total, len(chosen))
    if as_json:
        sent = push.sent
        fields = {"added": sent.added, "already_present": sent.already_present}
        print_json({"url": url, **fields, "refused": sent.refused})
    else:
        _print_report(url, push.sent)
    return ExitCode.USER if push.sent.refused else ExitCode.OK


class _Push:
    """Send batches of trials, with retries, and collect the server's answers."""

    def __init__(
        self, repository: TrialRepository, client: httpx.Client, target: str, retry_for_s: float
    ) -> None:
        self._repository, self._client, self._target = repository, client, target
        self._retry_for_s = retry_for_s
        self.sent = PushReport()

    def send(self, trials: Sequence[Trial]) -> None:
        """Sends `trials` in one archive; where the server refuses that, in smaller ones."""
        from venturi.measure.hosts.local import HERE
        from venturi.measure.hosts.owned_folders import PUSH_PREFIX, sweep, temporary
        from venturi.record.importing.exchange import export_trials

        sweep(HERE, HERE.temporaries, prefix=PUSH_PREFIX)  # of those that were killed
        with temporary(HERE, PUSH_PREFIX) as folder:
            archive = folder / "trials.zip"
            export_trials(self._repository, trials, archive)
            answer = self._post(archive)
        if answer.is_success:
            report = answer.json()
            self.sent.added += report["added"]
            self.sent.already_present += report["already_present"]
            self.sent.refused += report["refused"]
        elif answer.status_code not in _TOO_MUCH:
            raise self._failed(answer)
        elif len(trials) > 1:
            middle = len(trials) // 2
            self.send(trials[:middle])
            self.send(trials[middle:])
        else:
            problem = _problem(answer)
            self.sent.refused.append(
                {
                    "line": 1,
                    "trial": trials[0].id,
                    "code": problem.get("code"),
                    "reason": problem.get("detail"),
                }
            )

    def _post(self, archive: Path) -> httpx.Response:
        """The server's answer; an error when there is none for too long."""
        import httpx

        deadline = time.monotonic() + self._retry_for_s
        failures = 0
        while True:
            try:
                answer = self._client.post(
                    self._target,
                    content=_parts(archive),
                    headers={"Content-Length": str(archive.stat().st_size)},
                )
                if answer.status_code not in _LATER:
                    return answer
                failure = f"it answers {answer.status_code}"
            except httpx.TransportError as error:
                failure = str(error) or type(error).__name__
            failures += 1
            wait_s = delay_s(failures, _FIRST_WAIT_S, _LONGEST_WAIT_S)
            if time.monotonic() + wait_s > deadline:
                raise VenturiError(
                    "VEN-PUSH",
                    f"the server does not take the trials: {failure}",
                    where={"url": self._target, "sent": self.sent.total},
                    hint="check that it is running, and push again: what has arrived is kept, and "
                    "is not added twice",
                )
            time.sleep(wait_s)

    def _failed(self, answer: httpx.Response) -> VenturiError:
        problem = _problem(answer)
        return VenturiError(
            "VEN-PUSH",
            f"the server refuses: {problem.get('detail') or answer.reason_phrase}",
            where={"url": self._target, "status": answer.status_code, "code": problem.get("code")},
            hint=str(problem.get("hint") or "is this the address of a Venturi server?"),
        )


def _target(url: str, token: str | None, insecure: bool) -> str:
    """The address of uploads; an error if the token could be read on the way."""
    where = {"url": url}
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query:
        raise UsageError(
            "VEN-PUSH",
            f"{url!r} is not the address of a server",
            where=where,
            hint="write it like https://host:8321/",
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            "VEN-PUSH",
            "the address must not contain a user name or password",
            hint="give the token by --token-file",
        )
    if token is None:
        raise VenturiError(
            "VEN-PUSH",
            "pushing needs the server's write token",
            where=where,
            hint="give it with --token-file FILE or VENTURI_PUSH_TOKEN",
        )
    if parts.scheme == "http" and not _is_loopback(parts.hostname) and not insecure:
        raise VenturiError(
            "VEN-PUSH",
            "sending the token over http would expose it to the network",
            where=where,
            hint="use https, or --insecure in a network you trust",
        )
    return url.rstrip("/") + "/api/uploads"


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _chosen(
    repository: TrialRepository,
    ids: Sequence[str],
    conditions: tuple[str, ...],
    limit: int | None,
) -> list[str]:
    """The ids of the trials to be sent; those that have not ended are left out, and named."""
    from venturi.record.query.checks import conditions_for
    from venturi.record.query.paging import rows
    from venturi.record.query.selection import Query

    if ids:
        return list(dict.fromkeys(repository.get(id_).id for id_ in ids))
    found: list[str] = []
    query = Query(conditions_for(repository, conditions), limit=1_000, with_excluded=True)
    while True:
        page = rows(repository, query)
        for row in page.rows:
            if limit and len(found) >= limit:
                return found
            if row.state in TERMINAL:
                found.append(row.id)
            else:
                click.echo(f"left out: trial {row.id} has not ended", err=True)
        if page.next_cursor is None:
            return found
        query = replace(query, cursor=page.next_cursor)


def _batches(repository: TrialRepository, ids: Sequence[str]) -> Iterator[list[Trial]]:
    batch: list[Trial] = []
    size_bytes = 0
    for id_ in ids:
        trial = repository.get(id_)
        trial_bytes = sum(artifact.size_bytes for artifact in trial.artifacts)
        if batch and (len(batch) >= _BATCH_TRIALS or size_bytes + trial_bytes > _BATCH_BYTES):
            yield batch
            batch, size_bytes = [], 0
        batch.append(trial)
        size_bytes += trial_bytes
    if batch:
        yield batch


def _parts(archive: Path) -> Iterator[bytes]:
    with archive.open("rb") as file:
        while part := file.read(_PART_BYTES):
            yield part


def _problem(answer: httpx.Response) -> dict[str, Any]:
    try:
        problem = answer.json()
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def _print_report(url: str, sent: PushReport) -> None:
    click.echo(
        f"{url}: {len(sent.added):,} added, {len(sent.already_present):,} already present, "
        f"{len(sent.refused):,} refused",
        err=True,
    )
    for refusal in sent.refused[:_SHOWN]:
        click.echo(f"  trial {refusal['trial']}: [{refusal['code']}] {refusal['reason']}", err=True)
    if len(sent.refused) > _SHOWN:
        click.echo(f"  the first {_SHOWN} are shown; --json has all", err=True)
