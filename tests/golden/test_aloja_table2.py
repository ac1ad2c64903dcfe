"""ALOJA's Table 2 from the trials behind it: as it was published, and as it should have been.

On a small invented set with the same traps always, on the public trials where they are at hand.
The published costs themselves are in test_published_costs.py.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from public_data import dataset
from scripts.study_table2 import QueriedBest, TimedTrial, grouped, joined_on_time_alone
from venturi.core.statistics.stats import median
from venturi.machines.cost.price import PriceComponent, Tariff, metered
from venturi.results.compare.groups import (
    BestTrial,
    Group,
    Key,
    best_of,
    with_cost,
)
from venturi.results.compare.outliers import shared_spread
from venturi.results.ranking.ranking import Axis, Objective, Rank, Ranking, rank_groups

ROOT = Path(__file__).parents[2]
ALOJA = ROOT / "tests/data/aloja2016"
SMALL = ROOT / "tests/data/results/aloja-minerva/trials.csv"
# SATA disks and SSDs of each worker, by ALOJA's label; HSn is n SATA disks with /tmp on an SSD.
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
LABEL = {(network, disks): name for name, disks in DISKS.items() for network in ("IB", "ETH")}
Row = Mapping[str, str]


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


PRICES = {row["part"]: float(row["usd_per_hour"]) for row in rows_of(ALOJA / "prices.csv")}
PUBLISHED = rows_of(ALOJA / "table2.csv")


def of_cluster(rows: list[dict[str, str]], cluster: str) -> list[dict[str, str]]:
    return [row for row in rows if row["Cl.Name"] == cluster]


def terasorts(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Without preparations, which are benchmarks of their own (`prep_terasort`)."""
    return [row for row in rows if row["Benchmark"] == "terasort"]


def untagged(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Without what is tagged as a sort of 1 TB."""
    return [row for row in rows if "1TB" not in row["Bench.Type"]]


def short(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return [row for row in rows if float(row["Exe.Time"]) < 5_000]


def timed(rows: list[dict[str, str]]) -> list[TimedTrial]:
    return [
        TimedTrial(row["ID"], (row["Net"], row["Disk"]), float(row["Exe.Time"])) for row in rows
    ]


def tariff_of(key: Key) -> Tariff:
    """The whole cluster as one node, by ALOJA's prices."""
    network, disk = key
    sata, ssd = DISKS[str(disk)]
    counts = {"sata": sata, "ssd": ssd, "infiniband": int(network == "IB")}
    parts = tuple(PriceComponent(name, PRICES[name], "USD", n) for name, n in counts.items() if n)
    return Tariff(PRICES["base"], "USD", 0, 0, 0, parts=parts)


def priced(trials: list[TimedTrial]) -> dict[Key, Group]:
    return {g.key: with_cost(g, tariff_of(g.key)) for g in grouped(trials)}


def cost_of(key: Key, elapsed_s: float) -> float:
    return metered(tariff_of(key), elapsed_s, 1)


def cents(amount: float) -> str:
    return str(Decimal(f"{amount:.9f}").quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))


def by_cost_x_time(found: tuple[QueriedBest, ...]) -> dict[Key, int]:
    """ALOJA's rank of what its query shows."""
    ordered = sorted(found, key=lambda one: cost_of(one.key, one.elapsed_s) * one.elapsed_s)
    return {one.key: rank for rank, one in enumerate(ordered, start=1)}


def bests(groups: dict[Key, Group]) -> dict[Key, BestTrial]:
    found = {key: best_of(group) for key, group in groups.items()}
    return {key: best for key, best in found.items() if isinstance(best, BestTrial)}


def tied(ranking: Ranking) -> set[Key]:
    return {one.key for one in ranking.tie}


# --- the small set -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> list[TimedTrial]:
    rows = terasorts(of_cluster(rows_of(SMALL), "lab-a"))
    assert len(rows) == 27
    assert len(short(rows)) == 26  # the limit lets a sort of 1 TB in
    kept = untagged(rows)
    assert len(kept) == 25
    return timed(kept)


def test_small_the_legacy_query_shows_slower_trials_and_another_winner(
    small: list[TimedTrial],
) -> None:
    found = {one.key: one for one in joined_on_time_alone(small)}
    assert {key: (one.elapsed_s, one.minimum_s) for key, one in found.items() if one.wrong} == {
        ("ETH", "SSD"): (300, 240),
        ("IB", "SSD"): (240, 200),
    }
    assert found["ETH", "SSD"].matched == ("ETH", "HD5")
    assert set(found["ETH", "SSD"].candidates) == {"109", "110"}
    legacy = by_cost_x_time(tuple(found.values()))
    assert min(legacy, key=legacy.__getitem__) == ("IB", "SS2")
    true = bests(priced(small))
    costs = {key: (one.cost or 0) * one.elapsed_s for key, one in true.items()}
    assert min(costs, key=costs.__getitem__) == ("IB", "SSD")


def test_small_the_right_query_takes_minimum_and_trial_from_one_group(
    small: list[TimedTrial],
) -> None:
    found = {key: (one.elapsed_s, one.id) for key, one in bests(priced(small)).items()}
    assert found == {
        ("ETH", "HD5"): (300, "103"),
        ("ETH", "SSD"): (240, "110"),
        ("IB", "SSD"): (200, "115"),
        ("IB", "SS2"): (190, "121"),
    }


def test_small_ranking_by_cost_ends_in_a_tie_of_three(small: list[TimedTrial]) -> None:
    ranking = rank_groups(list(priced(small).values()), Objective.COST)
    assert [one.key for one in ranking.groups] == [
        ("ETH", "SSD"),
        ("IB", "SSD"),
        ("IB", "SS2"),
        ("ETH", "HD5"),
    ]
    assert ranking.currency == "USD"
    assert ranking.groups[0].summaries[Axis.COST].median == pytest.approx(265 * 4.20 / 3600)
    assert tied(ranking) == {("ETH", "SSD"), ("IB", "SSD"), ("IB", "SS2")}
    assert ranking.groups[3].standing is Rank.WORSE
    by_time = rank_groups(list(priced(small).values()), Objective.TIME)
    assert tied(by_time) == {("IB", "SS2")}  # what is cheapest need not be fastest


# --- the public trials ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def all_rows() -> list[dict[str, str]]:
    return rows_of(dataset("aloja_dataset4.csv"))


@pytest.fixture(scope="module")
def minerva(all_rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return terasorts(of_cluster(all_rows, "minerva100-10-18-21"))


@pytest.fixture(scope="module")
def public(minerva: list[dict[str, str]]) -> list[TimedTrial]:
    return timed(untagged(minerva))


def published_key(row: Row) -> Key:
    network = {"InfiniBand": "IB", "Ethernet": "ETH"}[row["network"]]
    disks = (int(row["sata_count"]), int(row["ssd_count"]))
    return network, LABEL[network, disks]


def test_what_each_filter_takes_away(
    all_rows: list[dict[str, str]], minerva: list[dict[str, str]]
) -> None:
    cluster = of_cluster(all_rows, "minerva100-10-18-21")
    assert [len(all_rows), len(cluster), len(minerva)] == [37_049, 2_340, 627]
    assert len(untagged(minerva)) == 588  # 39 sorts of 1 TB
    assert len(short(untagged(minerva))) == 588  # after which the limit takes nothing more away
    # The limit alone takes 38 and leaves the 39th, of 2,667 s, among the sorts of 100 GB.
    (left,) = [row for row in short(minerva) if row not in untagged(minerva)]
    assert (left["Net"], left["Disk"], left["Exe.Time"]) == ("ETH", "SSD", "2667.000")


def test_the_sort_of_1_tb_that_is_left_is_marked(
    minerva: list[dict[str, str]],
) -> None:
    by_limit = {group.label: group for group in grouped(timed(short(minerva)))}
    found = dict(
        zip(by_limit, shared_spread([each.elapsed_s for each in by_limit.values()]), strict=True)
    )["ETH SSD"]
    assert [mark.value for mark in found.marks] == [2667.0]
    assert found.n == 20


LISTED = [
    "ETH SSD",
    "IB SSD",
    "IB SS2",
    "IB HS4",
    "ETH SS2",
    "IB HS5",
    "ETH HS5",
    "ETH HD5",
    "IB HD5",
]


def test_sizes_minima_and_medians_of_the_groups(
    minerva: list[dict[str, str]], public: list[TimedTrial]
) -> None:
    by_limit = {g.label: g for g in grouped(timed(short(minerva)))}
    groups = {group.label: group for group in priced(public).values()}
    assert len(groups) == 18
    sizes = [len(by_limit[name].ids) for name in LISTED]
    assert sizes == [20, 11, 13, 12, 16, 12, 13, 16, 13]
    assert [len(groups[name].ids) for name in LISTED] == [19, *sizes[1:]]
    assert [min(groups[name].elapsed_s) for name in LISTED] == [
        265,
        228,
        207,
        216,
        258,
        222,
        275,
        348,
        325,
    ]
    medians = [median(groups[name].elapsed_s) for name in LISTED]
    assert medians == [322, 288, 260, 267.5, 294.5, 247, 332, 479.5, 559]
    costs = [median(groups[name].cost or ()) for name in LISTED]
    assert [f"{cost:.3f}" for cost in costs] == [
        "0.376",
        "0.400",
        "0.412",
        "0.431",
        "0.401",
        "0.412",
        "0.480",
        "0.599",
        "0.823",
    ]


def test_the_legacy_query_gives_the_published_table(public: list[TimedTrial]) -> None:
    """All eight times, costs and ranks, by one rule and without a word about any single row."""
    found = {one.key: one for one in joined_on_time_alone(public)}
    ranks = by_cost_x_time(tuple(found.values()))
    for row in PUBLISHED:
        one = found[published_key(row)]
        assert one.elapsed_s == float(row["time_s"])
        assert cents(cost_of(one.key, one.elapsed_s)) == row["cost_usd"]
        assert ranks[one.key] == int(row["rank"])
    wrong = {" ".join(map(str, k)): (o.elapsed_s, o.minimum_s) for k, o in found.items() if o.wrong}
    assert wrong == {
        "IB SSD": (265, 228),
        "IB HS5": (228, 222),
        "ETH SSD": (348, 265),
        "ETH HS4": (348, 275),  # not printed, but without it ETH HS5 would have been seventh
    }
    # The two ranks that are not printed are configurations that the table leaves out.
    places = {rank: " ".join(map(str, key)) for key, rank in ranks.items()}
    assert (places[2], places[7]) == ("IB HS4", "ETH HD4")


def test_in_another_order_the_legacy_query_gives_another_table(
    minerva: list[dict[str, str]],
) -> None:
    """What the assumption is needed for: sorted by group, one wrong row would have been right."""
    rows = sorted(untagged(minerva), key=lambda row: (row["Net"], row["Disk"]))
    wrong = {one.key for one in joined_on_time_alone(timed(rows)) if one.wrong}
    assert wrong == {("IB", "SSD"), ("ETH", "SSD"), ("ETH", "HS4")}


def test_the_right_query_does_not(public: list[TimedTrial]) -> None:
    true = {" ".join(map(str, key)): one for key, one in bests(priced(public)).items()}
    assert [true[name].elapsed_s for name in ("IB SSD", "IB HS5", "ETH SSD")] == [228, 222, 265]
    by_cost = sorted(true.values(), key=lambda one: one.cost or 0)
    assert [(" ".join(map(str, one.key)), f"{one.cost:.3f}") for one in by_cost[:3]] == [
        ("ETH SSD", "0.309"),
        ("IB SSD", "0.317"),
        ("IB SS2", "0.328"),
    ]
    differing = {
        published_key(row)
        for row in PUBLISHED
        if bests(priced(public))[published_key(row)].elapsed_s != float(row["time_s"])
    }
    assert differing == {("IB", "SSD"), ("IB", "HS5"), ("ETH", "SSD")}


def names(keys: Iterable[Key]) -> list[str]:
    return [" ".join(map(str, key)) for key in keys]


CHEAPEST = ["ETH SSD", "IB SSD", "ETH SS2", "IB SS2", "IB HS4"]


def test_by_medians_the_cheapest_are_tied(public: list[TimedTrial]) -> None:
    groups = priced(public)
    ranking = rank_groups(list(groups.values()), Objective.COST)
    assert names(one.key for one in ranking.tie) == CHEAPEST
    assert {one.standing for one in ranking.groups if one not in ranking.tie} == {Rank.WORSE}
    assert ranking.each_alpha == pytest.approx(0.05 / 17)
    intervals = [
        f"{one.summaries[Axis.COST].median:.3f} [{interval.low:.3f}, {interval.high:.3f}]"
        for one in ranking.tie
        if (interval := one.summaries[Axis.COST].interval)
    ]
    assert intervals == [
        "0.376 [0.351, 0.398]",
        "0.400 [0.342, 0.457]",
        "0.401 [0.387, 0.434]",
        "0.412 [0.394, 0.504]",
        "0.431 [0.369, 0.511]",
    ]
    # 5 SATA and an SSD on InfiniBand, with the median of 2 SSDs there, is found dearer.
    by_name = dict(zip(names(one.key for one in ranking.groups), ranking.groups, strict=True))
    assert by_name["IB HS5"].rank == by_name["IB SS2"].rank == 4
    assert by_name["IB HS5"].standing is Rank.WORSE


def test_who_is_best_depends_on_the_objective(public: list[TimedTrial]) -> None:
    groups = list(priced(public).values())
    tie = {o: names(one.key for one in rank_groups(groups, o).tie) for o in Objective}
    assert tie[Objective.TIME] == ["IB HS5", "IB SS2", "IB HS4", "IB SSD", "ETH SS2", "ETH SSD"]
    assert len(tie[Objective.COST_TIME]) == 8
    assert tie[Objective.PARETO][:3] == ["IB HS5", "IB SSD", "ETH SSD"]
    assert set(CHEAPEST) < set(tie[Objective.PARETO])


def resampled_medians(values: Iterable[float], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    given = np.array(list(values))
    return np.asarray(np.median(given[rng.integers(0, len(given), (50_000, len(given)))], axis=1))


def test_cost_of_the_paper_s_first_over_the_cheapest(public: list[TimedTrial]) -> None:
    groups = {group.label: group for group in priced(public).values()}
    rng = np.random.default_rng(1)
    first, cheapest = (
        resampled_medians(groups[name].cost or (), rng) for name in ("IB SS2", "ETH SSD")
    )
    assert np.quantile(first / cheapest, [0.05, 0.95]) == pytest.approx([1.035, 1.370], abs=2e-3)


def test_plain_resampling_of_the_group_with_the_1_tb_sort(minerva: list[dict[str, str]]) -> None:
    """The interval that is quoted for it, 0.355 to 0.400, has the sort of 1 TB among the 20."""
    groups = {group.label: group for group in priced(timed(short(minerva))).values()}
    replicates = resampled_medians(groups["ETH SSD"].cost or (), np.random.default_rng(1))
    assert np.quantile(replicates, [0.025, 0.975]) == pytest.approx([0.355, 0.400], abs=1e-3)
