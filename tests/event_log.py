"""Event logs of Spark that tests write, and what is read from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Write = Callable[[bytes], Path]


def event(name: str, **fields: Any) -> bytes:
    """A line of a log."""
    return json.dumps({"Event": name, **fields}, separators=(",", ":")).encode() + b"\n"


START = event("SparkListenerLogStart", **{"Spark Version": "4.0.0"}) + event(
    "SparkListenerApplicationStart", **{"App Name": "a", "App ID": "a1", "Timestamp": 1_000}
)
END = event("SparkListenerApplicationEnd", Timestamp=61_000)
