"""A round, and the results of its cases."""

from __future__ import annotations

import random
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torture.postgresql import Postgresql

FAULTS_MAX = 20
"""A round ends after this number of faults: more of them show nothing new."""


class UnavailableError(Exception):
    """Why a round cannot be played here."""


@dataclass(frozen=True, slots=True)
class Round:
    """`question` ends with a question mark; `count` cases make it long, `few` are a slice."""

    name: str
    question: str
    count: int
    few: int
    run: Callable[[Play], None]


def no_postgresql() -> Postgresql:
    """For a play that has none."""
    raise UnavailableError("no PostgreSQL")


@dataclass(slots=True)
class Play:
    """One run of a round: an empty folder of its own, its random generator, and its observations.

    `postgresql` returns the server of all rounds, or raises UnavailableError.
    """

    folder: Path
    seed: int
    count: int
    say: Callable[[str], None] = lambda _: None
    postgresql: Callable[[], Postgresql] = no_postgresql
    chance: random.Random = field(init=False)
    seen: Counter[str] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    done: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def fault(self, text: str) -> None:
        """Record a fault and report it immediately: a round may take hours."""
        self.faults.append(text)
        self.say(f"FAULT {text}")

    def cases(self) -> Iterator[TortureCase]:
        """`count` cases, each to be entered; fewer after FAULTS_MAX faults."""
        said_s = time.monotonic()
        for number in range(self.count):
            if len(self.faults) >= FAULTS_MAX:
                self.say(f"ended after {number} of {self.count}: {FAULTS_MAX} faults")
                return
            yield TortureCase(self, number)
            if time.monotonic() - said_s > 10:
                said_s = time.monotonic()
                self.say(f"{self.done} of {self.count}, {len(self.faults)} faults")


@dataclass(slots=True)
class TortureCase:
    """A failed assertion inside `with case:` is a fault of the round, and the round goes on."""

    play: Play
    number: int
    label: str = ""

    def __enter__(self) -> TortureCase:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is not None and not isinstance(error, AssertionError):
            return False
        self.play.done += 1
        if error is None:
            return False
        where = traceback.extract_tb(trace)[-1]
        said = (str(error).splitlines() or [where.line or ""])[0]
        self.play.fault(
            f"seed {self.play.seed}, case {self.number} {self.label}: "
            f"{said[:500]} ({Path(where.filename).name}:{where.lineno})"
        )
        return True

    def saw(self, what: str) -> None:
        """Count a valid outcome."""
        self.play.seen[what] += 1

    def hit(self, where: str) -> None:
        """Count the place that a kill hit, in a round with several."""
        self.play.hits[where] += 1
