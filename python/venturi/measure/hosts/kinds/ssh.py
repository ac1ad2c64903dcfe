"""A host over SSH: `ssh = "DESTINATION"`, the default."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass

from venturi.measure.hosts import ssh
from venturi.measure.hosts.access import HostAccess, HostOpening
from venturi.measure.hosts.host import LiveHost


@dataclass(frozen=True)
class SshAccess(HostAccess):
    """A host over OpenSSH; `target` is the destination that a user types after `ssh`."""

    key = "ssh"
    description = (
        "destination for `ssh`: a name, user@name, or a Host in ~/.ssh/config; default: its name"
    )
    # ssh would read a target that begins with - as an option.
    allowed = re.compile(r"(?!-)[^\s\x00-\x1f]{1,255}\Z")
    target_name = "a destination for ssh"
    takes_agent = True

    def open(self, opening: HostOpening) -> AbstractContextManager[LiveHost]:
        return ssh.connected(
            self.target,
            opening.agent(),
            name=opening.name,
            folder=opening.agent_folder,
            on_send=opening.on_send,
        )


KIND = SshAccess
