"""The recorder of block I/O that accompanies a trial: requests to the disks of its data.

A failed recorder must not fail a trial: any error becomes a warning.
"""

from __future__ import annotations

import gzip
import json
import tarfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.measure.hosts.agent import Agent, AgentResult, repeated
from venturi.measure.hosts.concurrent_commands import FollowedCommand
from venturi.measure.hosts.local import HERE
from venturi.record.io_trace import HEAT_NAME, RECORDING_NAME, TRACE_NAME
from venturi.record.job_account import JobAccount
from venturi.record.trial import TrialWarning

CODE = "VEN-MEASURE-TRACE"
_STAGES = "stages.json"
_RECORDING = "recording"


@dataclass(frozen=True)
class TracedStage:
    """A stage as the agent wants it: its side of a shuffle, when it ran, ranges of its tasks."""

    name: str
    phase: str
    from_unix_s: float
    until_unix_s: float
    tasks: tuple[tuple[int, int], ...] = ()


class Tracer:
    """Records from `start` to `stop` the requests to the disks of `folders`, into `place`."""

    def __init__(self, agent: Agent, folders: Iterable[str], place: Path) -> None:
        self._agent = agent
        self._folders = tuple(dict.fromkeys(folders))
        self._place = place
        self._following: FollowedCommand | None = None
        self.warnings: list[TrialWarning] = []

    def start(self) -> None:
        """Begins; when it returns every request is recorded, or it is known that none will be."""
        begun = threading.Event()
        self._following = following = FollowedCommand(
            self._agent,
            "trace",
            "record",
            *repeated("--dir", self._folders),
            "--output",
            self._place / _RECORDING,
            on_event=lambda _: begun.set(),
        )
        while following.outcome is None and not begun.wait(0.05):
            pass
        if isinstance(following.outcome, VenturiError):
            self._fail(following.outcome)

    def stop(self) -> None:
        """End the recording, if any."""
        if self._following is None:
            return
        following, self._following = self._following, None
        following.end()
        outcome = following.wait()
        if isinstance(outcome, AgentResult):
            self.warnings += [TrialWarning(each.code, each.message) for each in outcome.warnings]
        else:
            self._fail(outcome)

    def files(self, stages: Sequence[TracedStage]) -> Iterator[tuple[str, Path]]:
        """Yield the recording's analysis for a job with these stages, and the recording itself,
        each with the name under which it is kept; nothing without a recording.
        """
        recording = self._place / _RECORDING
        if not HERE.is_folder(recording):
            return
        HERE.write(self._place / _STAGES, json.dumps([asdict(each) for each in stages]))
        try:
            analyzed = self._agent.run(
                "trace",
                "analyze",
                recording,
                "--stages",
                self._place / _STAGES,
                "--heat",
                self._place / HEAT_NAME,
            )
        except VenturiError as error:
            self._fail(error)
            return
        self.warnings += [TrialWarning(each.code, each.message) for each in analyzed.warnings]
        HERE.write(self._place / TRACE_NAME, json.dumps(analyzed.data["trace"]))
        yield TRACE_NAME, self._place / TRACE_NAME
        yield HEAT_NAME, self._place / HEAT_NAME
        with (
            HERE.create(self._place / RECORDING_NAME) as file,
            gzip.GzipFile("", "wb", 1, file) as small,
            tarfile.TarFile(fileobj=small, mode="w") as packed,
        ):
            packed.add(recording, "trace")
        yield RECORDING_NAME, self._place / RECORDING_NAME

    def _fail(self, error: VenturiError) -> None:
        said = f"its block I/O was not recorded: {error.message}"
        self.warnings.append(TrialWarning(CODE, f"{said} ({error.hint})" if error.hint else said))


def stages_of(account: JobAccount) -> tuple[TracedStage, ...]:
    """Return the ended stages in the engine's account.

    A stage with shuffle input is on the reduce side, any other on the map side.
    """
    found = []
    kind = account.kind
    for row in account.stages.iter_rows(named=True):
        begun_ms, ended_ms = row["submitted_ms"], row["ended_ms"]
        if begun_ms is None or ended_ms is None:
            continue
        number, attempt = row["stage_id"], row["attempt"]
        tasks = account.tasks.filter(
            (account.tasks["stage_id"] == number) & (account.tasks["stage_attempt"] == attempt)
        )
        if kind.can("maps"):
            name, reduce = str(row["name"]), row["name"] == "reduce"
        else:
            name = f"{number}.{attempt}" if attempt else f"{number}"
            reduce = any(tasks[metric].sum() for metric in kind.shuffle_bytes)
        ids = []
        if kind.can("numbered"):
            ids = [int(each) for each in tasks["task_id"] if each is not None and each.isdecimal()]
        found.append(
            TracedStage(
                name,
                "reduce" if reduce else "map",
                begun_ms / 1e3,
                ended_ms / 1e3,
                tuple(_ranges(ids)),
            )
        )
    return tuple(found)


def _ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last of each run of consecutive numbers."""
    first = last = None
    for number in sorted(set(numbers)):
        if last is not None and number == last + 1:
            last = number
            continue
        if first is not None and last is not None:
            yield first, last
        first = last = number
    if first is not None and last is not None:
        yield first, last
