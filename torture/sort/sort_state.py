"""The files that a sort may leave behind however it ended, for comparison with those that it
left.
"""

from __future__ import annotations

import itertools
import json
from bisect import bisect_left
from pathlib import Path

import numpy as np

RECORD = 100


def noise(size: int, seed: int = 1) -> bytes:
    return np.random.default_rng(seed).integers(0, 256, size, dtype=np.uint8).tobytes()


DECOYS = [
    ".venturi-sort-123-abc.tmp",
    ".venturi-sort-123-abc.000000.tmp",
    ".venturi-sort-.tmp",
    ".venturi-sort",
    ".venturi-scratch-1.tmp.mine",
    "part-000000.bak",
    "part-",
    "part-00000a",
    "manifest.json~",
    "notes.txt",
    "venturi-sort-1-1.lock",
]


class Decoys:
    """Foreign files in a directory, with names similar to Venturi's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in DECOYS:
            (folder / name).write_text(name)
        (folder / "part-000000.d").mkdir()
        self._before = self._look()

    def _look(self) -> dict[str, tuple[str, int]]:
        paths = ((name, self.folder / name) for name in DECOYS)
        return {name: (path.read_text(), path.stat().st_mtime_ns) for name, path in paths}

    def check(self) -> None:
        assert self._look() == self._before
        assert (self.folder / "part-000000.d").is_dir()

    def others(self) -> list[str]:
        """Return the names of other files in the folder."""
        names = {path.name for path in self.folder.iterdir()}
        return sorted(names - set(DECOYS) - {"part-000000.d"})


class Truth:
    """The expected output of sorting an input, to check pieces of output against."""

    def __init__(self, source: Path) -> None:
        data = source.read_bytes()
        self.records = sorted(data[i : i + RECORD] for i in range(0, len(data), RECORD))
        self.bytes = b"".join(self.records)

    def place_of(self, part: bytes) -> int:
        """Where a whole part file lies in the sorted bytes; fails if it is not a piece of them."""
        at = bisect_left(self.records, part[:RECORD]) * RECORD
        assert self.bytes[at : at + len(part)] == part, "a part is no piece of the sorted output"
        return at

    def check_state(self, folder: Path, earlier: bytes | None) -> str:
        """Check the content of `folder` after a killed sort; `earlier` was the output before."""
        parts = sorted(
            p for p in folder.iterdir() if p.name[5:].isdigit() and p.name[:5] == "part-"
        )
        found = {part.name: part.read_bytes() for part in parts}
        manifest = folder / "manifest.json"
        if manifest.exists():
            said = json.loads(manifest.read_text())
            listed = [Path(file["path"]).name for file in said["files"]]
            assert sorted(listed) == sorted(found), "the manifest lists what is there"
            assert [len(found[n]) for n in listed] == [file["bytes"] for file in said["files"]]
            whole = b"".join(found[name] for name in listed)
            assert whole in (self.bytes, earlier), "a manifest stands for a complete output"
            return "old" if whole == earlier else "new"
        ours = [part for part in found.values() if part and part != earlier]
        ends = [(self.place_of(part), len(part)) for part in ours]
        for (start, length), (following, _) in itertools.pairwise(ends):
            assert start + length == following, "a part was cut short"
        return "parts" if found else "nothing"
