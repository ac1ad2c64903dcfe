"""Effects of settings: matching, rejection, and invariance under relabeling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.statistics.quantiles import chi_squared_tail
from venturi.core.statistics.two_groups import compare_samples
from venturi.record.query.columns import Column
from venturi.record.query.trial_columns import TrialColumns
from venturi.results.effects.dependence import kruskal_wallis
from venturi.results.effects.effect import Effect, EffectOutcome, Effects
from venturi.results.effects.effects import EffectQuestion, UnknownBaselineError, effects_of
from venturi.results.effects.strata import for_these_only, over_machines, over_works, pooled

Row = tuple[Mapping[str, Any], float]


def chosen(rows: Sequence[Row]) -> TrialColumns:
    """Counted trials with these keys and times."""
    columns = {}
    for key in rows[0][0] if rows else ():
        values = [row[key] for row, _ in rows]
        known = list(dict.fromkeys(values))
        columns[key] = Column(known, np.array([known.index(v) for v in values], dtype=np.int64))
    times = np.array([seconds for _, seconds in rows], dtype=np.float64)
    serials = np.arange(len(rows))
    return TrialColumns(
        serials, columns, {}, times, np.ones(len(rows), bool), np.zeros(len(rows), bool), {}
    )


def ask(rows: Sequence[Row], key: str = "disk", **more: Any) -> Effects:
    return effects_of(chosen(rows), EffectQuestion((key,), **more))


def only(rows: Sequence[Row], **more: Any) -> Effect:
    (one,) = ask(rows, baseline=("HDD",), **more).effects
    return one


def rows_of(ratios: Sequence[float], trials: int = 1) -> list[Row]:
    """A stratum for each ratio of SSD to HDD."""
    return [
        ({"disk": disk, "maps": place}, 100.0 * (place + 1) * factor)
        for place, ratio in enumerate(ratios)
        for disk, factor in (("HDD", 1.0), ("SSD", ratio))
        for _ in range(trials)
    ]


def test_the_worked_example_of_strata() -> None:
    one = only(rows_of((0.80, 0.85, 0.78, 0.90, 0.83)), level=0.9)
    assert one.interval is not None
    told = one.ratio, one.interval.low, one.interval.high
    assert told == pytest.approx((0.8310, 0.7881, 0.8761), abs=5e-5)
    assert (one.outcome, one.strata, one.n, one.n_baseline) == (EffectOutcome.FASTER, 5, 5, 5)
    two = only(rows_of((0.5, 0.6)), level=0.9)
    assert two.interval is not None
    told = two.ratio, two.interval.low, two.interval.high
    assert told == pytest.approx((0.5477, 0.3080, 0.9739), abs=5e-5)


def test_matching_finds_the_effect_that_pooling_turns_round() -> None:
    """Simpson: SSD takes 20 % more everywhere, but was measured on the small input mostly."""
    rows: list[Row] = []
    for size, middle, hdd, ssd in (("small", 100.0, 2, 20), ("large", 1_000.0, 20, 2)):
        rows += [({"disk": "HDD", "size": size}, middle)] * hdd
        rows += [({"disk": "SSD", "size": size}, 1.2 * middle)] * ssd
    one = only(rows, crude=True)
    assert one.crude is not None
    assert one.crude.ratio < 1
    assert one.ratio == pytest.approx(1.2)
    assert [(each.keys, each.flagged) for each in one.confounders] == [(("size",), True)]


def test_one_stratum_is_a_comparison_of_two_groups() -> None:
    hdd, ssd = [100.0, 104, 98, 110, 102], [97.0, 95, 101, 99, 93]
    rows = [({"disk": "HDD"}, t) for t in hdd] + [({"disk": "SSD"}, t) for t in ssd]
    verdict = compare_samples(hdd, ssd)
    one = only([({**row, "maps": 1}, t) for row, t in rows])
    assert verdict.interval is not None
    assert one.interval is not None
    assert (one.strata, one.ratio) == (1, pytest.approx(verdict.ratio))
    assert (one.interval.low, one.interval.high) == pytest.approx(
        (verdict.interval.low, verdict.interval.high)
    )


def test_what_was_measured_on_other_machines_only_is_refused() -> None:
    rows = [({"disk": "HDD", "cluster": f"a{n}"}, 100.0 + n) for n in range(6)]
    rows += [({"disk": "SSD", "cluster": f"b{n}"}, 50.0 + n) for n in range(6)]
    one = only(rows)
    assert (one.outcome, one.ratio, one.interval, one.adjusted) == (
        EffectOutcome.CONFOUNDED,
        None,
        None,
        None,
    )
    assert "confounded by cluster" in one.verdict
    assert [(each.keys, each.strata) for each in one.omissions] == [(("cluster",), 1)]
    assert one.next.ignore == ("cluster",)
    ignored = only(rows, ignored=frozenset({"cluster"}))
    assert (ignored.outcome, ignored.strata) == (EffectOutcome.FASTER, 1)


def test_what_changes_only_with_the_setting_confounds_it_and_work_is_never_left_out() -> None:
    rows = [
        ({**row, "disks": {"HDD": 1, "SSD": 2}[row["disk"]]}, t)
        for row, t in rows_of((0.5, 0.49, 0.51, 0.5))
    ]
    answer = ask(rows, baseline=("HDD",))
    assert answer.along == ("disks",)
    one = answer.effects[0]
    assert (one.outcome, one.sure, one.strata) == (EffectOutcome.CONFOUNDED, False, 4)
    assert [(each.key, each.value, each.baseline) for each in one.together] == [("disks", 2, 1)]
    assert answer.verdict.startswith(
        "Cannot compare SSD with HDD: confounded by disks, which always changes with it; add "
        "trials that change disk but not disks. Together: SSD disks 2 compared with HDD "
        "disks 1: 50 % less time (ratio 0.500"
    )
    assert one.next.words.startswith("add trials that change disk but not disks")
    asked = effects_of(chosen(rows), EffectQuestion(("disk", "disks"), ("HDD", 1)))
    assert asked.effects[0].outcome is not EffectOutcome.CONFOUNDED
    third = [*rows, ({"disk": "NVMe", "maps": 0, "disks": 1}, 70.0)]
    by_value = {each.value: each for each in ask(third, baseline=("HDD",)).effects}
    assert [e.key for e in by_value[("SSD",)].together] == ["disks"]
    assert by_value[("NVMe",)].together == ()
    works = [({**row, "workload": row["disk"]}, t) for row, t in rows_of([0.5] * 4)]
    assert ask(works).effects[0].outcome is EffectOutcome.CONFOUNDED


def test_the_name_in_a_clusters_file_does_not_confound_the_plans_name_of_it() -> None:
    names = {"HDD": "lab-hdd", "SSD": "lab-ssd"}
    rows: list[Row] = [
        ({"cluster": row["disk"], "maps": row["maps"], "cluster_name": names[row["disk"]]}, t)
        for row, t in rows_of((0.5, 0.49, 0.51, 0.5, 0.5, 0.49))
    ]
    answer = ask(rows, "cluster", baseline=("HDD",))
    assert answer.effects[0].outcome is EffectOutcome.FASTER
    assert answer.verdict.startswith("SSD takes 50 % less time than HDD")
    by_disk: list[Row] = [
        ({"disk": row["cluster"], "maps": row["maps"], "cluster_name": row["cluster_name"]}, t)
        for row, t in rows
    ]
    assert ask(by_disk, baseline=("HDD",)).along == ("cluster_name",), "another cluster, too"


def test_a_difference_under_the_margin_is_none_and_few_strata_say_why_not() -> None:
    rng = np.random.default_rng(3)
    alike = only(rows_of(np.exp(rng.normal(0, 0.03, 40)).tolist()))
    assert alike.outcome is EffectOutcome.NO_DIFFERENCE
    unsure = only(rows_of((0.5, 1.9, 0.8)))
    assert unsure.outcome is EffectOutcome.CANNOT_TELL
    assert unsure.next.words
    alone = only(rows_of((0.5,)))
    assert (alone.outcome, alone.interval) == (EffectOutcome.CANNOT_TELL, None)
    assert alone.ratio == pytest.approx(0.5)


def test_the_next_step_is_the_key_with_the_widest_range_of_effects() -> None:
    rng = np.random.default_rng(5)
    rows: list[Row] = []
    for place in range(60):
        ratio = (0.5 if place % 2 else 0.58) * math.exp(rng.normal(0, 0.01))
        cluster = "b" if place % 15 == 0 else "a"
        ratio *= 1.4 if cluster == "b" else 1.0
        keys = {"maps": place, "block": place % 2, "cluster": cluster}
        rows += [({**keys, "disk": "HDD"}, 100.0), ({**keys, "disk": "SSD"}, 100.0 * ratio)]
    one = only(rows)
    assert [each.keys for each in one.depends] == [("cluster",), ("block",)]
    assert one.depends[0].share < one.depends[1].share
    assert one.next.where == ("cluster=a", "cluster=b")


def test_rows_can_be_compared_only_in_the_same_settings() -> None:
    def rows(maps: Mapping[str, range]) -> list[Row]:
        return [
            ({"disk": disk, "maps": each}, 100.0 + each)
            for disk, many in maps.items()
            for each in many
        ]

    few, many = range(4), range(9)
    alike = ask(rows({"HDD": many, "SSD": few, "SS2": few}), baseline=("HDD",))
    assert alike.rows == "All rows have the same settings, so you can compare them"
    apart = ask(rows({"HDD": many, "SSD": many, "SS2": few, "HD5": few}), baseline=("HDD",))
    assert apart.rows == (
        "Settings differ by row, so compare each row with HDD. Comparable with each other: "
        "HD5 and SS2"
    )
    assert ask(rows({"HDD": many, "SSD": few}), baseline=("HDD",)).rows == ""


def test_a_verdict_that_turns_round_with_a_key_names_it() -> None:
    rng = np.random.default_rng(4)
    rows = []
    for place in range(20):
        ratio = (0.7 if place % 2 else 1.4) * math.exp(rng.normal(0, 0.03))
        keys = {"maps": place, "block": "small" if place % 2 else "large"}
        rows += [({**keys, "disk": "HDD"}, 100.0), ({**keys, "disk": "SSD"}, 100.0 * ratio)]
    one = only(rows)
    assert one.outcome is EffectOutcome.DEPENDS
    assert one.depends[0].keys == ("block",)
    assert one.depends[0].opposite
    assert "depends on block" in one.verdict
    assert set(one.next.where) == {"block=small", "block=large"}


def test_kinds_of_work_count_once_each() -> None:
    rows = []
    for work, ratio, strata in (("sort", 0.5, 9), ("scan", 0.9, 3), ("join", 0.7, 3)):
        rows += [({**row, "workload": work}, t) for row, t in rows_of([ratio] * strata)]
    one = only(rows)
    assert one.ratio == pytest.approx((0.5 * 0.9 * 0.7) ** (1 / 3))
    assert {part.value: part.strata for part in one.works} == {"sort": 9, "scan": 3, "join": 3}
    assert "mean over 3 workloads" in one.verdict


def test_what_surely_brings_most_leads_and_the_baseline_is_the_most_frequent() -> None:
    rng = np.random.default_rng(5)
    rows = []
    for place in range(12):
        for disk, factor in (("HDD", 1.0), ("SSD", 0.5), ("tape", 3.0), ("HD2", 0.9)):
            seconds = 100.0 * factor * math.exp(rng.normal(0, 0.02))
            rows.append(({"disk": disk, "maps": place}, seconds))
    rows.append(({"disk": "HDD", "maps": 99}, 100.0))
    answer = ask(rows)
    assert (answer.baseline, answer.baseline_reason) == (("HDD",), "the most frequent")
    assert answer.main is not None
    assert answer.effects[answer.main].value == ("SSD",)
    assert answer.verdict.startswith("SSD takes 50 % less time than HDD")
    assert "The 2 other values: 1 faster, 1 slower" in answer.verdict
    # Selecting some of them gives the same results as among all.
    by_value = {each.value: replace(each, confounders=()) for each in answer.effects}
    for wanted, told in (((), [("SSD",)]), ((("tape",), ("HD2",)), [("HD2",), ("tape",)])):
        some = ask(rows, baseline=("HDD",), values=wanted)
        assert [each.value for each in some.effects] == told
        assert [replace(each, confounders=()) for each in some.effects] == [
            by_value[value] for value in told
        ]


def test_trials_without_facts_of_their_hosts_confound_nothing() -> None:
    rows: list[Row] = [
        ({"disk": disk, "maps": n, "disk_folders": folders}, 100.0 * factor + n % 3)
        for disk, factor, folders in (("HDD", 1.0, "/hdd"), ("SSD", 0.5, "/ssd"))
        for n in range(12)
    ]
    alone = ask(rows)
    # A published figure names no folder.
    rows.append(({"disk": "HDD", "maps": 99, "disk_folders": None}, 100.0))
    answer = ask(rows)
    assert answer.verdict.startswith("SSD takes 50 % less time than HDD")
    assert answer.verdict == alone.verdict


def test_combinations_are_compared_as_wholes() -> None:
    rows = [
        ({"disk": disk, "net": net, "maps": n}, 100.0 * (n + 1) * slow * lag)
        for disk, slow in (("HDD", 1.0), ("SSD", 0.5))
        for net, lag in (("ETH", 1.0), ("IB", 0.8))
        for n in range(5)
    ]
    found = effects_of(chosen(rows), EffectQuestion(("disk", "net"), ("HDD", "ETH")))
    ratios = {each.value: each.ratio for each in found.effects}
    assert ratios == {
        ("HDD", "IB"): pytest.approx(0.8),
        ("SSD", "ETH"): pytest.approx(0.5),
        ("SSD", "IB"): pytest.approx(0.4),
    }


def test_nothing_one_value_and_an_unknown_baseline() -> None:
    assert ask([]).baseline is None
    alone = ask([({"disk": "SSD"}, 1.0)])
    assert (alone.effects, alone.main) == ((), None)
    assert alone.verdict == "Nothing to compare: all 1 trials have SSD"
    with pytest.raises(UnknownBaselineError) as error:
        ask([({"disk": "SSD"}, 1.0)], baseline=("tape",))
    assert error.value.known == (("SSD",),)


TRIALS = st.lists(
    st.tuples(
        st.sampled_from(("HDD", "SSD")), st.integers(0, 3), st.integers(0, 2), st.floats(1, 1_000)
    ),
    min_size=4,
    max_size=40,
)


def made(trials: list[tuple[str, int, int, float]]) -> list[Row]:
    return [({"disk": d, "maps": m, "net": n}, t) for d, m, n, t in trials]


def both(rows: Sequence[Row]) -> bool:
    return {row["disk"] for row, _ in rows} == {"HDD", "SSD"}


@given(TRIALS)
def test_swapping_value_and_baseline_inverts_the_ratio(
    trials: list[tuple[str, int, int, float]],
) -> None:
    rows = made(trials)
    if not both(rows):
        return
    (one,), (other,) = (ask(rows, baseline=(base,)).effects for base in ("HDD", "SSD"))
    assert (one.strata, one.below, one.above) == (other.strata, other.above, other.below)
    if one.ratio is None or other.ratio is None:
        assert one.ratio is other.ratio is None
        return
    assert one.ratio == pytest.approx(1 / other.ratio)
    if one.interval is not None and one.strata > 1:
        assert other.interval is not None
        assert one.interval.low == pytest.approx(1 / other.interval.high)
    turned = {
        EffectOutcome.FASTER: EffectOutcome.SLOWER,
        EffectOutcome.SLOWER: EffectOutcome.FASTER,
    }
    assert other.outcome is turned.get(one.outcome, one.outcome)


@given(TRIALS, st.permutations(range(4)), st.floats(0.01, 100))
def test_names_constants_order_and_units_change_nothing(
    trials: list[tuple[str, int, int, float]], names: list[int], unit: float
) -> None:
    rows = made(trials)
    if not both(rows):
        return
    other = [({**row, "maps": f"m{names[row['maps']]}", "rack": 7}, t * unit) for row, t in rows]
    one, two = only(rows), only(other[::-1])
    assert (one.strata, one.outcome, one.below, one.above) == (
        two.strata,
        two.outcome,
        two.below,
        two.above,
    )
    assert one.ratio == pytest.approx(two.ratio)
    assert one.points == pytest.approx(two.points, rel=2e-3)


@given(st.integers(2, 60), st.floats(0.2, 5))
def test_equal_ratios_in_all_strata_are_no_certainty(count: int, factor: float) -> None:
    found = pooled(np.full(count, math.log(factor)), 0.95)
    assert found.ratio == pytest.approx(factor)
    assert found.interval is None, "rounded times make equal ratios"
    assert "the same ratio" in (found.reason or "")


def test_a_level_that_two_strata_cannot_reach_is_no_interval() -> None:
    found = pooled(np.log([0.1, 0.6]), 1 - 1e-4)
    assert found.interval is None
    assert found.reason == "2 strata are too few for an interval"


def test_the_interval_over_strata_covers_the_truth() -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(1_000):
        logs = rng.normal(math.log(0.8), 0.1, 6) + rng.normal(0, 0.05, 6)
        interval = pooled(logs, 0.95).interval
        assert interval is not None
        covered += interval.low <= 0.8 <= interval.high
    assert 0.93 <= covered / 1_000 <= 0.97


@pytest.mark.parametrize("between", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("strata", [(1, 20, 20), (1, 5, 30), (1, 1, 5, 5, 40, 40)])
def test_a_machine_of_few_settings_moves_other_machines_less(
    strata: tuple[int, ...], between: float
) -> None:
    rng, machine = np.random.default_rng(5), np.repeat(np.arange(len(strata)), strata)
    wrong, widths = 0, []
    for _ in range(400):
        logs = rng.normal(0, between, len(strata))[machine] + rng.normal(0, 0.15, len(machine))
        found = over_machines(logs, machine, 0.95)
        plain = pooled(np.array([logs[machine == one].mean() for one in set(machine)]), 0.95)
        assert found.interval is not None
        assert plain.interval is not None
        wrong += not found.interval.low <= 1 <= found.interval.high
        widths.append(
            [math.log(each.interval.high / each.interval.low) for each in (found, plain)]  # type: ignore[union-attr]
        )
    assert wrong <= 0.08 * 400
    own, of_plain = np.median(widths, axis=0)
    assert own < of_plain * 1.01
    if between == 0:
        assert own < of_plain


def test_machines_of_like_numbers_of_settings_count_once_each() -> None:
    logs, machine = np.array([0.1, 0.2, 0.5, 0.4, 0.9]), np.array([0, 0, 1, 1, 2])
    assert over_machines(logs, machine, 0.9) == pooled(np.array([0.15, 0.45, 0.9]), 0.9, "machines")


def test_the_interval_for_these_settings_only_covers_their_mean() -> None:
    rng = np.random.default_rng(9)
    covered = 0
    for _ in range(600):
        effects = rng.normal(0, 0.5, 3)  # spread out: it covers these three alone
        cells = [(e + rng.normal(0, 0.05, 4), rng.normal(0, 0.05, 4)) for e in effects]
        interval = for_these_only(cells, 0.9)
        assert interval is not None
        covered += interval.low <= math.exp(effects.mean()) <= interval.high
    assert 0.86 <= covered / 600 <= 0.94
    assert for_these_only([(np.zeros(2), np.zeros(5))], 0.9) is None


def test_two_kinds_of_work_have_an_interval_for_these_two() -> None:
    logs = np.log([0.5, 0.52, 0.51, 0.9, 0.92, 0.93])
    found = over_works(logs, np.array([0, 0, 0, 1, 1, 1]), 0.95)
    assert found.ratio == pytest.approx(math.exp((logs[:3].mean() + logs[3:].mean()) / 2))
    assert found.interval is not None
    assert 0.6 < found.interval.low < found.ratio < found.interval.high < 0.8


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=8, max_size=40))
def test_kruskal_wallis_is_scipys(pairs: list[tuple[int, int]]) -> None:
    from scipy import stats

    group, values = (np.array(each) for each in zip(*pairs, strict=True))
    samples = [values[group == each] for each in np.unique(group)]
    if len(samples) < 2 or len(np.unique(values)) < 2:
        return
    h, count = kruskal_wallis(values.astype(float), group)
    theirs = stats.kruskal(*samples)
    assert h == pytest.approx(theirs.statistic)
    assert chi_squared_tail(count - 1, h) == pytest.approx(theirs.pvalue)
