"""Every error Venturi can report: one root class, one stable code each.

An error states the problem, the place and the remedy. `CODES` lists the codes with their class and
meaning. The agent's own codes live in its crates and reach Python as `AgentError`; only their class
is here. docs/reference/errors.md has both.
"""

from __future__ import annotations

import copyreg
import errno
from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import NamedTuple


class ExitCode(IntEnum):
    """Exit codes of the programs."""

    OK = 0
    USER = 1  # the user or the environment must change something
    USAGE = 2
    INVALID = 3  # measured, but the result is not valid
    REGRESSION = 4
    INTERRUPTED = 130


class FailureClass(StrEnum):
    """Why something failed, by the party that has to change before it can work."""

    USAGE = "usage"
    ENVIRONMENT = "environment"
    CAPACITY = "capacity"
    INTERRUPTED = "interrupted"
    TIMEOUT = "timeout"
    ENGINE = "engine failure"
    WRONG = "wrong output"


class Code(NamedTuple):
    """The meaning of an error's code; without a class it is only ever a warning."""

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
        "VEN-UNIT-SYNTAX": Code(_USAGE, "A quantity has no number, or an unknown unit."),
        "VEN-SETTING-UNKNOWN": Code(
            _WARNING, "An environment variable looks like a setting of Venturi, but isn't one."
        ),
        "VEN-VERB-RENAMED": Code(_WARNING, "A command has a new name; the old one still works."),
        "VEN-SETTING-VALUE": Code(_USAGE, "A setting has a value that it does not accept."),
        "VEN-RECORD-SCHEMA": Code(_USAGE, "A record does not match the trial schema."),
        "VEN-RECORD-VERSION": Code(
            _USAGE, "A record was written by a different version of the schema."
        ),
        "VEN-RECORD-LIMIT": Code(
            _USAGE, "A record exceeds a size limit or contains invalid values."
        ),
        "VEN-RECORD-CUT": Code(
            _WARNING, "A trial exceeded a size limit and was truncated; see its message."
        ),
        "VEN-RECORD-UNKNOWN": Code(_USAGE, "No trial has this ID, or several IDs begin with it."),
        "VEN-RECORD-DUPLICATE": Code(_USAGE, "Another trial has this ID."),
        "VEN-RECORD-ABANDONED": Code(
            _INTERRUPTED, "The process that ran a trial ended before the trial did."
        ),
        "VEN-RECORD-STATE": Code(
            _USAGE, "A trial can't change from its state to the requested one."
        ),
        "VEN-RECORD-DATABASE": Code(
            _ENVIRONMENT, "The repository's database cannot be reached or upgraded."
        ),
        "VEN-RECORD-BUSY": Code(
            _ENVIRONMENT, "Another command has locked the repository for a long time."
        ),
        "VEN-RECORD-ARTIFACT": Code(_ENVIRONMENT, "An artifact is missing or its digest differs."),
        "VEN-RECORD-DROPPED": Code(
            _USAGE, "The task tables of an old job were dropped; its summary was kept."
        ),
        "VEN-RECORD-REMOVED": Code(
            _USAGE, "A trial was removed permanently and isn't imported again."
        ),
        "VEN-REMOVAL-VALUE": Code(_USAGE, "A removal lacks a reason, or its text is too long."),
        "VEN-REMOVAL-UNKNOWN": Code(_USAGE, "No removal has this id."),
        "VEN-BACKUP-FORMAT": Code(
            _USAGE, "A file is damaged, truncated, from a newer Venturi, or isn't a backup."
        ),
        "VEN-REPOSITORY-NOT-EMPTY": Code(
            _USAGE, "A backup can only be restored into an empty repository."
        ),
        "VEN-REPOSITORY-BUSY": Code(
            _ENVIRONMENT,
            "Another command is backing up, repairing or removing data in the repository.",
        ),
        "VEN-QUERY-CURSOR": Code(_USAGE, "A cursor is damaged, or belongs to another query."),
        "VEN-QUERY-VALUE": Code(_USAGE, "A query has an invalid condition, or requests too much."),
        "VEN-EXCLUSION-VALUE": Code(
            _USAGE, "An exclusion lacks a condition, author or reason, or one is too long."
        ),
        "VEN-EXCLUSION-UNKNOWN": Code(_USAGE, "No exclusion has this id."),
        "VEN-EXCLUSION-REVOKED": Code(_USAGE, "The exclusion is already revoked."),
        "VEN-VIEW-VALUE": Code(_USAGE, "A view can't have this name, author or address."),
        "VEN-VIEW-UNKNOWN": Code(_USAGE, "No saved view has this name."),
        "VEN-VIEW-DUPLICATE": Code(_USAGE, "Another saved view has this name."),
        "VEN-TOKEN-VALUE": Code(_USAGE, "A token can't have this name or expiry."),
        "VEN-TOKEN-UNKNOWN": Code(_USAGE, "No token has this name."),
        "VEN-TOKEN-DUPLICATE": Code(_USAGE, "Another token has or had this name."),
        "VEN-EXCHANGE-FORMAT": Code(
            _USAGE, "An archive is damaged, too large or not a Venturi export."
        ),
        "VEN-IMPORT-FORMAT": Code(
            _USAGE, "A file to import is damaged, too large or not in the named format."
        ),
        "VEN-IMPORT-FAILED": Code(_ENGINE, "An imported trial failed, according to its source."),
        "VEN-IMPORT-WORKER": Code(
            _CAPACITY, "A process that imported logs was killed, perhaps for lack of memory."
        ),
        "VEN-IMPORT-ALIKE": Code(_WARNING, "An imported row duplicates an earlier one."),
        "VEN-IMPORT-CLOCK": Code(
            _WARNING, "A time in an imported file has no time zone; it is kept as text only."
        ),
        "VEN-IMPORT-CUT": Code(
            _WARNING, "An imported file ends in the middle of a field, which is left out."
        ),
        "VEN-IMPORT-CACHED": Code(
            _WARNING, "An imported disk rate was measured through the page cache."
        ),
        "VEN-IMPORT-UNSTATED": Code(
            _WARNING, "A file does not state the unit or the date of an imported figure."
        ),
        "VEN-IMPORT-PUBLISHED": Code(
            _WARNING, "An imported figure was printed in a publication; see its message."
        ),
        "VEN-SERIES-FORMAT": Code(_USAGE, "A file with a host's series can't be read."),
        "VEN-INGEST-FORMAT": Code(_USAGE, "A file isn't a log of the named engine."),
        "VEN-INGEST-LIMIT": Code(
            _USAGE, "An engine's log is larger, or has more entries, than Venturi can read."
        ),
        "VEN-INGEST-LOST": Code(_WARNING, "A part of an engine's log could not be read or parsed."),
        "VEN-INGEST-FAILED": Code(
            _ENGINE, "The application failed, according to the engine's log."
        ),
        "VEN-INGEST-SERVER": Code(
            _ENVIRONMENT,
            "A history server or object store can't be reached, or its answer is unreadable.",
        ),
        "VEN-INGEST-BUG": Code(_ENGINE, "Venturi failed while it read a log: please report it."),
        "VEN-INGEST-UNKNOWN": Code(
            _INTERRUPTED, "The application ended, but the engine's log doesn't say how."
        ),
        "VEN-INGEST-UNFINISHED": Code(
            _INTERRUPTED, "An engine's log ends before the application does."
        ),
        "VEN-HOST-START": Code(
            _ENVIRONMENT, "The agent on a host, or the connection to it, didn't start."
        ),
        "VEN-HOST-VERSION": Code(
            _ENVIRONMENT,
            "The agent on a host has a different version, or another program answered.",
        ),
        "VEN-HOST-TIMEOUT": Code(_TIMEOUT, "A host did not answer in time."),
        "VEN-HOST-NAME": Code(_USAGE, "A host name cannot be resolved or is invalid."),
        "VEN-HOST-REFUSED": Code(_ENVIRONMENT, "A host refuses connections."),
        "VEN-HOST-UNREACHABLE": Code(_ENVIRONMENT, "No route leads to a host."),
        "VEN-HOST-KEY": Code(_ENVIRONMENT, "A host's key is unknown and could not be verified."),
        "VEN-HOST-KEY-CHANGED": Code(_ENVIRONMENT, "A host's key differs from the known one."),
        "VEN-HOST-LOGIN": Code(
            _ENVIRONMENT, "SSH authentication failed: the host accepted no key."
        ),
        "VEN-HOST-SSH": Code(_ENVIRONMENT, "SSH can't connect to a host; see SSH's own message."),
        "VEN-HOST-ARCH": Code(
            _ENVIRONMENT, "A host's operating system or CPU architecture doesn't fit the agent."
        ),
        "VEN-HOST-SPACE": Code(_CAPACITY, "A host's disk has no room for the agent."),
        "VEN-HOST-FOLDER": Code(
            _ENVIRONMENT, "The agent can't be stored or run in its folder on the host."
        ),
        "VEN-HOST-LOST": Code(
            _ENVIRONMENT, "The connection to a host broke; its processes were ended."
        ),
        "VEN-AGENT-MISSING": Code(_ENVIRONMENT, "The agent binary is not installed."),
        "VEN-AGENT-PROTOCOL": Code(_ENGINE, "The agent wrote something that is not an event."),
        "VEN-AGENT-DEBUG": Code(
            _ENVIRONMENT, "The agent is a debug build; its measurements are not recorded."
        ),
        "VEN-AGENT-DIED": Code(_ENGINE, "The agent ended without a result."),
        "VEN-MEASURE-SPACE": Code(
            _CAPACITY, "There is not enough free disk space for the request."
        ),
        "VEN-MEASURE-BUDGET": Code(
            _CAPACITY, "The time or memory budget is too small for the request."
        ),
        "VEN-MEASURE-INVALID": Code(_WRONG, "The workload ran but its result is not valid."),
        "VEN-MEASURE-WORKLOAD": Code(_USAGE, "No workload or engine has this name."),
        "VEN-MEASURE-INPUT": Code(_ENVIRONMENT, "An input file is missing or cannot be read."),
        "VEN-MEASURE-DIR": Code(
            _ENVIRONMENT, "A file or folder is missing, or you lack permission to read or write it."
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
            _WARNING, "Other programs used the host during a trial; its message says how much."
        ),
        "VEN-MEASURE-SLOW": Code(_WARNING, "A disk or a host is slower than its peers."),
        "VEN-MEASURE-SHARED": Code(
            _WARNING, "Hosts slow each other's disks: they share a disk, or the path to it."
        ),
        "VEN-MEASURE-HOSTS": Code(
            _ENVIRONMENT, "Hosts of a cluster failed; without two left there is nothing to measure."
        ),
        "VEN-MEASURE-BUSY": Code(
            _ENVIRONMENT, "Another command is measuring on this host; two would disturb each other."
        ),
        "VEN-PLAN-FILE": Code(_USAGE, "A plan file has errors; each is listed with its line."),
        "VEN-PLAN-BEGUN": Code(_USAGE, "The plan has already been started."),
        "VEN-CLUSTER-FILE": Code(
            _USAGE, "A cluster file has errors; each is listed with its line."
        ),
        "VEN-CLUSTER-SAME": Code(_USAGE, "Two hosts of a cluster are the same machine."),
        "VEN-CLUSTER-FOLDER": Code(
            _ENVIRONMENT, "A folder on a cluster's host is missing or not writable."
        ),
        "VEN-CLUSTER-SHARED": Code(_ENVIRONMENT, "Several hosts of a cluster share a folder."),
        "VEN-CLUSTER-ONE-DISK": Code(
            _WARNING, "Folders that stand for several disks are on one file system."
        ),
        "VEN-CLUSTER-ADDRESS": Code(
            _ENVIRONMENT, "A host of a cluster can't be reached by the others at its address."
        ),
        "VEN-CLUSTER-NAMES": Code(
            _WARNING,
            "A host of a cluster can't resolve the others' names, or resolves its own wrongly.",
        ),
        "VEN-CLUSTER-CLOCK": Code(_ENVIRONMENT, "The clocks of a cluster's hosts differ too much."),
        "VEN-CLUSTER-SETTINGS": Code(
            _ENVIRONMENT, "A host of a cluster has a setting that is known to hurt."
        ),
        "VEN-CLUSTER-DIFFERS": Code(_WARNING, "Hosts of a cluster that should be equal differ."),
        "VEN-LAB-FILE": Code(_USAGE, "A lab file has errors; each is listed with its line."),
        "VEN-LAB-NEEDS": Code(
            _ENVIRONMENT, "This machine or user lacks something that a lab needs."
        ),
        "VEN-LAB-SPACE": Code(_CAPACITY, "The disks of a lab need more space than is free."),
        "VEN-LAB-ADDRESS": Code(
            _ENVIRONMENT, "The addresses of a lab collide with a network of this machine."
        ),
        "VEN-LAB-STEP": Code(
            _ENVIRONMENT, "A part of a lab could not be created; the other parts were removed."
        ),
        "VEN-LAB-UP": Code(_USAGE, "A lab of this name is already up."),
        "VEN-LAB-UNKNOWN": Code(_USAGE, "No lab, or no host of a lab, has this name."),
        "VEN-LAB-BROKEN": Code(_ENVIRONMENT, "A host of a lab is gone, or was never created."),
        "VEN-LAB-BUSY": Code(
            _ENVIRONMENT, "A part of a lab is in use, or another command is changing it."
        ),
        "VEN-LAB-JOURNAL": Code(_ENVIRONMENT, "The journal of a lab is damaged."),
        "VEN-ENGINE-IGNORED": Code(_WARNING, "The engine, as deployed, ignores a given setting."),
        "VEN-ENGINE-MISSING": Code(
            _ENVIRONMENT, "An engine, or something it needs, is not installed here."
        ),
        "VEN-ENGINE-JAVA": Code(
            _ENVIRONMENT, "The engine doesn't work with the Java installation found."
        ),
        "VEN-ENGINE-INSTALL": Code(
            _ENVIRONMENT, "An engine could not be downloaded, or is not the version expected."
        ),
        "VEN-ENGINE-SETTING": Code(
            _USAGE, "A setting given with --set does not belong to any engine chosen."
        ),
        "VEN-ENGINE-FAILED": Code(
            _ENGINE, "A job on an engine failed; the trial contains the engine's log."
        ),
        "VEN-ENGINE-MEMORY": Code(_CAPACITY, "A job on an engine ran out of memory."),
        "VEN-ENGINE-SPACE": Code(
            _CAPACITY, "A disk became full while an engine was writing to it."
        ),
        "VEN-ENGINE-DAEMON": Code(
            _ENGINE, "A daemon of an engine ended, so its jobs could not continue."
        ),
        "VEN-ENGINE-EXECUTOR": Code(_WARNING, "An executor was lost; its work was repeated."),
        "VEN-ENGINE-CLUSTER": Code(
            _ENVIRONMENT, "The named cluster doesn't answer, or isn't a cluster."
        ),
        "VEN-ENGINE-HDFS": Code(_ENVIRONMENT, "HDFS doesn't answer, or refuses the request."),
        "VEN-ENGINE-PORT": Code(_ENVIRONMENT, "A port that an engine needs is in use."),
        "VEN-ENGINE-TIMEOUT": Code(
            _TIMEOUT, "A job on an engine ran longer than its timeout, and was stopped."
        ),
        "VEN-MODEL-INPUT": Code(_USAGE, "A model's input is outside its valid range."),
        "VEN-CATALOG-FORMAT": Code(_USAGE, "A catalog file has an invalid line, field or value."),
        "VEN-CATALOG-UNKNOWN": Code(_USAGE, "No catalog or instance type has this name."),
        "VEN-CATALOG-UNIT": Code(_USAGE, "A figure seems to be in another unit."),
        "VEN-LIMITS-FORMAT": Code(
            _USAGE, "A file of operating limits or a price list has an invalid key or value."
        ),
        "VEN-PRICE-FORMAT": Code(
            _USAGE, "A price, or a file of prices, has an invalid key or value."
        ),
        "VEN-PRICE-UNKNOWN": Code(_USAGE, "No price is set for this."),
        "VEN-PRICE-WRITE": Code(_ENVIRONMENT, "The file of prices cannot be written."),
        "VEN-JOB-FORMAT": Code(_USAGE, "A job file has an invalid field or value."),
        "VEN-ADVISE-NOWHERE": Code(
            _USAGE, "No machine in the catalog can run the job, or none by the deadline."
        ),
        "VEN-MODEL-RANGE": Code(_USAGE, "A model's input is too far beyond the measured sizes."),
        "VEN-COMPARE-GROUPS": Code(_USAGE, "The trials given cannot be compared."),
        "VEN-DOCTOR-FACTS": Code(_USAGE, "A file doesn't contain host facts."),
        "VEN-TRACE-COMMAND": Code(_USAGE, "The traced command failed, or doesn't exist."),
        "VEN-SYSTEM": Code(
            _ENVIRONMENT,
            "The operating system refused a basic resource: disk, memory or open files.",
        ),
        "VEN-INTERRUPTED": Code(
            _INTERRUPTED, "The user stopped the command; everything temporary was removed."
        ),
        "VEN-API-TOKEN": Code(_USAGE, "A request has no token, or an unknown one."),
        "VEN-API-FORBIDDEN": Code(
            _USAGE, "The role of a token, or the origin of a request, doesn't allow the request."
        ),
        "VEN-API-REQUEST": Code(_USAGE, "A request has an invalid parameter or body."),
        "VEN-API-UNKNOWN": Code(_USAGE, "The server has nothing at this address."),
        "VEN-API-SIZE": Code(_CAPACITY, "A request is larger than the server accepts."),
        "VEN-API-BUSY": Code(
            _CAPACITY, "The server is busy: it has reached its limit of concurrent requests."
        ),
        "VEN-API-TIME": Code(_CAPACITY, "Computing an answer exceeded the server's time limit."),
        "VEN-API-ANSWER": Code(_CAPACITY, "An answer exceeds the server's size limit."),
        "VEN-API-HOST": Code(_USAGE, "A request uses a host name that the server doesn't serve."),
        "VEN-API-INTERNAL": Code(_ENGINE, "The server failed; see its log."),
        "VEN-API-PAGES": Code(_ENVIRONMENT, "The web pages were not built."),
        "VEN-SERVE-ADDRESS": Code(_ENVIRONMENT, "The server can't listen on the given address."),
        "VEN-SERVE-TOKEN": Code(
            _USAGE, "A token is missing, too short, or its file can be read by others."
        ),
        "VEN-PUSH": Code(_ENVIRONMENT, "Trials could not be sent to a server."),
        "VEN-REPORT-ASSET": Code(
            _ENVIRONMENT, "The self-contained pages of reports were not built."
        ),
        "VEN-OUTPUT-EXISTS": Code(_USAGE, "A file to be written already exists."),
        "VEN-PACKAGE-MISSING": Code(_ENVIRONMENT, "An optional Python package is missing."),
        "VEN-OUTPUT-WRITE": Code(_ENVIRONMENT, "A file can't be written at the given path."),
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
    """The class of `code`; ENGINE for an unknown code, such as an exception's name."""
    found = CODES[code].failure_class if code in CODES else AGENT_CLASSES.get(code)
    return found or FailureClass.ENGINE


class VenturiError(Exception):
    """An error a user can act on.

    `code` is a key of `CODES` (or the agent's own), `where` names file, line, field and value as
    far as they apply, `hint` states the remedy.
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

    def __reduce__(self) -> tuple[object, ...]:  # an error goes from a worker process to its parent
        return copyreg.__newobj__, (type(self), self.message), self.__dict__  # type: ignore[attr-defined]

    @property
    def failure_class(self) -> FailureClass:
        """Why it failed, by the party that has to change."""
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


class UsageError(VenturiError):
    """An error in the arguments of a command or request."""

    def __init__(
        self, code: str, message: str, *, where: Mapping[str, object] | None = None, hint: str = ""
    ) -> None:
        super().__init__(code, message, where=where, hint=hint, exit_code=ExitCode.USAGE)


def unreadable(
    path: object, error: OSError | UnicodeDecodeError, code: str, hint: str = ""
) -> VenturiError:
    """The error for a file that doesn't exist or cannot be read, with the reader's `code`."""
    why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
    if isinstance(error, PermissionError):
        hint = f"`ls -ld {path}` shows its owner and permissions"
    elif isinstance(error, FileNotFoundError) and not hint:
        hint = "check the path: relative paths start at the current folder"
    return VenturiError(
        code, f"{path} cannot be read: {why or error}", where={"file": str(path)}, hint=hint
    )


def starved(message: str) -> VenturiError:
    """VEN-SYSTEM for an error that only says that it got no memory or threads."""
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
    errno.ESTALE: "the file system has been unmounted: mount it, and try again",
}
MACHINE = frozenset(_MACHINE)
"""Errors of the machine, not of a program; they are reported without a traceback."""


def refused(
    error: OSError, what: str = "", *, where: Mapping[str, object] | None = None, hint: str = ""
) -> VenturiError:
    """The error for an operation that the operating system refused for a file or folder.

    VEN-MEASURE-SPACE for a full disk or quota, VEN-SYSTEM for errors in MACHINE, else
    VEN-MEASURE-DIR. The message begins with `what` was tried, by default the file; `hint` is for
    missing permissions.
    """
    # For a copy, the second file is the one that is written.
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
        hint = "use a folder that you may read and write; `ls -ld FOLDER` shows who may"
    return VenturiError(
        code,
        ": ".join(str(part) for part in (what or file, reason) if part),
        where=where if where is not None else {} if file is None else {"file": str(file)},
        hint=hint,
    )


class AgentError(VenturiError):
    """An error event of the agent, passed on unchanged."""


class Interrupted(VenturiError):  # noqa: N818 - an event, not a fault
    """The user asked to stop; everything temporary was removed."""

    def __init__(self, message: str = "interrupted", hint: str = "") -> None:
        super().__init__("VEN-INTERRUPTED", message, hint=hint, exit_code=ExitCode.INTERRUPTED)
