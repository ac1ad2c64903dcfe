"""Refused writes and reads are reported as such, and never mistaken for a full disk."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from command_line import AGENT, PROGRAM
from this_host import FILES
from venturi.core.errors import FailureClass, VenturiError
from venturi.measure.trial.folders import DataFolders

# Root may write everywhere by two capabilities: without them it is as any owner of its files.
_WITHOUT = ("setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search")


@pytest.fixture
def ordinary() -> tuple[str, ...]:
    """The prefix that starts a command with only the rights of its files."""
    if os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("needs setpriv (Debian: util-linux)")
    return _WITHOUT


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A folder that may be neither written nor searched."""
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "file").write_text("x")
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("run", "terasort", "--bytes", "1MB", "--dir", "{}"), "VEN-MEASURE-DIR", "--dir"),
        (("run", "terasort", "--bytes", "1MB", "--dir", "{}/a/b"), "VEN-MEASURE-DIR", "--dir"),
        (("probe", "disk", "--dir", "{}/file"), "VEN-MEASURE-DIR", "ls -ld"),
        (("gen", "--bytes", "1MB", "{}/file"), "VEN-OUTPUT-WRITE", "folder"),
        (("sort", "{}/file", "-o", "{}/../out"), "VEN-MEASURE-INPUT", "ls -ld"),
        (("plan", "check", "{}/file"), "VEN-PLAN-FILE", "ls -ld"),
        (("predict", "--job", "{}/file", "--on", "i2.8xlarge:3"), "VEN-JOB-FORMAT", "ls -ld"),
        (("import", "spark-eventlog", "{}/file"), "VEN-INGEST-FORMAT", "ls -ld"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_rights_that_are_missing_are_named(
    tmp_path: Path,
    ordinary: tuple[str, ...],
    closed: Path,
    agent_binary: Path,
    words: tuple[str, ...],
    code: str,
    hint: str,
) -> None:
    done = subprocess.run(
        [*ordinary, *PROGRAM, *(word.format(closed) for word in words)],
        env={**os.environ, "VENTURI_HOME": str(tmp_path / "home"), "VENTURI_AGENT": str(AGENT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert f"error[{code}]" in done.stderr
    assert "Permission denied" in done.stderr
    assert hint in done.stderr.partition("hint:")[2]
    assert "Traceback" not in done.stderr
    assert "space" not in done.stderr.partition("hint:")[0]


@pytest.mark.slow
def test_an_engine_is_installed_where_one_may_write(
    tmp_path: Path, ordinary: tuple[str, ...], closed: Path
) -> None:
    if shutil.which("mvn") is None or shutil.which("java") is None:
        pytest.skip("needs Maven and Java")
    closed.chmod(0o555)
    done = subprocess.run(
        [*ordinary, *PROGRAM, "engines", "install", "mapreduce"],
        env={**os.environ, "VENTURI_HOME": str(closed / "home"), "HADOOP_HOME": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "error[VEN-MEASURE-DIR]" in done.stderr
    assert "Permission denied" in done.stderr
    assert "set VENTURI_HOME to a folder that you can write to" in done.stderr


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A file system of two files and 64 KiB, in memory."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    options = "size=64k,nr_inodes=2"
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root can mount")
    yield folder
    with suppress(OSError):
        subprocess.run(["umount", folder], check=True)


@pytest.mark.root
@pytest.mark.parametrize(
    ("read_only", "code", "failure_class", "hint"),
    [
        (False, "VEN-MEASURE-SPACE", FailureClass.CAPACITY, "free some space"),
        (True, "VEN-MEASURE-DIR", FailureClass.ENVIRONMENT, "mounted read-only"),
    ],
)
def test_a_full_disk_is_full_and_a_read_only_one_is_not(
    mounted: Path, read_only: bool, code: str, failure_class: FailureClass, hint: str
) -> None:
    folders = DataFolders(FILES, {"input": (mounted,)})
    if read_only:
        subprocess.run(["mount", "-o", "remount,ro", mounted], check=True)
    else:
        (mounted / "last").touch()
    with pytest.raises(VenturiError) as caught:
        folders.of("input")
    assert (caught.value.code, caught.value.failure_class) == (code, failure_class)
    assert hint in caught.value.hint
    assert caught.value.where == {"dir": str(mounted)}
    with pytest.raises(VenturiError) as caught, folders:
        pass
    assert caught.value.code == code
