"""Every error Venturi can report: one root class, one stable code each.

An error says what was wrong, where, and what to do. The codes are listed in `CODES`; the agent's
own codes live in its crates and reach Python as `AgentError`; docs/reference/errors.md has both.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType


class ExitCode(IntEnum):
    """What the shell sees."""

    OK = 0
    USER = 1  # the user or the environment must change something
    USAGE = 2
    INVALID = 3  # measured, but the result is not valid
    REGRESSION = 4
    INTERRUPTED = 130


CODES: Mapping[str, str] = MappingProxyType(
    {
        "VEN-UNIT-SYNTAX": "A quantity could not be read: no number, or an unknown unit.",
        "VEN-SETTING-UNKNOWN": "A setting's name is not one Venturi knows.",
        "VEN-SETTING-VALUE": "A setting's value is not one it accepts.",
        "VEN-RECORD-SCHEMA": "A record does not match the trial schema.",
        "VEN-RECORD-VERSION": "A record was written by another version of the schema.",
        "VEN-RECORD-UNKNOWN": "No trial has this id, or several ids begin with it.",
        "VEN-RECORD-DUPLICATE": "Another trial with this id is already there.",
        "VEN-RECORD-ABANDONED": "The process that worked on a trial ended without finishing it.",
        "VEN-RECORD-STATE": "A trial cannot go from its state to the one asked for.",
        "VEN-RECORD-DATABASE": "The repository's database cannot be reached or upgraded.",
        "VEN-RECORD-ARTIFACT": "An artifact is missing or its digest differs.",
        "VEN-QUERY-CURSOR": "A cursor is damaged, or belongs to another query.",
        "VEN-QUERY-VALUE": "A query has a bad condition, or asks for too much at once.",
        "VEN-EXCLUSION-VALUE": "An exclusion lacks a condition, author or reason, or is too much.",
        "VEN-EXCLUSION-UNKNOWN": "No exclusion has this id.",
        "VEN-EXCLUSION-REVOKED": "An exclusion was revoked already.",
        "VEN-VIEW-VALUE": "A view to be saved has a bad name, author or address.",
        "VEN-VIEW-UNKNOWN": "No saved view has this name.",
        "VEN-VIEW-DUPLICATE": "Another saved view has this name.",
        "VEN-EXCHANGE-FORMAT": "An archive is damaged, oversized or not a Venturi export.",
        "VEN-IMPORT-FORMAT": "A file to import is damaged, oversized or not of the format named.",
        "VEN-IMPORT-FAILED": "The source of an imported trial says that it failed.",
        "VEN-IMPORT-ALIKE": "An imported row equals an earlier one in all but its number.",
        "VEN-IMPORT-CLOCK": "A moment in an imported file has no time zone; only its text is kept.",
        "VEN-IMPORT-UNSTATED": "A file does not say what an imported figure means: unit or date.",
        "VEN-IMPORT-PUBLISHED": "An imported figure was printed in a publication; see its message.",
        "VEN-INGEST-FORMAT": "A file is not the log of an engine that it was given as.",
        "VEN-INGEST-LIMIT": "A log of an engine asks for more than any such log needs.",
        "VEN-INGEST-LOST": "A part of an engine's log could not be read, or was not understood.",
        "VEN-INGEST-FAILED": "An engine's own account says that the application failed.",
        "VEN-INGEST-UNFINISHED": "An engine's own account ends before the application does.",
        "VEN-AGENT-MISSING": "The agent binary is not installed.",
        "VEN-AGENT-PROTOCOL": "The agent said something that is not an event.",
        "VEN-AGENT-DEBUG": "The agent is a debug build, whose numbers are not kept.",
        "VEN-AGENT-DIED": "The agent ended without a result.",
        "VEN-MEASURE-SPACE": "There is too little free disk for what was asked.",
        "VEN-MEASURE-BUDGET": "The time or memory budget is too small for what was asked.",
        "VEN-MEASURE-INVALID": "The workload ran but its result is not valid.",
        "VEN-MEASURE-WORKLOAD": "No workload or engine has this name.",
        "VEN-MEASURE-INPUT": "An input file is missing or cannot be read.",
        "VEN-MEASURE-DIR": "A file or folder of a trial cannot be used.",
        "VEN-MEASURE-DISKS": "Of several folders that were named for a role, only one was used.",
        "VEN-MEASURE-SERIES": "The host's counters beside a trial are missing or incomplete.",
        "VEN-MEASURE-UNSTEADY": "A rate did not settle while it was measured.",
        "VEN-MEASURE-SLOW": "A disk is slower than its peers.",
        "VEN-MEASURE-BUSY": "Another command measures on this host; two would disturb each other.",
        "VEN-PLAN-FILE": "A plan's file has mistakes; each is named with its line.",
        "VEN-PLAN-BEGUN": "A plan that was to be started has begun already.",
        "VEN-ENGINE-MISSING": "An engine, or something it needs, is not installed here.",
        "VEN-ENGINE-JAVA": "The Java that was found is not one the engine works with.",
        "VEN-ENGINE-INSTALL": "An engine could not be fetched, or is not what was pinned.",
        "VEN-ENGINE-SETTING": "A setting given with --set is not one of the engines chosen.",
        "VEN-ENGINE-FAILED": "A job on an engine failed; the engine's own log is with the trial.",
        "VEN-ENGINE-MEMORY": "A job on an engine ran out of memory.",
        "VEN-ENGINE-SPACE": "A disk got full under an engine.",
        "VEN-ENGINE-DAEMON": "A daemon of an engine ended, and so did what needed it.",
        "VEN-ENGINE-EXECUTOR": "An executor ended before its application; its work was done again.",
        "VEN-ENGINE-CLUSTER": "A cluster that was given does not answer, or is none.",
        "VEN-ENGINE-HDFS": "HDFS does not answer, or refuses what was asked of it.",
        "VEN-ENGINE-PORT": "A port that an engine needs is taken.",
        "VEN-ENGINE-TIMEOUT": "A job on an engine took longer than it was given, and was ended.",
        "VEN-MODEL-INPUT": "A model was given a value outside its domain.",
        "VEN-CATALOG-FORMAT": "A catalogue file has a bad line, field or value.",
        "VEN-CATALOG-UNKNOWN": "No catalogue or instance type has this name.",
        "VEN-CATALOG-UNIT": "A figure looks as if it were given in another unit.",
        "VEN-JOB-FORMAT": "A job file has a bad field or value.",
        "VEN-ADVISE-NOWHERE": "The job fits on no machine of the catalogue, or on none in time.",
        "VEN-MODEL-RANGE": "A model was asked to extrapolate too far beyond what was measured.",
        "VEN-COMPARE-GROUPS": "The trials given cannot be compared.",
        "VEN-DOCTOR-FACTS": "A file does not hold the facts of a host.",
        "VEN-INTERRUPTED": "The user asked to stop; everything temporary was removed.",
        "VEN-API-TOKEN": "A request needs a token, or its token is not one the server knows.",
        "VEN-API-FORBIDDEN": "A request may not do this: its role, or where it comes from.",
        "VEN-API-REQUEST": "A request has a bad parameter or body.",
        "VEN-API-UNKNOWN": "Nothing is served at this address.",
        "VEN-API-SIZE": "A request is bigger than the server takes.",
        "VEN-API-HOST": "A request names a host that the server does not answer for.",
        "VEN-API-INTERNAL": "The server failed; its own log says how.",
        "VEN-API-PAGES": "The web pages were not built.",
        "VEN-SERVE-ADDRESS": "The server cannot listen where it was asked to.",
        "VEN-SERVE-TOKEN": "A token is missing, too short, or its file can be read by others.",
        "VEN-PUSH": "Trials could not be sent to a server.",
        "VEN-REPORT-ASSET": "The pages that stand alone were not built.",
        "VEN-OUTPUT-EXISTS": "A file that would be written is already there.",
        "VEN-OUTPUT-WRITE": "A file cannot be written where it was asked for.",
    }
)


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

    def as_dict(self) -> dict[str, object]:
        """The error as `--json` prints it."""
        return {
            "code": self.code,
            "message": self.message,
            "where": self.where,
            "hint": self.hint,
        }


def unreadable(
    path: object, error: OSError | UnicodeDecodeError, code: str, hint: str = ""
) -> VenturiError:
    """The error of a file that is not there or cannot be read, by the `code` of who reads it."""
    why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
    return VenturiError(
        code, f"{path} cannot be read: {why or error}", where={"file": str(path)}, hint=hint
    )


class AgentError(VenturiError):
    """An error event of the agent, passed on unchanged."""


class Interrupted(VenturiError):  # noqa: N818 - it is what happened, not a fault
    """The user asked to stop; everything temporary was removed."""

    def __init__(self, message: str = "interrupted", hint: str = "") -> None:
        super().__init__("VEN-INTERRUPTED", message, hint=hint, exit_code=ExitCode.INTERRUPTED)
