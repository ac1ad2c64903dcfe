"""A host's series on the time axis of its trial."""

from __future__ import annotations

import time
from pathlib import Path

import polars as pl
import pytest

from this_host import HOST
from venturi.core.settings import TrialLimits
from venturi.measure.hosts.agent import Agent
from venturi.measure.trial.sampling import Sampler
from venturi.record.store.growing_table import GrowingTable
from venturi.record.trial import Clock, TrialWarning


def sampled(
    agent: Path, path: Path, clock: Clock | None = None
) -> tuple[Path | None, TrialWarning | None]:
    """Return the result of a sampler after a few samples."""
    sampler = Sampler(
        Agent(str(agent), HOST, allow_debug=True),
        path,
        origin_s=time.monotonic(),
        interval_ms=50,
        limits=TrialLimits(),
        clock=clock,
    )
    sampler.start()
    until_s = time.monotonic() + 30
    while len(sampler.ticks) < 2 and time.monotonic() < until_s:
        time.sleep(0.05)
    return sampler.stop()


def first_s(agent: Path, path: Path, clock: Clock | None) -> float:
    """When the first sample was, in seconds of a trial that began when the sampler did."""
    written, problem = sampled(agent, path, clock)
    assert written is not None, problem
    found = pl.read_parquet(written)["t_s"].min()
    assert isinstance(found, float)
    return found


def test_the_clock_of_a_host_is_set_right(agent_binary: Path, tmp_path: Path) -> None:
    here = first_s(agent_binary, tmp_path / "here.parquet", None)
    right = first_s(agent_binary, tmp_path / "right.parquet", Clock(0.0, 0.0))
    ahead = first_s(agent_binary, tmp_path / "ahead.parquet", Clock(1000.0, 0.0))
    assert here == pytest.approx(right, abs=25)
    # A clock declared ahead, although it isn't, makes its samples earlier by as much.
    assert ahead == pytest.approx(right - 1000.0, abs=25)


def test_a_panic_of_the_library_of_tables_is_told(
    agent_binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panics(*_: object) -> None:
        raise pl.exceptions.PanicException("no threads")

    monkeypatch.setattr(GrowingTable, "append_frame", panics)
    path, warning = sampled(agent_binary, tmp_path / "series.parquet")
    assert path is None
    assert warning is not None
    assert "no threads" in warning.message
