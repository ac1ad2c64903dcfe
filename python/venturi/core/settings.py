"""Settings, declared once: name, default, help. Each is an environment variable."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from venturi.core.errors import VenturiError


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its environment variable, its default in words, and its purpose."""

    variable: str
    default: str
    help: str


def _limit(default: int, help: str) -> int:
    value: int = field(default=default, metadata={"help": help})
    return value


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Limits of `venturi serve` for its clients; each is a setting, VENTURI_SERVE_ and its name.

    A transfer, of a body or of an answer, may take its timeout and as long as its bytes take at
    `transfer_bytes_per_s_min`.
    """

    connections_max: int = _limit(
        4_096, "Maximum connections; above it, the one idle longest is closed."
    )
    connections_by_address_max: int = _limit(
        1_024,
        "Maximum connections per address (IPv6: per /64); above it, the one idle longest is "
        "closed.",
    )
    header_timeout_s: int = _limit(10, "Seconds from opening a connection to its request's header.")
    idle_timeout_s: int = _limit(75, "Seconds to keep a connection open after an answer.")
    body_timeout_s: int = _limit(30, "Seconds for a request's body, plus the time for its bytes.")
    send_timeout_s: int = _limit(
        30, "Seconds for a client to receive an answer, plus the time for its bytes."
    )
    transfer_bytes_per_s_min: int = _limit(
        10_000, "Minimum rate at which a client must send or receive."
    )
    bodies_max: int = _limit(
        64, "Bytes of request bodies in transit; above it, the oldest is canceled."
    )
    requests_max: int = _limit(64, "Requests active or waiting; others get status 503.")
    series_at_once_max: int = _limit(2, "Concurrent requests that read series; others wait.")
    series_waiting_max: int = _limit(16, "Requests that may wait; others get status 503.")
    computing_at_once_max: int = _limit(
        6, "Concurrent requests for the start page, analyses, advice and downloads; others wait."
    )
    computing_waiting_max: int = _limit(32, "Requests that may wait; others get status 503.")
    compute_timeout_s: int = _limit(
        120,
        "Timeout in seconds for the start page, an analysis, advice, a series or a download.",
    )
    write_timeout_s: int = _limit(
        30, "Seconds that a change waits for other writers; then it gets status 503."
    )
    answer_bytes_max: int = _limit(64_000_000, "Maximum bytes of an answer, except downloads.")
    unsent_bytes_max: int = _limit(
        256_000_000,
        "Bytes that clients have not received yet; above it, the slowest client is disconnected.",
    )
    log_lines_per_s_max: int = _limit(20, "Log lines per second; others are only counted.")
    drain_timeout_s: int = _limit(30, "Seconds for requests to finish after SIGTERM.")


SERVER_LIMITS = {f"VENTURI_SERVE_{each.name.upper()}": each for each in fields(ServerLimits)}


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """Size limits of a trial, so that all readers can handle it (see `record.limits`).

    Each is a setting: `configuration_keys` is VENTURI_MAX_CONFIGURATION_KEYS.
    """

    # A workload's and its engine's are in one entry of PostgreSQL's indexes: 2,700 bytes at most.
    name_characters: int = _limit(
        200, "Characters of a trial's names, keys and units; the longest of the public data has 55."
    )
    # Spark puts whole class paths into its configuration.
    text_characters: int = _limit(
        64 << 10, "Characters of a trial's texts: values of its configuration, messages, facts."
    )
    configuration_keys: int = _limit(
        2_000,
        "Keys of a trial's configuration; a Hadoop job with all defaults has above 1,000.",
    )
    entries: int = _limit(
        4_000,
        "Entries of each list or object in a host's facts; labels, folders.",
    )
    hosts: int = _limit(10_000, "Hosts of a trial; the largest of the public data has 330.")
    # A Spark job of thousands of stages has as many phases; a page draws a bar for each.
    phases: int = _limit(
        5_000, "Phases of a trial; of an engine's stages the 500 longest are kept."
    )
    samples: int = _limit(
        20_000,
        "Samples of a trial: by device, block size and iteration there are thousands.",
    )
    warnings: int = _limit(500, "Warnings of a trial.")
    artifacts: int = _limit(500, "Files kept with a trial.")
    artifact_bytes: int = _limit(
        4 << 30, "Bytes of a file kept with a trial, such as an engine's log of days."
    )
    record_bytes: int = _limit(
        16 << 20, "Bytes of a whole trial as JSON, without its files: each page reads it whole."
    )
    series_rows: int = _limit(
        50_000_000,
        "Values of a series (almost three days of 200 metrics each second), and rows "
        "of a table of an engine's account.",
    )
    series_lines: int = _limit(
        20_000,
        "Lines of a series: its metrics, each of each device; a host of 2,000 disks has as many.",
    )


def variable_of(limit: str) -> str:
    """The environment variable of a field of `TrialLimits`."""
    return f"VENTURI_MAX_{limit.upper()}"


RECORD_LIMITS = {variable_of(each.name): each for each in fields(TrialLimits)}


SETTINGS = (
    Setting("VENTURI_HOME", "~/.local/share/venturi", "Folder of the repository and its series."),
    Setting(
        "VENTURI_DATABASE_URL",
        "SQLite in VENTURI_HOME",
        "SQLAlchemy URL of another database, such as postgresql+psycopg://user@host/name.",
    ),
    Setting(
        "VENTURI_LIMITS",
        "limits.toml in VENTURI_HOME, if it exists",
        "TOML file of your limits for advice: provider, region, quotas, price list, discount.",
    ),
    Setting(
        "VENTURI_PRICES",
        "prices.toml in VENTURI_HOME, if it exists",
        "TOML file of the prices for jobs that `venturi prices` sets; several users can share it.",
    ),
    Setting(
        "VENTURI_LOCK",
        "venturi-measuring.lock in the folder for temporary files",
        "Lock file that makes commands measure one at a time on this host.",
    ),
    Setting("VENTURI_AGENT", "next to Python or on PATH", "Path of the agent binary."),
    Setting(
        "VENTURI_SSH",
        "ssh",
        "SSH command to reach hosts, with options, in shell syntax.",
    ),
    Setting("VENTURI_ALLOW_DEBUG", "0", "1: keep measurements of debug builds (marked as such)."),
    Setting(
        "VENTURI_STALL_SECONDS",
        "30",
        "Cancel a native sort after this many seconds without progress (20 times as many "
        "while a disk or CPU is busy); 0: never.",
    ),
    Setting("VENTURI_READ_TOKEN", "none", "Token that `serve` requires from readers."),
    Setting("VENTURI_WRITE_TOKEN", "none", "Token that `serve` requires from writers."),
    Setting("VENTURI_PUSH_TOKEN", "none", "Token that `push` sends to the server."),
    Setting("VENTURI_SERVE_METRICS", "0", "1: `serve` exposes Prometheus metrics at /metrics."),
    *(
        Setting(variable, f"{each.default:,}", each.metadata["help"])
        for variable, each in (SERVER_LIMITS | RECORD_LIMITS).items()
    ),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force."""

    home: Path
    database_url: str | None
    agent: Path | None
    allow_debug: bool
    operating_limits: Path | None = None
    job_prices: Path | None = None
    lock: Path = Path()
    ssh: tuple[str, ...] = ("ssh",)
    stall_s: float | None = None
    """None: the agent's own default."""
    limits: TrialLimits = TrialLimits()
    read_token: str | None = field(default=None, repr=False)
    write_token: str | None = field(default=None, repr=False)
    push_token: str | None = field(default=None, repr=False)
    metrics: bool = False
    server: ServerLimits = ServerLimits()


def unknown(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Variables of `environ` that look like settings but aren't: they have no effect.

    Those of the tests are left out.
    """
    known = {setting.variable for setting in SETTINGS}
    named = (name for name in environ if name.startswith("VENTURI_") and name not in known)
    return tuple(name for name in named if not name.startswith("VENTURI_TEST_"))


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings of `environ` (by default the process's)."""
    env = os.environ if environ is None else environ
    agent = env.get("VENTURI_AGENT")
    home = Path(env.get("VENTURI_HOME") or "~/.local/share/venturi").expanduser()
    return Settings(
        home=home,
        operating_limits=_file(env, "VENTURI_LIMITS", home / "limits.toml"),
        job_prices=_file(env, "VENTURI_PRICES", home / "prices.toml"),
        database_url=env.get("VENTURI_DATABASE_URL") or None,
        agent=Path(agent) if agent else None,
        allow_debug=_flag(env, "VENTURI_ALLOW_DEBUG"),
        limits=TrialLimits(
            **{each.name: _number(env, variable) for variable, each in RECORD_LIMITS.items()}
        ),
        lock=Path(env.get("VENTURI_LOCK") or f"{temporary_folder(env)}/venturi-measuring.lock"),
        ssh=_words(env, "VENTURI_SSH", "ssh"),
        stall_s=_seconds(env, "VENTURI_STALL_SECONDS"),
        read_token=env.get("VENTURI_READ_TOKEN") or None,
        write_token=env.get("VENTURI_WRITE_TOKEN") or None,
        push_token=env.get("VENTURI_PUSH_TOKEN") or None,
        metrics=_flag(env, "VENTURI_SERVE_METRICS"),
        server=ServerLimits(
            **{each.name: _number(env, variable) for variable, each in SERVER_LIMITS.items()}
        ),
    )


def temporary_folder(environ: Mapping[str, str]) -> Path:
    """The first of the usual temporary folders that can be written.

    Same choice as `tempfile`, without its test file, which a kill could leave behind.
    """
    named = [environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")]
    for name in (*named, "/tmp", "/var/tmp", "/usr/tmp"):  # noqa: S108
        if name and os.access(name, os.W_OK | os.X_OK) and Path(name).is_dir():
            return Path(name).absolute()
    return Path.cwd()


def _file(env: Mapping[str, str], variable: str, default: Path) -> Path | None:
    """The file that `variable` names; else the default one, if it exists."""
    if named := env.get(variable):
        return Path(named).expanduser()
    return default if default.is_file() else None


def _flag(env: Mapping[str, str], variable: str) -> bool:
    value = env.get(variable, "0")
    if value not in {"0", "1"}:
        raise VenturiError(
            "VEN-SETTING-VALUE",
            f"{variable} is {value!r}, neither 0 nor 1",
            where={"variable": variable, "value": value},
            hint="set it to 0 or 1, or unset it",
        )
    return value == "1"


def _words(env: Mapping[str, str], variable: str, default: str) -> tuple[str, ...]:
    value = env.get(variable) or default
    try:
        words = tuple(shlex.split(value))
    except ValueError as error:
        raise VenturiError(
            "VEN-SETTING-VALUE",
            f"{variable} is {value!r}, which is not valid shell syntax: {error}",
            where={"variable": variable, "value": value},
            hint="close the quotes, or unset it",
        ) from error
    return words or (default,)


def _seconds(env: Mapping[str, str], variable: str) -> float | None:
    value = env.get(variable)
    if not value:
        return None
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", value):
        raise VenturiError(
            "VEN-SETTING-VALUE",
            f"{variable} is {value!r}, not a number of seconds",
            where={"variable": variable, "value": value},
            hint="write it like 30 or 0.5; 0 means never",
        )
    return float(value)


def _number(env: Mapping[str, str], variable: str) -> int:
    default = (SERVER_LIMITS | RECORD_LIMITS)[variable].default
    value = env.get(variable) or str(default)
    if not re.fullmatch("[0-9]{1,15}", value) or int(value) == 0:
        raise VenturiError(
            "VEN-SETTING-VALUE",
            f"{variable} is {value!r}, not a whole number of 1 or more",
            where={"variable": variable, "value": value},
            hint=f"write it like {default}, or unset it",
        )
    return int(value)
