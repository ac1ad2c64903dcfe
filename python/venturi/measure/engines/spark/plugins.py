"""Venturi's plugins for Spark: the places of their jars, and adding one to a job's plugins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.measure.hosts.local import HERE

JARS = Path(__file__).with_name("jars")


def installed(name: str, what_for: str) -> Path:
    """The jar of this name; VEN-ENGINE-MISSING if this installation has none."""
    found = JARS / name
    if not any(HERE.find(JARS, name)):
        raise VenturiError(
            "VEN-ENGINE-MISSING",
            f"this installation of Venturi has no plugin for {what_for}",
            where={"file": str(found)},
            hint="it was installed from sources without Maven. Install Maven and a JDK 17 "
            "(Debian: apt-get install maven openjdk-17-jdk-headless), then Venturi again (in "
            "a clone: make setup). Or install a wheel, which contains the plugin",
        )
    return found


def with_plugin(settings: Mapping[str, str], jar: Path, plugin: str) -> dict[str, str]:
    """Return `settings` with the plugin in `jar` added to the existing ones."""
    made = dict(settings)
    for key, value in (("spark.jars", str(jar)), ("spark.plugins", plugin)):
        there = [each for each in settings.get(key, "").split(",") if each]
        made[key] = ",".join(dict.fromkeys((*there, value)))
    return made
