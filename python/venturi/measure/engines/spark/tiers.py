"""The plugin for tiered local storage: its jars, and the settings that enable it.

Its sources are in `jvm/tiered-storage`; `TierPolicy` there defines the meaning of the setting.
"""

from __future__ import annotations

import re
import string
from collections.abc import Collection, Mapping
from pathlib import Path

from venturi.core.errors import UsageError
from venturi.measure.engines.spark import plugins
from venturi.record.job_account import NO_TIERS, TIERS_SETTING, has_tiers

PLUGIN = "venturi.spark.tiers.TieredStoragePlugin"
RESERVES_SETTING = f"{TIERS_SETTING}.reserves"
"""The setting for the space on fast tiers that each kind of files leaves to the others."""
NONE = NO_TIERS
"""Also where no kind has a reserve."""
_LAST = "last"
"""The plugin's name for directories that match no keyword."""
_WHAT_FOR = "tiered storage"
SCALA_OF_SPARK_3, SCALA_OF_SPARK_4 = "2.12", "2.13"
_VERSION = re.compile(r"([34])\.(\d+)(\.\S*)?")
_SIZE = r"(?P<number>\d{1,18})(?P<unit>(?P<power>[kmgt])(?:i?b)?|b)"
# The plugin's own patterns, which accept only ASCII letters, digits and spaces.
_FLAGS = re.ASCII | re.IGNORECASE
_TIER = re.compile(rf"(?P<name>[^\s,]+)\s+(?:max\s+)?{_SIZE}", _FLAGS)
_KINDS = "(?-i:shuffle|shuffle_index|spill|cached|other)"
_RESERVE = re.compile(rf"(?P<name>{_KINDS})\s+{_SIZE}", _FLAGS)
_POWERS = "kmgt"
_MOST_BYTES = 1 << 60  # as the plugin: sums of a few still fit into 64 bits


def jar(spark_version: str) -> Path:
    """The plugin for a Spark; VEN-ENGINE-SETTING if it is none that the plugin is made for,
    VEN-ENGINE-MISSING if this installation has no plugin.
    """
    version = _VERSION.fullmatch(spark_version)
    if version is None or (version[1], int(version[2])) < ("3", 5):
        raise UsageError(
            "VEN-ENGINE-SETTING",
            f"there is no plugin for Spark {spark_version!r}",
            where={"value": spark_version},
            hint="it is for Spark 3.5 and 4.x: write the version as `spark-submit --version` "
            "prints it, such as 4.1",
        )
    scala = SCALA_OF_SPARK_3 if version[1] == "3" else SCALA_OF_SPARK_4
    return plugins.installed(f"venturi-tiered-storage_{scala}.jar", _WHAT_FOR)


def service_jar() -> Path:
    """One class for an external shuffle service of any Spark, which then deletes files wherever
    they are; VEN-ENGINE-MISSING if this installation has none.
    """
    return plugins.installed("venturi-tiered-storage-service.jar", _WHAT_FOR)


def checked(text: str) -> str:
    """Return `text`, tiers in the setting's form; raise VEN-ENGINE-SETTING for the first invalid
    one.
    """
    hint = (
        "write a part of a folder's path and the space to leave free on it, such as 'nvme "
        f"50GB, ssd 80GB', or to use at most: 'ssd max 20GB'. {NONE}: like stock Spark"
    )
    return _checked(text, _TIER, "tier", "neither KEYWORD SIZE nor KEYWORD max SIZE", hint)


def checked_reserves(text: str) -> str:
    """Return `text`, reserves in the setting's form; raise VEN-ENGINE-SETTING for the first invalid
    one.
    """
    hint = (
        "write a kind of files (shuffle, shuffle_index, spill, cached, other) and the space "
        f"on fast tiers that it leaves to others, such as 'spill 10GB, cached 20GB'. {NONE}: "
        "treat all kinds equally"
    )
    return _checked(text, _RESERVE, "reserve", "not KIND SIZE", hint)


def placeless(text: str, folders: Collection[Path]) -> dict[str, str | None]:
    """Return the keywords of tiers that match none of the local `folders`, each with the earlier
    keyword that takes its folders (None: none does). A folder belongs to the first tier with a
    keyword in its path, in any case.
    """
    parts = [] if text.strip() == NONE else map(str.split, text.split(","))
    words = [part[0] for part in parts if part]
    firsts: dict[str, str] = {}
    for path in (str(folder).lower() for folder in folders):
        has = [word for word in words if word.lower() in path]
        for word in has:
            if firsts.get(word) != word:
                firsts[word] = has[0]
    return {word: firsts.get(word) for word in words if firsts.get(word) != word}


def _checked(text: str, part_of: re.Pattern[str], name: str, wrong: str, hint: str) -> str:
    parts = [] if text.strip() == NONE else text.split(",")
    before: set[str] = set()
    for number, part in enumerate((each.strip(string.whitespace) for each in parts), 1):
        found = part_of.fullmatch(part)
        if found is None:
            problem = f"{part!r} is {wrong}"
        elif found["name"].lower() in before:
            problem = f"{found['name']!r} is given twice"
        elif found["name"].lower() == _LAST:
            problem = f"{found['name']!r} is reserved for folders without a matching keyword"
        elif _bytes_of(found) > _MOST_BYTES:
            problem = f"{found['number']}{found['unit']} is larger than any disk"
        else:
            before.add(found["name"].lower())
            continue
        raise UsageError(
            "VEN-ENGINE-SETTING",
            f"{name} {number} of {text!r}: {problem}",
            where={"value": text},
            hint=hint,
        )
    return text


def _bytes_of(found: re.Match[str]) -> int:
    """Return the bytes that `_SIZE` matched: `50GB` is decimal, `50GiB` and, as in Spark, `50g` are
    binary.
    """
    unit = found["unit"].lower()
    power = 0 if found["power"] is None else _POWERS.index(unit[0]) + 1
    base = 1000 if unit[1:] == "b" else 1024
    return int(found["number"]) * int(base**power)


def with_plugin(settings: Mapping[str, str], spark_version: str) -> dict[str, str]:
    """Return `settings`, with the plugin added to the existing ones if they request tiers."""
    if not has_tiers(settings):
        return dict(settings)
    made = dict(settings)
    if made.get(RESERVES_SETTING, "").strip() == NONE:
        del made[RESERVES_SETTING]
    return plugins.with_plugin(made, jar(spark_version), PLUGIN)
