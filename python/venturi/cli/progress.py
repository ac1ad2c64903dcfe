"""Progress on stderr: bars on a terminal; elsewhere a line a step, with the time of day."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from venturi.core.units import format_bytes_decimal, format_rate

if TYPE_CHECKING:
    from rich.progress import Task, TaskID

    from venturi.measure.hosts.agent import AgentProgress, OnProgress


EVERY_S = 10.0


def step(text: str) -> None:
    """Print that a step begins or is done; in a log, with the time of day."""
    click.echo(text if sys.stderr.isatty() else f"{time.strftime('%H:%M:%S')} {text}", err=True)


@contextmanager
def progress_bars(*, enabled: bool = True) -> Iterator[OnProgress | None]:
    """A callback that shows a bar, with rate and ETA, while a phase lasts; None if not `enabled`.

    Where stderr is no terminal, a long phase is a line every `EVERY_S` seconds instead.
    """
    if not enabled:
        yield None
        return
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars
    from rich.text import Text

    class AmountColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(amount(task.completed, task.total, str(task.fields["unit"])))

    class SpeedColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(rate(task.speed, str(task.fields["unit"])))

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        AmountColumn(),
        SpeedColumn(),
        TimeRemainingColumn(compact=True),
    )
    # Not redirect_stdout: what is data must not go where the bars are.
    console = Console(stderr=True)
    with Bars(*columns, console=console, transient=True, redirect_stdout=False) as bars:
        current: tuple[str, TaskID] | None = None

        def show(event: AgentProgress | None) -> None:
            nonlocal current
            if current is not None and (event is None or current[0] != event.phase):
                bars.remove_task(current[1])
                current = None
            if event is None:
                bars.refresh()  # immediately: the next output would be followed by it
                return
            if current is None:
                task = bars.add_task(event.phase, total=event.total, unit=event.unit)
                current = (event.phase, task)
            bars.update(current[1], completed=event.done, total=event.total)

        yield show


def _lines() -> OnProgress:
    """Print every `EVERY_S` seconds how far the phase is; nothing for a short one."""
    last_s = time.monotonic()

    def print_line(event: AgentProgress | None) -> None:
        nonlocal last_s
        if event is None or time.monotonic() - last_s < EVERY_S:
            return
        last_s = time.monotonic()
        done = amount(event.done, event.total, event.unit)
        per_s = event.done / event.elapsed_s if event.elapsed_s > 0 else None
        step(f"{event.phase}: {done}, {rate(per_s, event.unit)}".rstrip(", "))

    return print_line


def amount(done: float, total: float | None, unit: str) -> str:
    """The completed amount, and the total if known."""
    if unit in {"bytes", "B"}:
        text = format_bytes_decimal(done)
        return text if total is None else f"{text} of {format_bytes_decimal(total)}"
    text = f"{done:,.0f}"
    return f"{text} {unit}" if total is None else f"{text} of {total:,.0f} {unit}"


def rate(per_s: float | None, unit: str) -> str:
    """The rate; empty while unknown."""
    if per_s is None:
        return ""
    return format_rate(per_s) if unit in {"bytes", "B"} else f"{per_s:,.0f} {unit}/s"
