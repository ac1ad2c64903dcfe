"""The reference's table of start-ups says which libraries the commands load, and is right."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import pytest

from benchmarks import start_up
from benchmarks.repository import synthetic_trials
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def names(home: Path) -> dict[str, str]:
    with TrialRepository.open(Settings(home, None, None, allow_debug=False)) as repository:
        repository.add_many(islice(synthetic_trials(), 200))
        return start_up.names_of(repository, home)


def written() -> dict[str, tuple[str, ...]]:
    """The modules that each question loads, according to the page."""
    rows = re.findall(r"^\| `(.+)` \| \d+ \| (.+) \|$", start_up.PAGE.read_text(), re.MULTILINE)
    return {
        question: () if loads == "none" else tuple(loads.split(", ")) for question, loads in rows
    }


def test_the_page_has_every_question() -> None:
    assert tuple(written()) == start_up.QUESTIONS


@pytest.mark.slow
@pytest.mark.parametrize("question", start_up.QUESTIONS)
def test_a_command_loads_what_the_page_says(
    question: str, names: dict[str, str], home: Path
) -> None:
    assert start_up.libraries_of(question, names, home) == written()[question]
