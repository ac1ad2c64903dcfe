"""`venturi import FORMAT FILE...` as a user calls it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from venturi.cli.import_ import FORMATS
from venturi.cli.main import main
from venturi.record import starter
from venturi.record.importing.items import IMPORTERS
from venturi.record.repository import Repository
from venturi.settings import Settings

RESULTS = Path(__file__).parents[1] / "data" / "results"
SCOUT = RESULTS / "scout" / "runs.csv"
SET4 = RESULTS / "aloja" / "set4.csv"

Venturi = Callable[..., tuple[int, str, str]]


@pytest.fixture
def venturi(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Venturi:
    """Runs `venturi` with the arguments given; its status, stdout and stderr."""
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))
    monkeypatch.delenv("VENTURI_DATASETS", raising=False)  # a variable of the tests

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["venturi", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exited:
            main()
        said = capsys.readouterr()
        return int(exited.value.code or 0), said.out, said.err

    return run


def test_the_verb_knows_every_importer() -> None:
    assert tuple(IMPORTERS) == FORMATS


def test_results_are_imported_and_told(venturi: Venturi, settings: Settings) -> None:
    status, stdout, stderr = venturi("import", "aloja", SET4)
    assert (status, stdout) == (0, "")
    assert "5 added, 0 already here, 0 over again, 3 refused" in stderr
    assert "1 of them equal an earlier row in all but its number" in stderr
    assert "Service.Type 'On-Premise' was taken as 'On-premise' 1 times" in stderr
    assert "refused, 1 times: Maps: below 1" in stderr
    assert "line 6: Maps '0'" in stderr
    with Repository.open(settings) as repository:
        assert len(repository.find()) == 5


def test_several_files_as_json(venturi: Venturi) -> None:
    status, stdout, stderr = venturi("import", "scout", SCOUT, SCOUT, "--json")
    first, again = json.loads(stdout)["data"]
    assert status == 0
    assert first["file"] == str(SCOUT)
    assert (first["format"], first["added"], first["failed"]) == ("scout", 4, 2)
    assert (again["added"], again["already_present"], again["refused_count"]) == (0, 4, 2)
    assert first["refused"][0] == {
        "line": 6, "field": "framework", "value": "flink", "reason": "neither hadoop nor spark",
    }  # fmt: skip
    assert "2 of them failed where they ran" in stderr


def test_a_file_that_is_no_archive_may_need_its_format(venturi: Venturi) -> None:
    status, _, stderr = venturi("import", SCOUT)
    assert status == 1
    assert f"{SCOUT} is no archive of `venturi export`" in stderr
    assert "venturi import FORMAT FILE; formats are aloja, scout" in stderr
    assert "did you mean scout?" in venturi("import", "scuot", SCOUT)[2]


def test_a_file_of_another_format_is_an_error_and_leaves_nothing(
    venturi: Venturi, settings: Settings
) -> None:
    status, stdout, stderr = venturi("import", "aloja", SCOUT)
    assert (status, stdout) == (1, "")
    assert "error[VEN-IMPORT-FORMAT]: wrong header" in stderr
    assert str(SCOUT) in stderr
    with Repository.open(settings) as repository:
        assert repository.find() == []


def test_a_file_without_a_single_trial_is_no_success(venturi: Venturi, tmp_path: Path) -> None:
    header, *_ = SCOUT.read_text().splitlines()
    nothing = tmp_path / "nothing.csv"
    nothing.write_text(header + "\n1,2\n")
    status, _, stderr = venturi("import", "scout", nothing)
    assert status == 1
    assert "refused, 1 times: row: 2 fields" in stderr


def test_what_a_terminal_would_obey_is_shown_in_words(venturi: Venturi, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.csv"
    hostile.write_text(SCOUT.read_text().replace("flink", "\x1b[2Jflink"))
    _, _, stderr = venturi("import", "scout", hostile)
    assert "\x1b" not in stderr
    assert r"\x1b[2Jflink" in stderr


@pytest.mark.parametrize("words", [["aloja"], []])
def test_what_names_no_file_is_wrong_usage(venturi: Venturi, words: list[str]) -> None:
    status, stdout, stderr = venturi("import", *words)
    assert (status, stdout) == (2, "")
    assert "Usage: " in stderr
    if words and words[0] != "aloja":
        assert "spark-perf" in stderr, "the formats are named"


def test_a_file_called_like_a_format_is_reached_by_its_path(
    venturi: Venturi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scout").write_bytes(SCOUT.read_bytes())
    assert venturi("import", "scout", "scout")[0] == 0
    assert "error[VEN-EXCHANGE-FORMAT]" in venturi("import", "./scout")[2]


def test_the_shipped_tables_need_no_file(venturi: Venturi, settings: Settings) -> None:
    status, stdout, stderr = venturi("import", "published", "--json")
    (fields,) = json.loads(stdout)["data"]
    assert (status, fields["added"], fields["file"]) == (0, 170, None)
    assert "170 added, 0 already here" in stderr
    assert "0 added, 170 already here" in venturi("import", "published")[2]
    table = next((Path(starter.__file__).parent).glob("poggi*.csv"))
    assert "0 added, 8 already here" in venturi("import", "published", table)[2]
