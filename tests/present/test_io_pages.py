"""What is shown of a trial's block I/O: tables in the terminal, the page's data, two traces."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command_line import AGENT, venturi
from venturi.errors import VenturiError
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.local import LocalHost
from venturi.present.io_charts import io_of, page
from venturi.present.io_trace import read
from venturi.record.io_trace import TRACE_NAME
from venturi.record.repository import Repository
from venturi.record.trial import Trial

RECORDING = Path(__file__).parents[1] / "data" / "blktrace" / "6.18" / "whose"
MIB = 1 << 20


@pytest.fixture(scope="module")
def said(agent_binary: Path) -> dict[str, Any]:
    """What the agent says of a recording of Spark's files, by their stages."""
    agent = Agent(str(agent_binary), LocalHost())
    options = ("--stages", RECORDING / "stages.json")
    data: dict[str, Any] = agent.run("trace", "analyze", RECORDING, *options).data["trace"]
    return data


@pytest.fixture
def traced(repository: Repository, make_trial: Callable[..., Trial], said: dict[str, Any]) -> Trial:
    """A trial with that trace."""
    trial = repository.add(make_trial())
    content = json.dumps(said).encode()
    return repository.save(repository.attach(trial, "other", TRACE_NAME, content))


def shown(tmp_path: Path, *args: object) -> str:
    run = venturi("trace", *args, home=tmp_path / "home", VENTURI_AGENT=str(AGENT))
    assert run.returncode == 0, run.stderr
    return " ".join(run.stdout.split())


def test_what_is_not_attributed_comes_first_then_the_patterns(tmp_path: Path) -> None:
    words = shown(tmp_path, "show", RECORDING, "--by", "class")
    assert words.startswith("not attributed: 0.0 % of the bytes (0 B, 0 requests)")
    assert "shuffle data 2.1 MB 4 2.1 MB 2" in words
    assert "shuffle data read in reduce 2.1 MB" in words
    assert "read_ahead_kb" in words
    assert "host 6.3 MB 12 12.6 MB 20" in shown(tmp_path, "show", RECORDING, "--by", "host")
    processes = shown(tmp_path, "show", RECORDING, "--by", "process")
    assert "python3" in processes
    assert "not attributed" in shown(tmp_path, "show", RECORDING)


def test_two_traces_are_told_pattern_by_pattern(tmp_path: Path) -> None:
    other = RECORDING.parent / "recording"
    words = shown(tmp_path, "compare", RECORDING, RECORDING)
    assert "before: not attributed: 0.0 %" in words
    assert "shuffle data read in reduce 2.1 MB 4 512 KiB" in words
    assert "→" not in words
    words = shown(tmp_path, "compare", other, RECORDING)
    assert "by disks" in words
    assert "read 1.0 MB → 6.3 MB" in words


def test_the_page_has_the_patterns_with_shares_that_sum_up(
    repository: Repository, traced: Trial, said: dict[str, Any]
) -> None:
    found = io_of(repository, traced)
    assert found.missing_reason is None
    assert found.not_attributed is not None
    assert found.limits[0].startswith("loop")
    by_name = {each.name: each for each in found.patterns}
    written = by_name["shuffle data written in map"]
    assert (written.requests, written.bytes) == (2, 2 * MIB)
    for each in found.patterns[:6]:
        assert each.sizes is not None
        assert each.times is not None
        assert each.seeks is not None
        assert each.ccdf is not None
        assert each.places is not None
        assert each.times_over is not None
        assert sum(bin_.requests for bin_ in each.sizes) == each.requests
        assert sum(bin_.bytes or 0 for bin_ in each.sizes) == each.bytes
        assert sum(bin_.requests for bin_ in each.times) == each.requests
        assert sum(seek.requests for seek in each.seeks) == each.requests - 1
        assert each.ccdf[0][1] == 1.0
        assert [share for _, share in each.ccdf] == sorted(
            (share for _, share in each.ccdf), reverse=True
        )
        for heat, whole in ((each.places, each.bytes), (each.times_over, each.requests)):
            assert sum(amount for _, _, amount in heat.cells) == whole
            assert all(column < heat.columns for column, _, _ in heat.cells)
            assert all(row + 1 < len(heat.rows) for _, row, _ in heat.cells)
            assert list(heat.rows) == sorted(heat.rows)
    assert all(each.sizes is None for each in found.patterns[6:])


def test_a_trace_without_files_or_of_another_version_says_so(
    repository: Repository, traced: Trial, make_trial: Callable[..., Trial], said: dict[str, Any]
) -> None:
    assert page(read({**said, "whose": None})).missing_reason is not None
    none = io_of(repository, repository.add(make_trial()))
    assert none.missing_reason is not None
    assert "no trace" in none.missing_reason
    with pytest.raises(VenturiError, match="devices"):
        read({key: value for key, value in said.items() if key != "devices"})
