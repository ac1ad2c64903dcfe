"""Charts of time and place, and of time and duration, part by part: as fine as the trace allows.

The agent writes the cells of each chart in several widths, a line each, behind a line that says
where each is (`trace analyze --heat`). A part of a chart is read from one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import TypeAdapter, ValidationError

from venturi.core.errors import VenturiError
from venturi.measure.hosts.trace_results import RequestPlaces, RequestTimesSeen
from venturi.record.io_trace import HEAT_NAME, RECORDING_NAME
from venturi.terminal.io_shares import kind_name
from venturi.web.io.page import IoCells, IoHeat

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial

COLUMNS_MOST = 512
"""A part has no more columns."""
CARRIED_BYTES = 3_000_000
"""Size limit of such cells in a page's file; the application itself is 1.1 MB."""
NO_CELLS = "You can't zoom in: neither finer cells nor the recording were kept."
_INDEX_BYTES = 1 << 20
Chart = Literal["places", "times"]


@dataclass(frozen=True)
class HeatLine:
    """The place of a chart's cells in one width, from the end of the first line on."""

    device: str
    operation: str
    file_class: str | None
    phase: str | None
    chart: Chart
    column_s: float
    offset: int
    bytes: int

    @property
    def pattern(self) -> str:
        """The name of its pattern."""
        return kind_name(self.operation, self.file_class, self.phase)


@dataclass(frozen=True)
class HeatWindow:
    """From when to when of which chart of which requests."""

    device: str
    pattern: str
    chart: Chart
    from_s: float
    until_s: float


class HeatFile:
    """The cells written to `path`; VEN-RECORD-ARTIFACT if damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with path.open("rb") as file:
                first = file.readline(_INDEX_BYTES)
            self.lines = TypeAdapter(list[HeatLine]).validate_json(first)
        except (OSError, ValidationError) as error:
            raise self._damaged(error) from error
        self._begin = len(first)

    def chart(self, line: HeatLine) -> IoHeat:
        """The whole chart in the width of `line`."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._begin + line.offset)
                text = file.read(line.bytes)
            if line.chart == "places":
                return of_places(TypeAdapter(RequestPlaces).validate_json(text))
            return of_times(TypeAdapter(RequestTimesSeen).validate_json(text))
        except (OSError, ValidationError) as error:
            raise self._damaged(error) from error

    def part(self, asked: HeatWindow) -> IoHeat | None:
        """The part in the finest width that has no more than COLUMNS_MOST columns there, or else
        in the widest; None if there is no such chart."""
        wanted = asked.device, asked.pattern, asked.chart
        widths = sorted(
            (each for each in self.lines if (each.device, each.pattern, each.chart) == wanted),
            key=lambda each: each.column_s,
        )
        if not widths:
            return None
        length_s = asked.until_s - asked.from_s
        fitting = (each for each in widths if length_s <= COLUMNS_MOST * each.column_s)
        return _cut(self.chart(next(fitting, widths[-1])), asked.from_s, asked.until_s)

    def _damaged(self, error: Exception) -> VenturiError:
        return VenturiError(
            "VEN-RECORD-ARTIFACT",
            "the cells of the trace's charts are damaged",
            where={"file": self._path.name, "reason": str(error).splitlines()[0]},
            hint="run `venturi repository check`, which checks all artifacts",
        )


def of_places(found: RequestPlaces) -> IoHeat:
    """Cells of time and place."""
    last = max((row for _, row, _, _ in found.cells), default=-1)
    rows = [float(found.start_bytes + row * found.row_bytes) for row in range(last + 2)]
    cells = tuple((column, row, count) for column, row, count, _ in found.cells)
    sizes = tuple(size for _, _, _, size in found.cells)
    return IoHeat(found.start_s, found.column_s, tuple(rows), cells, sizes, *_named(found))


def of_times(found: RequestTimesSeen) -> IoHeat:
    """Cells of time and duration."""
    low_s = [ns / 1e9 for ns in found.rows_ns]
    # The last row is taken to be as high as the one before it.
    high = [2 * low_s[-1] - low_s[-2] if len(low_s) > 1 else 2 * low_s[0]] if low_s else []
    cells = tuple(found.cells)
    return IoHeat(found.start_s, found.column_s, (*low_s, *high), cells, None, *_named(found))


def _named(found: RequestPlaces | RequestTimesSeen) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The names of files, and the number of one for each cell; nothing where they do not fit."""
    fit = len(found.files) == len(found.cells)
    fit = fit and all(abs(number) <= len(found.names) for number in found.files)
    return (tuple(found.names), tuple(found.files)) if fit else ((), ())


def heat_part(repository: TrialRepository, trial: Trial, asked: HeatWindow) -> IoHeat:
    """The part of a chart of `trial`; VEN-RECORD-ARTIFACT if it has none."""
    found = next((each for each in trial.artifacts if each.name == HEAT_NAME), None)
    file = None if found is None else HeatFile(repository.artifact_path(found))
    part = None if file is None else file.part(asked)
    if part is None:
        raise VenturiError(
            "VEN-RECORD-ARTIFACT",
            f"trial {trial.id} has no finer cells of {asked.pattern} on {asked.device}",
            where={"trial": trial.id, "pattern": asked.pattern},
            hint="trials of venturi run --trace have them, for the first 16 kinds of requests",
        )
    return part


def no_closer_look(trial: Trial) -> str | None:
    """Why the trace of `trial` has no finer cells, and how to get some; None if it has."""
    kept = {each.name for each in trial.artifacts}
    if HEAT_NAME in kept:
        return None
    if RECORDING_NAME not in kept:
        return NO_CELLS
    return (
        "You can't zoom in yet: finer cells were not kept. This command makes them from the "
        f"recording: venturi trace show {trial.id} --html io.html"
    )


def _cut(whole: IoHeat, from_s: float, until_s: float) -> IoHeat:
    """The columns that begin or end within the time, the first of them at 0."""
    first = max(0, int((from_s - whole.start_s) // whole.column_s))
    last = int((until_s - whole.start_s) // whole.column_s)
    kept = [place for place, (column, _, _) in enumerate(whole.cells) if first <= column <= last]
    cells = [whole.cells[place] for place in kept]
    # Names of other cells' files are left out.
    numbers: dict[int, int] = {0: 0}
    files = [whole.files[place] for place in kept] if whole.files else []
    for file in files:
        numbers.setdefault(abs(file), len(numbers))
    return IoHeat(
        whole.start_s + first * whole.column_s,
        whole.column_s,
        whole.rows,
        tuple((column - first, row, count) for column, row, count in cells),
        None if whole.bytes is None else tuple(whole.bytes[place] for place in kept),
        tuple(whole.names[number - 1] for number in numbers if number),
        tuple(numbers[abs(file)] * (-1 if file < 0 else 1) for file in files),
    )


def carried(file: HeatFile, shown: Iterable[tuple[str, str]]) -> Iterator[IoCells]:
    """The charts of the patterns and devices that are `shown`, the widest cells first, as long as
    all of them in one width fit into a page."""
    wanted = set(shown)
    lines = [each for each in file.lines if (each.pattern, each.device) in wanted]
    left = CARRIED_BYTES
    of_chart: dict[tuple[str, str, str], list[HeatLine]] = {}
    for line in sorted(lines, key=lambda each: -each.column_s):
        of_chart.setdefault((line.device, line.pattern, line.chart), []).append(line)
    for width in zip_longest(*of_chart.values()):
        some = [line for line in width if line is not None]
        left -= sum(line.bytes for line in some)
        if left < 0:
            return
        for line in some:
            yield IoCells(line.pattern, line.device, line.chart, file.chart(line))
