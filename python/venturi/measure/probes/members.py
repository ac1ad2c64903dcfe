"""The hosts of a cluster for probes, and the failed ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from venturi.measure.hosts.agent import Agent


@dataclass(frozen=True, slots=True)
class ProbedHost:
    """A host of a cluster: its agent, its address for the other hosts, and its measured folders by
    class of disk. Disks of one class should be equal.
    """

    name: str
    agent: Agent
    address: str = ""
    disks: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)

    @property
    def folders(self) -> tuple[Path, ...]:
        """All of them."""
        return tuple(dict.fromkeys(path for paths in self.disks.values() for path in paths))

    def disk_class(self, folder: str) -> str:
        """Return the class of the disk below `folder`; empty if it isn't one of these."""
        found = (name for name, paths in self.disks.items() if folder in map(str, paths))
        return next(found, "")


@dataclass(frozen=True, slots=True)
class LostHost:
    """A host that failed, when (in words) and why."""

    host: str
    during: str
    problem: str

    @property
    def text(self) -> str:
        """A sentence without its full stop."""
        return f"host {self.host} was lost {self.during}: {self.problem}"
