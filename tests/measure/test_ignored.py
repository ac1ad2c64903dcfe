"""Settings that an engine takes and ignores are told, by how it is deployed, and with a source."""

from __future__ import annotations

from pathlib import Path

import pytest

from venturi.measure.engines.ignored import RULES, ignored, in_words, without_effect
from venturi.measure.engines.registry import ENGINES
from venturi.record.job_account import TIERS_SETTING


@pytest.mark.parametrize(
    ("engine", "deployment", "setting", "is_ignored"),
    [
        ("spark", "local", "spark.executor.cores", True),
        ("spark", "standalone", "spark.executor.cores", False),
        ("spark", "yarn", "spark.executor.cores", False),
        ("spark", "local", "spark.executor.memoryOverhead", True),
        ("spark", "spark://host:7077", "spark.executor.memoryOverhead", True),
        ("spark", "yarn", "spark.executor.memoryOverhead", False),
        ("spark", "spark://host:7077", "spark.yarn.am.memory", True),
        ("spark", "local", "spark.sql.shuffle.partitions", False),
        ("mapreduce", "local", "mapreduce.map.memory.mb", True),
        ("mapreduce", "cluster", "mapreduce.map.memory.mb", False),
        ("mapreduce", "local", "mapreduce.job.reduces", False),
        ("native", None, "spark.executor.cores", False),
    ],
)
def test_what_is_ignored_where(
    engine: str, deployment: str | None, setting: str, *, is_ignored: bool
) -> None:
    found = ignored(engine, deployment, [setting])
    assert (setting in found) == is_ignored


def test_every_rule_has_its_engine_its_place_and_its_source() -> None:
    for rule in RULES:
        kind = ENGINES[rule.engine]
        assert rule.source
        assert rule.pattern.startswith(kind.prefixes)
        assert set(rule.deployments) <= {*kind.deployments, "url"}


def test_it_says_what_has_an_effect_instead() -> None:
    (rule,) = ignored("spark", "local", ["spark.executor.cores"]).values()
    said = in_words("spark.executor.cores", rule, "local")
    assert said.startswith("spark.executor.cores has no effect on spark local: ")
    assert said.endswith("; --threads has")


@pytest.mark.parametrize(
    ("tiers", "folders", "words"),
    [
        ("ssd 1GB", ("/mnt/SSD/a", "/mnt/hdd"), ()),
        ("nvme 1GB, ssd 2GB", ("/mnt/ssd", "/mnt/hdd"), ("nvme",)),
        ("NVMe 1GB,fast 2GB", ("/mnt/ssd",), ("NVMe", "fast")),
        ("s 1GB,ssd 2GB", ("/mnt/ssd", "/mnt/hdd"), ("ssd",)),  # the first word has it already
        ("spills 1GB", ("/mnt/ssd",), ()),  # as each trial's own folder there is called
        ("none", ("/mnt/ssd",), ()),
        (",ssd", ("/mnt/hdd",), ("ssd",)),  # what is malformed is told elsewhere
        ("nvme 1GB", (), ()),  # a cluster that is there has folders of its own
    ],
)
def test_a_tier_without_a_folder_is_told(
    tiers: str, folders: tuple[str, ...], words: tuple[str, ...]
) -> None:
    told = list(without_effect("spark", "local", {TIERS_SETTING: tiers}, [*map(Path, folders)]))
    for said, word in zip(told, words, strict=True):
        assert said.startswith(f"the tier {word!r} of {TIERS_SETTING} has no folder: scratch is /")
