"""Warnings about settings that an engine ignores, by its deployment, and with a source."""

from __future__ import annotations

from pathlib import Path

import pytest

from venturi.measure.engines.ignored_settings import ignored, in_words, rules_of, without_effect
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
    rules = [(kind, rule) for name, kind in ENGINES.items() for rule in rules_of(name)]
    assert len(rules) > 20
    for kind, rule in rules:
        assert rule.source
        assert rule.pattern.startswith(kind.prefixes)
        assert set(rule.deployments) <= {*kind.deployments, "url"}


def test_it_says_what_has_an_effect_instead() -> None:
    (rule,) = ignored("spark", "local", ["spark.executor.cores"]).values()
    said = in_words("spark", "spark.executor.cores", rule, "local")
    assert said.startswith("spark.executor.cores has no effect on spark local: ")
    assert said.endswith("; --threads has")


@pytest.mark.parametrize(
    ("deployment", "tiers", "folders", "words"),
    [
        ("local", "ssd 1GB", ("/mnt/SSD/a", "/mnt/hdd"), ()),
        ("local", "nvme 1GB, ssd 2GB", ("/mnt/ssd", "/mnt/hdd"), ("nvme",)),
        ("local", "NVMe 1GB,fast 2GB", ("/mnt/ssd",), ("NVMe", "fast")),
        ("standalone", "nvme 1GB", ("/mnt/ssd",), ("nvme",)),
        ("yarn", "nvme 1GB", ("/mnt/ssd",), ("nvme",)),
        ("local", "ssd2 1GB, ssd 1GB", ("/mnt/ssd1", "/mnt/ssd2"), ()),
        # As folders of Venturi's own, and of YARN's, are called.
        ("local", "spills 1GB", ("/mnt/ssd",), ()),
        ("standalone", "spills 1GB", ("/mnt/ssd",), ("spills",)),
        ("yarn", "local 1GB", ("/mnt/ssd",), ()),
        ("local", "none", ("/mnt/ssd",), ()),
        ("local", ",ssd", ("/mnt/hdd",), ("ssd",)),  # malformed tiers are reported elsewhere
        # A cluster that is there has folders of its own.
        ("yarn", "nvme 1GB", (), ()),
        ("spark://host:7077", "nvme 1GB", ("/mnt/ssd",), ()),
    ],
)
def test_a_tier_without_a_folder_is_told(
    deployment: str, tiers: str, folders: tuple[str, ...], words: tuple[str, ...]
) -> None:
    told = list(
        without_effect("spark", deployment, {TIERS_SETTING: tiers}, [*map(Path, folders * 2)])
    )
    for said, word in zip(told, words, strict=True):
        assert said == (
            f"the tier {word!r} of {TIERS_SETTING} gets nothing: no folder for scratch "
            f"({', '.join(folders)}) has it in its path: add one that does"
        )


def test_a_tier_whose_folders_another_has_is_told() -> None:
    folders = [Path("/mnt/ssd1"), Path("/mnt/ssd2"), Path("/mnt/hdd")]
    (said,) = without_effect("spark", "local", {TIERS_SETTING: "ssd 1GB, ssd2 2GB"}, folders)
    assert said.startswith(
        f"the tier 'ssd2' of {TIERS_SETTING} gets nothing: 'ssd' comes before it"
    )
    assert said.endswith("put 'ssd2' first")
