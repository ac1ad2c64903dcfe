"""A trial's block I/O: tables in the terminal, the page's data, two traces."""

from __future__ import annotations

import io
import json
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from command_line import AGENT, venturi
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.local import LocalHost
from venturi.record.io_trace import HEAT_NAME, RECORDING_NAME, TRACE_NAME
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial
from venturi.terminal.io_shares import share_tables
from venturi.terminal.io_trace import parts, read
from venturi.web.io.charts import io_of, page
from venturi.web.io.heat import COLUMNS_MOST, HeatFile, HeatWindow, heat_part
from venturi.web.io.page import IoHeat

RECORDING = Path(__file__).parents[1] / "data" / "blktrace" / "6.18" / "whose"
MIB = 1 << 20


@pytest.fixture(scope="module")
def heat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file with the cells of its charts, once `said` has run."""
    return tmp_path_factory.mktemp("heat") / HEAT_NAME


@pytest.fixture(scope="module")
def said(agent_binary: Path, heat: Path) -> dict[str, Any]:
    """The agent's analysis of a recording of Spark's files, by their stages."""
    agent = Agent(str(agent_binary), LocalHost())
    options = ("--stages", RECORDING / "stages.json", "--heat", heat)
    data: dict[str, Any] = agent.run("trace", "analyze", RECORDING, *options).data["trace"]
    return data


@pytest.fixture
def traced(
    repository: TrialRepository, make_trial: Callable[..., Trial], said: dict[str, Any], heat: Path
) -> Trial:
    """A trial with that trace."""
    trial = repository.add(make_trial())
    trial = repository.attach(trial, "other", TRACE_NAME, json.dumps(said).encode())
    return repository.save(repository.attach(trial, "other", HEAT_NAME, heat.read_bytes()))


def shown(tmp_path: Path, *args: object) -> str:
    run = venturi("trace", *args, home=tmp_path / "home", VENTURI_AGENT=str(AGENT))
    assert run.returncode == 0, run.stderr
    return " ".join(run.stdout.split())


def test_what_is_not_attributed_comes_first_then_the_patterns(tmp_path: Path) -> None:
    words = shown(tmp_path, "show", RECORDING, "--by", "class")
    assert words.startswith("not attributed: 0.0 % of the bytes (0 B, 0 requests)")
    assert "not the job's: 45 % of the bytes (8.4 MB, 16 requests)" in words
    assert "shuffle data 2.1 MB 4 2.1 MB 2" in words
    assert "shuffle data read in reduce 2.1 MB" in words
    assert "read_ahead_kb" in words
    assert "host 6.3 MB 12 12.6 MB 20" in shown(tmp_path, "show", RECORDING, "--by", "host")
    processes = shown(tmp_path, "show", RECORDING, "--by", "process")
    assert "python3" in processes
    assert "not attributed" in shown(tmp_path, "show", RECORDING)


def test_tasks_are_told_where_threads_said_which_they_run(
    tmp_path: Path, said: dict[str, Any]
) -> None:
    assert "no thread said which task it runs" in shown(tmp_path, "show", RECORDING, "--by", "task")
    read_by, nothing = {"count": 4, "bytes": 2 * MIB}, {"count": 0, "bytes": 0}
    task = {"stage": "3.1", "task": 44, "read": read_by, "written": nothing}
    told = {**said["whose"], "tasks": [task], "task_count": 1, "task_bytes": 2 * MIB}
    trace = read({**said, "whose": told})
    lines = [
        " ".join(line.split()) for part in share_tables(trace, "task") for line in part.lines()
    ]
    assert lines[1].startswith("attributed to tasks by the threads of 1 task: 11")
    assert lines[-1] == "44 3.1 2.1 MB 4 0 B 0"
    assert any(lines[1] in part.lines() for part in share_tables(trace, "stage"))


def test_two_traces_are_told_pattern_by_pattern(tmp_path: Path) -> None:
    other = RECORDING.parent / "recording"
    words = shown(tmp_path, "compare", RECORDING, RECORDING)
    assert "before: not attributed: 0.0 %" in words
    assert "shuffle data read in reduce 2.1 MB 4 512 KiB" in words
    assert "→" not in words
    words = shown(tmp_path, "compare", other, RECORDING)
    assert "by disk: at least one trace doesn't say which processes made its requests" in words
    assert "read 1.0 MB → 6.3 MB" in words


def test_the_page_has_the_patterns_with_shares_that_sum_up(
    repository: TrialRepository, traced: Trial, said: dict[str, Any]
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
        assert sum(each.places.bytes or ()) == each.bytes
        for heat in (each.places, each.times_over):
            assert sum(count for _, _, count in heat.cells) == each.requests
            assert all(row + 1 < len(heat.rows) for _, row, _ in heat.cells)
            assert list(heat.rows) == sorted(heat.rows)
            assert len(heat.files) == len(heat.cells)
    places = written.places
    assert places is not None
    of_cells = {places.names[abs(number) - 1] for number in places.files if number}
    assert {name.partition("_")[0] for name in of_cells} == {"shuffle"}
    assert all(each.sizes is None for each in found.patterns[6:])


def test_a_trace_without_files_or_of_another_version_says_so(
    repository: TrialRepository,
    traced: Trial,
    make_trial: Callable[..., Trial],
    said: dict[str, Any],
) -> None:
    by_disk = page(read({**said, "whose": None}))
    assert {each.name for each in by_disk.patterns} == {"read", "written"}
    assert by_disk.patterns[0].times_over is None
    none = io_of(repository, repository.add(make_trial()))
    assert none.missing_reason is not None
    assert "no trace" in none.missing_reason
    with pytest.raises(VenturiError, match="devices"):
        read({key: value for key, value in said.items() if key != "devices"})


def test_what_a_trace_lacks_is_told_on_its_page_as_in_the_terminal(
    tmp_path: Path, agent_binary: Path
) -> None:
    lossy = Path(shutil.copytree(RECORDING, tmp_path / "lossy"))
    end = json.loads((lossy / "end.json").read_text())
    end["cpus"]["0"]["lost"] = 12
    (lossy / "end.json").write_text(json.dumps(end))
    pages = (lossy / "cpu0.ring").read_bytes()
    (lossy / "cpu0.ring").write_bytes(pages + b"x" * 100)
    (lossy / "cpu1.ring").unlink()
    agent = Agent(str(agent_binary), LocalHost())
    data = agent.run("trace", "analyze", lossy).data["trace"]
    ends = {"not_done": 1, "given_up": 1}
    trace = read({**data, "losses": {**data["losses"], "late_events": 5, **ends}})
    told = page(trace).not_in_it or ""
    missing = 12 + end["cpus"]["1"]["events"]
    assert told.startswith(f"not in it: {missing} records by their numbers; 100 damaged bytes; ")
    for one in ("5 events out of order", "2 ends of requests", "CPUs 1"):
        assert one in told.split("; ")
    lines = [" ".join(line.split()) for part in parts(trace) for line in part.lines()]
    assert told.replace("it:", "it") in lines
    losses = dict.fromkeys(data["losses"], 0) | {"missing_cpus": []}
    devices = [{**each, "begun_before": 0} for each in data["devices"]]
    assert page(read({**data, "losses": losses, "devices": devices})).not_in_it is None


def test_parts_of_a_chart_are_finer_and_have_what_is_in_them(
    repository: TrialRepository, traced: Trial, said: dict[str, Any], heat: Path
) -> None:
    found = io_of(repository, traced)
    assert {stage.phase for stage in found.stages} == {"map", "reduce"}
    assert all(0 <= stage.from_s < stage.until_s <= found.elapsed_s for stage in found.stages)
    of = max(found.patterns, key=lambda each: each.requests)
    end_s = found.elapsed_s

    def part(chart: Literal["places", "times"], from_s: float, until_s: float) -> IoHeat:
        return heat_part(repository, traced, HeatWindow(of.device, of.name, chart, from_s, until_s))

    whole = part("places", 0, end_s)
    assert sum(count for _, _, count in whole.cells) == of.requests
    assert sum(whole.bytes or ()) == of.bytes
    assert sum(count for _, _, count in part("times", 0, end_s).cells) == of.requests
    begin_s = whole.start_s + whole.cells[0][0] * whole.column_s
    assert part("places", begin_s, begin_s + end_s / 100).column_s < whole.column_s
    # Parts have what the whole has in their columns, which are counted from their first on.
    finest = [part("places", end_s * n / 8, end_s * (n + 1) / 8) for n in range(8)]
    assert sum(count for each in finest for _, _, count in each.cells) >= of.requests
    assert all(0 <= column <= COLUMNS_MOST for each in finest for column, _, _ in each.cells)
    named = [each.names[abs(n) - 1] for each in finest for n in each.files if n]
    assert set(named) <= set(whole.names)
    assert all(each.names == () or each.files for each in finest)
    with pytest.raises(VenturiError, match="has no finer cells"):
        heat_part(repository, traced, HeatWindow("1,1", of.name, "places", 0, 1))
    heat.with_name("damaged").write_bytes(heat.read_bytes()[:900])
    with pytest.raises(VenturiError, match="are damaged"):
        HeatFile(heat.with_name("damaged"))


def carried_by(page: Path) -> dict[str, Any]:
    """The trace data in a page saved as a file."""
    text = page.read_text()
    assert len(text) < 5_000_000
    island = re.search(r'<script type="application/json" id="twins">(.*?)</script>', text)
    assert island is not None
    data: dict[str, Any] = json.loads(island[1])["/api/trace"]
    return data


def test_a_trace_is_one_page_with_its_finer_cells(tmp_path: Path) -> None:
    out = tmp_path / "io.html"
    shown(tmp_path, "show", RECORDING, "--html", out)
    data = carried_by(out)
    assert data["title"] == f"Venturi trace of {RECORDING}"
    drawn = {each["name"] for each in data["io"]["patterns"] if each["places"]}
    widths = {(each["pattern"], each["heat"]["column_s"]) for each in data["cells"]}
    assert len(widths) > len(drawn)
    assert {name for name, _ in widths} == drawn
    assert data["io"]["no_closer_look"] is None


def test_finer_cells_are_made_of_the_recording_where_none_are_kept(
    tmp_path: Path, make_trial: Callable[..., Trial], said: dict[str, Any]
) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(RECORDING, "trace")
    with TrialRepository.open(
        Settings(tmp_path / "home", None, None, allow_debug=False)
    ) as repository:
        trial = repository.add(make_trial())
        trial = repository.attach(trial, "other", TRACE_NAME, json.dumps(said).encode())
        assert "nor the recording" in (io_of(repository, trial).no_closer_look or "")
        trial = repository.attach(trial, "other", RECORDING_NAME, packed.getvalue())
        trial = repository.save(trial)
        advice = io_of(repository, trial).no_closer_look or ""
    assert f"venturi trace show {trial.id} --html" in advice
    out = tmp_path / "io.html"
    shown(tmp_path, "show", trial.id, "--html", out)
    data = carried_by(out)
    assert data["io"]["no_closer_look"] is None
    assert {each["chart"] for each in data["cells"]} == {"places", "times"}
