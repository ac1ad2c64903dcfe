"""Writes the files that are derived from the code: schemas, reference, the browser's list of pages.

Usage: python scripts/generated.py [--check]. With --check nothing is written; stale files are
named, and the exit status is 1 if there are any.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from formats import formats
from page_list import pages_json, pages_ts, routes_ts
from rules import rules
from verbs import verb_table

from venturi.cli.main import HELP, HELP_COLUMNS, VERBS, cli
from venturi.core.errors import AGENT_CLASSES, CODES, Code, ExitCode, FailureClass
from venturi.core.settings import SETTINGS
from venturi.record import limits
from venturi.record.trial import SCHEMA_VERSION
from venturi.record.trial_json import ADAPTER
from venturi.web.api.app import create_app
from venturi.web.api.context import Services
from venturi.web.pages import FILE as PAGES

ROOT = Path(__file__).parent.parent
_NOTE = "<!-- Written by scripts/generated.py; `make generated` updates it. -->"
_WIDTH = 88
_EXIT = {
    ExitCode.OK: "it worked",
    ExitCode.USER: "you must change something: the request, its input or the environment",
    ExitCode.USAGE: "the command line is invalid",
    ExitCode.INVALID: "measured, but the result is invalid, or undecided (`--fail-if-unsure`)",
    ExitCode.REGRESSION: "something is slower than allowed (`compare --fail-if-slower`)",
    ExitCode.INTERRUPTED: "interrupted; temporary files were removed",
}
_CLASS = {
    FailureClass.USAGE: "the request or its input is invalid; it would fail again",
    FailureClass.ENVIRONMENT: "something on the host or beyond it is missing, forbidden, or does "
    "not answer",
    FailureClass.CAPACITY: "too little disk space, memory or time for the request",
    FailureClass.INTERRUPTED: "stopped before its end",
    FailureClass.TIMEOUT: "exceeded its time limit",
    FailureClass.ENGINE: "the engine, the agent or Venturi itself failed",
    FailureClass.WRONG: "ran to its end, but the result is invalid",
}


def files() -> dict[str, str]:
    """Path and text of every generated file."""
    schema = ADAPTER.json_schema()
    interface = openapi()
    cli.table = verb_table()
    return {
        "schema/openapi.json": json.dumps(interface, indent=2) + "\n",
        "docs/reference/api.md": _page("The HTTP interface", _interface(interface)),
        "schema/trial.schema.json": json.dumps(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=2
        )
        + "\n",
        "docs/reference/cli.md": _page("Commands", _commands()),
        f"python/venturi/cli/{VERBS.name}": json.dumps(cli.table, indent=1) + "\n",
        f"python/venturi/cli/{HELP.name}": json.dumps(_help(), indent=1) + "\n",
        f"python/venturi/web/{PAGES.name}": pages_json(),
        "docs/reference/errors.md": _page("Errors", _errors()),
        "docs/reference/formats.md": _page("File formats", formats()),
        "docs/reference/rules.md": _page("Rules", rules()),
        "docs/reference/settings.md": _page("Settings", _settings()),
        "docs/reference/trial.md": _page("The trial record", _trial(schema)),
        "web/src/generated/pages.ts": pages_ts(),
        "web/src/generated/routes.ts": routes_ts(),
    }


def _help() -> dict[str, str]:
    """Return the `--help` output of each command, by its words after `venturi`."""
    # Click leaves two columns free.
    every = commands(columns=HELP_COLUMNS - 2)
    return {
        context.command_path.partition(" ")[2]: command.get_help(context)
        for context, command in every
    }


def _page(title: str, lines: Iterator[str]) -> str:
    return "\n".join([f"# {title}", "", _NOTE, "", *lines]).rstrip() + "\n"


def commands(
    command: click.Command = cli,
    parent: click.Context | None = None,
    name: str = "venturi",
    columns: int = _WIDTH,
) -> Iterator[tuple[click.Context, click.Command]]:
    """Every command with its context, groups before their members."""
    width = {"terminal_width": columns, "max_content_width": columns}
    context = click.Context(command, parent, name, **{**command.context_settings, **width})
    yield context, command
    if isinstance(command, click.Group):
        for member in command.list_commands(context):
            found = command.get_command(context, member)
            assert found is not None
            yield from commands(found, context, member, columns)


def _commands() -> Iterator[str]:
    yield "A command prints its answer on stdout, and progress, warnings and errors on stderr. You"
    yield "can rely on the exit status in scripts:"
    yield ""
    for code in ExitCode:
        yield f"- {code.value}: {_EXIT[code]}"
    for context, command in commands():
        yield ""
        yield f"## {context.command_path}"
        yield ""
        yield "```"
        yield command.get_help(context)
        yield "```"


def agent_codes() -> dict[str, str]:
    """The codes that the agent's crates declare in their `CODES` tables, with their meaning."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        tables = re.findall(
            r"CODES: &\[\(&str, &str\)\] =\s+&\[(.*?)\];", path.read_text(), re.DOTALL
        )
        for table in tables:
            for code, text in re.findall(
                r'"(VEN-[A-Z0-9-]+)",\s*"((?:[^"\\]|\\.)*)"', table, re.DOTALL
            ):
                found[code] = re.sub(r"\\\n\s*", "", text).replace('\\"', '"')
    return found


def _errors() -> Iterator[str]:
    yield "An error has a code, a class, a message, a place, and a hint for your next step. Codes"
    yield "never change their meaning, so you can match them in scripts. The class names the cause:"
    yield ""
    for each, meaning in _CLASS.items():
        yield f"- {each}: {meaning}"
    agent = {code: Code(AGENT_CLASSES[code], text) for code, text in agent_codes().items()}
    for title, codes in (("Venturi", CODES), ("The agent", agent)):
        yield from ("", f"## {title}", "", "| code | class | meaning |", "|---|---|---|")
        for code, (failure_class, meaning) in sorted(codes.items()):
            yield f"| `{code}` | {failure_class or 'only a warning'} | {_cell(meaning)} |"


def _settings() -> Iterator[str]:
    yield "You change a setting by an environment variable. If you misspell a name that starts with"
    yield "`VENTURI_`, every command warns you and suggests the setting that you may have meant."
    yield from ("", "| variable | default | effect |", "|---|---|---|")
    for setting in SETTINGS:
        yield f"| `{setting.variable}` | {_cell(setting.default)} | {_cell(setting.help)} |"


def _trial(schema: dict[str, Any]) -> Iterator[str]:
    yield f"Version {SCHEMA_VERSION}; as JSON Schema in `schema/trial.schema.json`. Unknown keys"
    yield "are errors. `_s` is seconds, `_bytes` is bytes; samples carry their unit."
    yield from ("", "## Limits of a trial", "")
    yield "If you import, upload or restore a trial beyond these limits, it is rejected with field,"
    yield "value and limit (`VEN-RECORD-LIMIT`). If you measure one, or import an engine's log, it"
    yield "is truncated, and a warning (`VEN-RECORD-CUT`) names the field. You can change limits of"
    yield "counts and lengths: see `VENTURI_MAX_...` in the [settings](settings.md). You can't"
    yield "change these:"
    yield ""
    yield from (limits.__doc__ or "").partition("setting changes:")[2].strip().splitlines()
    for name, part in {"Trial": schema, **schema["$defs"]}.items():
        yield from ("", f"## {name}", "", part.get("description", "").replace("\n    ", "\n"), "")
        if "enum" in part:
            yield ", ".join(f"`{value}`" for value in part["enum"])
            continue
        yield from ("| field | type | if absent |", "|---|---|---|")
        for field, kind in part["properties"].items():
            absent = json.dumps(kind["default"]) if "default" in kind else "`{}`"
            needed = field in part.get("required", ())
            yield f"| `{field}` | {_cell(_type(kind))} | {'required' if needed else absent} |"


def _type(kind: dict[str, Any]) -> str:
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in kind:
        return " or ".join(_type(option) for option in kind["anyOf"])
    if "enum" in kind:
        return ", ".join(f"`{value}`" for value in kind["enum"])
    if kind.get("type") == "array":
        return f"list of {_type(kind.get('items', {}))}"
    if kind.get("type") == "object":
        values = kind.get("additionalProperties", True)
        return "object" if values is True else f"object of {_type(values)}"
    return str(kind.get("format", kind.get("type", "any")))


def openapi() -> dict[str, Any]:
    """The OpenAPI document of the server."""
    nothing: Any = None  # the document is independent of stored data
    return create_app(Services(nothing)).openapi()


def _interface(document: dict[str, Any]) -> Iterator[str]:
    yield document["info"]["description"]
    yield ""
    yield "`schema/openapi.json` and `/api/openapi.json` of a server have the whole document."
    yield "[Serving](../guide/share/serving.md) explains how to start a server, and access rights."
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield from ("", f"## {method.upper()} {path}", "", operation["description"], "")
            parameters = operation.get("parameters", [])
            if parameters:
                yield from ("| parameter | type | default | meaning |", "|---|---|---|---|")
                yield from map(_parameter, parameters)
                yield ""
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                yield f"You send {kind}: {_type(content.get('schema', {}))}"
                yield ""
            yield f"You get {'; '.join(_answers(operation['responses']))}"
    for name, part in document["components"]["schemas"].items():
        yield from ("", f"## {name}", "", part.get("description", "").replace("\n    ", "\n"), "")
        if "properties" in part:
            yield from ("| field | type |", "|---|---|")
            for field, kind in part["properties"].items():
                yield f"| `{field}` | {_cell(_type(kind))} |"


def _parameter(parameter: dict[str, Any]) -> str:
    kind = parameter["schema"]
    default = json.dumps(kind["default"]) if "default" in kind else ""
    needed = "required" if parameter.get("required") else default and f"`{default}`"
    told = parameter.get("description", kind.get("description", ""))
    name = f"`{parameter['name']}`" + (" (path)" if parameter["in"] == "path" else "")
    return f"| {name} | {_cell(_type(kind))} | {needed} | {_cell(told)} |"


def _answers(responses: dict[str, Any]) -> Iterator[str]:
    for status, response in responses.items():
        if "XX" in status:
            continue
        kinds = [
            f"{_type(content['schema'])}" if content.get("schema") else kind
            for kind, content in response.get("content", {}).items()
        ]
        yield f"{status}: {', '.join(kinds) or 'nothing'}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def main() -> int:
    """Exit status: 1 if --check finds something stale."""
    stale = 0
    for name, text in files().items():
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if "--check" in sys.argv[1:]:
            sys.stdout.write(f"{name} is stale: run `make generated`\n")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"{name} written\n")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
