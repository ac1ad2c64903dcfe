"""Every command, option, error code, setting and field of the record is in the reference pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from venturi.cli.main import cli
from venturi.core.errors import AGENT_CLASSES, CODES, FailureClass, VenturiError
from venturi.core.settings import SETTINGS
from venturi.record.trial_json import ADAPTER

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            assert member is not None, f"{path} {name} has no command"
            yield from commands(member, f"{path} {name}")


def section(page: str, title: str) -> str:
    """The part of the page under `## title`."""
    match = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    assert match, f"there is no section {title!r}"
    return match[1]


ALL = dict(commands(cli, "venturi"))


@pytest.mark.parametrize("path", ALL)
def test_every_command_and_option_is_documented(path: str) -> None:
    text = section((REFERENCE / "cli.md").read_text(), path)
    assert ALL[path].get_short_help_str(), f"{path} has no help text"
    for parameter in ALL[path].params:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            for name in parameter.opts:
                assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text), name
            assert parameter.help, f"{path} {parameter.opts[-1]} has no help text"


@pytest.mark.parametrize("verb", cli.verbs)
def test_every_verb_is_a_command(verb: str) -> None:
    assert f"venturi {verb}" in ALL


def literal_codes(folder: str, pattern: str) -> set[str]:
    found: set[str] = set()
    for path in (ROOT / folder).glob(pattern):
        if "tests" not in path.stem:
            found |= set(re.findall(r'"(VEN-[A-Z0-9]+(?:-[A-Z0-9]+)+)"', path.read_text()))
    return found


def documented_codes() -> dict[str, str]:
    page = (REFERENCE / "errors.md").read_text()
    return dict(re.findall(r"^\| `(VEN-[A-Z0-9-]+)` \| (.+) \|$", page, re.MULTILINE))


def test_every_code_of_python_is_declared_and_documented() -> None:
    used = literal_codes("python", "**/*.py")
    assert len(used) > 20
    agents = set(documented_codes()) - CODES.keys()
    assert used - CODES.keys() - agents == set(), "codes that errors.CODES lacks"
    assert CODES.keys() <= documented_codes().keys()
    assert all(code.meaning.endswith(".") for code in CODES.values())


def test_every_code_of_the_agent_is_documented() -> None:
    used = literal_codes("crates", "*/src/**/*.rs")
    assert len(used) > 20
    assert used - documented_codes().keys() == set(), "codes that no CODES table of a crate has"
    page = section((REFERENCE / "errors.md").read_text(), "The agent")
    assert AGENT_CLASSES.keys() == set(re.findall(r"^\| `(VEN-[A-Z0-9-]+)`", page, re.MULTILINE))


def test_an_error_has_the_class_that_its_code_is_documented_with() -> None:
    for code, cells in documented_codes().items():
        said = cells.partition(" | ")[0]
        if said != "only a warning":
            assert VenturiError(code, "it failed").as_dict()["class"] == said, code
            assert FailureClass(said)


def test_every_setting_is_documented() -> None:
    page = (REFERENCE / "settings.md").read_text()
    for setting in SETTINGS:
        assert f"| `{setting.variable}` |" in page
        assert setting.help in page


def test_every_field_of_the_record_is_documented() -> None:
    page = (REFERENCE / "trial.md").read_text()
    schema = ADAPTER.json_schema()
    for name, part in {"Trial": schema, **schema["$defs"]}.items():
        text = section(page, name)
        assert part["description"].splitlines()[0] in text
        for field in [*part.get("properties", ()), *part.get("enum", ())]:
            assert f"`{field}`" in text, f"{name}.{field}"
