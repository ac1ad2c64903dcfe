"""Settings, declared once: name, default, help. Each is an environment variable."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from venturi.errors import VenturiError


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its environment variable, its default in words, and what it does."""

    variable: str
    default: str
    help: str


SETTINGS = (
    Setting("VENTURI_HOME", "~/.local/share/venturi", "Folder of the repository and its series."),
    Setting(
        "VENTURI_DATABASE_URL",
        "SQLite in VENTURI_HOME",
        "SQLAlchemy URL of another database, such as postgresql+psycopg://user@host/name.",
    ),
    Setting(
        "VENTURI_LOCK",
        "venturi-measuring.lock in the folder for temporary files",
        "File of the lock by which one command at a time measures on this host.",
    ),
    Setting("VENTURI_AGENT", "found beside Python or on PATH", "Path of the agent binary."),
    Setting("VENTURI_ALLOW_DEBUG", "0", "1 keeps numbers of debug builds (marked as such)."),
    Setting("VENTURI_READ_TOKEN", "none", "Token that `serve` asks of those who read."),
    Setting("VENTURI_WRITE_TOKEN", "none", "Token that `serve` asks of those who write."),
    Setting("VENTURI_PUSH_TOKEN", "none", "Token that `push` sends to the server."),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force."""

    home: Path
    database_url: str | None
    agent: Path | None
    allow_debug: bool
    lock: Path = Path()
    read_token: str | None = field(default=None, repr=False)
    write_token: str | None = field(default=None, repr=False)
    push_token: str | None = field(default=None, repr=False)


def unknown(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Variables of `environ` that look like settings and are none: they have no effect."""
    known = {setting.variable for setting in SETTINGS}
    return tuple(name for name in environ if name.startswith("VENTURI_") and name not in known)


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of `environ` (by default the process's)."""
    env = os.environ if environ is None else environ
    debug = env.get("VENTURI_ALLOW_DEBUG", "0")
    if debug not in {"0", "1"}:
        raise VenturiError(
            "VEN-SETTING-VALUE",
            f"VENTURI_ALLOW_DEBUG is {debug!r}, neither 0 nor 1",
            where={"variable": "VENTURI_ALLOW_DEBUG", "value": debug},
            hint="set it to 0 or 1, or unset it",
        )
    agent = env.get("VENTURI_AGENT")
    home = env.get("VENTURI_HOME") or "~/.local/share/venturi"
    return Settings(
        home=Path(home).expanduser(),
        database_url=env.get("VENTURI_DATABASE_URL") or None,
        agent=Path(agent) if agent else None,
        allow_debug=debug == "1",
        lock=Path(env.get("VENTURI_LOCK") or f"{tempfile.gettempdir()}/venturi-measuring.lock"),
        read_token=env.get("VENTURI_READ_TOKEN") or None,
        write_token=env.get("VENTURI_WRITE_TOKEN") or None,
        push_token=env.get("VENTURI_PUSH_TOKEN") or None,
    )
