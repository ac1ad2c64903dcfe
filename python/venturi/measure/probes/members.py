"""The hosts of a cluster as probes see them, and those that failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from venturi.measure.hosts.agent import Agent


@dataclass(frozen=True, slots=True)
class ProbedHost:
    """A host of a cluster: its agent, the address at which the other hosts reach it, and the
    folders that are measured there, by class of disk; those of one class should be alike.
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
        """What `folder` lies on."""
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
