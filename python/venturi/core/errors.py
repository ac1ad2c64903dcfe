"""Every error Venturi can report: one root class, one stable code each.

An error says what was wrong, where, and what to do. `CODES` lists the codes with their class and
meaning. The agent's own codes live in its crates and reach Python as `AgentError`; only their class
is here. docs/reference/errors.md has both.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import NamedTuple


class ExitCode(IntEnum):
    """What the shell sees."""

    OK = 0
    USER = 1  # the user or the environment must change something
    USAGE = 2
    INVALID = 3  # measured, but the result is not valid
    REGRESSION = 4
    INTERRUPTED = 130


class FailureClass(StrEnum):
    """Why something failed, by who or what has to change before it can work."""

    USAGE = "usage"
    ENVIRONMENT = "environment"
    CAPACITY = "capacity"
    INTERRUPTED = "interrupted"
    TIMEOUT = "timeout"
    ENGINE = "engine failure"
    WRONG = "wrong output"


class Code(NamedTuple):
    """What an error's code stands for; without a class it is only ever a warning."""

    failure_class: FailureClass | None
    meaning: str


_USAGE = FailureClass.USAGE
_ENVIRONMENT = FailureClass.ENVIRONMENT
_CAPACITY = FailureClass.CAPACITY
_INTERRUPTED = FailureClass.INTERRUPTED
_TIMEOUT = FailureClass.TIMEOUT
_ENGINE = FailureClass.ENGINE
_WRONG = FailureClass.WRONG
_WARNING = None

CODES: Mapping[str, Code] = MappingProxyType(
    {
        "VEN-UNIT-SYNTAX": Code(
            _USAGE, "A quantity could not be read: no number, or an unknown unit."
        ),
        "VEN-SETTING-UNKNOWN": Code(
            _WARNING, "An environment variable looks like a setting of Venturi, but is none."
        ),
        "VEN-VERB-RENAMED": Code(_WARNING, "A command has a new name; the old one still works."),
        "VEN-SETTING-VALUE": Code(_USAGE, "A setting has a value that it does not accept."),
        "VEN-RECORD-SCHEMA": Code(_USAGE, "A record does not match the trial schema."),
        "VEN-RECORD-VERSION": Code(
            _USAGE, "A record was written by another version of the schema."
        ),
        "VEN-RECORD-LIMIT": Code(
            _USAGE, "A record has more, or other values, than what reads it can bear."
        ),
        "VEN-RECORD-CUT": Code(
            _WARNING, "A trial had more than can be kept; its message says what was cut."
        ),
        "VEN-RECORD-UNKNOWN": Code(_USAGE, "No trial has this id, or several ids begin with it."),
        "VEN-RECORD-DUPLICATE": Code(_USAGE, "Another trial with this id is already there."),
        "VEN-RECORD-ABANDONED": Code(
            _INTERRUPTED, "The process that ran a trial ended before the trial did."
        ),
        "VEN-RECORD-STATE": Code(_USAGE, "A trial cannot go from its state to the one asked for."),
        "VEN-RECORD-DATABASE": Code(
            _ENVIRONMENT, "The repository's database cannot be reached or upgraded."
        ),
        "VEN-RECORD-BUSY": Code(
            _ENVIRONMENT, "Another command has been writing to the repository for long."
        ),
        "VEN-RECORD-ARTIFACT": Code(_ENVIRONMENT, "An artifact is missing or its digest differs."),
        "VEN-RECORD-REMOVED": Code(
            _USAGE, "A trial was removed here for good, and is not taken in again."
        ),
        "VEN-REMOVAL-VALUE": Code(_USAGE, "A removal lacks a reason, or its text is too long."),
        "VEN-REMOVAL-UNKNOWN": Code(_USAGE, "No removal has this id."),
        "VEN-BACKUP-FORMAT": Code(
            _USAGE, "A backup is damaged, cut off, of a newer Venturi, or none at all."
        ),
        "VEN-REPOSITORY-NOT-EMPTY": Code(
            _USAGE, "A backup is restored into an empty repository only."
        ),
        "VEN-REPOSITORY-BUSY": Code(
            _ENVIRONMENT, "Another command copies, mends or removes what is in the repository."
        ),
        "VEN-QUERY-CURSOR": Code(_USAGE, "A cursor is damaged, or belongs to another query."),
        "VEN-QUERY-VALUE": Code(
            _USAGE, "A query has an invalid condition, or asks for too much at once."
        ),
        "VEN-EXCLUSION-VALUE": Code(
            _USAGE, "An exclusion lacks a condition, author or reason, or one is too long."
        ),
        "VEN-EXCLUSION-UNKNOWN": Code(_USAGE, "No exclusion has this id."),
        "VEN-EXCLUSION-REVOKED": Code(_USAGE, "An exclusion was revoked already."),
        "VEN-VIEW-VALUE": Code(_USAGE, "A view cannot be saved with this name, author or address."),
        "VEN-VIEW-UNKNOWN": Code(_USAGE, "No saved view has this name."),
        "VEN-VIEW-DUPLICATE": Code(_USAGE, "Another saved view has this name."),
        "VEN-TOKEN-VALUE": Code(_USAGE, "A token cannot be made with this name or expiry."),
        "VEN-TOKEN-UNKNOWN": Code(_USAGE, "No token has this name."),
        "VEN-TOKEN-DUPLICATE": Code(_USAGE, "There is or was another token of this name."),
        "VEN-EXCHANGE-FORMAT": Code(
            _USAGE, "An archive is damaged, oversized or not a Venturi export."
        ),
        "VEN-IMPORT-FORMAT": Code(
            _USAGE, "A file to import is damaged, oversized or not of the format named."
        ),
        "VEN-IMPORT-FAILED": Code(_ENGINE, "The source of an imported trial says that it failed."),
        "VEN-IMPORT-ALIKE": Code(
            _WARNING, "An imported row equals an earlier one in all but its row number."
        ),
        "VEN-IMPORT-CLOCK": Code(
            _WARNING, "A time in an imported file has no time zone; it is kept as text only."
        ),
        "VEN-IMPORT-CUT": Code(
            _WARNING, "An imported file ends in the middle of a field, which is left out."
        ),
        "VEN-IMPORT-UNSTATED": Code(
            _WARNING, "A file does not state the unit or the date of an imported figure."
        ),
        "VEN-IMPORT-PUBLISHED": Code(
            _WARNING, "An imported figure was printed in a publication; see its message."
        ),
        "VEN-INGEST-FORMAT": Code(_USAGE, "A file is not a log of the engine that was named."),
        "VEN-INGEST-LIMIT": Code(
            _USAGE, "An engine's log is larger, or has more entries, than Venturi reads."
        ),
        "VEN-INGEST-LOST": Code(
            _WARNING, "A part of an engine's log could not be read, or was not understood."
        ),
        "VEN-INGEST-FAILED": Code(
            _ENGINE, "An engine's own account says that the application failed."
        ),
        "VEN-INGEST-SERVER": Code(
            _ENVIRONMENT, "A history server or a store cannot be asked, or its answer not read."
        ),
        "VEN-INGEST-UNFINISHED": Code(
            _INTERRUPTED, "An engine's own account ends before the application does."
        ),
        "VEN-HOST-START": Code(_ENVIRONMENT, "A host's agent, or what leads to it, did not start."),
        "VEN-HOST-VERSION": Code(
            _ENVIRONMENT, "A host's agent is of another version, or something else answers there."
        ),
        "VEN-HOST-TIMEOUT": Code(_TIMEOUT, "A host did not answer in time."),
        "VEN-HOST-NAME": Code(_USAGE, "A host's name is not known, or is none."),
        "VEN-HOST-REFUSED": Code(_ENVIRONMENT, "A host refuses connections."),
        "VEN-HOST-UNREACHABLE": Code(_ENVIRONMENT, "No route leads to a host."),
        "VEN-HOST-KEY": Code(_ENVIRONMENT, "A host's key is not known; nobody says it is the one."),
        "VEN-HOST-KEY-CHANGED": Code(_ENVIRONMENT, "A host's key is not the one that is known."),
        "VEN-HOST-LOGIN": Code(_ENVIRONMENT, "A host lets nobody in with the keys that we have."),
        "VEN-HOST-SSH": Code(_ENVIRONMENT, "SSH does not lead to a host; its own words say why."),
        "VEN-HOST-ARCH": Code(_ENVIRONMENT, "A host is of another kind than the agent."),
        "VEN-HOST-SPACE": Code(_CAPACITY, "A host's disk has no room for the agent."),
        "VEN-HOST-FOLDER": Code(_ENVIRONMENT, "The agent cannot be kept, or run, where it should."),
        "VEN-HOST-LOST": Code(_ENVIRONMENT, "The connection to a host broke; all ended there."),
        "VEN-AGENT-MISSING": Code(_ENVIRONMENT, "The agent binary is not installed."),
        "VEN-AGENT-PROTOCOL": Code(_ENGINE, "The agent wrote something that is not an event."),
        "VEN-AGENT-DEBUG": Code(
            _ENVIRONMENT, "The agent is a debug build, whose numbers are not kept."
        ),
        "VEN-AGENT-DIED": Code(_ENGINE, "The agent ended without a result."),
        "VEN-MEASURE-SPACE": Code(
            _CAPACITY, "There is not enough free disk space for what was asked."
        ),
        "VEN-MEASURE-BUDGET": Code(
            _CAPACITY, "The time or memory budget is too small for what was asked."
        ),
        "VEN-MEASURE-INVALID": Code(_WRONG, "The workload ran but its result is not valid."),
        "VEN-MEASURE-WORKLOAD": Code(_USAGE, "No workload or engine has this name."),
        "VEN-MEASURE-INPUT": Code(_ENVIRONMENT, "An input file is missing or cannot be read."),
        "VEN-MEASURE-DIR": Code(
            _ENVIRONMENT, "A file or folder is not there, or may not be read or written."
        ),
        "VEN-MEASURE-DISKS": Code(
            _WARNING, "Several folders were named for a role, but only one of them was used."
        ),
        "VEN-MEASURE-SERIES": Code(
            _WARNING, "The host's counters during a trial are missing or incomplete."
        ),
        "VEN-MEASURE-TRACE": Code(_WARNING, "The block I/O of a trial could not be recorded."),
        "VEN-MEASURE-UNSTEADY": Code(
            _WARNING, "A rate did not become steady while it was measured."
        ),
        "VEN-MEASURE-DISTURBED": Code(
            _WARNING, "Others used the host while a trial executed; its message says how much."
        ),
        "VEN-MEASURE-SLOW": Code(_WARNING, "A disk or a host is slower than its peers."),
        "VEN-MEASURE-SHARED": Code(
            _WARNING, "Hosts slow one another's disks: they share them, or the way to them."
        ),
        "VEN-MEASURE-HOSTS": Code(
            _ENVIRONMENT, "Hosts of a cluster failed; without two left there is nothing to measure."
        ),
        "VEN-MEASURE-BUSY": Code(
            _ENVIRONMENT, "Another command is measuring on this host; two would disturb each other."
        ),
        "VEN-PLAN-FILE": Code(_USAGE, "A plan's file has mistakes; each is named with its line."),
        "VEN-PLAN-BEGUN": Code(_USAGE, "A plan that was to be started has trials already."),
        "VEN-CLUSTER-FILE": Code(
            _USAGE, "A cluster's file has mistakes; each is named with its line."
        ),
        "VEN-CLUSTER-SAME": Code(_USAGE, "Two hosts of a cluster are one machine."),
        "VEN-CLUSTER-FOLDER": Code(
            _ENVIRONMENT, "A folder of a cluster's host is not there or cannot be written."
        ),
        "VEN-CLUSTER-SHARED": Code(
            _ENVIRONMENT, "A folder is the same for several hosts of a cluster."
        ),
        "VEN-CLUSTER-ONE-DISK": Code(
            _WARNING, "Folders that stand for several disks are on one file system."
        ),
        "VEN-CLUSTER-ADDRESS": Code(
            _ENVIRONMENT, "A host of a cluster is not reached at its address by the others."
        ),
        "VEN-CLUSTER-NAMES": Code(
            _WARNING, "A host of a cluster does not find the others by name, or itself wrongly."
        ),
        "VEN-CLUSTER-CLOCK": Code(_ENVIRONMENT, "The clocks of a cluster's hosts differ too much."),
        "VEN-CLUSTER-SETTINGS": Code(
            _ENVIRONMENT, "A host of a cluster has a setting that is known to hurt."
        ),
        "VEN-CLUSTER-DIFFERS": Code(_WARNING, "Hosts of a cluster that should be alike are not."),
        "VEN-LAB-FILE": Code(_USAGE, "A lab's file has mistakes; each is named with its line."),
        "VEN-LAB-NEEDS": Code(
            _ENVIRONMENT, "This machine, or who asks, lacks something that a lab is made of."
        ),
        "VEN-LAB-SPACE": Code(_CAPACITY, "The disks of a lab are larger than what is free."),
        "VEN-LAB-ADDRESS": Code(
            _ENVIRONMENT, "The addresses of a lab are those of a network of this machine."
        ),
        "VEN-LAB-STEP": Code(
            _ENVIRONMENT, "A part of a lab could not be made; nothing is left of the others."
        ),
        "VEN-LAB-UP": Code(_USAGE, "A lab of this name is up already."),
        "VEN-LAB-UNKNOWN": Code(_USAGE, "There is no lab, or no host of a lab, of this name."),
        "VEN-LAB-BROKEN": Code(_ENVIRONMENT, "A host of a lab is gone, or never was made."),
        "VEN-LAB-BUSY": Code(
            _ENVIRONMENT, "A part of a lab is in use, or another command is at work on it."
        ),
        "VEN-LAB-JOURNAL": Code(_ENVIRONMENT, "The journal of a lab is damaged."),
        "VEN-ENGINE-IGNORED": Code(
            _WARNING, "A setting was given that the engine, as it is deployed, ignores."
        ),
        "VEN-ENGINE-MISSING": Code(
            _ENVIRONMENT, "An engine, or something it needs, is not installed here."
        ),
        "VEN-ENGINE-JAVA": Code(
            _ENVIRONMENT, "The Java installation found is not one that the engine works with."
        ),
        "VEN-ENGINE-INSTALL": Code(
            _ENVIRONMENT, "An engine could not be downloaded, or is not the version expected."
        ),
        "VEN-ENGINE-SETTING": Code(
            _USAGE, "A setting given with --set does not belong to any engine chosen."
        ),
        "VEN-ENGINE-FAILED": Code(
            _ENGINE, "A job on an engine failed; the engine's own log is with the trial."
        ),
        "VEN-ENGINE-MEMORY": Code(_CAPACITY, "A job on an engine ran out of memory."),
        "VEN-ENGINE-SPACE": Code(
            _CAPACITY, "A disk became full while an engine was writing to it."
        ),
        "VEN-ENGINE-DAEMON": Code(
            _ENGINE, "A daemon of an engine ended, so that its jobs could not go on."
        ),
        "VEN-ENGINE-EXECUTOR": Code(
            _WARNING, "An executor ended before its application; its work was done again."
        ),
        "VEN-ENGINE-CLUSTER": Code(
            _ENVIRONMENT, "The cluster that was named does not answer, or is not a cluster."
        ),
        "VEN-ENGINE-HDFS": Code(
            _ENVIRONMENT, "HDFS does not answer, or refuses what was asked of it."
        ),
        "VEN-ENGINE-PORT": Code(_ENVIRONMENT, "A port that an engine needs is in use."),
        "VEN-ENGINE-TIMEOUT": Code(
            _TIMEOUT, "A job on an engine ran longer than its timeout, and was stopped."
        ),
        "VEN-MODEL-INPUT": Code(_USAGE, "A model was given a value outside its domain."),
        "VEN-CATALOG-FORMAT": Code(_USAGE, "A catalogue file has an invalid line, field or value."),
        "VEN-CATALOG-UNKNOWN": Code(_USAGE, "No catalogue or instance type has this name."),
        "VEN-CATALOG-UNIT": Code(_USAGE, "A figure looks as if it were given in another unit."),
        "VEN-JOB-FORMAT": Code(_USAGE, "A job file has an invalid field or value."),
        "VEN-ADVISE-NOWHERE": Code(
            _USAGE, "No machine of the catalogue can run the job, or none by the deadline."
        ),
        "VEN-MODEL-RANGE": Code(
            _USAGE, "A model was asked about sizes too far beyond those that were measured."
        ),
        "VEN-COMPARE-GROUPS": Code(_USAGE, "The trials given cannot be compared."),
        "VEN-DOCTOR-FACTS": Code(_USAGE, "A file does not contain the facts of a host."),
        "VEN-TRACE-COMMAND": Code(
            _USAGE, "A command whose disks were to be recorded failed, or there is none."
        ),
        "VEN-SYSTEM": Code(
            _ENVIRONMENT,
            "The operating system failed at what every program needs: a disk, memory, open files.",
        ),
        "VEN-INTERRUPTED": Code(
            _INTERRUPTED, "The user stopped the command; everything temporary was removed."
        ),
        "VEN-API-TOKEN": Code(
            _USAGE, "A request needs a token, or its token is not one the server knows."
        ),
        "VEN-API-FORBIDDEN": Code(
            _USAGE, "A request is not allowed for the role of its token, or for where it is from."
        ),
        "VEN-API-REQUEST": Code(_USAGE, "A request has an invalid parameter or body."),
        "VEN-API-UNKNOWN": Code(_USAGE, "There is nothing at this address."),
        "VEN-API-SIZE": Code(_CAPACITY, "A request is larger than the server accepts."),
        "VEN-API-BUSY": Code(_CAPACITY, "The server has as many requests at work as it takes."),
        "VEN-API-TIME": Code(_CAPACITY, "An answer took longer than the server computes."),
        "VEN-API-ANSWER": Code(_CAPACITY, "An answer is larger than the server sends."),
        "VEN-API-HOST": Code(
            _USAGE, "A request names a host name that the server does not answer to."
        ),
        "VEN-API-INTERNAL": Code(_ENGINE, "The server failed; its own log says how."),
        "VEN-API-PAGES": Code(_ENVIRONMENT, "The web pages were not built."),
        "VEN-SERVE-ADDRESS": Code(_ENVIRONMENT, "The server cannot listen where it was asked to."),
        "VEN-SERVE-TOKEN": Code(
            _USAGE, "A token is missing, too short, or its file can be read by others."
        ),
        "VEN-PUSH": Code(_ENVIRONMENT, "Trials could not be sent to a server."),
        "VEN-REPORT-ASSET": Code(
            _ENVIRONMENT, "The self-contained pages of reports were not built."
        ),
        "VEN-OUTPUT-EXISTS": Code(_USAGE, "A file that would be written is already there."),
        "VEN-PACKAGE-MISSING": Code(
            _ENVIRONMENT, "A Python package that Venturi does without is needed for this."
        ),
        "VEN-OUTPUT-WRITE": Code(_ENVIRONMENT, "A file cannot be written where it was asked for."),
    }
)

# The agent's codes have their meaning in its crates; a test holds the two lists together.
AGENT_CLASSES: Mapping[str, FailureClass | None] = MappingProxyType(
    {
        "VEN-AGENT-SIGNAL": _ENVIRONMENT,
        "VEN-AGENT-MEMORY": _CAPACITY,
        "VEN-AGENT-THREADS": _CAPACITY,
        "VEN-DISK-BUFFERED": _WARNING,
        "VEN-DISK-CONTENT": _ENVIRONMENT,
        "VEN-DISK-DIR": _ENVIRONMENT,
        "VEN-DISK-EXISTS": _USAGE,
        "VEN-DISK-IO": _ENVIRONMENT,
        "VEN-DISK-MEMORY": _USAGE,
        "VEN-DISK-OPTION": _USAGE,
        "VEN-DISK-ORPHAN": _WARNING,
        "VEN-DISK-SHARED": _WARNING,
        "VEN-DISK-SPACE": _CAPACITY,
        "VEN-GEN-FULL": _CAPACITY,
        "VEN-GEN-IO": _ENVIRONMENT,
        "VEN-GEN-OPTION": _USAGE,
        "VEN-GEN-OUTPUT": _ENVIRONMENT,
        "VEN-GEN-OUTPUT-EXISTS": _USAGE,
        "VEN-GEN-SPACE": _CAPACITY,
        "VEN-HOST-PROC": _ENVIRONMENT,
        "VEN-HOST-SOURCE": _WARNING,
        "VEN-INTERRUPTED": _INTERRUPTED,
        "VEN-MEMORY-BYTES": _CAPACITY,
        "VEN-NET-CONNECT": _ENVIRONMENT,
        "VEN-NET-COUNT": _WRONG,
        "VEN-NET-LISTEN": _ENVIRONMENT,
        "VEN-NET-OPTION": _USAGE,
        "VEN-NET-PEER": _ENVIRONMENT,
        "VEN-NET-LOST": _ENVIRONMENT,
        "VEN-NET-PROTOCOL": _ENVIRONMENT,
        "VEN-NET-TOKEN": _USAGE,
        "VEN-SORT-AGGREGATE": _USAGE,
        "VEN-SORT-CHECKSUM": _WRONG,
        "VEN-SORT-COUNT": _WRONG,
        "VEN-SORT-DIR": _ENVIRONMENT,
        "VEN-SORT-FULL": _CAPACITY,
        "VEN-SORT-INPUT": _ENVIRONMENT,
        "VEN-SORT-INPUT-CHANGED": _ENVIRONMENT,
        "VEN-SORT-INPUT-IS-OUTPUT": _USAGE,
        "VEN-SORT-INPUT-LENGTH": _USAGE,
        "VEN-SORT-IO": _ENVIRONMENT,
        "VEN-SORT-MEMORY": _CAPACITY,
        "VEN-SORT-OPTION": _USAGE,
        "VEN-SORT-OUTPUT-EXISTS": _USAGE,
        "VEN-SORT-PANIC": _ENGINE,
        "VEN-SORT-RECORD": _USAGE,
        "VEN-SORT-SLOW-IO": _WARNING,
        "VEN-SORT-SPACE": _CAPACITY,
        "VEN-SORT-STALLED": _ENGINE,
        "VEN-SPINDLE-BUSY": _WARNING,
        "VEN-SPINDLE-IMAGE": _ENVIRONMENT,
        "VEN-SPINDLE-IMAGE-SHARED": _USAGE,
        "VEN-SPINDLE-IMAGE-SIZE": _USAGE,
        "VEN-SPINDLE-MOUNT": _ENVIRONMENT,
        "VEN-SPINDLE-NAME": _USAGE,
        "VEN-SPINDLE-SETTING": _USAGE,
        "VEN-SPINDLE-SPEC": _USAGE,
        "VEN-TRACE-CONVERTED": _WARNING,
        "VEN-TRACE-CPUS": _WARNING,
        "VEN-TRACE-CUT": _WARNING,
        "VEN-TRACE-DAMAGED": _WARNING,
        "VEN-TRACE-DEVICE": _USAGE,
        "VEN-TRACE-DEVICES": _USAGE,
        "VEN-TRACE-EMPTY": _USAGE,
        "VEN-TRACE-FORMAT": _USAGE,
        "VEN-TRACE-GONE": _WARNING,
        "VEN-TRACE-ITSELF": _WARNING,
        "VEN-TRACE-KERNEL": _ENVIRONMENT,
        "VEN-TRACE-LOCKDOWN": _ENVIRONMENT,
        "VEN-TRACE-LOST": _WARNING,
        "VEN-TRACE-NAMES": _WARNING,
        "VEN-TRACE-NO-ISSUE": _WARNING,
        "VEN-TRACE-OCCUPIED": _USAGE,
        "VEN-TRACE-ORDER": _WARNING,
        "VEN-TRACE-PERF": _ENVIRONMENT,
        "VEN-TRACE-READ": _ENVIRONMENT,
        "VEN-TRACE-RECORDED": _USAGE,
        "VEN-TRACE-RIGHTS": _ENVIRONMENT,
        "VEN-TRACE-TRACEFS": _ENVIRONMENT,
        "VEN-TRACE-VERSION": _USAGE,
        "VEN-TRACE-WRITE": _CAPACITY,
        "VEN-VALIDATE-CHANGED": _ENVIRONMENT,
        "VEN-VALIDATE-CONTENT": _WRONG,
        "VEN-VALIDATE-EMPTY": _WRONG,
        "VEN-VALIDATE-INPUT": _ENVIRONMENT,
        "VEN-VALIDATE-LENGTH": _WRONG,
        "VEN-VALIDATE-MANIFEST": _WRONG,
        "VEN-VALIDATE-OPTION": _USAGE,
        "VEN-VALIDATE-OUTPUT": _ENVIRONMENT,
        "VEN-VALIDATE-RECORD": _WRONG,
        "VEN-VALIDATE-SUMMARY": _USAGE,
    }
)


def class_of(code: str) -> FailureClass:
    """The class of `code`; of one that is in no table, such as an exception's name, ENGINE."""
    found = CODES[code].failure_class if code in CODES else AGENT_CLASSES.get(code)
    return found or FailureClass.ENGINE


class VenturiError(Exception):
    """An error a user can act on.

    `code` is a key of `CODES` (or the agent's own), `where` names file, line, field and value as
    far as they apply, `hint` says what to do.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        where: Mapping[str, object] | None = None,
        hint: str = "",
        exit_code: ExitCode = ExitCode.USER,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.where = dict(where or {})
        self.hint = hint
        self.exit_code = exit_code

    @property
    def failure_class(self) -> FailureClass:
        """Why it failed, by who or what has to change."""
        return _WRONG if self.exit_code is ExitCode.INVALID else class_of(self.code)

    def as_dict(self) -> dict[str, object]:
        """The error as `--json` prints it."""
        return {
            "code": self.code,
            "class": self.failure_class.value,
            "message": self.message,
            "where": self.where,
            "hint": self.hint,
        }


def unreadable(
    path: object, error: OSError | UnicodeDecodeError, code: str, hint: str = ""
) -> VenturiError:
    """The error of a file that is not there or cannot be read, by the `code` of who reads it."""
    why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
    if isinstance(error, PermissionError):
        hint = f"`ls -ld {path}` says who may read it"
    return VenturiError(
        code, f"{path} cannot be read: {why or error}", where={"file": str(path)}, hint=hint
    )


def starved(message: str) -> VenturiError:
    """VEN-SYSTEM of what says no more than that it was given no memory or threads."""
    hint = "free memory or threads, or allow more (`ulimit -v`, `ulimit -u`)"
    return VenturiError("VEN-SYSTEM", message, hint=hint)


FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
NOT_PERMITTED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_MACHINE = {
    errno.EIO: "a disk or its connection fails: `dmesg` says which",
    errno.EMFILE: "`ulimit -n` says how many files a process may open, and lets it open more",
    errno.ENFILE: "all processes together have too many files open: end some",
    errno.ENOMEM: "free some memory, or allow more (`ulimit -v`, the limits of the container)",
    errno.EAGAIN: "allow more threads and processes (`ulimit -u`, the limits of the container)",
    errno.ENOLCK: "the file system gives no locks: name a folder on another",
    errno.ESTALE: "the file system was unmounted meanwhile: mount it, and try again",
}
MACHINE = frozenset(_MACHINE)
"""What fails whatever a program does, and is said without a traceback."""


def refused(
    error: OSError, what: str = "", *, where: Mapping[str, object] | None = None, hint: str = ""
) -> VenturiError:
    """The error of what the operating system does not do with a file or folder.

    VEN-MEASURE-SPACE of a disk or quota that is full, VEN-SYSTEM of what is in MACHINE, else
    VEN-MEASURE-DIR. `what` was tried is said before the reason, by default the file; `hint` is of
    rights that are missing.
    """
    # Of a copy, the second file is the one that is written.
    file = error.filename2 or error.filename
    reason = error.strerror or str(error)
    code = "VEN-MEASURE-DIR"
    if error.errno in _MACHINE:
        code, hint = "VEN-SYSTEM", _MACHINE[error.errno]
    elif error.errno in FULL:
        code = "VEN-MEASURE-SPACE"
        hint = "free some space, ask for less data, or name another disk with --dir"
    elif error.errno == errno.EROFS:
        hint = "its file system is mounted read-only: name a folder on another with --dir"
    elif not hint:
        hint = "use a folder that you may read and write; `ls -ld FOLDER` says who may"
    return VenturiError(
        code,
        ": ".join(str(part) for part in (what or file, reason) if part),
        where=where if where is not None else {} if file is None else {"file": str(file)},
        hint=hint,
    )


class AgentError(VenturiError):
    """An error event of the agent, passed on unchanged."""


class Interrupted(VenturiError):  # noqa: N818 - it is what happened, not a fault
    """The user asked to stop; everything temporary was removed."""

    def __init__(self, message: str = "interrupted", hint: str = "") -> None:
        super().__init__("VEN-INTERRUPTED", message, hint=hint, exit_code=ExitCode.INTERRUPTED)
