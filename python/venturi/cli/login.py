"""Who types a command, as the system knows them."""

from __future__ import annotations

import os
import pwd

from venturi.record.access.authors import Author


def login() -> Author:
    """The user of this process, whatever the environment says; without a name, their number."""
    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:  # containers may lack an entry for this user
        name = f"uid {uid}"
    return Author(name, "login")
