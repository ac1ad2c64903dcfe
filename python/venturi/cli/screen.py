"""The answer of a verb on stdout: tables and lines, for a terminal or for a pipe.

On a terminal a verb with `details_option` prints its first screen: at most `LINES_MAX` lines, and
how to get the rest. A pipe, and a terminal with --all, get everything.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from shutil import get_terminal_size
from textwrap import wrap
from typing import TypeVar

import click

from venturi.cli.options import F, print_json
from venturi.core.wording import count_of
from venturi.terminal.table import Paragraph, Table, TableCell, table_of

T = TypeVar("T")
LINES_MAX = 24
_LAST_LINES = 2  # the next step, and how to get the rest
_STATE = "venturi.screen"


class _FirstScreen:
    """The lines that are left on the first screen, and how many lines it leaves out."""

    def __init__(self) -> None:
        self.left = LINES_MAX - _LAST_LINES
        self.omitted = 0
        self.next: list[str] = []

    def take(self, lines: list[str]) -> list[str]:
        """The first of `lines`, as many as there is room for."""
        taken = lines[: self.left]
        self.left -= len(taken)
        self.omitted += len(lines) - len(taken)
        return taken

    def close(self) -> None:
        """Print the last lines."""
        for line in self.next:
            click.echo(line)
        if self.omitted and not any(line.endswith(" --all") for line in self.next):
            click.echo(f"{count_of(self.omitted, 'more line')}: add --all")


def details_option(command: F) -> F:
    """Add --all to a verb; without it, a terminal gets the first screen."""

    def chosen(context: click.Context, _: click.Parameter, everything: bool) -> None:
        if not everything and not context.resilient_parsing and sys.stdout.isatty():
            screen = context.meta[_STATE] = _FirstScreen()
            context.call_on_close(screen.close)

    return click.option(
        "--all",
        is_flag=True,
        expose_value=False,
        callback=chosen,
        help="Print everything, not only the first screen (a pipe always gets everything).",
    )(command)


def show(*parts: Table | Paragraph | str) -> None:
    """Prints `parts` one below the other.

    A terminal gets them fitted to its width and with colors (unless NO_COLOR is set); whatever
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
    screen = _first_screen()
    for part in printable:
        if screen is None:
            console.print(part)
            continue
        with console.capture() as captured:
            console.print(part)
        for line in screen.take(captured.get().splitlines()):
            click.echo(line.rstrip())


def show_whole(*parts: Paragraph) -> None:
    """Prints `parts`, or on a first screen without room for all of them, none and nothing after."""
    screen = _first_screen()
    if screen is not None:
        width = get_terminal_size().columns
        lines = sum(
            len(wrap(line, width - part.indent)) for part in parts for line in part.text.split("\n")
        )
        if lines > screen.left:
            screen.omitted += lines
            screen.left = 0
            return
    show(*parts)


def show_list(
    found: Sequence[T],
    as_json: bool,
    none: str,
    row: Callable[[T], Mapping[str, TableCell]],
    *,
    left: int,
    prose: Sequence[str] = (),
    spare: Sequence[str] = (),
) -> None:
    """Print the records `found` as JSON or as a table, a `row` each; print `none` if empty."""
    if as_json:
        print_json(found)
    elif found:
        show(table_of(map(row, found), left=left, prose=prose, spare=spare))
    else:
        click.echo(none, err=True)


def is_first_screen() -> bool:
    """Whether a terminal gets the first screen only, so that details need not be computed."""
    return _first_screen() is not None


def show_everything() -> None:
    """Leave nothing out from here on."""
    click.get_current_context().meta.pop(_STATE, None)


def next_step(text: str, command: str = "") -> None:
    """Print what most users want next, below the first screen: `text: command`.

    A `command` that doesn't fit into the rest of the line has a line of its own, or several that
    end with a backslash.
    """
    if (screen := _first_screen()) is not None:
        width = get_terminal_size().columns
        whole = f"Next: {text}: {command}" if command else f"Next: {text}"
        if command and len(whole) > width:
            quoted = "'" in command  # there, a backslash would be part of the word
            whole_line = quoted or len(command) <= width
            parts = [command] if whole_line else wrap(command, width - 2, break_on_hyphens=False)
            lines = " \\\n".join(parts).split("\n")
            screen.next = [*wrap(f"Next: {text}:", width), *lines]
        else:
            screen.next = wrap(whole, width)
        screen.left -= len(screen.next) - 1


def warn(messages: tuple[str, ...] | list[str], word: str = "warning") -> None:
    """Print warnings: on a terminal as part of the answer, else on stderr."""
    if sys.stdout.isatty():
        show(*(f"{word}: {message}" for message in messages))
    else:
        for message in messages:
            click.echo(f"{word}: {message}", err=True)


def _first_screen() -> _FirstScreen | None:
    context = click.get_current_context(silent=True)
    found = None if context is None else context.meta.get(_STATE)
    return found if isinstance(found, _FirstScreen) else None
