"""`venturi engines jar`, and the values of `--tiers`."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from command_line import venturi as called
from venturi.core.errors import VenturiError
from venturi.measure.engines.spark import plugins, task_names, tiers
from venturi.measure.workloads.shared.spark_names import TASKS_SETTING
from venturi.record.job_account import TIERS_SETTING


def venturi(*words: str) -> CompletedProcess[str]:
    return called("engines", "jar", *words, home=Path())


@pytest.fixture
def jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an installation's jars."""
    monkeypatch.setattr(plugins, "JARS", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("version", "scala"), [("3.5", "2.12"), ("3.5.7", "2.12"), ("4.0.1", "2.13"), ("4.3", "2.13")]
)
def test_each_spark_has_its_jar(jars: Path, version: str, scala: str) -> None:
    wanted = jars / f"venturi-tiered-storage_{scala}.jar"
    wanted.touch()
    done = venturi("tiered-storage", "--spark", version)
    assert (done.returncode, done.stdout) == (0, f"{wanted}\n")
    told = json.loads(venturi("tiered-storage", "--spark", version, "--json").stdout)["data"]
    assert told == {"jar": str(wanted), "plugin": tiers.PLUGIN, "setting": TIERS_SETTING}


def test_shuffle_services_have_theirs(jars: Path) -> None:
    wanted = jars / "venturi-tiered-storage-service.jar"
    wanted.touch()
    assert venturi("tiered-storage-service").stdout == f"{wanted}\n"
    told = json.loads(venturi("tiered-storage-service", "--json").stdout)["data"]
    assert told == {"jar": str(wanted)}


@pytest.mark.parametrize(
    "words", [("tiered-storage", "--spark", "4.1"), ("tiered-storage-service",), ("task-names",)]
)
def test_an_installation_without_the_plugin_says_how_to_get_it(
    jars: Path, words: tuple[str, ...]
) -> None:
    done = venturi(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[VEN-ENGINE-MISSING]" in done.stderr
    assert "Install Maven" in done.stderr


@pytest.mark.parametrize("version", ["3.4", "2.4.8", "5.0", "x", ""])
def test_a_spark_without_a_plugin_is_refused(jars: Path, version: str) -> None:
    done = venturi("tiered-storage", "--spark", version)
    assert done.returncode == 2
    assert "error[VEN-ENGINE-SETTING]" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("tiered-storage",),
        ("task-names", "--spark", "4.1"),
        ("tiered-storage-service", "--spark", "4"),
    ],
)
def test_a_version_is_given_for_the_plugin_that_depends_on_it(words: tuple[str, ...]) -> None:
    done = venturi(*words)
    assert done.returncode == 2
    assert "--spark" in done.stderr


@pytest.mark.parametrize("text", ["ssd 2GB", "nvme 50GB,ssd 80g", "SSD  max 5GiB", "none"])
def test_tiers_are_taken_as_they_are(text: str) -> None:
    assert tiers.checked(text) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("ssd", 1),
        ("ssd 5", 1),
        ("ssd 2GB,", 2),
        ("a 1GB,b min 2GB", 2),
        ("ssd 1.5GB", 1),
        ("", 1),
        ("ssd -5GB", 1),
        ("ssd 1GB, SSD 2GB", 2),
        ("last 2GB", 1),
        ("a 1GB,ssd 1048576TiB,b 1048577TiB", 3),
        ("ssd 1152922TB", 1),
        ("ssd\xa02GB", 1),
        ("ssd \N{FULLWIDTH DIGIT TWO}GB", 1),
        ("ssd 2\N{KELVIN SIGN}B", 1),
    ],
)
def test_the_tier_that_is_wrong_is_named(text: str, number: int) -> None:
    with pytest.raises(VenturiError, match=f"tier {number} of ") as raised:
        tiers.checked(text)
    assert raised.value.code == "VEN-ENGINE-SETTING"


@pytest.mark.parametrize("text", ["spill 2GB", "shuffle_index 5g,cached  1B", "none"])
def test_reserves_are_taken_as_they_are(text: str) -> None:
    assert tiers.checked_reserves(text) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("spill", 1),
        ("spill 5", 1),
        ("spill 2GB,", 2),
        ("Spill 2GB", 1),
        ("", 1),
        ("spill 1GB,cached 1GB,spill 2GB", 3),
    ],
)
def test_the_reserve_that_is_wrong_is_named(text: str, number: int) -> None:
    with pytest.raises(VenturiError, match=f"reserve {number} of ") as raised:
        tiers.checked_reserves(text)
    assert raised.value.code == "VEN-ENGINE-SETTING"


def test_the_plugin_comes_beside_others(jars: Path) -> None:
    (jars / "venturi-tiered-storage_2.13.jar").touch()
    given = {"spark.plugins": "a.B", TIERS_SETTING: "ssd 1GB", "spark.jars": "/x.jar"}
    made = tiers.with_plugin(given, "4.3.0")
    assert made["spark.plugins"] == f"a.B,{tiers.PLUGIN}"
    assert made["spark.jars"] == f"/x.jar,{jars}/venturi-tiered-storage_2.13.jar"
    assert tiers.with_plugin(made, "4.3.0") == made, "once is enough"
    assert tiers.with_plugin({TIERS_SETTING: "none"}, "4.3.0") == {TIERS_SETTING: "none"}
    alike = tiers.with_plugin({TIERS_SETTING: "ssd 1GB", tiers.RESERVES_SETTING: "none"}, "4.3.0")
    assert tiers.RESERVES_SETTING not in alike, "the plugin knows no such word"


def test_threads_say_their_task_if_that_is_asked_for(jars: Path) -> None:
    (jars / "venturi-task-names.jar").touch()
    told = json.loads(venturi("task-names", "--json").stdout)["data"]
    assert told == {"jar": f"{jars}/venturi-task-names.jar", "plugin": task_names.PLUGIN}
    made = task_names.with_plugin({TASKS_SETTING: "true", "spark.plugins": "a.B"})
    assert made["spark.plugins"] == f"a.B,{task_names.PLUGIN}"
    assert made["spark.jars"] == f"{jars}/venturi-task-names.jar"
    assert task_names.with_plugin({}) == {}
    with pytest.raises(VenturiError, match="neither true nor false"):
        task_names.with_plugin({TASKS_SETTING: "yes"})
