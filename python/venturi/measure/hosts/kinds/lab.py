"""A host of an emulated cluster on this machine: `lab = "NAME"`."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from venturi.measure.hosts.access import HostAccess, HostOpening
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.remote import connected


@dataclass(frozen=True)
class LabAccess(HostAccess):
    """The host of the same name in the lab `target`."""

    key = "lab"
    description = "lab on this machine with a host of this name"
    emulated = True

    def open(self, opening: HostOpening) -> AbstractContextManager[LiveHost]:
        into = opening.enter_lab(self.target, opening.name)
        return connected([*into, opening.agent(), "host"], opening.name)


KIND = LabAccess
