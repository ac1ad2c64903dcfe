"""What settings bring where pooling misleads: every answer, and its strata.

On made trials whose effects are planted always, on ALOJA's public trials where they are at hand.
The strata are computed again here in plain dictionaries, from the file as it is, with SciPy's t.
"""

from __future__ import annotations

import csv
import math
import random
import shutil
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
import sqlalchemy as sa

from public_data import ImportedData, dataset
from venturi.core.settings import Settings
from venturi.record.importing.importer import import_file
from venturi.record.query.conditions import parse_condition
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CONFIGURATION, RECORDS, TRIALS
from venturi.results.effects.effect import Effect, EffectOutcome, Effects
from venturi.web.effects import Question, effects

KEYS = {"disk": "Disk", "net": "Net", "maps": "Maps", "compression": "Comp"}
WORKLOADS = {"terasort", "prep_terasort", "wordcount"}
CODECS = {"none": "0", "zlib": "1", "lzo": "2", "snappy": "3"}


class Known(NamedTuple):
    """One answer at 90 %, as it was worked out from the public file; `crude` is pooled."""

    work: str
    key: str
    value: str
    baseline: str
    strata: int
    n: int
    n_baseline: int
    ratio: float
    low: float
    high: float
    below: int
    above: int
    crude: float
    outcome: EffectOutcome


_TABLE = """
terasort      disk SSD HDD           201  223  250 .2277 .2229 .2325  201    0  .776 faster
wordcount     disk SSD HDD            41   67   73 .7493 .7045 .7970   38    3  .411 faster
prep_terasort disk SSD HDD            13   20   20 .4974 .3950 .6263   13    0 2.623 faster
terasort      net IB ETH             257  334  363 .9363 .9277 .9450  208   49 1.000 faster
wordcount     net IB ETH              47  108  103 .9957 .9777 1.0140  22   24  .440 no difference
prep_terasort net IB ETH              65   94   94 .7435 .6879 .8037   46   19  .831 faster
terasort      maps 6 4              1086 1570 1519 .9522 .9333 .9716  602  481  .924 depends
terasort      maps 8 4                82  255  178 .8091 .7507 .8719   64   18  .777 depends
wordcount     maps 8 4                75  144  105 .6269 .5733 .6855   68    7  .577 faster
prep_terasort maps 8 4                85  267  193 .9319 .8654 1.0035  50   35  .953 depends
terasort      compression zlib none 1503 1962 2065 .9957 .9835 1.0081 720  771 1.067 no difference
wordcount     compression zlib none  202  289  313 1.0039 .9753 1.0333 103  97 1.181 no difference
prep_terasort compression zlib none 1180 1574 1646 1.0030 .9975 1.0085 569 535  .949 no difference
"""


def _known(line: str) -> Known:
    work, key, value, baseline, *rest = line.split(maxsplit=13)
    strata, n, n_baseline, *ratios, below, above, crude, outcome = rest
    ratio, low, high = map(float, ratios)
    return Known(
        work,
        key,
        value,
        baseline,
        int(strata),
        int(n),
        int(n_baseline),
        ratio,
        low,
        high,
        int(below),
        int(above),
        float(crude),
        EffectOutcome(outcome),
    )


ANSWERS = tuple(map(_known, _TABLE.strip().splitlines()))
NAMES = [f"{each.work} {each.key} {each.value}" for each in ANSWERS]


Rows = list[dict[str, str]]


@cache
def public_rows() -> Rows:
    """The 21,455 trials of three workloads in ALOJA's public data set 4."""
    with dataset("aloja_dataset4.csv").open(newline="", encoding="utf-8") as file:
        found = [row for row in csv.DictReader(file) if row["Benchmark"] in WORKLOADS]
    assert len(found) == 21_455
    return found


def opened(rows: Rows, folder: Path) -> Iterator[TrialRepository]:
    """A repository into which the trials were imported."""
    with (folder / "set4.csv").open("w", newline="") as file:
        write = csv.DictWriter(file, list(rows[0]))
        write.writeheader()
        write.writerows(rows)
    settings = Settings(home=folder, database_url=None, agent=None, allow_debug=False)
    with TrialRepository.open(settings) as repository:
        import_file(repository, "aloja", folder / "set4.csv")
        yield repository


@pytest.fixture(scope="module")
def public(
    aloja: ImportedData, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TrialRepository]:
    """The imported trials of three workloads."""
    home = tmp_path_factory.mktemp("aloja4") / "home"
    shutil.copytree(aloja.settings.home, home)
    with TrialRepository.open(replace(aloja.settings, home=home)) as repository:
        with repository.writing() as connection:
            others = sa.select(TRIALS).where(TRIALS.c.workload.not_in(WORKLOADS)).subquery()
            for table, key, of in ((CONFIGURATION, "trial", "serial"), (RECORDS, "id", "id")):
                every = sa.select(others.c[of])
                connection.execute(sa.delete(table).where(table.c[key].in_(every)))
            connection.execute(sa.delete(TRIALS).where(TRIALS.c.workload.not_in(WORKLOADS)))
        yield repository


def ask(
    repository: TrialRepository, key: str | tuple[str, ...], *where: str, **more: object
) -> Effects:
    keys = (key,) if isinstance(key, str) else key
    query = Query(tuple(map(parse_condition, where)))
    return effects(repository, query, Question(keys, **more))  # type: ignore[arg-type]


def of(answer: Effects, value: str) -> Effect:
    return next(each for each in answer.effects if each.value == (value,))


def recomputed(
    rows: Rows, work: str, key: str, value: str, baseline: str
) -> list[tuple[float, int, int]]:
    """Of each stratum the logarithm of the median pair ratio, and its trials."""
    target = KEYS[key]
    value, baseline = (CODECS.get(text, text) for text in (value, baseline))
    cells: dict[tuple[str, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["Benchmark"] == work and row[target] in {value, baseline}:
            stratum = tuple(text for n, text in row.items() if n not in {"ID", "Exe.Time", target})
            cells[stratum][row[target]].append(float(row["Exe.Time"]))
    both = [(cell[value], cell[baseline]) for cell in cells.values() if len(cell) == 2]
    return [
        (statistics.median(math.log(b / a) for b, a in product(own, base)), len(own), len(base))
        for own, base in both
    ]


@pytest.mark.parametrize("known", ANSWERS, ids=NAMES)
def test_each_of_the_thirteen_answers_is_the_one_worked_out(
    public: TrialRepository, known: Known
) -> None:
    answer = ask(
        public, known.key, f"workload={known.work}", baseline=known.baseline, level=0.90, crude=True
    )
    one = of(answer, known.value)
    assert one.interval is not None
    assert one.crude is not None
    assert one.ratio == pytest.approx(known.ratio, abs=5e-5)
    assert (one.interval.low, one.interval.high) == pytest.approx((known.low, known.high), abs=5e-5)
    assert (one.strata, one.n, one.n_baseline) == (known.strata, known.n, known.n_baseline)
    assert (one.below, one.above) == (known.below, known.above)
    assert one.crude.ratio == pytest.approx(known.crude, abs=1e-3)
    assert one.outcome is known.outcome


@pytest.mark.parametrize("known", ANSWERS, ids=NAMES)
def test_strata_computed_again_say_the_same(public: TrialRepository, known: Known) -> None:
    one = of(ask(public, known.key, f"workload={known.work}", baseline=known.baseline), known.value)
    strata = recomputed(public_rows(), known.work, known.key, known.value, known.baseline)
    assert one.strata == known.strata
    says_the_same(one, strata)


def says_the_same(one: Effect, strata: list[tuple[float, int, int]]) -> None:
    from scipy.stats import t as student

    logs = [each for each, _, _ in strata]
    half = float(student.ppf(0.975, len(logs) - 1)) * statistics.stdev(logs) / math.sqrt(len(logs))
    middle = statistics.fmean(logs)
    assert one.interval is not None
    assert one.strata == len(strata)
    assert (one.n, one.n_baseline) == (sum(n for _, n, _ in strata), sum(n for *_, n in strata))
    ends = middle - half, middle, middle + half
    told = one.interval.low, one.ratio, one.interval.high
    assert told == pytest.approx(tuple(map(math.exp, ends)), rel=1e-9)
    ratios = sorted(map(math.exp, logs))
    assert one.points == pytest.approx(ratios, rel=1e-3)


# ---- made trials, whose effects are known ----

_SIZES = ("32", "64", "128", "256")
_MACHINES = {"quick": ("1", 1.0), "slow": ("2", 8.0), "other": ("3", 2.0)}


@cache
def planted_rows() -> Rows:
    """SSD halves the time, but was measured on the slow cluster mostly; IB brings nothing; 8 maps
    bring 20 % with small blocks and cost 25 % with large ones; Snappy ran on other machines only.
    """
    rng = random.Random(20)
    rows: Rows = []
    works = {"terasort": 100.0, "wordcount": 400.0}
    settings = product(
        works, ("quick", "slow"), ["HDD", "SSD"], ("ETH", "IB"), "48", _SIZES, ("10", "25")
    )
    for work, cluster, disk, net, maps, block, factor in settings:
        many = (cluster == "slow") == (disk == "SSD")
        for _ in range(rng.randint(2, 3) if many else int(rng.random() < 0.3)):
            seconds = works[work] * _MACHINES[cluster][1] * (0.5 if disk == "SSD" else 1)
            seconds *= 1 if maps == "4" else 0.8 if block in _SIZES[:2] else 1.25
            rows.append(
                _row(
                    work,
                    cluster,
                    disk,
                    net,
                    maps,
                    block,
                    factor,
                    "0",
                    seconds * math.exp(rng.gauss(0, 0.02)),
                )
            )
    rows += [
        _row("terasort", "other", "SSD", net, "4", block, "10", "3", 90 + rng.gauss(0, 1))
        for net, block in product(("ETH", "IB"), _SIZES)
    ]
    return [{"ID": str(n), **row} for n, row in enumerate(rows, start=1)]


def _row(
    work: str,
    cluster: str,
    disk: str,
    net: str,
    maps: str,
    block: str,
    factor: str,
    codec: str,
    seconds: float,
) -> dict[str, str]:
    return {
        "Benchmark": work,
        "Exe.Time": f"{seconds:.3f}",
        "Net": net,
        "Disk": disk,
        "Maps": maps,
        "IO.SFac": factor,
        "Rep": "1",
        "IO.FBuf": "65536",
        "Comp": codec,
        "Blk.size": block,
        "Cluster": _MACHINES[cluster][0],
        "Cl.Name": cluster,
        "Datanodes": "3",
        "Headnodes": "1",
        "VM.OS": "linux",
        "VM.Cores": "12",
        "VM.RAM": "128.000",
        "Provider": "on-premise",
        "VM.Size": "made",
        "Service.Type": "On-premise",
        "Bench.Type": "HiBench",
    }


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrialRepository]:
    yield from opened(planted_rows(), tmp_path_factory.mktemp("planted"))


@pytest.mark.parametrize("work", ["terasort", "wordcount"])
@pytest.mark.parametrize(
    ("key", "value", "baseline", "truth", "outcome"),
    [
        ("disk", "SSD", "HDD", 0.5, EffectOutcome.FASTER),
        ("net", "IB", "ETH", 1.0, EffectOutcome.NO_DIFFERENCE),
        ("maps", "8", "4", 1.0, EffectOutcome.DEPENDS),
    ],
)
def test_planted_effects_are_found_and_strata_computed_again_say_the_same(
    planted: TrialRepository,
    work: str,
    key: str,
    value: str,
    baseline: str,
    truth: float,
    outcome: EffectOutcome,
) -> None:
    one = of(ask(planted, key, f"workload={work}", baseline=baseline), value)
    says_the_same(one, recomputed(planted_rows(), work, key, value, baseline))
    assert one.outcome is outcome
    assert one.strata >= 10
    assert one.ratio == pytest.approx(truth, rel=0.03)


def test_a_planted_confounder_turns_what_was_measured_round_and_is_named(
    planted: TrialRepository,
) -> None:
    where = "workload=terasort", "compression=none"
    one = of(ask(planted, "disk", *where, baseline="HDD", crude=True), "SSD")
    assert one.crude is not None
    assert one.crude.ratio > 2
    assert {each.keys[0] for each in one.confounders if each.flagged} == {"cluster"}


def test_planted_effects_in_opposite_directions_are_no_verdict(planted: TrialRepository) -> None:
    one = of(ask(planted, "maps", "workload=wordcount", baseline="4"), "8")
    found = next(each for each in one.depends if each.opposite)
    assert found.keys == ("block_bytes",)
    low, high = found.parts[:2]
    assert (low.ratio, high.ratio) == pytest.approx((0.8, 1.25), rel=0.03)
    assert "maps 8 compared with maps 4 depends on block_bytes" in one.verdict


def test_what_was_planted_on_other_machines_only_is_refused(planted: TrialRepository) -> None:
    one = of(ask(planted, "compression", "workload=terasort", baseline="none"), "snappy")
    assert (one.outcome, one.ratio, one.strata) == (EffectOutcome.CONFOUNDED, None, 0)
    assert "cluster" in one.verdict


# ---- what a new user reads first ----


def test_the_start_pages_ssd_answer_for_prep_terasort(public: TrialRepository) -> None:
    """Pooled it takes 2.6 times the time; of like with like, half."""
    answer = ask(public, "disk", "workload=prep_terasort", crude=True)
    assert answer.baseline == ("HDD",)
    one = of(answer, "SSD")
    assert one.crude is not None
    assert one.crude.ratio > 2.6
    assert one.verdict.startswith("SSD takes 50 % less time than HDD (ratio 0.497")
    assert one.outcome is EffectOutcome.FASTER
    assert {"cluster", "maps"} <= {each.keys[0] for each in one.confounders if each.flagged}


def test_the_start_pages_ssd_answer_for_terasort_names_what_pooling_hid(
    public: TrialRepository,
) -> None:
    answer = ask(public, "disk", "workload=terasort")
    assert answer.main is not None
    one = answer.effects[answer.main]
    assert answer.verdict.startswith("SSD takes 77 % less time than HDD (ratio 0.228")
    cluster = one.confounders[0]
    assert cluster.keys[0] == "cluster"
    assert cluster.apart == pytest.approx(0.83, abs=5e-3)
    assert cluster.ratio == pytest.approx(0.253, abs=5e-4)
    assert {part.value: part.strata for part in one.machines} == {
        "m1000-01": 189,
        "minerva100-10-18-21": 12,
    }
    ratios = {part.value: part.ratio for part in one.machines}
    assert ratios["m1000-01"] == pytest.approx(0.222, abs=5e-4)
    assert ratios["minerva100-10-18-21"] == pytest.approx(0.329, abs=5e-4)
    machines, *others = one.depends  # the widest range first
    assert machines.keys[0] == "cluster"
    (buffers,) = (each for each in others if each.keys == ("io_file_buffer_bytes",))
    assert buffers.share == pytest.approx(0.28, abs=6e-3)
    assert not buffers.opposite


def test_infiniband_makes_no_difference_for_wordcount(public: TrialRepository) -> None:
    """Pooled it is 2.28 times as fast."""
    one = of(ask(public, "net", "workload=wordcount", crude=True), "IB")
    assert one.crude is not None
    assert 1 / one.crude.ratio == pytest.approx(2.27, abs=0.02)
    assert one.outcome is EffectOutcome.NO_DIFFERENCE
    assert one.verdict.startswith("IB differs from ETH by at most 5 %")


def test_a_key_without_a_filter_is_matched_within_each_kind_of_work(
    public: TrialRepository,
) -> None:
    """Once: "no two trials differ in disk alone", for more than 10,000 repeat groups."""
    one = of(ask(public, "disk"), "SSD")
    assert one.strata == 201 + 41 + 13
    assert {part.value: part.strata for part in one.works} == {
        "terasort": 201,
        "wordcount": 41,
        "prep_terasort": 13,
    }
    assert one.ratio == pytest.approx((0.227657 * 0.7493 * 0.497419) ** (1 / 3), rel=1e-3)


@pytest.mark.parametrize(
    ("work", "key", "low", "high"),
    [
        ("terasort", "block_bytes", (str(32 << 20), 0.796, 266), (str(256 << 20), 1.146, 263)),
        ("terasort", "cluster", ("al-04", 0.527, 15), ("rl-06", 1.490, 5)),
        ("prep_terasort", "cluster", ("al-04", 0.847, 15), ("al-14", 1.361, 9)),
    ],
)
def test_an_effect_that_turns_round_is_no_verdict(
    public: TrialRepository,
    work: str,
    key: str,
    low: tuple[str, float, int],
    high: tuple[str, float, int],
) -> None:
    value = "6" if key == "block_bytes" else "8"
    one = of(ask(public, "maps", f"workload={work}", baseline="4"), value)
    found = next(each for each in one.depends if each.opposite and each.keys[0] == key)
    for part, (text, ratio, strata) in zip(found.parts[:2], (low, high), strict=True):
        assert (part.value, part.strata) == (text, strata)
        assert part.ratio == pytest.approx(ratio, abs=5e-4)
    assert one.outcome is EffectOutcome.DEPENDS
    assert f"The effect of maps {value} compared with maps 4 depends on " in one.verdict
    assert one.next.where


def test_other_machines_are_another_question(public: TrialRepository) -> None:
    one = of(ask(public, "maps", "workload=terasort", baseline="4", level=0.9), "6")
    reach = one.other_machines
    assert reach is not None
    assert reach.interval is not None
    # Each machine once: 0.937 (0.836 to 1.050), for three of the twelve have one setting each.
    assert (reach.machines, reach.ratio) == (12, pytest.approx(0.914, abs=5e-4))
    ends = reach.interval.low, reach.interval.high
    assert ends == pytest.approx((0.824, 1.014), abs=6e-4)
    few = of(ask(public, "disk", "workload=terasort"), "SSD").other_machines
    assert few is not None
    assert (few.machines, few.interval) == (2, None)


def test_what_was_never_measured_alike_is_refused_and_says_what_would_help(
    public: TrialRepository,
) -> None:
    answer = ask(public, "maps", "workload=terasort", baseline="4")
    one = of(answer, "12")
    assert (one.outcome, one.ratio, one.strata) == (EffectOutcome.CONFOUNDED, None, 0)
    assert one.verdict.startswith("Cannot compare maps 12 with maps 4: confounded by ")
    assert [(each.keys, each.strata) for each in one.omissions] == [
        (("io_sort_factor",), 2),
        (("replication",), 1),
    ]
    assert one.next.ignore == ("io_sort_factor",)
    again = ask(public, "maps", "workload=terasort", baseline="4", ignore=("io_sort_factor",))
    assert again.ignored == ("io_sort_factor",)
    assert of(again, "12").strata == 2


def test_the_suite_alone_leaves_twelve_strata(public: TrialRepository) -> None:
    where = ("workload=prep_terasort", "workload_version=aloja HiBench")
    one = of(ask(public, "disk", *where), "SSD")
    assert one.strata == 12
    assert one.ratio is not None
    assert 1 / one.ratio == pytest.approx(2.07, abs=5e-3)


@pytest.mark.parametrize(
    ("work", "value", "ratio"),
    [
        ("terasort", "lzo", 0.9949),
        ("wordcount", "lzo", 0.9981),
        ("prep_terasort", "lzo", 0.9978),
        ("terasort", "snappy", 1.0038),
        ("wordcount", "snappy", 0.9867),
        ("prep_terasort", "snappy", 0.9997),
    ],
)
def test_other_codecs(public: TrialRepository, work: str, value: str, ratio: float) -> None:
    one = of(ask(public, "compression", f"workload={work}", baseline="none"), value)
    assert one.ratio == pytest.approx(ratio, abs=5e-5)
    assert one.outcome is EffectOutcome.NO_DIFFERENCE
