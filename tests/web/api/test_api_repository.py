"""Reading: lists, facets, groups, one trial, its files, downloads, and how answers are sent."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest

from api_client import client_of
from venturi.record.access import exclusions
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import SeriesWriter
from venturi.record.trial import Failure, Phase, Sample, State, Trial
from venturi.record.trial_json import decode
from venturi.web.api import downloads
from venturi.web.api.results import series

Make = Callable[..., Trial]


@pytest.fixture(params=["sqlite", "postgresql"])
def kind_of_database(request: pytest.FixtureRequest) -> str:
    """Both: lists, pages, downloads and changes are statements of SQL."""
    return str(request.param)


@pytest.fixture
def succeeded(make_trial: Make) -> Make:
    def make(number: int, **changes: object) -> Trial:
        trial = make_trial(
            id=f"t{number}",
            state=State.SUCCEEDED,
            elapsed_s=100.0 + number,
            configuration={"disk": "SSD" if number % 2 else "HDD", "maps": number},
        )
        return replace(trial, **changes)  # type: ignore[arg-type]

    return make


@pytest.fixture
def seven(repository: TrialRepository, succeeded: Make) -> list[Trial]:
    failure = Failure("space", "VEN-MEASURE-SPACE", "full")
    trials = [succeeded(number) for number in range(6)]
    trials.append(succeeded(6, state=State.FAILED, failure=failure, elapsed_s=None))
    repository.add_many(trials)
    return trials


def get(client: httpx.Client, path: str, **params: object) -> dict[str, object]:
    answer = client.get(path, params=params)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    return answer.json()  # type: ignore[no-any-return]


def problem(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == answer.status_code
    assert set(body) == {"type", "title", "status", "detail", "code", "where", "hint"}
    return answer.status_code, body["code"]


def test_the_status_counts_trials(client: httpx.Client, seven: list[Trial]) -> None:
    found = get(client, "/api/status")
    assert (found["trials"], found["trials_excluded"]) == (7, 0)
    assert (found["role"], found["uploads"]) == ("write", False)


@pytest.mark.usefixtures("seven")
def test_pages_of_trials_hold_each_trial_once(client: httpx.Client) -> None:
    ids: list[str] = []
    cursor: dict[str, object] = {}
    while True:
        page = get(client, "/api/trials", sort="maps", desc=0, limit=3, **cursor)
        assert page["total"] == 7
        ids += [row["id"] for row in page["rows"]]  # type: ignore[attr-defined]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert ids == [f"t{number}" for number in range(7)]


@pytest.mark.usefixtures("seven")
def test_conditions_are_alternatives_of_one_key_and_all_of_several(client: httpx.Client) -> None:
    def ids(*where: str) -> list[str]:
        rows = get(client, "/api/trials", where=where, sort="id", desc=0)["rows"]
        return [row["id"] for row in rows]  # type: ignore[attr-defined]

    assert ids("disk=SSD", "elapsed_s>102") == ["t3", "t5"]
    assert ids("maps=1", "maps=2") == ["t1", "t2"]
    assert ids("elapsed_s=") == ["t6"]


@pytest.mark.usefixtures("seven")
def test_what_is_excluded_is_counted_and_shown_only_on_request(
    client: httpx.Client, repository: TrialRepository
) -> None:
    rule = exclusions.add(repository, ["disk=SSD", "maps>3"], "Ada", "cold caches")
    page = get(client, "/api/trials")
    assert (page["total"], page["excluded"]) == (6, 1)
    page = get(client, "/api/trials", excluded=1, where="id=t5")
    assert (page["total"], page["rows"][0]["excluded"]) == (1, rule.id)  # type: ignore[index]
    detail = get(client, "/api/trials/t5")
    assert [found["reason"] for found in detail["exclusions"]] == ["cold caches"]  # type: ignore[attr-defined]
    assert get(client, "/api/trials/t4")["exclusions"] == []


@pytest.mark.usefixtures("seven")
def test_facets_count_under_the_other_conditions(client: httpx.Client) -> None:
    found = get(client, "/api/facets", key=["disk", "maps"], where="disk=SSD")["facets"]
    counts = {
        facet["key"]: {value["value"]: value["n"] for value in facet["values"]}  # type: ignore[index]
        for facet in found  # type: ignore[attr-defined]
    }
    assert counts == {"disk": {"HDD": 4, "SSD": 3}, "maps": {"1": 1, "3": 1, "5": 1}}
    usual = [facet["key"] for facet in get(client, "/api/facets")["facets"]]  # type: ignore[attr-defined]
    assert usual[:3] == ["workload", "engine", "state"]
    assert usual[-2:] == ["disk", "maps"]


@pytest.mark.usefixtures("seven")
def test_groups_tell_medians_and_why_there_is_no_interval(client: httpx.Client) -> None:
    groups = get(client, "/api/groups", by=["workload", "disk"])["groups"]
    hdd, ssd = groups  # type: ignore[misc]
    assert hdd["key"] == ["terasort", "HDD"]
    assert (hdd["n"], hdd["by_state"]) == (4, {"succeeded": 3, "failed": 1})
    assert (ssd["elapsed_s"]["n"], ssd["elapsed_s"]["median"]) == (3, 103.0)
    assert ssd["elapsed_s"]["interval"] is None
    assert "at least" in ssd["elapsed_s"]["reason"]


def test_keys_say_what_can_be_grouped_by(client: httpx.Client, seven: list[Trial]) -> None:
    keys = {key["key"]: key for key in get(client, "/api/keys")["keys"]}  # type: ignore[attr-defined]
    assert keys["elapsed_s"] == {
        "key": "elapsed_s",
        "kind": "column",
        "type": "number",
        "n": 6,
        "distinct": 6,
    }
    assert (keys["disk"]["kind"], keys["disk"]["distinct"]) == ("configuration", 2)


def test_a_trial_comes_whole_with_its_group(
    client: httpx.Client, repository: TrialRepository, succeeded: Make
) -> None:
    def labelled(metric: str, value: float) -> Sample:
        return Sample(f"stage_{metric}", value, "s", "sort+reduce", {"stage": "write_output"})

    samples = (labelled("useful_s", 9.0), labelled("workers", 1.0))
    trial = succeeded(1, phases=(Phase("sort+reduce", 0.0, 10.0),), samples=samples)
    repository.add_many([trial, replace(trial, id="again", repetition=1), succeeded(2)])
    found = get(client, "/api/trials/t1")
    assert decode(json.dumps(found["trial"])) == trial
    assert [row["id"] for row in found["siblings"]] == ["again"]  # type: ignore[attr-defined]
    (sentence,) = found["narrowest"]  # type: ignore[misc]
    assert sentence.startswith("sort+reduce: write_output; write_output was busy for")
    assert "90%" in sentence


def test_an_id_is_meant_whole(client: httpx.Client, seven: list[Trial]) -> None:
    assert problem(client.get("/api/trials/t")) == (404, "VEN-RECORD-UNKNOWN")
    assert problem(client.get("/api/trials/a%00b")) == (422, "VEN-API-REQUEST")


def test_series_are_aligned_and_thinned(
    client: httpx.Client, repository: TrialRepository, succeeded: Make, tmp_path: Path
) -> None:
    file = tmp_path / "host.parquet"
    with SeriesWriter(file) as writer:
        for second in range(100):
            writer.append(float(second), "busy", "sda", float(second % 2), "1")
            writer.append(float(second), "free", None, None if second < 50 else 7.0, "B")
    trial = repository.attach(succeeded(1), "series", "host.parquet", file)
    repository.add(trial)
    whole = get(client, "/api/trials/t1/series", points=200)
    assert (len(whole["t_s"]), whole["thinned"]) == (100, False)  # type: ignore[arg-type]
    thin = get(client, "/api/trials/t1/series", points=10)
    assert thin["thinned"] is True
    assert thin["t_s"] == [4.5 + 10 * number for number in range(10)]
    busy, free = thin["lines"]  # type: ignore[misc]
    assert (thin["host"], busy["device"], busy["unit"]) == ("here", "sda", "1")
    assert busy["values"] == [0.5] * 10
    assert (busy["lowest"], busy["highest"]) == ([0.0] * 10, [1.0] * 10), "peaks are kept"
    assert whole["lines"][0]["highest"] == []  # type: ignore[index]
    assert free["values"] == [None] * 5 + [7.0] * 5
    repository.artifact_path(trial.artifacts[0]).unlink()
    gone = get(client, "/api/trials/t1/series")
    assert gone["lines"] == []
    assert "not in this repository" in str(gone["missing_reason"])


def test_what_is_too_much_to_show_is_said(
    client: httpx.Client,
    repository: TrialRepository,
    succeeded: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "host.parquet"
    with SeriesWriter(file) as writer:
        for number in range(100):
            for second in range(3):
                writer.append(float(second), f"metric {number}", None, 1e308, "1")
    repository.add(repository.attach(succeeded(1), "series", "host.parquet", file))

    def asked() -> tuple[int, int, object]:
        found = get(client, "/api/trials/t1/series", points=2)
        return len(found["t_s"]), len(found["lines"]), found["missing_reason"]  # type: ignore[arg-type]

    assert asked() == (2, 100, None), "values that cannot be added up are shown too"
    monkeypatch.setattr(series, "VALUES_MAX", 198)
    assert asked() == (0, 0, "the series has more than 99 lines")
    monkeypatch.setattr(series, "ROWS_MAX", 299)
    assert asked() == (0, 0, "the series has 300 rows; at most 299 are looked through")


def test_files_are_looked_up_by_name_and_only_downloaded(
    client: httpx.Client, repository: TrialRepository, succeeded: Make
) -> None:
    text = b"<script>alert(1)</script>\n"
    repository.add(repository.attach(succeeded(1), "log", "agent.log", text))
    answer = client.get("/api/trials/t1/artifacts/agent.log")
    assert answer.content == text
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="agent.log"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    again = {"If-None-Match": answer.headers["etag"]}
    assert client.get("/api/trials/t1/artifacts/agent.log", headers=again).status_code == 304
    whole = answer.content
    for asked, part in {
        "bytes=2-5": whole[2:6],
        "bytes=-3": whole[-3:],
        "bytes=4-": whole[4:],
    }.items():
        some = client.get("/api/trials/t1/artifacts/agent.log", headers={"Range": asked})
        assert (some.status_code, some.content) == (206, part)
    for odd in (
        "bytes=5-2",
        "bytes=0-1,3-4",
        "bytes=-0",
        "bytes=9999-",
        "lines=1-2",
        "bytes=",
        "x",
    ):
        all_ = client.get("/api/trials/t1/artifacts/agent.log", headers={"Range": odd})
        assert (all_.status_code, all_.content) == (200, whole), odd
    for name in ("..%2f..%2fventuri.sqlite", "%2e%2e", "agent.log%00", "t1%2fagent.log"):
        assert client.get(f"/api/trials/t1/artifacts/{name}").status_code == 404


def test_one_part_of_a_file_that_is_there_may_be_asked_for(
    client: httpx.Client, repository: TrialRepository, succeeded: Make
) -> None:
    text = b"0123456789"
    repository.add(repository.attach(succeeded(1), "log", "agent.log", text))

    def asked(part: str) -> tuple[int, bytes]:
        answer = client.get("/api/trials/t1/artifacts/agent.log", headers={"Range": part})
        return answer.status_code, answer.content

    assert asked("bytes=2-5") == (206, b"2345")
    assert asked("bytes=-3") == (206, b"789")
    assert asked("bytes=4-") == (206, b"456789")
    for odd in ("bytes=5-2", "bytes=0-1,3-4", "bytes=-0", "bytes=99-", "lines=1-2", "bytes=", "x"):
        assert asked(odd) == (200, text), odd


# ---- downloads ----


def test_whole_records_are_downloaded(client: httpx.Client, seven: list[Trial]) -> None:
    answer = client.get("/api/download", params={"format": "records", "where": "disk=SSD"})
    found = [decode(line) for line in answer.content.splitlines()]
    assert found == [trial for trial in seven if trial.configuration["disk"] == "SSD"]
    assert answer.headers["content-disposition"].endswith('"venturi-records.ndjson"')


def test_spreadsheets_get_no_formulas(
    client: httpx.Client,
    repository: TrialRepository,
    succeeded: Make,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Older versions stored a carriage return, which is refused now.
    monkeypatch.setattr("venturi.record.store.rows.check", lambda *_: None)
    hostile = {
        "a": "=HYPERLINK(1)",
        "b": "+1+cmd",
        "c": "-2.5e3",
        "d": "@SUM(1)",
        "e": "\tx",
        "f": "\rx",
        "=key": "-",
        "g": 'say "hi", twice\n',
        "h": -7,
    }
    repository.add(succeeded(1, configuration=hostile, experiment="-1+1"))
    answer = client.get("/api/download", params={"format": "csv"})
    (row,) = csv.DictReader(io.StringIO(answer.text, newline=""))
    assert [row[key] for key in "abcdefgh"] == [
        "'=HYPERLINK(1)",
        "'+1+cmd",
        "-2.5e3",
        "'@SUM(1)",
        "'\tx",
        "'\rx",
        'say "hi", twice\n',
        "-7",
    ]
    assert row["'=key"] == "'-"
    assert (row["experiment"], row["elapsed_s"], row["scale"]) == ("'-1+1", "101.0", "tiny")


@pytest.mark.usefixtures("seven")
def test_tables_have_the_columns_asked_for(client: httpx.Client) -> None:
    params = {"columns": ["id", "elapsed_s", "disk", "started_at"], "where": "maps>4"}
    text = client.get("/api/download", params={"format": "csv", **params}).text
    assert text.splitlines() == [
        "id,elapsed_s,disk,started_at",
        "t6,,HDD,2026-01-02T03:04:05.678901+00:00",
        "t5,105.0,SSD,2026-01-02T03:04:05.678901+00:00",
    ]
    answer = client.get("/api/download", params={"format": "parquet", **params})
    table = pq.read_table(io.BytesIO(answer.content))
    assert table.column("elapsed_s").to_pylist() == [None, 105.0]
    columns = pq.read_metadata(io.BytesIO(answer.content)).schema
    assert [columns.column(place).converted_type for place in range(4)] == [
        "UTF8",
        "NONE",
        "UTF8",
        "TIMESTAMP_MICROS",
    ]
    assert columns.column(1).physical_type == "DOUBLE"
    assert str(table.schema.field("started_at").type) == "timestamp[us, tz=UTC]"


@pytest.mark.slow
def test_a_download_of_many_pages_is_complete_while_others_write(
    repository: TrialRepository, succeeded: Make
) -> None:
    trials = [succeeded(number, id=f"m{number:05}") for number in range(2_500)]
    repository.add_many(trials)
    with client_of(repository) as client:
        app = client._transport._app.app  # type: ignore[attr-defined]
    parts, _unreadable = downloads.stream(app.state.services.repository, Query(), "records", ())
    first = next(parts)
    repository.add_many([succeeded(1, id="m00000a"), succeeded(2, id="zz")])
    lines = (first + b"".join(parts)).splitlines()
    ids = [json.loads(line)["id"] for line in lines]
    assert ids == [*(trial.id for trial in trials), "zz"]


# ---- how answers are sent ----


@pytest.mark.usefixtures("seven")
def test_what_is_known_is_not_sent_again(client: httpx.Client, repository: TrialRepository) -> None:
    answer = client.get("/api/trials")
    etag = answer.headers["etag"]
    assert etag.startswith('"')
    known = {"If-None-Match": f'"other", {etag}'}
    second = client.get("/api/trials", headers=known)
    assert (second.status_code, second.content) == (304, b"")
    assert second.headers["etag"] == etag
    exclusions.add(repository, ["id=t1"], "Ada", "cold")
    assert client.get("/api/trials", headers=known).status_code == 200


@pytest.mark.usefixtures("seven")
def test_answers_are_packed_for_who_asks(client: httpx.Client) -> None:
    packed = client.send(client.build_request("GET", "/api/trials"))
    plain = client.get("/api/trials", headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.headers["etag"] != plain.headers["etag"]
    assert packed.json() == plain.json()
    assert int(packed.headers["content-length"]) == len(gzip.compress(plain.content, 5))


def test_every_error_is_a_problem(client: httpx.Client, seven: list[Trial]) -> None:
    for path, expected in {
        "/api/nothing": (404, "VEN-API-UNKNOWN"),
        "/api": (404, "VEN-API-UNKNOWN"),
        "/nothing.js": (404, "VEN-API-UNKNOWN"),
        "/api/trials?limit=0": (422, "VEN-API-REQUEST"),
        "/api/trials?limit=1001": (422, "VEN-API-REQUEST"),
        "/api/trials?where=nonsense": (422, "VEN-QUERY-VALUE"),
        "/api/trials?where=elapsed_s%3Csoon": (422, "VEN-QUERY-VALUE"),
        "/api/trials?where=started_at%3C1970": (422, "VEN-QUERY-VALUE"),
        "/api/trials?cursor=AAAA": (422, "VEN-QUERY-CURSOR"),
        "/api/groups": (422, "VEN-API-REQUEST"),
        "/api/groups?" + "&".join(f"by=k{n}" for n in range(9)): (422, "VEN-API-REQUEST"),
        "/api/trials?" + "&".join(["where=a%3D1"] * 51): (422, "VEN-API-REQUEST"),
        "/api/download?format=xls": (422, "VEN-API-REQUEST"),
        "/api/trials?where=" + "x" * 40_000: (413, "VEN-API-SIZE"),
    }.items():
        assert problem(client.get(path)) == expected, path
    answer = client.delete("/api/trials")
    assert problem(answer) == (405, "VEN-API-REQUEST")
    assert answer.headers["allow"] == "GET"


def test_a_fault_of_ours_tells_nothing_but_the_log(
    repository: TrialRepository, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret /etc/passwd")

    monkeypatch.setattr("venturi.record.query.known_keys.keys", fail)
    with client_of(repository) as client:
        answer = client.get("/api/keys")
    assert problem(answer) == (500, "VEN-API-INTERNAL")
    assert "secret" not in answer.text
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "secret" in caplog.text


def test_a_database_that_fails_is_not_described(
    repository: TrialRepository, caplog: pytest.LogCaptureFixture
) -> None:
    with client_of(repository) as client, repository.writing() as connection:
        connection.exec_driver_sql("DROP TABLE configuration")
    with client_of(repository) as client:
        answer = client.get("/api/trials?sort=disk")
    assert problem(answer) == (503, "VEN-RECORD-DATABASE")
    assert answer.json()["where"] == {}
    assert "configuration" not in answer.text
    assert "configuration" in caplog.text
