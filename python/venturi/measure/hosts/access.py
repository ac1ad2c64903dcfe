"""How a host of a cluster is reached: the base of its kinds, which are the modules in `kinds`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import ClassVar

from venturi.measure.hosts import kinds
from venturi.measure.hosts.host import LiveHost

DEFAULT_KIND = "ssh"


@dataclass(frozen=True, slots=True)
class HostOpening:
    """The parameters for opening the host `name`.

    `agent` returns this machine's copy of the agent for that host; `agent_folder` is the folder
    there that keeps it (empty: in the user's cache). `on_send` is called with the agent's size if
    it has to be sent. `enter_lab` returns the prefix that runs a command in a lab's host.
    """

    name: str
    agent: Callable[[], Path]
    agent_folder: str
    on_send: Callable[[int], None]
    enter_lab: Callable[[str, str], Sequence[str]]


@dataclass(frozen=True)
class HostAccess(ABC):
    """A host of one kind. A cluster's file names it by the kind's `key`, with `target` as value."""

    key: ClassVar[str]
    description: ClassVar[str]
    """The key's description, for the reference of cluster files."""
    is_flag: ClassVar[bool] = False
    """Whether the key is true or left out, instead of a target."""
    allowed: ClassVar[re.Pattern[str]] = re.compile(r"[^\x00]+\Z")
    """The valid targets."""
    target_name: ClassVar[str] = "a target"
    """The name of a target in error messages."""
    takes_agent: ClassVar[bool] = False
    """Whether the agent is sent to the host, so that the file may choose a different one."""
    is_this_machine: ClassVar[bool] = False
    emulated: ClassVar[bool] = False
    """Whether several hosts may share a machine."""

    target: str = ""

    def __str__(self) -> str:
        return f"{self.key} {self.target}"

    @abstractmethod
    def open(self, opening: HostOpening) -> AbstractContextManager[LiveHost]:
        """The connected host, until the block is left; VEN-HOST-... if it can't be reached."""


@cache
def host_kinds() -> Mapping[str, type[HostAccess]]:
    """Every kind by its key: the `KIND` of each module in `kinds`."""
    modules = (
        import_module(f"{kinds.__name__}.{each.name}") for each in iter_modules(kinds.__path__)
    )
    return {module.KIND.key: module.KIND for module in modules}
