"""Where output goes: folders are made; what cannot be written is refused before any work."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

import command_line


def venturi(*words: object, home: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`venturi WORDS` on the real agent, in the folder `cwd`."""
    with contextlib.chdir(cwd):
        return command_line.venturi(*words, home=home, VENTURI_AGENT=str(command_line.AGENT))


@pytest.fixture
def unwritable(tmp_path: Path) -> Path:
    """A folder that not even root can write to."""
    if os.geteuid() == 0:
        return Path("/sys/kernel")
    folder = tmp_path / "unwritable"
    folder.mkdir(mode=0o555)
    return folder


@pytest.mark.slow
def test_the_readme_s_own_sort(tmp_path: Path, agent_binary: Path) -> None:
    for words in (
        ("gen", "--bytes", "1MB", "data/input.dat"),
        ("sort", "data/input.dat", "-o", "new/sorted", "--memory", "2GiB"),
        ("validate", "new/sorted", "--summary-out", "new/summary/of.sum"),
        ("export", "--all", "-o", "archives/trials.zip"),
        ("catalog", "overlay", "ec2-2014", "--onto", "current", "-o", "catalogs/both.csv"),
    ):
        done = venturi(*words, home=tmp_path / "home", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "new/sorted").is_dir()
    assert (tmp_path / "archives/trials.zip").is_file()


@pytest.mark.parametrize(
    "words",
    [
        ("quickstart",),
        ("quickstart", "--report", "{tmp}/a-file/report.html"),
        ("run", "terasort"),
        ("probe", "disk"),
        ("gen", "x.dat", "--count", "10"),
        ("sort", "{tmp}/a-file", "-o", "sorted"),
        ("export", "--all", "-o", "x.zip"),
        ("report", "/trials", "-o", "pages/x.html"),
        ("catalog", "ls", "--html", "x.html"),
        ("validate", "{tmp}/a-file", "--summary-out", "x.sum"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_written_is_refused_at_once(
    tmp_path: Path, unwritable: Path, agent_binary: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "a-file").write_bytes(bytes(100))
    given = [word.format(tmp=tmp_path) for word in words]
    cwd = tmp_path if "--report" in given else unwritable
    done = venturi(*given, home=tmp_path / "home", cwd=cwd)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert "cannot be written" in done.stderr
    assert "measuring" not in done.stderr
    assert "hint: " in done.stderr


@pytest.mark.parametrize("words", [("quickstart",), ("probe", "disk")])
def test_a_disk_that_may_not_be_mounted_is_not_made(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = venturi(*words, "--dir", tmp_path / "data1", home=tmp_path / "home", cwd=tmp_path)
    assert done.returncode == 2
    assert "is not a folder" in done.stderr
    assert not (tmp_path / "data1").exists()


def test_a_folder_where_a_part_would_be_is_named(tmp_path: Path, agent_binary: Path) -> None:
    (tmp_path / "in").write_bytes(bytes(1000))
    (tmp_path / "out/part-000000").mkdir(parents=True)
    words = ("sort", "in", "-o", "out", "--overwrite", "--no-record")
    done = venturi(*words, home=tmp_path / "home", cwd=tmp_path)
    assert done.returncode == 1
    assert "is a folder where a file of the output would be" in done.stderr


def test_no_records_are_in_no_order(tmp_path: Path, agent_binary: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    done = venturi("validate", "empty", home=tmp_path / "home", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no record to validate" in done.stderr


def test_summaries_were_not_read_at_a_rate(tmp_path: Path, agent_binary: Path) -> None:
    for words in (
        ("gen", "--count", "1", "one"),
        ("validate", "one", "--summary-out", "one.sum"),
    ):
        assert venturi(*words, home=tmp_path / "home", cwd=tmp_path).returncode == 0
    done = venturi("validate", "--summaries", "one.sum", home=tmp_path / "home", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "/s" not in done.stdout


@pytest.mark.parametrize("name", ["n" * 300, "new/" + "n" * 300, "dangling", "loop"])
def test_a_name_that_cannot_be_is_said(tmp_path: Path, name: str) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    for words in (("gen", name, "--count", "10"), ("export", "--all", "-o", name)):
        done = venturi(*words, home=tmp_path / "home", cwd=tmp_path)
        assert done.returncode == 1
        assert done.stderr.startswith(("error[VEN-OUTPUT-WRITE]", "error[VEN-OUTPUT-EXISTS]"))
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_what_is_refused_for_its_words_leaves_no_folder(tmp_path: Path) -> None:
    for words in (
        ("export", "no-such-trial", "-o", "new/trials.zip"),
        ("report", "/no-such-page", "-o", "new/page.html"),
        ("show", "no-such-trial", "--html", "new/page.html"),
    ):
        assert venturi(*words, home=tmp_path / "home", cwd=tmp_path).returncode in {1, 2}
    assert not (tmp_path / "new").exists()
