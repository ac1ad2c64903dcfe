"""The folders of a command's data, by role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from venturi.core.errors import UsageError, VenturiError, refused
from venturi.core.wording import did_you_mean
from venturi.measure.hosts.host import Files
from venturi.measure.hosts.owned_folders import OWNER_FILE, PREFIX, discard, make, sweep
from venturi.measure.trial.space import existing_parent
from venturi.record.trial import DISK_ROLES, new_id


def require_writable(files: Files, folders: Iterable[Path], *, there: bool = False) -> None:
    """Raise an error, before the measurement, if data can't be stored in one of `folders`:
    VEN-MEASURE-SPACE for a full disk, else VEN-MEASURE-DIR.

    A missing folder will be created in its nearest existing parent; it must exist if `there`,
    because a disk to measure might not be mounted.
    """
    for folder in dict.fromkeys(folders):
        if there and not files.is_folder(folder):
            raise UsageError(
                "VEN-MEASURE-DIR",
                f"{folder} is not a folder",
                where={"dir": str(folder)},
                hint="create it first, or choose another with --dir",
            )
        try:
            files.require_writable(existing_parent(files, folder).path)
        except OSError as error:
            raise refused(
                error,
                f"{folder} cannot be written",
                where={"dir": str(folder)},
                hint="change to a folder that you can write to, or choose one with --dir",
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
        """Return the folders to use for `role`, creating them on first use."""
        folders = tuple(self._make(parent) / role for parent in self.parents(role))
        for folder in folders:
            self.files.mkdir(folder, exist_ok=True)
        return folders

    def empty(self, roles: Iterable[str]) -> None:
        """Remove the content of the folders of `roles`."""
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
                f"no data folder can be created in {parent}",
                where={"dir": str(parent)},
                hint="choose a folder that you can write to with --dir",
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

    A role that is named replaces the general folders for that role. A word before `=` that is no
    role is VEN-MEASURE-DIR.
    """
    general: list[Path] = []
    named: dict[str, list[Path]] = {}
    for value in values:
        role, equals, path = value.partition("=")
        if equals and role in DISK_ROLES:
            named.setdefault(role, []).append(Path(path).absolute())
        elif equals and role.isalpha():
            raise UsageError(
                "VEN-MEASURE-DIR",
                f"--dir {value}: {role} is not a role of a folder",
                where={"dir": value},
                hint=f"for a folder with this name, write ./{value}; "
                + did_you_mean(role, DISK_ROLES, "roles are"),
            )
        else:
            general.append(Path(value).absolute())
    shared = tuple(general) or (default.absolute(),)
    roles = {role: shared for role in DISK_ROLES if role != "replica"}
    return {**roles, **{role: tuple(paths) for role, paths in named.items()}}
