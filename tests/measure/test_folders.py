"""Data folders: removed by whoever made them or after he died, and nothing else ever."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from this_host import FILES

from venturi.errors import VenturiError
from venturi.measure.trial import space
from venturi.measure.trial.folders import DataFolders, own, parse_roles, sweep
from venturi.record.owner import current_owner


def leave_behind(parent: Path, name: str, *, alive: bool) -> Path:
    folder = parent / name
    folder.mkdir()
    owner = current_owner()
    if not alive:
        owner = replace(owner, process_started_ticks=owner.process_started_ticks + 1)
    (folder / "owner.json").write_text(json.dumps(asdict(owner)))
    return folder


def test_only_our_folders_of_dead_owners_are_swept(tmp_path: Path) -> None:
    dead = leave_behind(tmp_path, "venturi-data-dead", alive=False)
    others = [
        leave_behind(tmp_path, "venturi-data-alive", alive=True),
        leave_behind(tmp_path, "somebody-elses", alive=False),
    ]
    for name, text in (("none", None), ("torn", "{"), ("odd", '{"pid": 1}'), ("list", "[1]")):
        folder = tmp_path / f"venturi-data-{name}"
        folder.mkdir()
        if text is not None:
            (folder / "owner.json").write_text(text)
        others.append(folder)
    assert sweep(FILES, tmp_path) == [dead]
    assert not dead.exists()
    assert all(folder.is_dir() for folder in others)


def test_a_folder_is_made_when_used_and_removed_at_the_end(tmp_path: Path) -> None:
    with DataFolders(FILES, {"input": (tmp_path,), "output": (tmp_path,)}) as folders:
        assert list(tmp_path.iterdir()) == []
        (used,) = folders.of("input")
        assert used.parent.parent == tmp_path
        (used / "x").write_text("x")
        folders.empty(["input"])
        assert not used.exists()
        assert folders.of("input") == (used,)
        assert folders.of("replica") == ()
        assert sweep(FILES, tmp_path) == []  # our own owner lives
    assert list(tmp_path.iterdir()) == []


def test_a_failure_removes_it_too(tmp_path: Path) -> None:
    def use() -> None:
        with DataFolders(FILES, {"input": (tmp_path,)}) as folders:
            folders.of("input")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        use()
    assert list(tmp_path.iterdir()) == []


def test_a_place_one_cannot_write_to_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(VenturiError) as caught,
        DataFolders(FILES, {"input": (tmp_path / "file",)}) as folders,
    ):
        folders.of("input")
    assert caught.value.where == {"dir": str(tmp_path / "file")}


def test_roles(tmp_path: Path) -> None:
    here = (tmp_path,)
    assert parse_roles((), tmp_path) == dict.fromkeys(("input", "scratch", "output"), here)
    roles = parse_roles(("/a", "/b", "scratch=/c", "scratch=/d", "replica=/e"), tmp_path)
    assert roles == {
        "input": (Path("/a"), Path("/b")),
        "output": (Path("/a"), Path("/b")),
        "scratch": (Path("/c"), Path("/d")),
        "replica": (Path("/e"),),
    }
    # Not a role: a folder with an odd name.
    assert parse_roles(("x=y",), tmp_path)["input"] == (Path("x=y").absolute(),)


def test_needs_on_one_file_system_add_up(tmp_path: Path) -> None:
    needs = space.spread(
        {"input": 10, "output": 11, "replica": 5},
        {"input": [tmp_path / "a"], "output": [tmp_path / "a", tmp_path / "b"]},
    )
    assert needs == {tmp_path / "a": 16, tmp_path / "b": 6}
    free = FILES.free_bytes(tmp_path)
    space.require(FILES, {tmp_path / "a": 1000, tmp_path / "b": 1000})
    with pytest.raises(VenturiError) as caught:
        space.require(FILES, {tmp_path / "a": int(free * 0.4), tmp_path / "b": int(free * 0.4)})
    assert caught.value.code == "VEN-MEASURE-SPACE"


def test_folders_of_another_name_are_swept_by_it(tmp_path: Path) -> None:
    dead = tmp_path / "venturi-series-x"
    dead.mkdir()
    own(FILES, dead)
    assert sweep(FILES, tmp_path, alive=lambda _: False) == []
    assert sweep(FILES, tmp_path, alive=lambda _: True, prefix="venturi-series-") == []
    assert sweep(FILES, tmp_path, alive=lambda _: False, prefix="venturi-series-") == [dead]
