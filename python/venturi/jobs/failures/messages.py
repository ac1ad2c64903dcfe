"""Engines' messages of failures without their stack traces: the exception and its cause."""

from __future__ import annotations

import json
import re

_CHARACTERS = 500
_TEXT_CHARACTERS = 100_000  # of a stack trace
_FRAME = re.compile(r"\s+at \S|\s*\.\.\. \d+ (?:more|common frames)|\s*at java\.|\s+[~^]+\s*$")
_PYTHON_FRAME = re.compile(r'\s+File "')
_PYTHON_CALL = re.compile(r'\s+File "(?:[^"]*[/\\])?(?P<file>[^"/\\]+)", line (?P<line>\d+)')
# Code that isn't the user's: PySpark, installed packages, Python itself.
_PYSPARK_FRAME = re.compile(r'[/"](?:pyspark|py4j|pyspark\.zip|py4j-[^/"]*)[/"]')
_PACKAGE_FRAME = re.compile(r'/(?:site-packages|dist-packages|lib/python\d[\d.]*)/|"<frozen ')
_JAVA_FRAME = re.compile(r"\n\s+at \S|\nCaused by: ")
_CLASS = re.compile(r"^[\w.$]+: ")
_END = re.compile(r"Driver stacktrace:")
_TRACEBACK = "Traceback (most recent call last)"
_FATAL = "Fatal Python error"
_CAUSED = "Caused by: "
# The last line of a Python traceback: a class, and perhaps a message.
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:: .*)?$")
_BRIDGE = re.compile(r"py4j\.protocol\.|An error occurred while calling ")
_ABORTED = re.compile(
    r"(?:Job aborted due to stage failure: )?"
    r"Task (?P<task>\d+)(?:\.\d+)? in stage (?P<stage>[\d.]+) failed (?P<times>\d+) times?, "
    r"most recent failure: (?:Lost task [\d.]+ in stage [\d.]+ "
    r"\(TID \d+(?:, (?P<old>[^,()]+), executor (?P<old_id>[^,()]+))?[^()]*\)"
    r"(?: \((?P<host>\S+) executor (?P<id>[^()]+)\))?: )?"
)
_STAGE_GIVEN_UP = re.compile(
    r"(?:Job aborted due to stage failure: )?\w*Stage (?P<stage>\d+) .*"
    r"has failed the maximum allowable number of times: (?P<times>\d+)\. "
    r"Most recent failure reason:\s*"
)
_TASK_ERROR = re.compile(r"^ExceptionFailure: ")
# A file of Spark in a local directory: only the directory matters.
_SCRATCH = re.compile(
    r"/(?:spark-[0-9a-f-]{36}/)?(?:executor-[0-9a-f-]{36}/)?blockmgr-[0-9a-f-]{36}(?:/[\w.-]+)*"
)
# The class of an exception that has a name of its own: "[DIVIDE_BY_ZERO] Division by zero".
_NAMED_ERROR = re.compile(r"^[\w.$]+: (?=\[[A-Z_.]+\] )")
_SILENT = re.compile(r"java\.io\.EOFException$")  # the end of a stream says no more


def condensed(text: object, trace: object = None) -> str | None:
    """Return the lines of a message that state the failure and its cause, None if it has none.

    `trace` is its stack trace: of this, the rest of the message and the root cause are added if
    `text` lacks them. A long message keeps its beginning and its root cause.
    """
    if not isinstance(text, str) or not text.strip():
        return None
    text = _of_json(text[:_TEXT_CHARACTERS])
    said = _END.split(_completed(text, trace), maxsplit=1)[0]
    lines = [line.rstrip() for line in said.splitlines() if line.strip()]
    kept = [line for line in lines if not _FRAME.match(line) and not line.startswith(_CAUSED)]
    if _TRACEBACK in said:
        kept = _of_python(kept)
    elif _FATAL in said:
        kept = [line for line in kept if not _PYTHON_FRAME.match(line)]
    root = _root(trace if isinstance(trace, str) else said)
    if root is not None and not _SILENT.match(root) and root not in "\n".join(kept):
        kept.append(f"{_CAUSED}{root}")
    return _cut("\n".join(kept))


def _of_json(text: str) -> str:
    """The message of an error that Spark 4 writes as JSON: its class, and its parameters."""
    if not text.startswith("{"):
        return text
    try:
        error = json.loads(text)
    except ValueError:
        return text
    name = error.get("errorClass")
    parameters = error.get("messageParameters")
    if not isinstance(name, str) or not isinstance(parameters, dict):
        return text
    template = error.get("messageTemplate")
    if isinstance(template, str):
        for key, value in parameters.items():
            template = template.replace(f"<{key}>", "unknown" if value is None else str(value))
        return f"[{name}] {template}"
    known = (f"{key}: {value}" for key, value in parameters.items() if value is not None)
    return f"[{name}] " + ", ".join(known)


def _completed(text: str, trace: object) -> str:
    """`text`, or the message at the head of its stack `trace` if that goes on after `text`."""
    if not isinstance(trace, str):
        return text
    message = _JAVA_FRAME.split(trace[:_TEXT_CHARACTERS], maxsplit=1)[0].rstrip()
    message = _CLASS.sub("", message, count=1)
    return message if message.startswith(text.strip()) else text


def _of_python(lines: list[str]) -> list[str]:
    """The lines of a message with a traceback: those before it, the last call of the user's code,
    the last call, the exception."""
    first = next(place for place, line in enumerate(lines) if _TRACEBACK in line)
    calls = [place for place, line in enumerate(lines) if _PYTHON_FRAME.match(line)]
    last = calls[-1] if calls else first
    own = [lines[place] for place in calls if not _PYSPARK_FRAME.search(lines[place])]
    own = [line for line in own if not _PACKAGE_FRAME.search(line)] or own
    user = [own[-1]] if own and own[-1] != lines[last] else []
    return [*lines[: first + 1], *user, *lines[last if calls else first + 1 :]]


def _root(trace: str) -> str | None:
    """The innermost cause of a Java stack trace."""
    found = [
        line[len(_CAUSED) :].strip()
        for line in trace[:_TEXT_CHARACTERS].splitlines()
        if line.startswith(_CAUSED)
    ]
    return found[-1] if found else None


def _cut(text: str) -> str:
    """Cut from the middle of a long text: the end has the root cause."""
    if len(text) <= _CHARACTERS:
        return text
    half = _CHARACTERS // 2 - 3
    return f"{text[:half].rstrip()} ... {text[-half:].lstrip()}"


def headline(reason: str | None) -> str | None:
    """Return the part of a message that states the error, on one line.

    Of a Python traceback that is its last line; of an exception that only wraps another one, the
    root cause; of an aborted Spark job, the cause first, then which task failed how often.
    """
    # A traceback's own lines start at the margin; lines that engines add don't.
    text = _SCRATCH.sub("/...", reason or "")
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    lines[0] = _TASK_ERROR.sub("", lines[0].strip())
    # "Most recent failure reason:"
    if lines[0].endswith(":") and _TRACEBACK not in lines[0] and len(lines) > 1:
        lines[:2] = [f"{lines[0]} {lines[1].strip()}"]
    if (aborted := _ABORTED.search(lines[0])) is not None:
        rest = lines[0][aborted.end() :]
        cause = _cause([*([rest] if rest else []), *lines[1:]])
        return f"{cause} ({_times(aborted)})" if cause else lines[0]
    if (ended := _STAGE_GIVEN_UP.match(lines[0])) and (rest := lines[0][ended.end() :]):
        times = f"stage {ended['stage']} failed {ended['times']} times"
        return f"{_cause([rest, *lines[1:]])} ({times})"
    return _cause(lines)


def _cause(lines: list[str]) -> str:
    if not lines:
        return ""
    first = lines[0]
    if any(_TRACEBACK in line for line in lines):
        inner = [line[2:] for line in lines[1:] if line.startswith(": ")]
        ends = [line for line in lines[1:] if _RAISED.match(line) and not _BRIDGE.search(line)]
        if not inner:
            return f"{(ends or lines)[-1]}{_at_user_line(lines)}"
        first = inner[-1]
    first = _NAMED_ERROR.sub("", first)
    root = next((line[len(_CAUSED) :] for line in lines if line.startswith(_CAUSED)), None)
    return first if root is None else f"{first} (caused by {root})"


def _at_user_line(lines: list[str]) -> str:
    """The file and line of the user's code in a traceback: ", at job.py line 14"."""
    calls = [line for line in lines if not _PYSPARK_FRAME.search(line)]
    call = next((found for line in calls if (found := _PYTHON_CALL.match(line))), None)
    return "" if call is None else f", at {call['file']} line {call['line']}"


def _times(aborted: re.Match[str]) -> str:
    times, task, stage = (aborted.group(name) for name in ("times", "task", "stage"))
    host = aborted.group("host") or aborted.group("old")
    executor = aborted.group("id") or aborted.group("old_id")
    said = f"task {task} of stage {stage.removesuffix('.0')} failed " + (
        "once" if times == "1" else f"{times} times"
    )
    if host is None:
        return said
    where = host if executor is None or executor == "driver" else f"{host}, executor {executor}"
    return f"{said}, {'' if times == '1' else 'the last time '}on {where}"
