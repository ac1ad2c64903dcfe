"""Finds the cause of a failure in a program's log."""

from __future__ import annotations

import re
from pathlib import Path

from venturi.measure.hosts.host import Files

TAIL_BYTES = 256 * 1024

KILLED = (
    "VEN-ENGINE-MEMORY",
    "executors were killed (exit status 137), usually by the kernel because the host or its "
    "limit ran out of memory",
    "use less with --memory, or give the hosts more (lab hosts: `memory` in the lab file). "
    "Besides heaps they need memory for Python workers; `dmesg` there shows the killed "
    "processes",
)
"""Code, sentence and hint of executors that were killed again and again."""

# Texts in a log -> code, sentence, hint. The first match counts: causes before effects.
_CAUSES: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (
        (
            "No space left on device",
            "DiskOutOfSpaceException",
            "Disk quota exceeded",
            "No space available in any of the local directories",
            "could only be written to 0 of",  # HDFS: no DataNode has room for a block
        ),
        "VEN-ENGINE-SPACE",
        "the disk is full",
        "free some space, or name another disk with --dir",
    ),
    (
        ("UnsupportedClassVersionError", "getSubject is not supported"),
        "VEN-ENGINE-JAVA",
        "the engine doesn't support this Java",
        "set JAVA_HOME to a supported Java; `venturi engines` lists the versions",
    ),
    (
        ("OutOfMemoryError", "There is insufficient memory for the Java Runtime"),
        "VEN-ENGINE-MEMORY",
        "the engine ran out of memory",
        "give it more with --memory, or a smaller input",
    ),
    (
        ("Too small maximum heap", "Invalid maximum heap size", "must be at least 471859200"),
        "VEN-ENGINE-MEMORY",
        "the engine cannot start with so little memory",
        "give it more with --memory",
    ),
    (
        ("AccessDeniedException", "(Permission denied)", "(Read-only file system)"),
        "VEN-MEASURE-DIR",
        "the engine lacks permission to read or write a file; its log names the file",
        "give folders that you can write to with --dir",
    ),
)
# The message of standalone Spark; on YARN, containers that are no longer needed end like this. One
# executor that was killed and replaced doesn't explain a later failure.
_ABORTED_BY_KILLS = re.compile(r"Job aborted[^\n]*Command exited with code 137")


def tail(files: Files, log: Path) -> str:
    """The end of a log, as text; nothing if it cannot be read."""
    try:
        return files.read(log, last_bytes=TAIL_BYTES).decode(errors="replace")
    except OSError:
        return ""


def known_cause(text: str) -> tuple[str, str, str] | None:
    """Return code, sentence and hint of the cause in a log; None if it has no known one."""
    for signs, code, sentence, hint in _CAUSES:
        if any(sign in text for sign in signs):
            return code, sentence, hint
    return KILLED if _ABORTED_BY_KILLS.search(text) else None


def complaint(text: str) -> str:
    """The line of a log that most likely says why."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    signs = ("Caused by:", "Exception", "Error", "ERROR", "FATAL")
    for sign in signs:
        named = [line for line in lines if sign in line and not line.startswith("at ")]
        if named:
            return named[-1][:300]
    return lines[-1][:300] if lines else "it printed nothing"
