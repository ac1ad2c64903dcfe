"""A page of the web application in one file: the options of every verb that writes one, and how."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from venturi.cli.outputs import ready_file, writing

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository
    from venturi.web.export import PageData

_ALSO = "Also write the answer with charts to FILE, one self-contained HTML page."


@dataclass(frozen=True, slots=True)
class PageFile:
    """The file of a page; it was writable before the work for it began."""

    path: Path
    overwrite: bool

    def write(self, page: str, data: PageData) -> None:
        """Writes the page at `page` with `data`, which a verb computed."""
        from venturi.web.export import data_page

        self._write(data_page(page, data))

    def write_answers(self, url: str, repository: TrialRepository) -> None:
        """Write the page at `url` (path and query, as in the browser) from the repository."""
        from venturi.web.api.context import Services
        from venturi.web.export import export_page

        self._write(export_page(Services(repository), url, datetime.now(UTC)))

    def _write(self, text: str) -> None:
        """Whole or not at all, and says so on stderr."""
        from venturi.web.document import write_page

        with writing(self.path):
            write_page(self.path, text, overwrite=self.overwrite)
        click.echo(f"wrote {self.path}", err=True)


def html_options(
    *aliases: str, help: str = _ALSO, **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add `--html FILE` and `--overwrite`; the verb gets `html`, a `PageFile` or None.

    `aliases` are other names of `--html`, `more` goes to its `click.option`. An unwritable file is
    rejected before the verb begins. The file of a default name is replaced if it exists.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(*, html: Path | None, overwrite: bool, **others: Any) -> Any:
            source = click.get_current_context().get_parameter_source("html")
            replace = overwrite or source is ParameterSource.DEFAULT
            return function(html=None if html is None else _ready(html, replace), **others)

        file = click.Path(dir_okay=False, path_type=Path)
        overwrite = click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
        names = ("--html", *aliases, "html")
        return click.option(*names, metavar="FILE", type=file, help=help, **more)(
            overwrite(command)
        )

    return decorate


def _ready(path: Path, overwrite: bool) -> PageFile:
    from venturi.web.document import require_assets

    ready_file(path, overwrite=overwrite)
    require_assets()
    return PageFile(path, overwrite)


def command_line() -> str:
    """The command line, for repeating it, without the options of the page."""
    words = iter(sys.argv[1:])
    kept = ["venturi"]
    for word in words:
        if word in ("--html", "--report"):
            next(words, None)
        elif word != "--overwrite" and not word.startswith(("--html=", "--report=")):
            kept.append(word)
    return shlex.join(kept)
