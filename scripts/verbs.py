"""Finds the verbs of the command line: every file in `cli/TOPIC` that defines `command`.

`generated.py` writes them to `cli/verbs.json`, so that `venturi` knows its verbs without importing
them. A verb's name is its file's name; its description is its help's first sentence.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

import venturi.cli
from venturi.core.topics import TOPICS, heading

CLI = Path(venturi.cli.__file__).parent
MORE = "More"
"""The heading above the verbs that belong to no topic."""

# The first entries under each topic of `venturi --help`: a verb, or the part of one that answers
# the topic's question. Other verbs follow under their folder's topic.
ORDER: Mapping[str, tuple[str, ...]] = {
    "measure": (
        *("quickstart", "probe", "run", "plan", "lab", "cluster", "doctor", "workloads"),
        *("engines", "gen", "sort", "validate"),
    ),
    "results": (
        *("ls", "show", "compare", "effect", "rank", "scaling", "keys", "exclude", "import"),
        "export",
    ),
    "jobs": ("import", "jobs", "show", "compare --why", "whatif", "advise tiers", "trace"),
    "machines": ("advise hardware", "predict", "simulate", "catalog", "prices"),
    "share": ("serve", "report", "push", "token", "backup", "restore", "repository", "remove"),
}
_DEFINED = re.compile(r"^(?:def command\(|command\s*=)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb: its module in `venturi.cli`, and its description in one line."""

    module: str
    help: str


def verbs() -> dict[str, Verb]:
    """Return every verb by its name, in the order of the list that `venturi --help` prints."""
    found = {
        path.stem.strip("_").replace("_", "-"): _verb(path)
        for folder in (*TOPICS, "")
        for path in sorted((CLI / folder).glob("*.py"))
        if _DEFINED.search(path.read_text(encoding="utf-8"))
    }
    listed = [words.split()[0] for order in ORDER.values() for words in order]
    return {name: found[name] for name in dict.fromkeys([*listed, *found])}


def verb_table() -> dict[str, Any]:
    """Return the verbs and the list that `venturi --help` prints, heading by heading."""
    every = verbs()
    return {
        "verbs": {name: asdict(verb) for name, verb in every.items()},
        "list": {title: dict(rows) for title, rows in _sections(every)},
    }


def _sections(every: Mapping[str, Verb]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    listed = {words.split()[0] for order in ORDER.values() for words in order}
    rest = [name for name in every if name not in listed]
    for topic in TOPICS:
        others = [name for name in rest if every[name].module.startswith(f"{topic}.")]
        yield (
            heading(topic),
            [(words, _description(words, every)) for words in (*ORDER[topic], *others)],
        )
    yield MORE, [(name, every[name].help) for name in rest if "." not in every[name].module]


def _verb(path: Path) -> Verb:
    module = ".".join(path.relative_to(CLI).with_suffix("").parts)
    return Verb(module, _short(_command(module)))


def _command(module: str) -> click.Command:
    command = importlib.import_module(f"venturi.cli.{module}").command
    assert isinstance(command, click.Command)
    return command


def _short(command: click.Command) -> str:
    return command.get_short_help_str(limit=200).rstrip(".")


def _description(words: str, every: Mapping[str, Verb]) -> str:
    """Describe a verb, one of its subcommands, or one of its options, as its help does."""
    name, *part = words.split()
    if not part:
        return every[name].help
    command = _command(every[name].module)
    if isinstance(command, click.Group):
        return _short(command.commands[part[0]])
    (option,) = (each for each in command.params if part[0] in each.opts)
    assert isinstance(option, click.Option)
    return re.split(r"[.:]", option.help or "")[0]
