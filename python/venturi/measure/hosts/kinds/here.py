"""This machine, in a cluster's file: `here = true`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from venturi.measure.hosts.access import HostAccess, HostOpening
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.local import LocalHost


@dataclass(frozen=True)
class LocalAccess(HostAccess):
    """This machine."""

    key = "here"
    description = "true: the machine that Venturi runs on"
    is_flag = True
    is_this_machine = True

    def __str__(self) -> str:
        return "this machine"

    def open(self, opening: HostOpening) -> AbstractContextManager[LiveHost]:
        return nullcontext(LocalHost())


KIND = LocalAccess
