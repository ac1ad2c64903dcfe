"""The source of a job's input: generated once per command, kept by an earlier one, or given."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from venturi.core.errors import VenturiError, refused, unreadable
from venturi.measure.hosts.agent import AgentProgress, repeated
from venturi.measure.hosts.agent_results import GenResult, ValidateResult
from venturi.measure.hosts.host import FileInfo, Files
from venturi.measure.trial.folders import DataFolders
from venturi.measure.trial.job import StepContext
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.registry import family
from venturi.record.trial import Phase

CHECKSUM_MODULUS = 2**128
KEPT = "venturi-inputs"
_MANIFEST = "input.json"


@dataclass(frozen=True)
class InputData:
    """Input files and their known properties. None: not counted.

    `answer` is the reference for the workload's check. `folder` has the files as the workload's
    generator arranged them; None: any arrangement works.
    """

    files: tuple[Path, ...]
    bytes: int
    records: int | None
    checksum: str | None = None
    answer: Mapping[str, Any] | None = None
    folder: Path | None = None


class Inputs(Protocol):
    """Provides a job's input."""

    @property
    def planned_bytes(self) -> int:
        """Its size, known in advance."""

    @property
    def missing_bytes(self) -> int:
        """Bytes still to be written to disk."""

    @property
    def spread(self) -> bool:
        """Whether it lies in all folders of its role, not in the first alone."""

    def provide(self, step: StepContext) -> tuple[InputData, tuple[Phase, ...]]:
        """Return the input, and the phases of making it (none if it existed)."""


class GivenInputs:
    """The user's own files, never modified."""

    def __init__(self, files: Files, paths: Sequence[Path]) -> None:
        try:
            found = [each for path in paths for each in _given(files, path)]
        except OSError as error:
            place = error.filename or ", ".join(map(str, paths))
            raise unreadable(place, error, "VEN-MEASURE-INPUT") from error
        if not found:
            raise VenturiError(
                "VEN-MEASURE-INPUT",
                "there is no input file",
                where={"dir": ", ".join(str(path) for path in paths)},
                hint="name files, or a folder with files",
            )
        self._data = InputData(
            files=tuple(each.path for each in found),
            bytes=sum(each.bytes for each in found),
            records=None,
        )

    @property
    def planned_bytes(self) -> int:
        return self._data.bytes

    @property
    def missing_bytes(self) -> int:
        return 0

    @property
    def spread(self) -> bool:
        return True

    def provide(self, step: StepContext) -> tuple[InputData, tuple[Phase, ...]]:
        return self._data, ()


def _given(files: Files, path: Path) -> Iterable[FileInfo]:
    """The file at `path`, or the files directly in a folder, by name."""
    found = files.stat(path)
    if found.kind != "folder":
        return [found]
    return (each for each in files.entries(path) if each.kind == "file")


class NoInputs:
    """For workloads that read nothing."""

    planned_bytes = 0
    missing_bytes = 0
    spread = True

    def provide(self, step: StepContext) -> tuple[InputData, tuple[Phase, ...]]:
        return InputData(files=(), bytes=0, records=None), ()


class KeptInputs:
    """Generated input that outlives its command: `DIR/venturi-inputs/DIGEST`, complete if it has a
    manifest. `parents` are the folders of the role `input`."""

    def __init__(
        self,
        files: Files,
        parents: Sequence[Path],
        definition: Definition,
        size: Size,
        seed: int,
    ) -> None:
        self._files = files
        meaning = [definition.version, asdict(size), seed, len(parents)]
        text = json.dumps(meaning, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        self._folders = tuple(parent / KEPT / f"{definition.name}-{digest}" for parent in parents)

    def find(self) -> InputData | None:
        """Return the input; None if it is missing or incomplete."""
        try:
            kept = json.loads(self._files.read(self._folders[0] / _MANIFEST))
            files = {Path(path): tuple(state) for path, *state in kept.pop("files")}
            if any(self._state(path) != state for path, state in files.items()):
                return None
            folder = kept.pop("folder")
            return InputData(tuple(files), folder=folder and Path(folder), **kept)
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return None

    def make(self) -> tuple[Path, ...]:
        """Empty folders for it."""
        for folder in self._folders:
            self._files.remove(folder)
            self._files.mkdir(folder, parents=True)
        return self._folders

    def finish(self, data: InputData) -> None:
        """Record complete inputs, so that later trials find them."""
        manifest = {
            "files": [(str(path), *self._state(path)) for path in data.files],
            "bytes": data.bytes,
            "records": data.records,
            "checksum": data.checksum,
            "answer": data.answer,
            "folder": data.folder and str(data.folder),
        }
        self._files.write(self._folders[0] / _MANIFEST, json.dumps(manifest), durable=True)

    def _state(self, path: Path) -> tuple[int, int]:
        """Return the size and time of modification, which change when the file is written."""
        found = self._files.stat(path)
        return found.bytes, found.modified_ns


class GeneratedInputs:
    """Deterministic input of a workload, made on first use and shared by all later trials.

    Input that an earlier command kept in the same folders is reused: a digest of everything it
    depends on identifies it. With `keep` this one is kept, too.
    """

    def __init__(
        self,
        folders: DataFolders,
        definition: Definition,
        size: Size,
        *,
        seed: int = 0,
        keep: bool = False,
    ) -> None:
        if not size.bytes:
            raise VenturiError(
                "VEN-MEASURE-BUDGET",
                f"--bytes is too small for a single record of {definition.name}",
                where={"workload": definition.name},
                hint="give more --bytes, or a --scale",
            )
        self._size_bytes = size.bytes
        self._folders = folders
        self._definition = definition
        self._size = size
        self._seed = seed
        self._keep = keep
        self._store = KeptInputs(folders.files, folders.parents("input"), definition, size, seed)
        self._data: InputData | None = None

    @property
    def spread(self) -> bool:
        return self._definition.generator.startswith("gensort")

    @property
    def records(self) -> int:
        """The number of records in the input."""
        return self._size.records

    @property
    def planned_bytes(self) -> int:
        return self._size_bytes

    @property
    def missing_bytes(self) -> int:
        there = self._data is not None or self._store.find() is not None
        return 0 if there else self.planned_bytes

    def provide(self, step: StepContext) -> tuple[InputData, tuple[Phase, ...]]:
        if self._data is None:
            self._data = self._store.find()
        if self._data is not None:
            return self._data, ()
        started_s = step.since_start_s()
        folders = self._store.make() if self._keep else self._folders.of("input")
        if self._definition.generator.startswith("gensort"):
            data = self._gensort(step, folders)
            if self._definition.generator == "gensort-sorted":
                data = _sorted(step, self._folders.files, data)
        else:
            data = self._written(step, folders[0])
        if self._keep:
            self._store.finish(data)
        self._data = data
        phase = Phase("generate", started_s, step.since_start_s() - started_s)
        return data, (phase,)

    def _gensort(self, step: StepContext, folders: tuple[Path, ...]) -> InputData:
        files: list[Path] = []
        checksum = 0
        skew = ["--skew"] if self._definition.generator == "gensort-skewed" else []
        for index, folder in enumerate(folders):
            # Each directory has the same share, its records following those of the one before.
            first = self.records * index // len(folders)
            count = self.records * (index + 1) // len(folders) - first
            path = folder / f"part-{index:05d}"
            made = step.run(
                "gen", "--count", count, "--start", first, *skew, "--checksum", "--output", path
            ).read(GenResult)
            if made.records != count or made.checksum is None:
                raise VenturiError(
                    "VEN-AGENT-PROTOCOL",
                    f"gen made {made.records} records of {count}, checksum {made.checksum}",
                    where={"file": str(path)},
                )
            files.append(path)
            checksum = (checksum + int(made.checksum, 16)) % CHECKSUM_MODULUS
        return InputData(tuple(files), self.planned_bytes, self.records, checksum=f"{checksum:x}")

    def _written(self, step: StepContext, folder: Path) -> InputData:
        """Input that the workload's own module writes."""
        began_s = step.since_start_s()

        def tick(done_bytes: int) -> None:
            if step.on_progress is not None:
                elapsed_s = step.since_start_s() - began_s
                step.on_progress(
                    AgentProgress("generate", done_bytes, self.planned_bytes, "bytes", elapsed_s)
                )

        definition = self._definition
        data = import_module(f"{family(definition)}.data")
        try:
            answer = data.write(
                self._folders.files, definition, folder, self._size, self._seed, tick=tick
            )
        except OSError as error:
            raise refused(
                error,
                "the input cannot be written",
                where={"file": str(error.filename or folder)},
                hint="choose a folder that you can write to with --dir",
            ) from error
        finally:
            if step.on_progress is not None:
                step.on_progress(None)
        found = self._folders.files.find(folder, "**/*")
        files = tuple(each.path for each in found if each.kind == "file")
        if definition.job == "sort":
            # Lines of one length: sorting them is checked like any sort.
            length = definition.record_bytes
            framing = ("--record-bytes", length, "--key-bytes", length)
            seen = step.run("validate", "--input", *files, *framing).read(ValidateResult)
            return InputData(files, self.planned_bytes, self.records, checksum=seen.checksum)
        return InputData(files, self.planned_bytes, self.records, answer=answer, folder=folder)


def _sorted(step: StepContext, files: Files, data: InputData) -> InputData:
    """Return the same records in order: each folder gets its share of the output, then loses its
    input.
    """
    folders = [file.with_name("sorted") for file in data.files]
    for folder in folders:
        files.mkdir(folder)
    step.run("sort", *repeated("--input", data.files), *repeated("--output", folders))
    for file in data.files:
        files.remove(file)
    parts = (each.path for folder in folders for each in files.find(folder, "part-*"))
    return replace(data, files=tuple(sorted(parts, key=lambda path: path.name)))


def inputs_of(
    folders: DataFolders, definition: Definition, size: Size, *, seed: int = 0, keep: bool = False
) -> Inputs:
    """Generated input for `definition`, or none where it reads none."""
    if definition.generator == "none":
        return NoInputs()
    return GeneratedInputs(folders, definition, size, seed=seed, keep=keep)
