"""docs/reference/glossary.md explains every noun of the record and every key that verbs print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from command_line import venturi
from venturi.machines.catalog import ValueKind
from venturi.machines.cost.choices import Durability
from venturi.machines.health.doctor import Severity
from venturi.record.trial import State
from venturi.record.trial_json import ADAPTER

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "glossary.md").read_text()
TERMS = {
    term.strip().lower()
    for bold in re.findall(r"^\| \*\*(.+?)\*\*", PAGE, re.MULTILINE)
    for term in bold.split(",")
}
NOUNS = ["Trial", *ADAPTER.json_schema()["$defs"]]


def explained(key: str) -> bool:
    """Whether `key` or the noun that it begins with (`disk vda`, `mount /`) has an entry."""
    key = key.lower()
    noun = key.partition(" ")[0]
    return bool({key, key.removesuffix("s"), noun} & TERMS)


@pytest.mark.parametrize("noun", NOUNS)
def test_every_noun_of_the_record_is_explained(noun: str) -> None:
    assert re.sub(r"(?<!^)([A-Z])", r" \1", noun).lower() in TERMS


def test_states_kinds_and_classes_are_explained() -> None:
    text = PAGE.lower()
    for word in (*State, *ValueKind, *Durability):
        assert re.search(rf"\b{re.escape(word)}\b", text), word
    assert Severity.UNKNOWN.value == "unknown"
    assert "cannot tell" in TERMS  # the verdict of an unknown finding


@pytest.mark.parametrize("probe", ["host", "disk"])
def test_every_key_that_is_shown_is_explained(tmp_path: Path, probe: str) -> None:
    home = tmp_path / "home"
    shown = venturi("probe", probe, home=home)
    assert shown.returncode == 0, shown.stderr
    listed = venturi("show", shown.stdout.rpartition("trial ")[2].split()[0], home=home).stdout
    card = listed.split("\n\n")[0].splitlines()[1:]  # below the verdict, before the tables
    if probe == "host":
        card += shown.stdout.splitlines()[1:-1]
    keys = [re.split(r"\s{2,}", line)[0].rstrip(":") for line in card if line.strip()]
    assert len(keys) > 8
    unexplained = [key for key in keys if not explained(key.split(":")[0])]
    assert unexplained == []
