"""Data folders: removed by their owner or after its death, and nothing else ever."""

from __future__ import annotations

import json
import threading
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from this_host import FILES
from venturi.core.errors import VenturiError
from venturi.measure.hosts.host import FileInfo
from venturi.measure.hosts.local import LocalFiles
from venturi.measure.hosts.owned_folders import discard, make, sweep, temporary
from venturi.measure.trial import space
from venturi.measure.trial.folders import DataFolders, parse_roles
from venturi.record.access.owner import current_owner


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
    with pytest.raises(VenturiError, match="inputs is not a role") as refused:
        parse_roles(("inputs=/y",), tmp_path)
    assert "did you mean input?" in (refused.value.hint or "")
    # A folder with an odd name.
    assert parse_roles(("./x=y",), tmp_path)["input"] == (Path("x=y").absolute(),)


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
    make(FILES, dead)
    assert sweep(FILES, tmp_path, alive=lambda _: False) == []
    assert sweep(FILES, tmp_path, alive=lambda _: True, prefix="venturi-series-") == []
    assert sweep(FILES, tmp_path, alive=lambda _: False, prefix="venturi-series-") == [dead]


BEGUN = "venturi-data-01h00000000000000000000000"


@pytest.mark.parametrize("name", [BEGUN, "venturi-series-a1_b2c3d"])
@pytest.mark.parametrize("begun", [(), (".owner.json.77.part",)])
def test_killed_before_it_had_an_owner(tmp_path: Path, name: str, begun: tuple[str, ...]) -> None:
    folder = tmp_path / name
    folder.mkdir()
    for each in begun:
        (folder / each).write_text("{")
    prefix = name[: name.rindex("-") + 1]
    assert sweep(FILES, tmp_path, prefix=prefix) == [folder]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [(BEGUN, "notes"), (BEGUN, "owner.json.bak"), (f"{BEGUN}x", None), ("venturi-data-x", None)],
)
def test_what_is_not_ours_to_remove_stays(tmp_path: Path, name: str, content: str | None) -> None:
    (tmp_path / name).mkdir()
    if content is not None:
        (tmp_path / name / content).write_text("another's")
    assert sweep(FILES, tmp_path) == []
    assert content is None or (tmp_path / name / content).read_text() == "another's"
    assert (tmp_path / name).is_dir()


class Killed(BaseException):
    """Nothing that the product does comes after it."""


class Dying(LocalFiles):
    """Does so many things that change something, and then no more."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def _step(self) -> None:
        if self._left == 0:
            raise Killed
        self._left -= 1

    def mkdir(self, folder: Path, **options: bool) -> None:  # type: ignore[override]
        self._step()
        super().mkdir(folder, **options)

    def write(self, path: Path, data: bytes | str, *, durable: bool = False) -> None:
        self._step()
        super().write(path, data, durable=durable)

    def remove(self, path: Path) -> None:
        """Remove file by file, in the file system's order."""
        if path.is_dir():
            for each in sorted(path.iterdir(), key=lambda found: found.name != "owner.json"):
                self.remove(each)
            self._step()
            path.rmdir()
        else:
            self._step()
            super().remove(path)


@pytest.mark.parametrize("victim", ["maker", "sweeper"])
def test_no_kill_leaves_a_folder_that_nobody_sweeps(tmp_path: Path, victim: str) -> None:
    """The process that makes, uses or removes a folder dies before each of the steps."""
    done = 0
    for steps in range(100):
        dying = Dying(steps)
        try:
            if victim == "maker":
                with DataFolders(dying, {"input": (tmp_path,)}) as folders:
                    (used,) = folders.of("input")
                    (used / "x").write_text("x")
            else:
                folder = leave_behind(tmp_path, BEGUN, alive=False)
                (folder / "input").mkdir()
                (folder / "input" / "x").write_text("x")
                sweep(dying, tmp_path)
            done += 1
        except Killed:
            sweep(FILES, tmp_path, alive=lambda _: False)
        assert list(tmp_path.iterdir()) == [], steps
        if done:
            assert steps > 3
            return
    pytest.fail("there is no end to it")


def test_a_maker_and_a_sweeper_at_the_same_time(tmp_path: Path) -> None:
    over = threading.Event()

    def sweeping() -> None:
        while not over.is_set():
            sweep(FILES, tmp_path)

    sweeper = threading.Thread(target=sweeping)
    sweeper.start()
    try:
        for _ in range(300):
            with DataFolders(FILES, {"input": (tmp_path,)}) as folders:
                (used,) = folders.of("input")
                assert used.is_dir()
                assert (used.parent / "owner.json").is_file()
    finally:
        over.set()
        sweeper.join()
    assert list(tmp_path.iterdir()) == []


class LookedAt(LocalFiles):
    """A folder gets its owner, and data, just after a sweeper has seen that it has none."""

    def entries(self, folder: Path) -> tuple[FileInfo, ...]:
        found = super().entries(folder)
        if folder.name == BEGUN and not (folder / "input").exists():
            make(FILES, folder)
            (folder / "input").mkdir()
        return found


def test_a_folder_that_gets_its_owner_while_it_is_looked_at_stays(tmp_path: Path) -> None:
    (tmp_path / BEGUN).mkdir()
    assert sweep(LookedAt(), tmp_path) == []
    assert (tmp_path / BEGUN / "input").is_dir()


def test_what_is_kept_is_nobodys_to_sweep(tmp_path: Path) -> None:
    with DataFolders(FILES, {"input": (tmp_path,)}, keep=True) as folders:
        (used,) = folders.of("input")
        (used / "x").write_text("x")
    assert sweep(FILES, tmp_path, alive=lambda _: False) == []
    assert (used / "x").read_text() == "x"


def test_what_is_temporary_has_an_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with temporary(FILES, "venturi-push-") as folder:
        assert folder.parent == tmp_path
        assert sweep(FILES, tmp_path, prefix="venturi-push-") == []
        (folder / "trials.zip").write_text("x")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_removed_keeps_its_owner(tmp_path: Path) -> None:
    class Stuck(LocalFiles):
        def remove(self, path: Path) -> None:
            if path.name == "stuck":
                raise PermissionError(1, "no", str(path))
            super().remove(path)

    folder = leave_behind(tmp_path, BEGUN, alive=False)
    for name in ("a", "stuck", "z"):
        (folder / name).write_text("x")
    with pytest.raises(PermissionError):
        discard(Stuck(), folder)
    assert sorted(path.name for path in folder.iterdir()) == ["owner.json", "stuck"]
    assert sweep(FILES, tmp_path) == [folder]
    assert list(tmp_path.iterdir()) == []
