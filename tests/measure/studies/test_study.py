"""Plans: each combination once a repeat, in a reproducible order; every mistake named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_samples import QUICK, parsed, plan, require_mistake

from venturi.core.errors import FailureClass
from venturi.measure.engines.registry import ENGINES
from venturi.measure.studies.plan_file import EngineWords, plan_of
from venturi.measure.studies.study import (
    Combination,
    Plan,
    failure_class,
    peak_bytes,
    standings,
)
from venturi.measure.workloads.registry import workload, workloads_with
from venturi.record.trial import Failure, State, Trial, Workload


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    repeats = draw(st.integers(1, 4))
    workloads = draw(st.sampled_from(['["terasort"]', '["terasort", "wordcount"]']))
    engines = draw(st.sampled_from(['["native"]', '["spark", "native"]']))
    threads = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True))
    cut = draw(st.booleans()) and len(threads) > 1
    return plan(
        f"repeats = {repeats}\nwarm_ups = {draw(st.integers(0, repeats - 1))}\n"
        f"order = '{draw(st.sampled_from(['random', 'blocked', 'split-plot', 'written']))}'\n"
        f"seed = {draw(st.integers(0, 5))}\n"
        f"[factors]\nworkload = {workloads}\nengine = {engines}\nthreads = {threads}\n"
        + (f"[[exclude]]\nworkload = 'terasort'\nthreads = {threads[0]}\n" if cut else "")
    )


@QUICK
@given(plans())
def test_every_combination_is_there_exactly_once_a_repeat(made: Plan) -> None:
    ordered = made.ordered()
    seen = Counter((p.combination, p.repetition) for p in ordered)
    wanted = {(c, r) for c in made.combinations for r in range(made.repeats)}
    assert set(seen) == wanted
    assert set(seen.values()) == {1}
    assert sorted(p.number for p in ordered) == list(range(len(wanted)))
    assert ordered == made.ordered()


@QUICK
@given(plans())
def test_a_combination_warms_up_before_it_counts(made: Plan) -> None:
    for combination in made.combinations:
        own = [p.warm_up for p in made.ordered() if p.combination == combination]
        assert own == sorted(own, reverse=True)
        assert sum(own) == made.warm_ups


def test_exclusions_take_out_what_they_cover_and_nothing_else() -> None:
    made = plan(
        '[factors]\nworkload = ["terasort", "wordcount"]\nmemory = ["512MiB", "1GiB"]\n'
        '[[exclude]]\nworkload = "terasort"\nmemory = "0.5GiB"\n'
    )
    assert [(c.workload, c.memory) for c in made.combinations] == [
        ("terasort", 2**30),
        ("wordcount", 2**29),
        ("wordcount", 2**30),
    ]


def test_a_setting_varies_only_the_engine_that_knows_it() -> None:
    made = plan(
        '[factors]\nworkload = ["terasort"]\nengine = ["native", "spark"]\n'
        '[factors.settings]\n"spark.executor.cores" = [1, 2]\n'
    )
    assert [(c.engine, dict(c.settings)) for c in made.combinations] == [
        ("native", {}),
        ("spark", {"spark.executor.cores": "1"}),
        ("spark", {"spark.executor.cores": "2"}),
    ]


def test_tiers_are_a_factor_of_spark() -> None:
    made = plan(
        '[factors]\nworkload = ["terasort"]\nengine = ["native", "spark"]\n'
        'tiers = ["none", "ssd 2GB", "ssd max 1GiB"]\n[[exclude]]\ntiers = "ssd 2GB"\n'
    )
    assert [(c.engine, dict(c.settings)) for c in made.combinations] == [
        ("native", {}),
        ("spark", {"spark.storage.hierarchyStore": "none"}),
        ("spark", {"spark.storage.hierarchyStore": "ssd max 1GiB"}),
    ]


def test_reserves_are_a_factor_where_there_are_tiers() -> None:
    made = plan(
        '[factors]\nworkload = ["terasort"]\nengine = ["spark"]\n'
        'tiers = ["none", "ssd 2GB"]\nreserves = ["none", "spill 1GB, cached 2g", "other 0B"]\n'
        '[[exclude]]\nreserves = "other 0B"\n'
    )
    store = "spark.storage.hierarchyStore"
    assert [dict(c.settings) for c in made.combinations] == [
        {store: "none"},
        {store: "ssd 2GB", f"{store}.reserves": "none"},
        {store: "ssd 2GB", f"{store}.reserves": "spill 1GB, cached 2g"},
    ]


def test_deployments_instances_and_parameters_are_factors() -> None:
    found = plan(
        "repeats = 2\n[factors]\nworkload = ['terasort', 'kmeans']\n"
        "engine = ['native', 'spark', 'spark:yarn', 'spark:spark://master:7077']\n"
        "instances = [1, 8]\n[factors.parameters]\nk = [10, 20]\n"
        "[[exclude]]\nengine = 'native'\nworkload = 'kmeans'\n"
        "[[exclude]]\n'workload.k' = 10\ninstances = 8\n"
    )
    sorts = [each for each in found.combinations if each.workload == "terasort"]
    means = [each for each in found.combinations if each.workload == "kmeans"]
    # Only kmeans has k, and only Spark runs several instances.
    assert Counter(each.engine for each in sorts) == {
        "native": 1,
        "spark": 2,
        "spark:yarn": 2,
        "spark:spark://master:7077": 2,
    }
    assert Counter((each.instances, each.parameters["k"]) for each in means) == {
        (1, 10): 3,
        (1, 20): 3,
        (8, 20): 3,
    }
    assert means[0].values()["workload.k"] == 10


def test_another_seed_is_another_order_and_another_plan() -> None:
    text = "[factors]\nworkload = ['terasort']\nthreads = [1, 2, 3, 4]\n"
    one, two = plan("seed = 1\n" + text), plan("seed = 2\n" + text)
    assert one.ordered() != two.ordered()
    assert one.id != two.id
    assert plan("seed = 1\ntimeout = '9s'\n" + text).id == one.id
    traced = plan("seed = 1\ntrace = true\n" + text)
    assert (traced.traced, one.traced, traced.id == one.id) == (True, False, False)


def trial_at(
    make: Callable[..., Trial], number: int, code: str | None = None, *, of: str = "terasort"
) -> Trial:
    did = Workload(of, workload(of).version)
    if code is None:
        return make(repetition=number, workload=did, state=State.SUCCEEDED, elapsed_s=1.0)
    failure = Failure("x", code, "it failed")
    return make(repetition=number, workload=did, state=State.FAILED, failure=failure)


@QUICK
@given(made=plans(), data=st.data())
def test_after_any_prefix_exactly_the_rest_is_left(
    make_trial: Callable[..., Trial], made: Plan, data: st.DataObject
) -> None:
    ordered = made.ordered()
    done = data.draw(st.integers(0, len(ordered)))
    trials = [
        trial_at(make_trial, place.number, of=place.combination.workload)
        for place in ordered[:done]
    ]
    left = [each.place for each in standings(made, trials) if each.status == "left"]
    assert left == list(ordered[done:])


def test_only_retryable_classes_are_tried_again_and_only_so_often(
    make_trial: Callable[..., Trial],
) -> None:
    made = plan(
        "repeats = 1\nwarm_ups = 0\n[factors]\nworkload = ['terasort']\n[failure]\n"
        "retry = { capacity = 1 }\n"
    )

    def status(*codes: str) -> str:
        return standings(made, [trial_at(make_trial, 0, code) for code in codes])[0].status

    assert status("VEN-SORT-SPACE") == "left"
    assert status("VEN-SORT-SPACE", "VEN-MEASURE-SPACE") == "failed"
    assert status("VEN-ENGINE-FAILED") == "failed"
    gone = replace(trial_at(make_trial, 0, "VEN-X"), state=State.INTERRUPTED)
    assert [each.status for each in standings(made, [gone, replace(gone, id="Z")])] == ["left"]


def test_a_trial_of_an_older_definition_does_not_count(make_trial: Callable[..., Trial]) -> None:
    made = plan("repeats = 1\nwarm_ups = 0\n[factors]\nworkload = ['terasort']\n")
    now = trial_at(make_trial, 0)
    before = replace(now, workload=replace(now.workload, version="older"))
    assert [each.status for each in standings(made, [before])] == ["left"]
    assert [each.status for each in standings(made, [now])] == ["done"]


def test_other_folders_are_another_plan() -> None:
    text = "[factors]\nworkload = ['terasort']\n"
    made = plan(text)
    there = replace(made, default_dir=Path("/there"))
    assert made.id != there.id
    assert made.id == plan(text).id
    named = plan(
        text + "disk = ['a']\n[disks.a]\ninput = ['/a']\nscratch = ['/a']\noutput = ['/a']\n"
    )
    assert named.id == replace(named, default_dir=Path("/there")).id


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("VEN-ENGINE-SETTING", FailureClass.USAGE),
        ("VEN-ENGINE-JAVA", FailureClass.ENVIRONMENT),
        ("VEN-GEN-FULL", FailureClass.CAPACITY),
        ("VEN-ENGINE-TIMEOUT", FailureClass.TIMEOUT),
        ("VEN-AGENT-DIED", FailureClass.ENGINE),
    ],
)
def test_classes(make_trial: Callable[..., Trial], code: str, expected: FailureClass) -> None:
    assert failure_class(trial_at(make_trial, 0, code)) is expected


def test_inputs_are_counted_from_first_to_last_use() -> None:
    text = (
        "repeats = 2\nwarm_ups = 0\norder = '{}'\n[factors]\nworkload = ['terasort']\n"
        "bytes = ['1MB', '2MB']\n"
    )
    sizes = [plan(text.format(order)) for order in ("written", "blocked")]
    peaks = [peak_bytes(p, {c: c.bytes or 0 for c in p.combinations}) for p in sizes]
    assert peaks == [{"local": 8_200_000}, {"local": 9_200_000}]


def test_instances_share_the_input_and_nothing_else() -> None:
    text = "[factors]\nworkload = ['terasort']\nengine = ['spark']\ninstances = [{}]\n"
    made = [plan(text.format(instances)) for instances in (1, 8)]
    peaks = [peak_bytes(each, {each.combinations[0]: 1_000_000}) for each in made]
    assert peaks == [{"local": 4_100_000}, {"local": 1_000_000 + 8 * 3_100_000}]


def test_an_hdfs_of_our_own_needs_space_too() -> None:
    def peak(workload: str, engine: str) -> int:
        one = Combination(workload, engine, bytes=1_000_000)
        made = replace(plan("[factors]\nworkload = ['terasort']\n"), combinations=(one,))
        return peak_bytes(made, {one: 1_000_000})["local"]

    assert peak("terasort", "mapreduce") == 4_100_000
    assert peak("terasort", "mapreduce:cluster") == peak("terasort", "spark:yarn") == 6_200_000
    # Nothing is read; its files are in HDFS and are fetched, or aren't needed.
    assert peak("teragen", "mapreduce") == 1_000_000
    assert peak("teragen", "mapreduce:cluster") == 2_000_000
    assert peak("dfsio-write", "mapreduce:cluster") == 1_000_000


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("[factors]\nworkload = ['terasort'", 2, "Unclosed array"),
        ("seed = 1\nrepeat = 3\n[factors]\nworkload = ['terasort']", 2, "repeat is not a key"),
        ("seed = -1\n[factors]\nworkload = ['terasort']", 1, "greater than or equal to 0"),
        ("[budget]\n\ntime = '9 parsecs'\n[factors]\nworkload=['terasort']", 3, "not a duration"),
        ("seed = 1\n[factors]\nengine = ['native']", 2, "factors.workload is missing"),
        ("[factors]\nworkload = ['nosort']", 2, "no workload 'nosort'"),
        ("[factors]\nworkload = ['terasort']\ninstances = [65]", 3, "less than or equal to 64"),
        (
            "[failure]\nwarnings = ['VEN-MEASURE-SERIS']\n[factors]\nworkload = ['terasort']",
            2,
            "did you mean VEN-MEASURE-SERIES",
        ),
        ("[factors]\nworkload=['aggregate']\nengine=['spark']", 3, "spark cannot run aggregate"),
        ("[factors]\nworkload = ['terasort']\nthreads = [1, 1]", 3, "threads: 1 is given twice"),
        ("[factors]\nworkload = ['terasort']\nhost = ['local']", 3, "host is not a key"),
        ("[factors]\nworkload = ['terasort']\ndisk = ['nvme']", 3, "no disk 'nvme'"),
        ("[factors]\nworkload = ['terasort']\n[disks.a]\ninput = ['/a']", 3, "lacks output"),
        ("[factors]\nworkload = ['terasort']\n[[exclude]]\nthreads = 3", 4, "is not a factor"),
        ("[factors]\nworkload = ['terasort']\n[failure.retry]\n'wrong output' = 1", 4, "retried"),
        ("[factors]\nworkload = ['terasort']\n[factors.settings]\n'a.b' = [1]", 4, "setting a.b"),
        (
            "[factors]\nworkload = ['terasort']\n[[exclude]]\nworkload = 'terasort'",
            3,
            "no combination",
        ),
        (
            "[factors]\nworkload = ['pi', 'terasort']\nengine = ['native', 'spark']\n"
            "[factors.settings]\n'spark.a' = [8, 9]\n"
            "[[exclude]]\nengine = 'native'\nworkload = 'pi'\n"
            "[[exclude]]\nengine = 'native'\n'spark.a' = 8",
            9,
            "excludes nothing",
        ),
        (
            "[factors]\nworkload = ['terasort']\nengine = ['spark']\ntiers = ['ssd 2XB']",
            4,
            "tier 1 of 'ssd 2XB': 'ssd 2XB' is neither KEYWORD SIZE",
        ),
        (
            "[factors]\nworkload = ['terasort']\nengine = ['native']\ntiers = ['ssd 2GB']",
            4,
            "no engine of this plan has a setting",
        ),
        (
            "[factors]\nworkload = ['terasort']\nengine = ['spark']\ntiers = ['ssd 2GB']\n"
            "[factors.settings]\n'spark.storage.hierarchyStore' = ['ssd 1GB']",
            4,
            "either tiers or",
        ),
        (
            "[factors]\nworkload = ['terasort']\nengine = ['spark']\ntiers = ['ssd 2GB']\n"
            "reserves = ['spill 1GB, rdd 2GB']",
            5,
            "reserve 2 of 'spill 1GB, rdd 2GB': 'rdd 2GB' is not KIND SIZE",
        ),
        (
            "[factors]\nworkload = ['terasort']\nengine = ['spark']\nreserves = ['spill 1GB']",
            4,
            "reserves need tiers",
        ),
        ("[factors]\nworkload = ['pi']\nengine = ['spark:moon']", 3, "no engine 'spark:moon'"),
        ("[factors]\nworkload = ['kmeans']\n[factors.parameters]\nk = [0]", 4, "0 is less than"),
        ("[factors]\nworkload = ['pi']\n[factors.parameters]\nk = [3]", 4, "has a parameter k"),
    ],
)
def test_mistakes_have_lines(text: str, line: int, says: str) -> None:
    require_mistake(text, line, says)


def test_all_mistakes_are_told_at_once() -> None:
    found, mistakes = parsed("repeats = 0\nwarmups = 1\n[factors]\nworkload = []\n")
    assert found is None
    assert [each.line for each in mistakes] == [1, 2, 4]


def test_the_example_of_the_guide_is_a_plan() -> None:
    guide = Path(__file__).parents[3] / "docs/guide/measure/plans.md"
    made = plan(guide.read_text().partition("```toml\n")[2].partition("```")[0])
    assert made.disks["hdd"]["input"] == (Path("/mnt/hdd0"), Path("/mnt/hdd1"))
    assert made.retries == {FailureClass.CAPACITY: 1, FailureClass.TIMEOUT: 1}
    # native: 2 scales, threads, memories; spark: 2 partitions and one memory; terasort on 2 disks.
    assert len(made.combinations) == (8 + 8) * 3


def test_the_studies_of_the_guide_are_plans() -> None:
    folder = Path(__file__).parents[3] / "docs/studies"
    studies = [each for each in sorted(folder.glob("*.toml")) if "[factors]" in each.read_text()]
    assert studies
    words = {
        name: EngineWords(workloads_with(kind.programs), kind.prefixes, kind.deployments, kind.urls)
        for name, kind in ENGINES.items()
    }
    for study in studies:
        made = plan_of(study.read_text(), study, words, Path("/here"), Path.read_text)
        assert len(made.places()) >= made.repeats * 2, study.name
