"""Sorts killed at each step of publishing, and the result of the next sort."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torture.agent import counted
from torture.sort.sort_state import RECORD, Decoys, Truth, noise

MIB = 1 << 20
CALLS = ("renameat2", "rename", "unlink", "fsync")
"""The system calls of publishing; fsync alone is also called by other threads."""


class Places:
    """Two folders of output and one of copies, among the files of others."""

    def __init__(self, folder: Path) -> None:
        self.folders = [folder / name for name in ("one", "two", "copy")]
        for each in self.folders:
            each.mkdir()
        self.decoys = [Decoys(each) for each in self.folders]

    @property
    def flags(self) -> list[object]:
        one, two, copy = self.folders
        return [
            "--output",
            one,
            "--output",
            two,
            "--replica",
            copy,
            "--memory",
            4 * MIB,
            "--threads",
            1,
            "--io",
            "posix",
        ]

    def output(self) -> bytes | None:
        """Return the manifest's complete output, read and compared with the copies; None without a
        manifest.
        """
        manifest = self.folders[0] / "manifest.json"
        if not manifest.exists():
            return None
        told = json.loads(manifest.read_text())
        written, copies = (
            b"".join(Path(file["path"]).read_bytes() for file in told[key])
            for key in ("files", "replicas")
        )
        assert written == copies
        named = {file["path"] for key in ("files", "replicas") for file in told[key]}
        assert named == {str(path) for path in self.parts()}
        return written

    def parts(self) -> Iterator[Path]:
        for folder in self.folders:
            yield from (path for path in folder.glob("part-*") if path.name[5:].isdigit())

    def left(self) -> list[str]:
        """Return the names of files that are neither foreign nor published."""
        names = [name for decoy in self.decoys for name in decoy.others()]
        return [name for name in names if name != "manifest.json" and not name[5:].isdigit()]


needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None, reason="needs strace (Debian: strace)"
)


@pytest.mark.slow
@needs_strace
@pytest.mark.parametrize("overwrite", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_sort_killed_while_it_publishes(agent: Any, tmp_path: Path, overwrite: bool) -> None:
    """Without a manifest the next sort takes the folders as if nothing had been; with one the
    output is whole."""
    source, older, little = (tmp_path / name for name in ("source", "older", "little"))
    source.write_bytes(noise(2_400_000))
    older.write_bytes(noise(1_800_000, 2))
    little.write_bytes(noise(RECORD, 3))
    new, old = Truth(source).bytes, Truth(older).bytes
    log = tmp_path / "log"
    trace = ("strace", "-f", "-qq", "-o", str(log), "-e")

    def prepared(number: object) -> tuple[Places, list[object]]:
        folder = tmp_path / str(number)
        folder.mkdir()
        places = Places(folder)
        if overwrite:
            assert agent.sort("--input", older, *places.flags).result
        return places, ["--input", source, *places.flags, *(["--overwrite"] if overwrite else [])]

    places, sort = prepared("whole")
    run = agent.sort(*sort, prefix=(*trace, f"trace={','.join(CALLS)}"))
    if not run.events:
        pytest.skip(f"may not trace here: {run.stderr.strip()}")
    assert places.output() == new
    assert len(list(places.parts())) >= 8, "several files in each folder"
    counts = counted(log)
    states: set[str] = set()
    for call in CALLS:
        for nth in range(1, counts[call] + 1):
            places, sort = prepared(f"{call}-{nth}")
            agent.sort(*sort, prefix=(*trace, f"inject={call}:signal=SIGKILL:when={nth}"))
            for decoy in places.decoys:
                decoy.check()
            found = places.output()
            assert found in (None, new, *([old] if overwrite else [])), (call, nth)
            states.add({None: "nothing", new: "new", old: "old"}[found])
            again = agent.sort("--input", little, *places.flags)
            if found is None:
                assert again.result["output"]["records"] == 1, (call, nth)
                assert places.output() == little.read_bytes()
            else:
                again.refused("VEN-SORT-OUTPUT-EXISTS")
                assert places.output() == found
            assert places.left() == [], (call, nth)
            for decoy in places.decoys:
                decoy.check()
            shutil.rmtree(places.folders[0].parent)
    assert states == {"nothing", "new", *(["old"] if overwrite else [])}


def traced(agent: Any, log: Path, sort: list[object], *inject: str) -> Any:
    """How a sort ended that strace was let loose on; skips where it may not."""
    run = agent.sort(*sort, prefix=("strace", "-f", "-qq", "-o", str(log), *inject))
    if not run.events:
        pytest.skip(f"may not trace here: {run.stderr.strip()}")
    return run


@needs_strace
def test_what_cannot_be_removed_is_removed_by_the_next_sort(agent: Any, tmp_path: Path) -> None:
    """The n-th removal of a file fails, for each that there is."""
    source, little, log = (tmp_path / name for name in ("source", "little", "log"))
    source.write_bytes(noise(100_000))
    little.write_bytes(noise(RECORD, 3))
    places = Places(tmp_path)
    for nth in range(1, 50):
        inject = ("-e", f"inject=unlink:error=EIO:when={nth}")
        traced(agent, log, ["--input", source, *places.flags, "--overwrite"], *inject)
        result = agent.sort("--input", little, *places.flags, "--overwrite").result
        assert result["output"]["records"] == 1
        assert places.output() == little.read_bytes()
        assert places.left() == [], nth
        if "INJECTED" not in log.read_text():
            assert nth > 3, "locks, journals and the files that are replaced"
            break
    else:
        pytest.fail("there is no end to it")


@needs_strace
def test_an_output_whose_manifest_cannot_be_read_is_nobodys_to_remove(
    agent: Any, tmp_path: Path
) -> None:
    source, log = tmp_path / "source", tmp_path / "log"
    source.write_bytes(noise(100_000))
    places = Places(tmp_path)
    sort = ["--input", source, *places.flags]
    # Killed when all is published and the journal is about to be removed.
    traced(agent, log, sort, "-e", "inject=unlink:signal=SIGKILL:when=1")
    assert any(name.endswith(".journal.tmp") for name in places.left())
    manifest = places.folders[0] / "manifest.json"
    failing = traced(agent, log, sort, "-P", str(manifest), "-e", "inject=openat:error=EIO")
    assert failing.status == 1
    assert places.output() == Truth(source).bytes
    agent.sort(*sort).refused("VEN-SORT-OUTPUT-EXISTS")
    assert places.output() == Truth(source).bytes
    assert places.left() == []
