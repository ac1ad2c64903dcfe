"""Generated input that is kept: found by everything it depends on, replaced if it is incomplete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from this_host import FILES
from venturi.measure.hosts.agent import Agent
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.job import StepContext
from venturi.measure.workloads.inputs import KEPT, GeneratedInputs, InputData
from venturi.measure.workloads.registry import size_of_bytes, workload


@contextmanager
def inputs(
    folder: Path, *, keep: bool = True, size_bytes: int = 9_600, seed: int = 0
) -> Iterator[GeneratedInputs]:
    """As one command would have them."""
    definition = workload("wordcount")
    size = size_of_bytes(definition, size_bytes)
    with DataFolders(FILES, {"input": (folder,)}) as folders:
        yield GeneratedInputs(folders, definition, size, seed=seed, keep=keep)


def provided(agent: Agent, folder: Path, **choices: int | bool) -> tuple[InputData, bool]:
    """The input, and whether it had to be generated."""
    with inputs(folder, **choices) as found:  # type: ignore[arg-type]
        step = StepContext(agent, 0.0, None)
        missing_bytes = found.missing_bytes
        data, phases = found.provide(step)
        assert bool(phases) == bool(missing_bytes)
        return data, bool(phases)


def test_a_later_command_finds_it(fake_agent: Agent, tmp_path: Path) -> None:
    first, made = provided(fake_agent, tmp_path)
    assert made
    text = first.files[0].read_bytes()
    second, made = provided(fake_agent, tmp_path, keep=False)
    assert not made
    assert second == first
    assert second.files[0].read_bytes() == text


def test_what_it_depends_on_tells_it_apart(fake_agent: Agent, tmp_path: Path) -> None:
    provided(fake_agent, tmp_path)
    assert provided(fake_agent, tmp_path, seed=1)[1]
    assert provided(fake_agent, tmp_path, size_bytes=4_800)[1]
    assert len(list((tmp_path / KEPT).iterdir())) == 3


def test_what_is_not_whole_is_made_anew(fake_agent: Agent, tmp_path: Path) -> None:
    whole, _ = provided(fake_agent, tmp_path)
    text = whole.files[0].read_bytes()
    whole.files[0].write_bytes(text[:-1])
    again, made = provided(fake_agent, tmp_path)
    assert made
    assert again.files[0].read_bytes() == text
    (manifest,) = tmp_path.glob(f"{KEPT}/*/input.json")
    manifest.write_text("{")
    assert provided(fake_agent, tmp_path)[1]


def test_nothing_is_kept_unless_asked_for(fake_agent: Agent, tmp_path: Path) -> None:
    provided(fake_agent, tmp_path, keep=False)
    assert list(tmp_path.iterdir()) == []
