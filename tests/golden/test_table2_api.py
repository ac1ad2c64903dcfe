"""ALOJA's Table 2 from imported trials: by the query of the study, and by the interface."""

from __future__ import annotations

import asyncio
import csv
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from starlette.applications import Starlette

from public_data import dataset
from scripts.study_table2 import (
    QueriedBest,
    cents,
    cost_usd,
    joined_on_time_alone,
    ranks,
    terasorts,
)
from venturi.core.settings import Settings
from venturi.record.importing.importer import import_file
from venturi.record.store.repository import TrialRepository
from venturi.web.api.app import create_app
from venturi.web.api.context import Services

ROOT = Path(__file__).parents[2]
ALOJA = ROOT / "tests/data/aloja2016"
SMALL = ROOT / "tests/data/results/aloja-minerva/trials.csv"
SATA, SSD, INFINIBAND, BASE = "0.20", "0.70", "0.80", "3.50"
DISKS = {
    "HDD": (1, 0),
    "HD2": (2, 0),
    "HD3": (3, 0),
    "HD4": (4, 0),
    "HD5": (5, 0),
    "SSD": (0, 1),
    "SS2": (0, 2),
    "HS4": (4, 1),
    "HS5": (5, 1),
}
PLUS = [f"net=IB:{INFINIBAND}"] + [
    f"disk={name}:{sata * Decimal(SATA) + ssd * Decimal(SSD)}"
    for name, (sata, ssd) in DISKS.items()
]
Key = tuple[str, str]
Rows = dict[Key, dict[str, Any]]


class Server:
    """The interface over one imported file."""

    def __init__(self, app: Starlette, path: Path) -> None:
        self._app, self.path = app, path

    async def _ask(self, url: str) -> httpx.Response:
        transport = httpx.ASGITransport(app=self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.get(url)

    def cost(self, cluster: str, **more: str) -> dict[str, Any]:
        """Terasorts of `cluster` without those of 1 TB, priced as ALOJA did."""
        query = [
            ("by", "net"),
            ("by", "disk"),
            ("usd_per_hour", BASE),
            *(("plus", p) for p in PLUS),
            ("where", "workload=terasort"),
            ("where", f"cluster={cluster}"),
            ("where", "scale="),
            *more.items(),
        ]
        answer = asyncio.run(self._ask("/api/cost?" + urlencode(query)))
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


def opened(path: Path, home: Path) -> Iterator[Server]:
    settings = Settings(home=home, database_url=None, agent=None, allow_debug=False)
    with TrialRepository.open(settings) as repository:
        import_file(repository, "aloja", path)
        yield Server(create_app(Services(repository)), path)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    yield from opened(SMALL, tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    path = dataset("aloja_dataset4.csv")
    home = tmp_path_factory.mktemp("public")
    cluster = home / "minerva.csv"
    with path.open(encoding="utf-8") as source, cluster.open("w", encoding="utf-8") as chosen:
        chosen.write(next(source))
        chosen.writelines(line for line in source if "minerva100-10-18-21" in line)
    yield from opened(cluster, home)


def by_key(answer: dict[str, Any]) -> Rows:
    return {tuple(group["key"]): group for group in answer["groups"]}


def published() -> dict[Key, dict[str, str]]:
    labels = {counts: name for name, counts in DISKS.items()}
    networks = {"InfiniBand": "IB", "Ethernet": "ETH"}
    with (ALOJA / "table2.csv").open(newline="", encoding="utf-8") as file:
        return {
            (networks[row["network"]], labels[int(row["sata_count"]), int(row["ssd_count"])]): row
            for row in csv.DictReader(file)
        }


def queried(server: Server, cluster: str) -> tuple[QueriedBest, ...]:
    """What ALOJA's query shows of the imported trials."""
    return joined_on_time_alone(terasorts(server.path, cluster))


def wrong(shown: tuple[QueriedBest, ...], rows: Rows) -> dict[Key, tuple[float, float]]:
    return {one.key: (one.elapsed_s, rows[one.key]["best_elapsed_s"]) for one in shown if one.wrong}


def test_small_the_query_is_wrong_twice_and_names_another_winner(small: Server) -> None:
    rows = by_key(small.cost("lab-a", objective="cost-time"))
    shown = queried(small, "lab-a")
    assert {one.key: one.minimum_s for one in shown} == {
        key: row["best_elapsed_s"] for key, row in rows.items()
    }
    assert wrong(shown, rows) == {("ETH", "SSD"): (300, 240), ("IB", "SSD"): (240, 200)}
    rank_of = ranks(shown)
    assert min(rank_of, key=rank_of.__getitem__) == ("IB", "SS2")
    products = {key: row["best_cost_usd"] * row["best_elapsed_s"] for key, row in rows.items()}
    assert min(products, key=products.__getitem__) == ("IB", "SSD")


def test_small_by_medians_three_are_tied_and_that_is_said(small: Server) -> None:
    answer = small.cost("lab-a", objective="cost")
    standing = {tuple(group["key"]): group["standing"] for group in answer["groups"]}
    assert standing == {
        ("ETH", "SSD"): "best",
        ("IB", "SSD"): "tied",
        ("IB", "SS2"): "tied",
        ("ETH", "HD5"): "worse",
    }
    first = answer["groups"][0]
    assert first["cost_usd"]["median"] == pytest.approx(265 * 4.20 / 3600)
    assert first["usd_per_hour"] == pytest.approx(4.20)
    assert answer["basis"] == "matched"  # they differ in more than disks and network
    assert answer["verdict"].startswith(
        "ETH SSD, IB SSD and IB SS2 tie for cheapest; ETH HD5 costs 1.6 times as much. "
        "Of 4 groups in matched settings, 3 are at the top and 1 is worse."
    )
    assert (first["name"], first["ratio"], first["against"]) == ("ETH SSD", 1.0, ["ETH", "SSD"])
    crude = small.cost("lab-a", objective="cost", crude="1")
    assert crude["verdict"].startswith("Crude (confounded): ETH SSD is cheapest: median $0.309")
    assert "Tied with the best: IB SSD and IB SS2." in crude["verdict"]


def test_the_eight_published_costs_and_ranks(public: Server) -> None:
    rows = by_key(public.cost("minerva100-10-18-21", objective="cost"))
    assert len(rows) == 18
    assert sum(row["n"] for row in rows.values()) == 588
    shown = {one.key: one for one in queried(public, "minerva100-10-18-21")}
    assert {key: one.minimum_s for key, one in shown.items()} == {
        key: row["best_elapsed_s"] for key, row in rows.items()
    }
    rank_of = ranks(tuple(shown.values()))
    table = published()
    assert len(table) == 8
    for key, printed in table.items():
        assert shown[key].elapsed_s == float(printed["time_s"])
        assert cents(cost_usd(key, shown[key].elapsed_s)) == printed["cost_usd"]
        assert rank_of[key] == int(printed["rank"])
    for key, one in shown.items():
        assert cost_usd(key, one.minimum_s) == pytest.approx(rows[key]["best_cost_usd"])
    found = wrong(tuple(shown.values()), rows)
    assert {key: found[key] for key in table if key in found} == {
        ("IB", "SSD"): (265, 228),
        ("IB", "HS5"): (228, 222),
        ("ETH", "SSD"): (348, 265),
    }


def test_the_correct_query_names_another_and_a_tie(public: Server) -> None:
    alike = public.cost("minerva100-10-18-21", objective="cost")
    assert (alike["basis"], alike["groups"][0]["key"]) == ("matched", ["ETH", "SSD"])
    standings = {key: row["standing"] for key, row in by_key(alike).items()}
    assert {standings["IB", "SS2"], standings["IB", "HS5"]} == {"tied"}
    assert {standings["ETH", "HDD"], standings["IB", "HDD"]} == {"worse"}
    answer = public.cost("minerva100-10-18-21", objective="cost", crude="1")
    rows = by_key(answer)
    cheapest = min(rows, key=lambda key: rows[key]["best_cost_usd"])
    assert cheapest == ("ETH", "SSD")
    assert f"{rows[cheapest]['best_cost_usd']:.3f}" == "0.309"
    tie = [key for key, row in rows.items() if row["standing"] not in {"worse", "cannot tell"}]
    assert tie == [("ETH", "SSD"), ("IB", "SSD"), ("ETH", "SS2"), ("IB", "SS2"), ("IB", "HS4")]
    interval = rows[cheapest]["cost_usd"]["interval"]
    assert (round(interval["low"], 3), round(interval["high"], 3)) == (0.351, 0.398)
    # On the frontier of time and cost by medians; the printed winner cannot be excluded from it.
    assert {key for key, row in rows.items() if row["on_frontier"]} == {
        ("ETH", "SSD"),
        ("IB", "SSD"),
        ("IB", "HS5"),
    }
    assert rows["IB", "SS2"]["frontier"] == "cannot tell"
    assert answer["workloads"] == ["terasort"]
