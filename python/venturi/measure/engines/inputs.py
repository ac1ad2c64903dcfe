"""Where a native job's input comes from: generated once per command, or given by the user."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from venturi.errors import VenturiError
from venturi.measure.agent import Progress
from venturi.measure.folders import DataFolders
from venturi.measure.results import Generated, Validated
from venturi.measure.runner import Step
from venturi.measure.workloads import Definition
from venturi.record.trial import Phase

if TYPE_CHECKING:
    from venturi.measure.workloads.zipf import Answer

CHECKSUM_MODULUS = 2**128


@dataclass(frozen=True)
class InputData:
    """Input files and what is known about them. None: nobody counted."""

    files: tuple[Path, ...]
    bytes: int
    records: int | None
    checksum: str | None = None
    answer: Answer | None = None


class Inputs(Protocol):
    """Provides a job's input."""

    @property
    def planned_bytes(self) -> int:
        """Its size, known before it is there."""

    @property
    def missing_bytes(self) -> int:
        """What must still be written to disk."""

    def provide(self, step: Step) -> tuple[InputData, tuple[Phase, ...]]:
        """The input, and the phases it took to make it (none if it was there)."""


class GivenInputs:
    """The user's own files, never modified."""

    def __init__(self, paths: Sequence[Path]) -> None:
        files: list[Path] = []
        for path in paths:
            if path.is_dir():
                files += sorted(entry for entry in path.iterdir() if entry.is_file())
            else:
                files.append(path)
        try:
            size_bytes = sum(path.stat().st_size for path in files)
        except OSError as error:
            raise VenturiError(
                "VEN-MEASURE-INPUT",
                f"{error.filename} cannot be read: {error.strerror}",
                where={"file": str(error.filename)},
            ) from error
        if not files:
            raise VenturiError(
                "VEN-MEASURE-INPUT",
                "there is no input file",
                where={"dir": ", ".join(str(path) for path in paths)},
            )
        self._data = InputData(files=tuple(files), bytes=size_bytes, records=None)

    @property
    def planned_bytes(self) -> int:
        return self._data.bytes

    @property
    def missing_bytes(self) -> int:
        return 0

    def provide(self, step: Step) -> tuple[InputData, tuple[Phase, ...]]:
        return self._data, ()


class NoInputs:
    """For workloads that read nothing."""

    planned_bytes = 0
    missing_bytes = 0

    def provide(self, step: Step) -> tuple[InputData, tuple[Phase, ...]]:
        return InputData(files=(), bytes=0, records=None), ()


class GeneratedInputs:
    """Deterministic input of a workload, made when first needed and shared by all later trials."""

    def __init__(
        self, folders: DataFolders, definition: Definition, input_bytes: int, *, seed: int = 0
    ) -> None:
        if input_bytes < definition.record_bytes:
            raise VenturiError(
                "VEN-MEASURE-BUDGET",
                f"{input_bytes} bytes hold no record of {definition.record_bytes} bytes",
                where={"workload": definition.name, "bytes": input_bytes},
                hint="ask for more --bytes",
            )
        self.records = input_bytes // definition.record_bytes
        self._folders = folders
        self._definition = definition
        self._seed = seed
        self._data: InputData | None = None

    @property
    def planned_bytes(self) -> int:
        return self.records * self._definition.record_bytes

    @property
    def missing_bytes(self) -> int:
        return self.planned_bytes if self._data is None else 0

    def provide(self, step: Step) -> tuple[InputData, tuple[Phase, ...]]:
        if self._data is not None:
            return self._data, ()
        started_s = step.since_start_s()
        folders = self._folders.of("input")
        if self._definition.generator in {"gensort", "gensort-skewed"}:
            self._data = self._gensort(step, folders)
        else:
            self._data = self._zipf(step, folders[0])
        phase = Phase("generate", started_s, step.since_start_s() - started_s)
        return self._data, (phase,)

    def _gensort(self, step: Step, folders: tuple[Path, ...]) -> InputData:
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
            ).read(Generated)
            if made.records != count or made.checksum is None:
                raise VenturiError(
                    "VEN-AGENT-PROTOCOL",
                    f"gen made {made.records} records of {count}, checksum {made.checksum}",
                    where={"file": str(path)},
                )
            files.append(path)
            checksum = (checksum + int(made.checksum, 16)) % CHECKSUM_MODULUS
        return InputData(tuple(files), self.planned_bytes, self.records, checksum=f"{checksum:x}")

    def _zipf(self, step: Step, folder: Path) -> InputData:
        from venturi.measure.workloads import zipf

        path = folder / "part-00000"
        began_s = step.since_start_s()

        def tick(done_bytes: int) -> None:
            if step.on_progress is not None:
                elapsed_s = step.since_start_s() - began_s
                step.on_progress(
                    Progress("generate", done_bytes, self.planned_bytes, "bytes", elapsed_s)
                )

        write = zipf.write_text if self._definition.generator == "zipf-text" else zipf.write_pairs
        try:
            answer = write(path, self.records, self._seed, tick)
        except OSError as error:
            raise VenturiError(
                "VEN-MEASURE-SPACE",
                f"the input cannot be written: {error.strerror}",
                where={"file": str(path)},
            ) from error
        if self._definition.job == "sort":
            # Lines of one length: what sorts them is checked as any sort is.
            length = self._definition.record_bytes
            framing = ("--record-bytes", length, "--key-bytes", length)
            seen = step.run("validate", "--input", path, *framing).read(Validated)
            return InputData((path,), self.planned_bytes, self.records, checksum=seen.checksum)
        return InputData((path,), self.planned_bytes, self.records, answer=answer)
