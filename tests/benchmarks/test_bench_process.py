"""One process measured: its own CPU, memory and end; limits; folders that never stay."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from benchmarks import limits, process
from benchmarks.bench import Bench, BenchOptions, Unavailable, work_folder

ROOT = pytest.mark.skipif(
    limits.why_not_enforced() is not None, reason=str(limits.why_not_enforced())
)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.mark.slow
def test_cpu_and_wall_are_of_this_child() -> None:
    sleeper = process.run(["sleep", "0.3"])
    assert sleeper.ending == "ok"
    assert sleeper.wall_s >= 0.3
    assert sleeper.user_s + sleeper.system_s < sleeper.wall_s
    busy = process.run(python("import time\nwhile time.process_time() < 0.4: pass"))
    assert busy.user_s + busy.system_s >= 0.4


def test_what_must_be_durable_is_inside_the_timer() -> None:
    assert process.run(["true"], then=lambda: time.sleep(0.2)).wall_s >= 0.2
    called = []
    assert process.run(["false"], then=lambda: called.append(1)).ending == "failed"
    assert called == []


def test_a_failure_says_its_error() -> None:
    outcome = process.run(python("import sys; sys.exit('IO Error: disk full\\nsee the manual')"))
    assert outcome.ending == "failed"
    assert "disk full" in outcome.complaint


def test_late_processes_end_with_their_children() -> None:
    started = time.monotonic()
    outcome = process.run(["sh", "-c", "sleep 60 & echo $!; wait"], timeout_s=0.3)
    assert outcome.ending == "timed out"
    assert time.monotonic() - started < 10
    child = int(outcome.stdout)
    deadline = time.monotonic() + 5
    while Path(f"/proc/{child}/stat").exists() and time.monotonic() < deadline:
        if Path(f"/proc/{child}/stat").read_text().split()[2] == "Z":
            break
        time.sleep(0.02)
    else:
        assert not Path(f"/proc/{child}").exists()


def test_an_interrupt_ends_the_child(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    with pytest.raises(KeyboardInterrupt):
        process.run(["sh", "-c", f"echo $$ > {mark}; exec sleep 60"])
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)


def test_own_memory_group_is_found_in_v1_only() -> None:
    v1 = "9:name=systemd:/\n4:memory:/box/one\n0::/\n"
    assert limits.own_memory_group(v1, Path("/m")) == Path("/m/box/one")
    assert limits.own_memory_group("3:cpu,memory:/\n", Path("/m")) == Path("/m")
    assert limits.own_memory_group("0::/user.slice\n") is None


@ROOT
@pytest.mark.root
def test_the_kernel_enforces_the_limit_and_the_group_goes_away() -> None:
    with limits.memory_group(64 * 2**20) as group:
        hog = process.run(python("b = bytearray(200 << 20); print(len(b))"), group=group)
        path = group.path
    assert hog.ending == "out of memory"
    assert not path.exists()
    orphan = path.with_name("venturi-bench-999999999")  # of a benchmark that was killed
    orphan.mkdir()
    with limits.memory_group(64 * 2**20) as group:
        modest = process.run(python("b = bytearray(8 << 20); print(len(b))"), group=group)
        assert group.peak_bytes() <= 64 * 2**20
    assert not orphan.exists()
    assert (modest.ending, modest.stdout.strip()) == ("ok", str(8 << 20))


@ROOT
@pytest.mark.root
def test_page_cache_is_charged_but_kills_nobody(tmp_path: Path) -> None:
    # Written back as it goes: pages that a busy disk has not taken yet cannot be dropped.
    code = (
        f"import os\nf = open({str(tmp_path / 'f')!r}, 'wb', 0)\n"
        "for _ in range(96): f.write(bytes(1 << 20)); os.fdatasync(f.fileno())"
    )
    with limits.memory_group(48 * 2**20) as group:
        outcome = process.run(python(code), group=group)
        peak_bytes = group.peak_bytes()
    assert outcome.ending == "ok"
    assert peak_bytes > 40 * 2**20


def test_folders_of_the_living_stay_and_orphans_go(tmp_path: Path) -> None:
    orphan = tmp_path / "venturi-bench-1-1"
    orphan.mkdir()
    (orphan / ".lock").touch()
    foreign = tmp_path / "venturi-results"
    foreign.mkdir()
    with work_folder(tmp_path) as first, work_folder(tmp_path) as second:
        assert not orphan.exists()
        assert first.is_dir()
        assert second.is_dir()
        (first / "data").write_text("x")
    assert list(tmp_path.iterdir()) == [foreign]


def test_at_most_half_of_the_free_disk(tmp_path: Path) -> None:
    bench = Bench(BenchOptions(), tmp_path, None, "no agent here", say=lambda text: None)
    bench.need(1)
    with pytest.raises(Unavailable, match="half of the free disk"):
        bench.need(2**62)
    with pytest.raises(Unavailable, match="no agent here"):
        bench.agent()
