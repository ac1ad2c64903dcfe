"""Hardware advice over HTTP: the page's data, and rejected requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from api_client import client_of
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    home = tmp_path_factory.mktemp("advice")
    settings = Settings(home=home, database_url=None, agent=None, allow_debug=False)
    with TrialRepository.open(settings) as repository, client_of(repository) as made:
        yield made


def advice(client: httpx.Client, **parameters: Any) -> Any:
    answer = client.get("/api/advice", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_published_answer_for_100_tb(client: httpx.Client) -> None:
    found = advice(client, sort="100TB")
    chosen = next(row["option"] for row in found["options"] if row["chosen"])
    assert f": {chosen['nodes']:,} × {chosen['instance_type']} (" in found["answer"]
    usd = chosen["cost_usd"]
    assert usd["low"] <= usd["value"] <= usd["high"]
    assert found["commands"] == [
        "venturi advise hardware --sort 100TB --catalog current --objective recommended "
        "--network at-scale"
    ]
    assert found == advice(client)  # the defaults, and the same answer all day


def test_what_is_not_known_is_a_reason_and_never_0(client: httpx.Client) -> None:
    found = advice(client, sort="100TB")
    unknown = [
        bar["usd"]["at scale"]
        for bar in found["bars"]
        if not isinstance(bar["usd"]["at scale"], float | int)
    ]
    assert unknown
    assert all(set(each) == {"reason"} and each["reason"] for each in unknown)


def test_every_parameter_reaches_the_advisor(client: httpx.Client) -> None:
    found = advice(
        client,
        sort="10TB",
        durability=["2-io", "replicated"],
        deadline="2h",
        budget=500,
        objective="fastest",
        network="baseline",
    )
    assert (found["deadline_s"], found["budget_usd"]) == (7_200, 500)
    assert ", fastest within 2 h" in found["question"]
    assert "replicated" in found["question"]
    first = found["options"][0]["option"]["instance_type"]
    explained = advice(client, sort="10TB", explain=first)
    assert all(first == each["option"]["instance_type"] for each in explained["explain"])
    fixed = advice(client, sort="10TB", nodes=40)
    assert {row["option"]["nodes"] for row in fixed["options"]} == {40}


def test_what_is_assumed_reaches_the_advisor_and_the_command(client: httpx.Client) -> None:
    plain = advice(client, sort="100TB")
    found = advice(
        client,
        sort="100TB",
        disks="both",
        fill=90,
        network_share=80,
        network_low=70,
        price="spot",
        exchange="all",
        max_nodes=200,
        assume=["HDD=150MB/s"],
    )
    (command,) = found["commands"]
    for words in (
        "--assume HDD=150MB/s",
        "--assume fill=90%",
        "--assume network=80%",
        "--assume network-low=70%",
        "--assume disks=both",
        "--assume price=spot",
        "--exchange all",
        "--max-nodes 200",
    ):
        assert words in command
    assert found["answer"] != plain["answer"]
    assert max(row["option"]["nodes"] for row in found["options"]) == 200
    assert any("losing spot nodes" in each for each in found["assumptions"])
    volumes = advice(client, sort="100TB", volumes="gp3:4")
    assert "volumes" in volumes["question"]
    assert "--volumes gp3:4" in volumes["commands"][0]
    for wrong in ({"volumes": "gp4:4"}, {"assume": "storage=fast"}, {"fill": 0}, {"disks": "fast"}):
        assert 400 <= client.get("/api/advice", params=wrong).status_code < 500


def test_only_shipped_catalogues_can_be_named(client: httpx.Client) -> None:
    listed = client.get("/api/catalogs").json()
    assert listed["default"] in {each["name"] for each in listed["catalogs"]}
    assert all(each["types"] > 0 and each["newest_price"] for each in listed["catalogs"])
    for name in ("/etc/passwd", "../ec2-2014.csv", "", "x" * 5_000):
        answer = client.get("/api/advice", params={"catalog": name})
        assert answer.json()["code"] == "VEN-CATALOG-UNKNOWN"
        assert "root:" not in answer.text


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"sort": "a lot"}, "VEN-UNIT-SYNTAX"),
        ({"deadline": "soon"}, "VEN-UNIT-SYNTAX"),
        ({"explain": "i2.8xlarge:0"}, "VEN-QUERY-VALUE"),
        ({"explain": "no-such"}, "VEN-CATALOG-UNKNOWN"),
        ({"sort": "100TB", "deadline": "1s"}, "VEN-ADVISE-NOWHERE"),
    ],
)
def test_refusals_have_a_code(client: httpx.Client, parameters: dict[str, str], code: str) -> None:
    answer = client.get("/api/advice", params=parameters)
    assert 400 <= answer.status_code < 500
    assert answer.json()["code"] == code


def test_a_catalogue_a_type_of_it_and_what_changed(client: httpx.Client) -> None:
    def catalog(**parameters: str) -> Any:
        answer = client.get("/api/catalog", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()

    assert [each["name"] for each in catalog()["catalogs"]] == ["current", "ec2-2014"]
    shown = catalog(catalog="ec2-2014", type="i2.8xlarge")
    assert shown["chosen"] == "i2.8xlarge"
    price = shown["facts"]["price"]
    assert (price["value"], price["unit"]) == (6.82, "USD/h")
    changed = catalog(catalog="ec2-2014", against="current")
    assert "i2.8xlarge" in changed["difference"]["removed"]
    for parameters in ({"catalog": "/etc/passwd"}, {"catalog": "ec2-2014", "type": "nothing"}):
        refused = client.get("/api/catalog", params=parameters)
        assert (refused.status_code, refused.json()["code"]) == (422, "VEN-CATALOG-UNKNOWN")


def test_a_prediction_with_formula_and_origin(client: httpx.Client) -> None:
    answer = client.get("/api/predict", params={"on": ["i2.8xlarge:178", "m1.xlarge:179"]})
    assert answer.status_code == 200, answer.text
    shown = answer.json()
    found = [row["option"] for row in shown["options"]]
    options = {(each["instance_type"], each["nodes"]): each for each in found}
    assert set(options) == {("i2.8xlarge", 178), ("m1.xlarge", 179)}
    # 100 TB at 178 x 879 MB/s of network, then 178 x 1,738 MB/s of storage, both ways; start-up.
    assert options["i2.8xlarge", 178]["time_s"]["value"] == pytest.approx(963 + 210, rel=0.05)
    assert all(term["formula"] for each in shown["explain"] for term in each["terms"])
    assert shown["commands"][0].startswith("venturi predict --sort 100TB")
    for wrong in ("i2.8xlarge", "i2.8xlarge:0", ":3"):
        refused = client.get("/api/predict", params={"on": wrong})
        assert (refused.status_code, refused.json()["code"]) == (422, "VEN-QUERY-VALUE")


def test_your_limits_count_on_the_page_as_in_the_command(
    client: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = tmp_path / "limits.toml"
    limits.write_text('provider = ["aws"]\nfamily = ["i4i"]\nmax_vcpus = 256\n')
    monkeypatch.setenv("VENTURI_LIMITS", str(limits))
    found = advice(client, sort="10TB")
    assert {row["option"]["instance_type"].partition(".")[0] for row in found["options"]} == {"i4i"}
    assert found["question"].endswith("; your limits: aws; i4i; 256 vCPUs.")
    assert "--max-nodes" not in found["commands"][0]
