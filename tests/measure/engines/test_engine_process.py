"""The supervisor, and the report of a failed program: on small stand-in programs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_runs import MARK, marked, wait_until_gone
from this_host import FILES, HOST
from venturi.core.errors import Interrupted
from venturi.measure.engines.spark.deployment import require_executors
from venturi.measure.trial import programs as process
from venturi.measure.trial.job import JobFailed

# A program with a child that leaves its session, ignores SIGTERM and outlives it, as a daemon
# would.
STUBBORN = (
    "import os, signal, subprocess, sys, time\n"
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'],"
    " start_new_session=True)\n"
    "open(sys.argv[1], 'w').close()\n"
    "time.sleep(float(sys.argv[2]))\n"
)


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[str]:
    """A text in the environment by which a test finds its processes again."""
    text = f"{tmp_path.name}-{os.getpid()}"
    yield text
    wait_until_gone(text)


def run(
    tmp_path: Path, mark: str, *command: str | Path, timeout_s: float | None = None
) -> process.ProcessResult:
    return process.run(
        HOST,
        command,
        engine="abacus",
        log=tmp_path / "log",
        cwd=tmp_path,
        env={MARK: mark},
        timeout_s=timeout_s,
    )


def is_supervisor(pid: int) -> bool:
    return b"\0supervise\0" in Path(f"/proc/{pid}/cmdline").read_bytes()


def stubborn(tmp_path: Path, seconds: float) -> tuple[str | Path, ...]:
    return (sys.executable, "-S", "-c", STUBBORN, tmp_path / "ready", str(seconds))


def test_orphans_of_a_program_that_ended_well_are_ended(tmp_path: Path, mark: str) -> None:
    ended = run(tmp_path, mark, *stubborn(tmp_path, 0))
    assert ended.ended_s >= ended.started_s
    assert marked(mark) == []


@pytest.mark.slow
def test_time_is_up(tmp_path: Path, mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(JobFailed, match=r"had not finished after 1\.0 s") as caught:
        run(tmp_path, mark, *stubborn(tmp_path, 600), timeout_s=1.0)
    assert caught.value.code == "VEN-ENGINE-TIMEOUT"
    assert [each.name for each in caught.value.attachments] == ["log"]
    assert marked(mark) == []


@pytest.mark.slow
def test_ctrl_c_ends_everything(tmp_path: Path, mark: str) -> None:
    def interrupt() -> None:
        while not (tmp_path / "ready").exists():
            time.sleep(0.02)
        os.kill(os.getpid(), 2)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(Interrupted):
        run(tmp_path, mark, *stubborn(tmp_path, 600))
    assert marked(mark) == []


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["venturi", "supervisor"])
def test_a_kill_leaves_nothing(tmp_path: Path, mark: str, victim: str) -> None:
    program = (
        "import sys; from pathlib import Path; from venturi.measure.trial import programs\n"
        "from venturi.measure.hosts.local import LocalHost\n"
        "log, *command = sys.argv[1:]\n"
        "programs.run(LocalHost(), command, engine='abacus', log=Path(log), cwd=Path(log).parent,"
        " env={}, timeout_s=None)"
    )
    # Killed itself, the supervisor cannot end what hides from it: only its own child is.
    command = stubborn(tmp_path, 600) if victim == "venturi" else ("sleep", "600")
    parent = subprocess.Popen(
        [sys.executable, "-c", program, tmp_path / "log", *command],
        env={**os.environ, MARK: mark},
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 30
    needed = 4 if victim == "venturi" else 3
    while len(marked(mark)) < needed:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    if victim == "venturi":
        parent.kill()
    else:
        # Until it has become the command, the supervisor's child is called as the supervisor is.
        while len(found := [pid for pid in marked(mark) if is_supervisor(pid)]) != 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(found[0], 9)
    parent.wait(30)
    wait_until_gone(mark)


@pytest.mark.parametrize(
    ("says", "code"),
    [
        ("java.io.IOException: No space left on device", "VEN-ENGINE-SPACE"),
        ("No space available in any of the local directories.", "VEN-ENGINE-SPACE"),
        ("java.lang.OutOfMemoryError: Java heap space", "VEN-ENGINE-MEMORY"),
        ("Invalid maximum heap size: -Xmx0m", "VEN-ENGINE-MEMORY"),
        ("Job aborted: Lost task 0.3: Command exited with code 137", "VEN-ENGINE-MEMORY"),
        ("Lost executor 0: Command exited with code 137", "VEN-ENGINE-FAILED"),
        ("Lost executor 0: Command exited with code 137 (Permission denied)", "VEN-MEASURE-DIR"),
        ("java.lang.UnsupportedClassVersionError: X", "VEN-ENGINE-JAVA"),
        ("java.lang.UnsupportedOperationException: getSubject is not supported", "VEN-ENGINE-JAVA"),
        ("java.nio.file.AccessDeniedException: /data/x", "VEN-MEASURE-DIR"),
        ("java.io.FileNotFoundException: /d/x (Permission denied)", "VEN-MEASURE-DIR"),
        ("java.lang.IllegalStateException: broken", "VEN-ENGINE-FAILED"),
    ],
)
def test_why_a_job_failed(tmp_path: Path, mark: str, says: str, code: str) -> None:
    with pytest.raises(JobFailed) as caught:
        run(tmp_path, mark, "sh", "-c", f"echo '{says}' >&2; echo bye; exit 7")
    assert caught.value.code == code
    if code == "VEN-ENGINE-FAILED" and "Exception" in says:
        assert says in caught.value.message
        assert caught.value.where["status"] == 7


def test_a_disk_so_full_that_the_log_ends(tmp_path: Path, mark: str) -> None:
    mount = ("mount", "-t", "tmpfs", "-o", "size=16m", "venturi-test", str(tmp_path))
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("a small disk can be mounted by root alone")
    try:
        with pytest.raises(JobFailed) as caught:
            run(tmp_path, mark, "sh", "-c", f"head -c 20M /dev/zero > {tmp_path}/data; exit 7")
    finally:
        subprocess.run(("umount", "--lazy", str(tmp_path)), check=True)
    assert caught.value.code == "VEN-ENGINE-SPACE"


def test_a_program_killed_from_outside(tmp_path: Path, mark: str) -> None:
    for kill, how in (("kill -9 $$", "killed by signal 9"), ("exit 137", "status 137")):
        with pytest.raises(JobFailed, match=how) as caught:
            run(tmp_path, mark, "sh", "-c", kill)
        assert "`dmesg` there says" in caught.value.hint


def test_executors_that_are_killed_again(tmp_path: Path, mark: str) -> None:
    """The first one may have other reasons; with the second a job does not sit out its time."""
    log = tmp_path / "log"
    killed = "INFO Executor updated: app-1/0 is now EXITED (Command exited with code 137)"
    log.write_text(f"{killed}\n")
    require_executors(FILES, log)
    with pytest.raises(JobFailed, match="executors were killed") as caught:
        process.run(
            HOST,
            ["sh", "-c", f"echo '{killed}'; exec sleep 600"],
            engine="abacus",
            log=log,
            cwd=tmp_path,
            env={MARK: mark},
            timeout_s=100,
            check=lambda: require_executors(FILES, log),
        )
    assert caught.value.code == "VEN-ENGINE-MEMORY"


def test_a_program_that_is_not_there(tmp_path: Path, mark: str) -> None:
    with pytest.raises(JobFailed, match="abacus"):
        run(tmp_path, mark, tmp_path / "nowhere")
