"""The formats that can be imported, found without loading their readers.

A reader's file declares its format in a constant `FORMAT`, in literals only: the list is read from
the files' text, because a reader may load a heavy library. `_READERS` has the folders; a folder
says of which kind its readers are. The word `auto` asks for a file's format to be recognized.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any

from venturi.core.errors import VenturiError

AUTO = "auto"
_PACKAGE = Path(__file__).parents[2]
_HEADER_LINES = 4  # a table may have a title above its header
_DECLARATION = "\nFORMAT = Format("


class FormatKind(Enum):
    """Kind of reader; the value is the error code for a file of a different format."""

    RESULTS = "VEN-IMPORT-FORMAT"
    """`read(file, source)`: trials, refusals and spellings, stored together or not at all."""
    LOG = "VEN-INGEST-FORMAT"
    """`find(path)`, which also looks into folders, `accounts(log, progress=...)` in one, and
    `take_in(repository, accounts, log)`. It may have `unchanged(repository, log)`: the report if
    the log is stored as it is, without reading all of it, else None."""
    SERIES = "VEN-SERIES-FORMAT"
    """`read(file, source)`: series of hosts and refusals; each host becomes a trial."""
    ARCHIVE = "VEN-EXCHANGE-FORMAT"
    """Trials with their files, each imported separately."""


class NothingFoundError(VenturiError):
    """A folder holds no log of the format."""


# In the order in which formats are listed.
_READERS = (
    (FormatKind.ARCHIVE, "record/importing", "exchange.py"),
    (FormatKind.LOG, "jobs/logs", "*.py"),
    (FormatKind.RESULTS, "results/importers", "*.py"),
    (FormatKind.SERIES, "results/series_importers", "*.py"),
)


@dataclass(frozen=True, slots=True)
class Log:
    """The files of one application's log in their order.

    `missing` says which parts are absent, `n_missing` how many, `compacted` whether Spark left out
    events of finished jobs. If a status file says that the application ended, `after` is the name
    of the part after these files, which has to exist unless they hold the end. `in_progress` is
    whether its names say that Spark still writes it. `written_at` is when it was last written, in
    seconds since 1970; None for a copy, such as one from an archive.
    """

    path: Path
    files: tuple[Path, ...]
    missing: str | None = None
    n_missing: int = 0
    compacted: bool = False
    after: str | None = None
    in_progress: bool = False
    written_at: float | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name, its title for lists, and how to recognize a file of it.

    A file is of the format if its text matches the regular expression `pattern` at the beginning,
    if its first line is a header with `columns`, or if its name ends with `suffix`. The list of
    formats adds the reader's module and its kind. `options` describe the file's columns, as given
    by the user; such a format's reader takes them as its third argument. `has_run_ids` says that a
    trial's id is that of its run, so that a longer file of the same run updates it.
    """

    name: str
    title: str
    pattern: str = ""
    columns: tuple[str, ...] = ()
    delimiter: str = ","
    suffix: str = ""
    module: str = ""
    kind: FormatKind = FormatKind.RESULTS
    options: tuple[str, ...] = ()
    has_run_ids: bool = False

    @property
    def is_recognizable(self) -> bool:
        """Whether a file's beginning or name shows that it is of this format."""
        return bool(self.pattern or self.columns or self.suffix)

    @property
    def reader(self) -> Any:
        """The module, loaded on use; `FormatKind` describes its contents."""
        return importlib.import_module(self.module)

    def begins(self, data: bytes, name: str) -> bool:
        """Whether a file called `name` that begins with `data` (unpacked) may be of the format."""
        if self.suffix and name.endswith(self.suffix):
            return True
        if self.columns:
            return self._has_columns(data)
        return bool(self.pattern and re.match(self.pattern.encode(), data))

    def _has_columns(self, data: bytes) -> bool:
        lines = data.split(b"\n", _HEADER_LINES)[:_HEADER_LINES]
        return any(map(self._is_header, lines))

    def _is_header(self, data: bytes) -> bool:
        line = data.decode("utf-8-sig", "replace")
        fields = {field.strip().strip('"') for field in line.split(self.delimiter)}
        return "\0" not in line and fields.issuperset(self.columns)


def declared_format(path: Path) -> Format | None:
    """Return the format that a reader's file declares, or None if it declares none."""
    lines = path.read_text("utf-8").partition(_DECLARATION)[2].split("\n")
    for end in range(1, len(lines) + 1):
        try:
            call = ast.parse("Format(" + "\n".join(lines[:end]), mode="eval").body
        except SyntaxError:  # the call goes on
            continue
        assert isinstance(call, ast.Call)
        try:
            positional = map(ast.literal_eval, call.args)
            named = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
            return Format(*positional, **named)
        except ValueError as error:
            raise ValueError(f"{path}: FORMAT is not written in literals only") from error
    return None


def _found() -> Iterator[Format]:
    for kind, folder, pattern in _READERS:
        for path in sorted((_PACKAGE / folder).glob(pattern)):
            found = declared_format(path)
            if found is not None:
                module = ".".join(("venturi", *folder.split("/"), path.stem))
                yield replace(found, module=module, kind=kind)


FORMATS: Mapping[str, Format] = MappingProxyType({each.name: each for each in _found()})
