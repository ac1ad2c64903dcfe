"""Which logs lie under a path: files, folders of files, and Spark's rolling folders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from venturi.core.errors import VenturiError, unreadable
from venturi.record.importing.formats import FormatKind, Log, NothingFoundError
from venturi.record.importing.recognise import refuse_special

ROLLING = "eventlog_v2_"
IN_PROGRESS = ".inprogress"
"""Ends the name of a log, or of its status file, while its application runs."""
# Source: RollingEventLogFilesWriter and EventLogFileCompactor.
_SEGMENT = re.compile(r"events_(\d{1,9})_(.*?)(\.compact)?")
_STATUS = "appstatus_"
# Databricks delivers the log of a context into a folder of its own: `eventlog`, from which every so
# often a part is cut off and named after that minute; so `eventlog` is the last. Source: NVIDIA's
# spark-rapids-tools, EventLogPathProcessor.
_CUT_OFF = re.compile(r"eventlog-(\d{4}-\d\d-\d\d--\d\d-\d\d)(\.\w+)?")
_CURRENT = re.compile(r"eventlog(\.\w+)?")
_FILES = 100_000
_HIDDEN = (".", "_")  # as Hadoop has it: _SUCCESS, __MACOSX
SPARK_HINT = (
    "name an event log, or the folder that spark.eventLog.dir named when the application ran "
    "(spark.eventLog.enabled=true makes Spark write one)"
)
HISTORY_HINT = "name the .jhist file, or the folder that holds it"
"""Advice about a path that isn't a log."""


def spark_logs(path: Path) -> list[Log]:
    """The event logs at `path`: a file, a rolling folder, or a folder with logs at any depth.

    Parts of a log that Databricks rolled are one log; their folder may hold other logs.
    """
    if not path.is_dir():
        return [_single(path)]
    if path.name.startswith(ROLLING):
        return [_rolling(path)]
    logs: list[Log] = []
    for folder in _folders(path):
        if folder.name.startswith(ROLLING):
            logs.append(_rolling(folder))
            continue
        files = [each for each in _entries(folder) if each.suffix != ".crc" and each.is_file()]
        segments = [file for file in files if _SEGMENT.fullmatch(file.name)]
        for application in dict.fromkeys(map(_application, segments)):
            own = [file for file in segments if _application(file) == application]
            logs.append(_segments(own[0] if len(own) == 1 else folder, own, files))
        files = [each for each in files if each not in segments]
        files = [each for each in files if not each.name.startswith(_STATUS)]
        parts = _cut_off(files)
        logs += [Log(folder, parts)] if parts else []
        logs += [_log(file) for file in files if file not in parts]
    return _some(sorted(logs, key=lambda log: log.path), path, "Spark event log", SPARK_HINT)


def unit_of(file: PurePosixPath) -> PurePosixPath:
    """The log that a file is a part of: a rolling folder, one with parts that Databricks cut off,
    or the file itself."""
    folder = file.parent
    cut_off = _CUT_OFF.fullmatch(file.name) or _CURRENT.fullmatch(file.name)
    return folder if folder.name.startswith(ROLLING) or cut_off else file


def _cut_off(files: list[Path]) -> tuple[Path, ...]:
    """Those among `files` that are parts of a log of Databricks, in their order; of one, none."""
    parts = {match[1]: file for file in files if (match := _CUT_OFF.fullmatch(file.name))}
    if not parts:
        return ()
    last = [file for file in files if _CURRENT.fullmatch(file.name)]
    return (*(parts[minute] for minute in sorted(parts)), *last)


def histories(path: Path) -> list[Log]:
    """The job histories at `path`: a file, or a folder that holds some at any depth."""
    if not path.is_dir():
        return [_single(path)]
    logs = []
    for folder in _folders(path):
        found = (each for each in _entries(folder) if each.suffix == ".jhist")
        logs += [Log(each, (each,)) for each in found if each.is_file()]
    return _some(logs, path, "MapReduce job history (.jhist)", HISTORY_HINT)


def _single(path: Path) -> Log:
    """A missing file is reported when it is opened."""
    refuse_special(path, FormatKind.LOG.value)
    if _SEGMENT.fullmatch(path.name):
        return _segments(path, [path], _entries(path.parent))
    return _log(path)


def _log(file: Path) -> Log:
    return Log(file, (file,), in_progress=file.name.endswith(IN_PROGRESS))


def _folders(path: Path) -> Iterator[Path]:
    """The folder and those in it at any depth, without those inside a rolling log."""
    yield path
    for entry in () if path.name.startswith(ROLLING) else _entries(path):
        if entry.is_dir() and not entry.is_symlink():
            yield from _folders(entry)


def _entries(folder: Path) -> list[Path]:
    try:
        found = sorted(each for each in folder.iterdir() if not each.name.startswith(_HIDDEN))
    except OSError as error:
        raise unreadable(folder, error, FormatKind.LOG.value) from error
    if len(found) > _FILES:
        raise VenturiError(
            "VEN-INGEST-LIMIT",
            f"{folder} holds more than {_FILES:,} files",
            where={"folder": str(folder)},
            hint="name the logs to import",
        )
    return found


def _some(logs: list[Log], path: Path, what: str, hint: str) -> list[Log]:
    if not logs:
        raise NothingFoundError(
            "VEN-INGEST-FORMAT",
            f"{path} contains no {what}",
            where={"folder": str(path)},
            hint=hint,
        )
    return logs


def _rolling(folder: Path) -> Log:
    """The parts of a rolling folder, from the last compacted one on."""
    entries = [each for each in _entries(folder) if each.suffix != ".crc"]
    segments = [each for each in entries if _SEGMENT.fullmatch(each.name)]
    if not segments:
        raise VenturiError(
            "VEN-INGEST-FORMAT",
            f"{folder} contains no part of an event log, which would be called events_1_...",
            where={"folder": str(folder)},
            hint=SPARK_HINT,
        )
    return _segments(folder, segments, entries)


def _application(segment: Path) -> str:
    match = _SEGMENT.fullmatch(segment.name)
    assert match is not None
    return match[2].partition(".")[0]


def _segments(path: Path, segments: list[Path], entries: list[Path]) -> Log:
    """The rolling log called `path`, of which `segments` exist; its status is among `entries`."""
    whole: dict[int, Path] = {}
    compacted: dict[int, Path] = {}
    for segment in segments:
        match = _SEGMENT.fullmatch(segment.name)
        assert match is not None
        (compacted if match[3] else whole)[int(match[1])] = segment
    first = max(compacted, default=0)
    files = [compacted[first]] if compacted else []
    later = sorted(number for number in whole if number > first)
    files += [whole[number] for number in later]
    last = max(later, default=first)
    missing, n_missing = _missing(sorted({*range(first + 1, last + 1)} - {*later}))
    # Spark renames it when the application ends.
    status, names = f"{_STATUS}{_application(segments[0])}", {each.name for each in entries}
    after = f"events_{last + 1}_..." if status in names else None
    writes = after is None and status + IN_PROGRESS in names
    return Log(path, tuple(files), missing, n_missing, bool(compacted), after, writes)


def _missing(numbers: list[int]) -> tuple[str | None, int]:
    """Which parts are missing, in words, and how many."""
    if not numbers:
        return None, 0
    shown = " and ".join(map(str, numbers))
    if len(numbers) > 2:
        gapless = numbers[-1] - numbers[0] == len(numbers) - 1
        shown = f"{numbers[0]} to {numbers[-1]}" if gapless else ", ".join(map(str, numbers[:20]))
    noun, verb = ("part", "is") if len(numbers) == 1 else ("parts", "are")
    named = f"events_{numbers[0]}_..."
    return f"{noun} {shown} of the rolling log {verb} missing ({named})", len(numbers)
