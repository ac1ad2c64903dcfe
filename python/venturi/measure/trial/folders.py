"""Folders that are ours for a while: each says which process it belongs to, and is removed by that
one, or by the next start after a kill, whenever that came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from venturi.errors import ExitCode, VenturiError, refused
from venturi.measure.hosts.host import Files
from venturi.measure.trial.space import existing_parent
from venturi.record.owner import current_owner, is_alive
from venturi.record.trial import DISK_ROLES, Owner, new_id

PREFIX = "venturi-data-"
SERIES_PREFIX = "venturi-series-"
PUSH_PREFIX = "venturi-push-"
PREFIXES = (PREFIX, SERIES_PREFIX, PUSH_PREFIX)
OWNER_FILE = "owner.json"
# How we name a folder: by an id of ours, or as what is temporary is named.
_OURS = re.compile(r"venturi-(data-[0-9a-z]{26}|(series|push)-[0-9a-z_]{8})")
_TRIES = 10


def make(files: Files, folder: Path) -> None:
    """Makes `folder` ours, for `sweep`; it may be there already.

    Who sweeps between the two steps takes a folder without an owner for a dead one's: then again.
    """
    for _ in range(_TRIES):
        files.mkdir(folder, parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            files.write(folder / OWNER_FILE, json.dumps(asdict(current_owner())))
            return
    raise FileNotFoundError(0, "it is removed as often as it is made", str(folder))


def discard(files: Files, folder: Path) -> None:
    """Removes `folder`, its owner last: what a kill leaves of it, the next sweep removes."""
    failed: OSError | None = None
    for each in files.entries(folder):
        if each.path.name != OWNER_FILE:
            try:
                files.remove(each.path)
            except OSError as error:
                failed = error
    if failed is not None:
        raise failed
    files.remove(folder)


@contextmanager
def temporary(files: Files, prefix: str) -> Iterator[Path]:
    """A folder of our own for what is temporary, as `Files.temporary`, which `sweep` knows."""
    with files.temporary(prefix) as folder:
        make(files, folder)
        try:
            yield folder
        finally:
            with suppress(OSError):
                discard(files, folder)


def sweep(
    files: Files,
    parent: Path,
    alive: Callable[[Owner], bool] = is_alive,
    prefix: str = PREFIX,
) -> list[Path]:
    """Removes the folders in `parent` that were `left_behind`; returns them."""
    removed = list(left_behind(files, parent, alive, prefix))
    for folder in removed:
        with suppress(OSError):
            if files.is_file(folder / OWNER_FILE):
                discard(files, folder)
            else:
                _take_away(files, folder)
    return removed


def left_behind(
    files: Files,
    parent: Path,
    alive: Callable[[Owner], bool] = is_alive,
    prefix: str = PREFIX,
) -> Iterator[Path]:
    """The folders in `parent`, named by `prefix`, whose owner is dead, or that have a name as we
    give it and nothing in them yet, not even an owner.

    All else is left alone.
    """
    for found in files.find(parent, f"{prefix}*"):
        try:
            owner = Owner(**json.loads(files.read(found.path / OWNER_FILE)))
        except FileNotFoundError:
            if _OURS.fullmatch(found.path.name) and _is_begun(files, found.path):
                yield found.path
            continue
        except (OSError, ValueError, TypeError):
            continue
        if not alive(owner):
            yield found.path


def _is_begun(files: Files, folder: Path) -> bool:
    """Whether there is nothing in it but, perhaps, what was to become its owner file."""
    try:
        return all(_is_of_owner(each.path) for each in files.entries(folder))
    except OSError:
        return False


def _is_of_owner(path: Path) -> bool:
    return path.name.startswith(f".{OWNER_FILE}.")


def _take_away(files: Files, folder: Path) -> None:
    """Removes a folder that has only been begun; if it has an owner by now, it stays."""
    for each in files.entries(folder):
        if _is_of_owner(each.path):
            files.remove(each.path)
    files.rmdir(folder)


def require_writable(files: Files, folders: Iterable[Path], *, there: bool = False) -> None:
    """An error, before anything is measured, if data cannot be put into one of `folders`:
    VEN-MEASURE-SPACE of a full disk, else VEN-MEASURE-DIR.

    One that is not there is to be made, in the nearest one above it that is; not if it must be
    `there`, as where a disk is to be measured that may not be mounted.
    """
    for folder in dict.fromkeys(folders):
        if there and not files.is_folder(folder):
            raise VenturiError(
                "VEN-MEASURE-DIR",
                f"{folder} is not a folder",
                where={"dir": str(folder)},
                hint="make it first, or name another with --dir",
                exit_code=ExitCode.USAGE,
            )
        try:
            files.require_writable(existing_parent(files, folder).path)
        except OSError as error:
            raise refused(
                error,
                f"{folder} cannot be written",
                where={"dir": str(folder)},
                hint="go to a folder that you may write to, or name one with --dir",
            ) from error


class DataFolders:
    """The folders of one command by role, each inside its own `venturi-data-<id>`, in `files`.

    Use it as a context manager: leaving it removes everything, unless `keep`.
    """

    def __init__(
        self, files: Files, roles: Mapping[str, tuple[Path, ...]], *, keep: bool = False
    ) -> None:
        self.files = files
        self.keep = keep
        self.swept: list[Path] = []
        self._parents = {role: tuple(dirs) for role, dirs in roles.items()}
        self._name = f"{PREFIX}{new_id().lower()}"
        self._made: list[Path] = []

    def parents(self, role: str) -> tuple[Path, ...]:
        """The folders the user named for `role`."""
        return self._parents.get(role, ())

    def of(self, role: str) -> tuple[Path, ...]:
        """The folders to use for `role`, made when first asked for."""
        folders = tuple(self._make(parent) / role for parent in self.parents(role))
        for folder in folders:
            self.files.mkdir(folder, exist_ok=True)
        return folders

    def empty(self, roles: Iterable[str]) -> None:
        """Removes what is in the folders of `roles`."""
        if self.keep:
            return
        for role in roles:
            for parent in self.parents(role):
                with suppress(OSError):
                    self.files.remove(parent / self._name / role)

    def _make(self, parent: Path) -> Path:
        folder = parent / self._name
        if folder in self._made:
            return folder
        try:
            self._made.append(folder)
            make(self.files, folder)
        except OSError as error:
            raise refused(
                error,
                f"no data folder can be made in {parent}",
                where={"dir": str(parent)},
                hint="name a folder that you may write to with --dir",
            ) from error
        return folder

    def __enter__(self) -> DataFolders:
        parents = {parent for dirs in self._parents.values() for parent in dirs}
        require_writable(self.files, parents)
        for parent in parents:
            self.swept += sweep(self.files, parent)
        return self

    def __exit__(self, *_: object) -> None:
        for folder in self._made:
            # On a host that was lost it stays, for the next start.
            with suppress(OSError, VenturiError):
                if self.keep:  # from now on it is the user's
                    self.files.remove(folder / OWNER_FILE)
                else:
                    discard(self.files, folder)


def parse_roles(values: Iterable[str], default: Path) -> dict[str, tuple[Path, ...]]:
    """Folders by role from `DIR` (every role but replica) and `ROLE=DIR`, both repeatable.

    A role that is named replaces the general folders for that role.
    """
    general: list[Path] = []
    named: dict[str, list[Path]] = {}
    for value in values:
        role, equals, path = value.partition("=")
        if equals and role in DISK_ROLES:
            named.setdefault(role, []).append(Path(path).absolute())
        else:
            general.append(Path(value).absolute())
    shared = tuple(general) or (default.absolute(),)
    roles = {role: shared for role in DISK_ROLES if role != "replica"}
    return {**roles, **{role: tuple(paths) for role, paths in named.items()}}
