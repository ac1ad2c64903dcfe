"""What a verb answers on stdout: tables and lines, for a terminal or for a pipe."""

from __future__ import annotations

import sys

import click

from venturi.terminal.table import Paragraph, Table


def show(*parts: Table | Paragraph | str) -> None:
    """Prints `parts` one below the other.

    A terminal gets them fitted to its width and with colours (unless NO_COLOR is set); whatever
    else stdout is gets whole lines of plain text, one a row (see `terminal.table`).
    """

    printable = [Paragraph(part) if isinstance(part, str) else part for part in parts]
    if not sys.stdout.isatty():
        for part in printable:
            for line in part.lines():
                click.echo(line)
        return
    from rich.console import Console

    console = Console(highlight=False)
    for part in printable:
        console.print(part)
