"""`--html FILE`: the answer also as one self-contained page."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from venturi.cli.outputs import ready_file, writing

if TYPE_CHECKING:
    from venturi.record.repository import Repository

F = TypeVar("F", bound=Callable[..., Any])


def html_options(function: F) -> F:
    """Adds `--html FILE` and `--overwrite`."""
    file = click.Path(dir_okay=False, path_type=Path)
    function = click.option("--overwrite", is_flag=True, help="Replace the page if it exists.")(
        function
    )
    return click.option(
        "--html", "html", metavar="FILE", type=file,
        help="Also write the answer with charts to FILE, one self-contained HTML page.",
    )(function)  # fmt: skip


def free_for_page(path: Path | None, *, overwrite: bool) -> None:
    """Refuses a page that could not be written, before the work for it is done."""
    if path is not None:
        ready_file(path, overwrite=overwrite)


def write_html(path: Path, text: str, *, overwrite: bool) -> None:
    """Writes the page whole or not at all, and says so on stderr."""
    from venturi.present.document import write_page

    with writing(path):
        write_page(path, text, overwrite=overwrite)
    click.echo(f"wrote {path}", err=True)


def page_of(repository: Repository, url: str) -> str:
    """The page at `url` (path and query) of the web application, with its data, as one file."""
    from venturi.present.api.context import Services
    from venturi.present.export import export_page

    return export_page(Services(repository), url, datetime.now(UTC))


def command_line() -> str:
    """The command as it was given, to be repeated; without what only concerns the page."""
    words = iter(sys.argv[1:])
    kept = ["venturi"]
    for word in words:
        if word == "--html":
            next(words, None)
        elif word != "--overwrite" and not word.startswith("--html="):
            kept.append(word)
    return shlex.join(kept)
