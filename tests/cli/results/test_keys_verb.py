"""`venturi keys`: keys, their names, their values; and that every verb takes any of the names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from venturi.cli.main import cli
from venturi.core.errors import ExitCode, VenturiError
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial


@pytest.fixture(autouse=True)
def trials(
    settings: Settings, make_trial: Callable[..., Trial], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))
    with TrialRepository.open(settings) as repository:
        repository.add_many(
            make_trial(
                id=f"t{number}",
                state=State.SUCCEEDED,
                elapsed_s=100.0 + number,
                configuration={"disk": disk, "maps": maps, "net": "ETH", "block_bytes": 1 << 26},
            )
            for number, (disk, maps) in enumerate((("SSD", 4), ("HS5", 4), ("HS5", 8)))
        )


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, words, standalone_mode=False)


def data(*words: str) -> Any:
    done = call(*words, "--json")
    assert done.exception is None, done.exception
    return json.loads(done.stdout)["data"]


def refusal(*words: str) -> VenturiError:
    error = call(*words).exception
    assert isinstance(error, VenturiError)
    assert (error.code, error.exit_code) == ("VEN-QUERY-VALUE", ExitCode.USAGE)
    return error


def test_keys_have_their_meaning_unit_and_most_frequent_values() -> None:
    found = {each["key"]: each for each in data("keys")}
    assert found["maps"]["values"][0] == {
        "value": "4",
        "trials": 2,
        "meaning": None,
        "source": None,
    }
    assert found["block_bytes"]["unit"] == "B"
    assert found["elapsed_s"]["meaning"]
    assert (found["disk"]["trials"], found["disk"]["distinct"]) == (3, 2)
    assert "HS5" in call("keys").stdout


def test_coded_values_are_explained_with_their_source() -> None:
    (one, _) = data("keys", "disks")["values"]
    assert one["value"] == "HS5"
    assert one["meaning"] == "HDFS on 5 hard disks, temporary files on an SSD"
    assert one["source"]
    assert "temporary files on an SSD" in call("keys", "disk").stdout


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ("map tasks", "maps"),
        ("Disks", "disk"),
        ("block size", "block_bytes"),
        ("nodes", "hosts"),
        ("time", "elapsed_s"),
        ("interconnect", "network"),
        ("benchmark", "workload"),
    ],
)
def test_synonyms_resolve_to_the_one_key(asked: str, key: str) -> None:
    assert data("keys", asked)["key"] == key
    assert len(data("ls", "--sort", asked)) == 3


def test_every_verb_takes_a_synonym_where_it_takes_a_key() -> None:
    assert len(data("ls", "--where", "map tasks=4")) == 2
    assert len(data("ls", "--where", "Maps<8")) == 2
    call("exclude", "add", "--where", "mappers=8", "--reason", "odd")
    assert data("exclude", "ls")[0]["conditions"] == ["maps=8"]


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("block_bytes=64MiB", 3),
        ("block_bytes=64 MiB", 3),
        ("block_bytes=67108864", 3),
        ("block_bytes>64MB", 3),
        ("block_bytes<64MB", 0),
        ("block_bytes<=0.0625GiB", 3),
        ("configuration.block_bytes=64MiB", 3),
        ("input_bytes>1TB", 0),
    ],
)
def test_sizes_are_asked_for_as_they_are_shown(condition: str, count: int) -> None:
    assert len(data("ls", "--where", condition)) == count


def test_an_unknown_key_or_value_is_an_error_with_the_nearest() -> None:
    assert "did you mean terasort?" in refusal("ls", "--where", "workload=terasrt").hint
    assert "values are HS5, SSD" in refusal("ls", "--where", "disk=zzz").hint
    assert "did you mean block_bytes?" in refusal("ls", "--where", "blok size=1").hint
    assert "did you mean maps?" in refusal("keys", "map task").hint or data("keys", "map task")
    assert "did you mean succeeded?" in refusal("ls", "--where", "state=suceeded").hint
    assert "did you mean 64MiB?" in refusal("ls", "--where", "block_bytes=64GiB").hint
    assert "`venturi keys` lists them" in refusal("rank", "--by", "colour").hint
    assert refusal("effect", "SSD").hint == "SSD is a value of disk: use disk"
    assert "rank --by experiment" in refusal("effect", "experiment").hint
    assert "nokey" in refusal("exclude", "add", "--where", "nokey=zzz", "--reason", "x").message
