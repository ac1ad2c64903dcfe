"""`venturi import FORMAT FILE...` as a user calls it."""

from __future__ import annotations

import functools
import gzip
import io
import json
import threading
import tomllib
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from venturi.cli.main import cli
from venturi.core.settings import Settings
from venturi.record import starter
from venturi.record.importing.formats import FORMATS
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository

RESULTS = Path(__file__).parents[2] / "data" / "results"
SCOUT = RESULTS / "scout" / "runs.csv"
SET4 = RESULTS / "aloja" / "set4.csv"
SPARK = RESULTS.parent / "spark" / "4.3.0"
HISTORIES = RESULTS.parent / "mapreduce" / "3.4.2"

Venturi = Callable[..., tuple[int, str, str]]


def test_results_are_imported_and_told(venturi: Venturi, settings: Settings) -> None:
    status, stdout, stderr = venturi("import", "aloja", SET4)
    assert (status, stderr) == (0, "")
    assert "5 added, 3 rejected" in stdout
    assert "1 of them equal an earlier row in everything but its number" in stdout
    assert "Service.Type 'On-Premise' was read as 'On-premise'" in stdout
    assert "rejected, 1 times: Maps: below 1" in stdout
    assert "line 6: Maps '0'" in stdout
    with TrialRepository.open(settings) as repository:
        assert len(whole_trials(repository)) == 5


def test_several_files_as_json(venturi: Venturi) -> None:
    status, stdout, stderr = venturi("import", "scout", SCOUT, SCOUT, "--json")
    first, again = json.loads(stdout)["data"]
    assert status == 0
    assert first["file"] == str(SCOUT)
    assert (first["format"], first["added"], first["failed"]) == ("scout", 4, 2)
    assert (again["added"], again["already_present"], again["refused_count"]) == (0, 4, 2)
    assert first["refused"][0] == {
        "line": 6,
        "field": "framework",
        "value": "flink",
        "reason": "neither hadoop nor spark",
        "code": "",
    }
    assert "2 of them failed where they ran" in stderr


def test_a_file_is_taken_for_what_it_begins_like(venturi: Venturi, settings: Settings) -> None:
    for words in ((SCOUT,), ("auto", SCOUT)):
        status, stdout, stderr = venturi("import", *words)
        assert status == 0
        assert f"{SCOUT} (scout): " in stdout
        assert f"{SCOUT}: recognized as scout: scout: Spark and Hadoop on AWS" in stderr
    with TrialRepository.open(settings) as repository:
        assert len(whole_trials(repository)) == 4


def test_a_file_that_begins_like_nothing_needs_its_format(venturi: Venturi) -> None:
    status, stdout, stderr = venturi("import", "LICENSE")
    assert (status, stdout) == (1, "")
    assert "error[VEN-IMPORT-FORMAT]: LICENSE has an unknown format" in stderr
    assert (
        "venturi import FORMAT FILE; formats are archive, mapreduce-history, spark-eventlog"
        in stderr
    )
    assert "did you mean scout?" in venturi("import", "scuot", SCOUT)[2]


def test_of_several_files_one_that_is_refused_stops_no_other(
    venturi: Venturi, tmp_path: Path, settings: Settings
) -> None:
    event_log, history = SPARK / "tiny.zstd", next(HISTORIES.glob("*TeraGen*.jhist"))
    damaged = tmp_path / "a.zip"
    damaged.write_bytes(b"PK\3\4 and no more")
    status, stdout, stderr = venturi("import", event_log, damaged, SET4, history, "--json")
    log, archive, results, job = json.loads(stdout)["data"]
    assert status == 1
    assert f"{damaged}: rejected: [VEN-IMPORT-FORMAT] {damaged} is a zip file" in stderr
    assert archive["error"]["code"] == "VEN-IMPORT-FORMAT"
    assert [each["format"] for each in (log, archive, results, job)] == [
        "spark-eventlog",
        None,
        "aloja",
        "mapreduce-history",
    ]
    assert log.keys() == results.keys() == job.keys()
    assert [each["added"] for each in (log, results, job)] == [1, 5, 1]
    assert log["trials"][0]["name"] == "venturi-fixture-tiny"
    assert job["trials"][0]["state"] == "succeeded"
    with TrialRepository.open(settings) as repository:
        assert len(whole_trials(repository)) == 7


def test_a_folder_is_taken_for_the_logs_in_it(venturi: Venturi) -> None:
    status, stdout, stderr = venturi("import", HISTORIES, "--json")
    data = json.loads(stdout)["data"]
    assert status == 0
    assert f"{HISTORIES}: recognized as mapreduce-history" in stderr
    assert sorted(each["trials"][0]["state"] for each in data) == [
        "failed",
        "succeeded",
        "succeeded",
        "succeeded",
    ]
    again = json.loads(venturi("import", "mapreduce-history", HISTORIES, "--json")[1])["data"]
    assert [(each["added"], each["already_present"]) for each in again] == [(0, 1)] * 4


def test_a_file_of_another_format_is_an_error_and_leaves_nothing(
    venturi: Venturi, settings: Settings
) -> None:
    status, stdout, stderr = venturi("import", "aloja", SCOUT)
    assert (status, stdout) == (1, "")
    assert "error[VEN-IMPORT-FORMAT]: wrong header" in stderr
    assert str(SCOUT) in stderr
    with TrialRepository.open(settings) as repository:
        assert whole_trials(repository) == []


def test_a_file_without_a_single_trial_is_no_success(venturi: Venturi, tmp_path: Path) -> None:
    header, *_ = SCOUT.read_text().splitlines()
    nothing = tmp_path / "nothing.csv"
    nothing.write_text(header + "\n1,2\n")
    status, stdout, _ = venturi("import", "scout", nothing)
    assert status == 1
    assert "rejected, 1 times: row: 2 fields" in stdout


def test_what_a_terminal_would_obey_is_shown_in_words(venturi: Venturi, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.csv"
    hostile.write_text(SCOUT.read_text().replace("flink", "\x1b[2Jflink"))
    _, stdout, _ = venturi("import", "scout", hostile)
    assert "\x1b" not in stdout
    assert r"\x1b[2Jflink" in stdout


@pytest.mark.parametrize("words", [["aloja"], ["auto"], []])
def test_what_names_no_file_is_wrong_usage(venturi: Venturi, words: list[str]) -> None:
    status, stdout, stderr = venturi("import", *words)
    assert (status, stdout) == (2, "")
    assert "Usage: " in stderr


def test_help_and_shells_name_every_format(venturi: Venturi) -> None:
    status, stdout, _ = venturi("import", "--help")
    assert status == 0
    assert all(f"{each.name} " in stdout and each.title in stdout for each in FORMATS.values())
    offered = ShellComplete(cli, {}, "venturi", "_X").get_completions(["import"], "s")
    names = ["spark-eventlog", "scout", "spark-perf", "sysstat", "s"]
    assert [each.value for each in offered] == names
    offered = ShellComplete(cli, {}, "venturi", "_X").get_completions(["import", "scout"], "s")
    assert [each.type for each in offered] == ["file"]


def test_a_file_called_like_a_format_is_reached_by_its_path(
    venturi: Venturi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("scout").write_bytes(SCOUT.read_bytes())
    assert venturi("import", "scout", "scout")[0] == 0
    assert "./scout" not in venturi("import", "auto", "scout")[2]
    assert "4 already here" in venturi("import", "./scout")[1]


def test_columns_of_your_own_table_are_guessed_or_named(venturi: Venturi, tmp_path: Path) -> None:
    table = SCOUT.parents[2] / "cases/other-suites/own-trials.csv"
    status, stdout, _ = venturi("import", str(table))
    assert (status, "24 added" in stdout) == (0, True)
    assert "column 'seconds' was read as 'elapsed_s'" in stdout
    other = tmp_path / "other.csv"
    other.write_text(table.read_text().replace("seconds", "t"))
    status, _, stderr = venturi("import", str(other))
    assert (status, "--column elapsed_s=COLUMN" in stderr) == (1, True)
    status, _, stderr = venturi("import", "table", str(other))
    assert (status, "date, workload, engine, nodes" in stderr) == (1, True)
    status, stdout, _ = venturi("import", str(other), "--column", "elapsed_s=t")
    assert status == 0
    status, _, stderr = venturi("import", "scout", str(SCOUT), "--column", "elapsed_s=t")
    assert (status, "--column and --mapping belong to the format table" in stderr) == (2, True)


def test_the_shipped_tables_need_no_file(venturi: Venturi, settings: Settings) -> None:
    status, stdout, stderr = venturi("import", "published", "--json")
    (fields,) = json.loads(stdout)["data"]
    assert (status, fields["added"], fields["file"]) == (0, 187, None)
    assert "187 added" in stderr
    assert "0 added, 187 already here" in venturi("import", "published")[1]
    table = Path(starter.__file__).parent / "poggi-2015.csv"
    assert "0 added, 8 already here" in venturi("import", "published", table)[1]


TABLE = "name,time_s,disk\nsort,90,SSD\nscan,12,HDD\n"


def test_standard_input(
    venturi: Venturi, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def given(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    given(TABLE)
    status, stdout, _ = venturi("import", "-")
    assert (status, "standard input (table): 2 added" in stdout) == (0, True)
    given("nothing of the kind")
    status, _, stderr = venturi("import", "-")
    assert status == 1
    assert "standard input: rejected: [VEN-IMPORT-FORMAT] standard input has an unknown" in stderr
    assert venturi("import", "-", "--watch")[0] == 2


def test_a_file_behind_a_url(venturi: Venturi, settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(TABLE)
    (tmp_path / "export").write_text(TABLE)
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        try:
            status, stdout, _ = venturi("import", f"{url}/own.csv")
            assert (status, f"{url}/own.csv (table): 2 added" in stdout) == (0, True)
            status, stdout, _ = venturi("import", "table", f"{url}/export?kind=csv")
            assert (status, "2 already here" in stdout) == (0, True)
            for wrong in (f"{url}/missing.csv", "http://[::1/x.csv"):
                status, _, stderr = venturi("import", wrong)
                assert (status != 0, "VEN-INGEST-SERVER" in stderr) == (True, True)
        finally:
            server.shutdown()
            thread.join()


def test_a_download_that_is_cut_off_is_refused(venturi: Venturi) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(TABLE.encode())

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        status, _, stderr = venturi("import", f"http://127.0.0.1:{server.server_port}/own.csv")
        server.shutdown()
        thread.join()
    assert (status != 0, "VEN-INGEST-SERVER" in stderr) == (True, True)
    assert json.loads(venturi("ls", "--json")[1])["data"] == []


@pytest.mark.parametrize("wrong", ["/dev/zero", "missing/columns.toml", "deep.toml"])
def test_an_unusable_mapping_imports_nothing(venturi: Venturi, wrong: str, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(TABLE)
    (tmp_path / "deep.toml").write_text(f"x = {'[' * 2_000}{']' * 2_000}")
    status, _, stderr = venturi("import", tmp_path / "own.csv", "--mapping", tmp_path / wrong)
    assert status != 0
    assert "VEN-IMPORT-FORMAT" in stderr or "/dev/zero is a named pipe" in " ".join(stderr.split())
    assert json.loads(venturi("ls", "--json")[1])["data"] == []


@pytest.mark.parametrize("column", ["exit_code", "exit", "rc", "ok"])
def test_a_failure_is_found_by_the_name_of_its_column(
    venturi: Venturi, column: str, tmp_path: Path
) -> None:
    good, bad = ("true", "false") if column == "ok" else ("0", "137")
    rows = f"workload,time_s,{column}\nsort,90,{good}\nscan,12,{bad}\n"
    (tmp_path / "own.csv").write_text(rows)
    assert venturi("import", tmp_path / "own.csv")[0] == 0
    trials = json.loads(venturi("ls", "--json")[1])["data"]
    assert {each["workload"]: each["state"] for each in trials} == {
        "sort": "succeeded",
        "scan": "failed",
    }


def test_a_log_may_be_compressed_twice(venturi: Venturi, tmp_path: Path) -> None:
    log = (SPARK / "join.log").read_bytes()
    (tmp_path / "log.gz").write_bytes(gzip.compress(gzip.compress(log)))
    assert venturi("import", tmp_path / "log.gz")[0] == 0


def test_a_mapping_file_keeps_the_columns(venturi: Venturi, tmp_path: Path) -> None:
    one, two, mapping = tmp_path / "one.csv", tmp_path / "two.csv", tmp_path / "columns.toml"
    one.write_text("test,took,disk\nsort,90,SSD\n")
    two.write_text("test,took,disk\nsort,80,SSD\n")
    words = ("--column", "elapsed_s=took:ms", "--mapping", mapping)
    status, _, stderr = venturi("import", one, *words)
    assert (status, f"the columns are in {mapping}" in stderr) == (0, True)
    assert tomllib.loads(mapping.read_text())["columns"] == {
        "workload": "test",
        "elapsed_s": "took:ms",
    }
    assert venturi("import", two, "--mapping", mapping)[0] == 0
    status, stdout, _ = venturi("ls", "--json")
    assert sorted(each["elapsed_s"] for each in json.loads(stdout)["data"]) == [0.08, 0.09]
    mapping.write_text("[columns]\nelapsed_s = 5\n")
    status, _, stderr = venturi("import", two, "--mapping", mapping)
    assert status != 0
    assert "columns.elapsed_s is not a text" in stderr


def test_ignored_settings_join_groups(venturi: Venturi, tmp_path: Path) -> None:
    """A path with the number of a process makes each trial a group of its own."""
    rows = [
        f"sort,{disk},/tmp/{disk}-{number},{seconds + number},{number}"
        for disk, seconds in (("SSD", 90), ("HDD", 300))
        for number in range(5)
    ]
    table = tmp_path / "own.csv"
    table.write_text("\n".join(["workload,disk,folder,elapsed_s,repetition", *rows]))
    assert venturi("import", "table", table)[0] == 0
    _, stdout, _ = venturi("ls", "--json", "--where", "disk=SSD")
    ssd = json.loads(stdout)["data"][0]["id"]
    _, stdout, _ = venturi("ls", "--json", "--where", "disk=HDD")
    hdd = json.loads(stdout)["data"][0]["id"]

    def compared(*words: str) -> tuple[int, list[int], str]:
        status, stdout, _ = venturi("compare", ssd, hdd, "--json", *words)
        groups = json.loads(stdout)["data"]["groups"]
        verdict = groups[1]["against_first"]["outcome"]
        return status, [len(each["values"]) for each in groups], verdict

    assert compared() == (0, [1, 1], "cannot tell")
    assert compared("--ignore", "folder") == (0, [5, 5], "higher")
    status, _, stderr = venturi("compare", ssd, hdd, "--ignore", "folder", "--ignore", "disk")
    assert (status != 0, "the same group" in stderr) == (True, True)
    status, _, stderr = venturi("compare", ssd, hdd, "--ignore", "foldr")
    assert (status != 0, "folder" in stderr) == (True, True)
    _, stdout, _ = venturi("rank", "--by", "disk", "--json")
    assert "cannot tell" in json.loads(stdout)["data"]["verdict"]
    _, stdout, _ = venturi("rank", "--by", "disk", "--ignore", "folder", "--json")
    assert "SSD is fastest" in json.loads(stdout)["data"]["verdict"]


@pytest.mark.parametrize("url", ["http://me:secret@127.0.0.1:9/a.csv", "s3://key:secret@bucket/a"])
def test_a_password_in_a_url_is_refused_and_not_shown(venturi: Venturi, url: str) -> None:
    status, out, err = venturi("import", url)
    assert status == 2
    assert "contains a user name or password" in err
    assert "secret" not in out + err


def test_the_query_of_a_url_is_not_shown(venturi: Venturi) -> None:
    status, out, err = venturi("import", "http://127.0.0.1:9/a.csv?signature=secret")
    assert status == 1
    assert "a.csv?... can't be downloaded" in err
    assert "secret" not in out + err


def test_parquet_files_are_recognized_by_their_columns(venturi: Venturi, tmp_path: Path) -> None:
    from venturi.record.store.frames import pl

    folder = tmp_path / "results"
    folder.mkdir()
    pl.DataFrame({"workload": ["a", "b"], "elapsed_s": [5.0, 6.0]}).write_parquet(
        folder / "runs.parquet"
    )
    pl.DataFrame({"key": [1, 2]}).write_parquet(folder / "data.parquet")
    assert "2 added" in venturi("import", str(folder / "runs.parquet"))[1]
    status, out, err = venturi("import", str(folder))
    assert status == 0
    assert "skipped 1 file of no known format: data.parquet" in out + err
    packed = tmp_path / "results.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    assert "2 already" in venturi("import", str(packed))[1]
    status, _, err = venturi("import", str(folder / "data.parquet"))
    assert status == 1
    assert "without a column that is called like a time" in err
