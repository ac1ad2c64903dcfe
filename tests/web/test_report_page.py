"""The report's numbers and page, without a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import report_samples as samples
from venturi.core.errors import CODES, VenturiError
from venturi.core.statistics.stats import Missing
from venturi.record.trial import Phase, Sample, State, Trial, TrialWarning
from venturi.web import document
from venturi.web.document import write_page
from venturi.web.export import data_page
from venturi.web.report import words
from venturi.web.report.build import report_data
from venturi.web.report.data import Number, ReportAnswer, ReportData
from venturi.web.report.timeline import POINTS_MAX, timeline


def value(number: Number) -> float:
    assert not isinstance(number, Missing), number
    return number


def report_of(*trials: Trial, **series: pl.DataFrame) -> ReportData:
    return report_data(trials, series=series, predictions={}, prices=None, generated_at=samples.AT)


def twin(html: str) -> dict[str, Any]:
    """The data that the page shows, as in the document."""
    match = re.search(r'<script type="application/json" id="twins">(.*?)</script>', html, re.S)
    assert match
    twins: dict[str, dict[str, Any]] = json.loads(match.group(1))
    assert list(twins) == ["/api/report"]
    return twins["/api/report"]


def answer(data: ReportData, question: str) -> str:
    found = next(a for a in data.answers if isinstance(a, ReportAnswer) and question in a.question)
    return " ".join(found.sentences)


def test_the_answer_says_time_prediction_narrowest_point_and_price() -> None:
    data = samples.realistic()
    headline = "bench-01 sorts 4.0 GB in two passes in 11.3 s, limited by the disk"
    assert data.headline == headline
    assert "1.0 GB in memory: 1.5 s, 671 MB/s of input." in answer(data, "How long")
    assert re.search(
        r"Nearly, 4\.0 .*predicted 10\.\d s \(1\d\.\d s to 1\d\.\d s\), took 11\.3 s: \d% longer",
        answer(data, "prediction"),
    )
    narrow = answer(data, "narrowest")
    assert "4.0 GB in two passes, map+shuffle: writing the spilled partitions on /data" in narrow
    assert "1.0 GB in memory, map+shuffle: reading the input on /data" in narrow
    priced = r"47 × i2\.8xlarge, \$\d+ \(\d+–\d+\) in \d+ min \(\d+–\d+\), prices as of 2014-"
    assert re.search(priced, answer(data, "100 TB"))


def test_the_answers_begin_with_the_sort_in_two_passes_even_if_it_is_the_faster_one() -> None:
    slow = samples.sort_trial(2, 10**9, 0, {"map+shuffle": 3.0, "sort+reduce": 2.0})
    spilled = samples.sort_trial(3, 10**9, 6 * 10**8, {"map+shuffle": 2.0, "sort+reduce": 1.0})
    data = report_of(slow, spilled)
    assert "in two passes" in data.headline
    narrow = next(each for each in data.answers if "narrowest" in each.question)
    assert narrow.sentences[0].startswith("1.0 GB in two passes, map+shuffle: writing the spilled")


def test_a_trial_names_the_narrowest_point_of_its_longest_phase() -> None:
    sort = samples.sort_trial(2, 10**9, 6 * 10**8, {"map+shuffle": 2.0, "sort+reduce": 1.0})
    said = words.bottleneck(sort)
    assert said is not None
    assert re.fullmatch(
        r"Narrowest point: writing the spilled partitions on /data \(busy for \d+% of "
        r"map\+shuffle, 2\.0 s of \d\.\d s\)",
        said,
    )
    assert words.bottleneck(replace(sort, samples=())) is None


def test_a_disturbed_sort_says_so_before_anything_else() -> None:
    quiet = samples.sort_trial(2, 10**9, 0, {"map+shuffle": 1.0, "sort+reduce": 1.0})
    loud = TrialWarning(
        "VEN-MEASURE-DISTURBED", "other programs used 50% of the CPU time while it executed (2.0 s)"
    )
    headline = report_of(replace(quiet, warnings=(loud,))).headline
    assert headline.endswith(" (disturbed: other programs used 50% of the CPU time)")
    watched = Sample("cpu_others_share", 0.01, "1")
    assert report_of(replace(quiet, samples=(*quiet.samples, watched))).headline.endswith(
        " (undisturbed)"
    )


@pytest.mark.parametrize(("high_s", "held"), [(1.2, True), (0.9, False)])
def test_a_prediction_that_holds_on_a_disturbed_run_proves_nothing(
    high_s: float, held: bool
) -> None:
    sort = samples.sort_trial(2, 10**9, 0, {"map+shuffle": 1.0})
    told = (
        Sample("predicted_elapsed_s", 0.8, "s"),
        Sample("predicted_low_s", 0.7, "s"),
        Sample("predicted_high_s", high_s, "s"),
    )
    loud = TrialWarning("VEN-MEASURE-DISTURBED", "other programs used 50% of the CPU time")
    disturbed = replace(sort, samples=(*sort.samples, *told), warnings=(loud,))
    said = answer(report_of(disturbed), "prediction")
    assert said.startswith("Yes, " if held else "No, ")
    assert "but the run was disturbed (other programs used 50% of the CPU time)" in said
    assert said.endswith(", so this proves nothing.") == held


def test_each_kind_of_warning_names_its_trials() -> None:
    loud = TrialWarning("VEN-MEASURE-DISTURBED", "other programs used 50% of the CPU time")
    other = TrialWarning("VEN-MEASURE-SERIES", "no series was recorded")
    sort = samples.sort_trial(2, 10**9, 0, {"map+shuffle": 1.0, "sort+reduce": 1.0})
    probe = replace(samples.disk_probe(), warnings=(loud, other, other))
    data = report_of(probe, replace(sort, warnings=(loud,)))
    name = next(each.label for each in data.trials if each.id == sort.id)
    assert data.warned == (
        f"other programs were active during disk probe and {name}",
        "no series was recorded (disk probe) and 1 more of this kind",
    )


def test_rates_are_the_mean_and_the_range_of_the_iterations() -> None:
    probe = samples.disk_probe()
    measured = probe.values("disk_read_bytes_per_s", dir=None)
    rates = report_of(probe).rates
    assert not isinstance(rates, Missing)
    read = next(rate for rate in rates if rate.label == "Read alone")
    assert value(read.mean_bytes_per_s) == pytest.approx(sum(measured) / 3)
    assert value(read.minimum_bytes_per_s) == min(measured)
    assert value(read.maximum_bytes_per_s) == max(measured)
    assert read.iterations == 3


def test_a_phase_is_held_against_the_rates_of_its_own_mix() -> None:
    probe = samples.disk_probe()
    lengths = {"map+shuffle": 4.0, "sort+reduce": 2.0}
    data = report_of(probe, samples.sort_trial(2, 2 * 10**9, 10**9, lengths))
    use = data.uses[0]
    # Read 2 GB while writing 1 GB: 2 GB go at the total rate of both, 1 GB at that of reading.
    rates = {
        name: sorted(probe.values(f"disk_{name}_bytes_per_s", dir=None))[1]
        for name in ("read", "write")
    }
    mixed = sorted(
        read + write
        for read, write in zip(
            probe.values("disk_mixed_read_bytes_per_s", dir=None),
            probe.values("disk_mixed_write_bytes_per_s", dir=None),
            strict=True,
        )
    )[1]
    limit = 3e9 / (2e9 / mixed + 1e9 / rates["read"])
    assert value(use.read_bytes_per_s) == pytest.approx(0.5e9)
    assert value(use.write_bytes_per_s) == pytest.approx(0.25e9)
    assert value(use.limit_bytes_per_s) == pytest.approx(limit)
    assert value(use.share_of_limit) == pytest.approx(0.75e9 / limit)


def test_a_stage_that_lost_its_bytes_has_no_rate_and_says_why() -> None:
    trial = samples.sort_trial(2, 10**9, 0, {"map+shuffle": 1.0})
    lost = tuple(
        replace(s, value=None, missing_reason="counter overflowed")
        if s.metric == "stage_bytes" and s.labels["stage"] == "read"
        else s
        for s in trial.samples
    )
    data = report_of(replace(trial, samples=lost))
    assert data.uses[0].read_bytes_per_s == Missing("counter overflowed")
    assert twin(data_page("/report", data))["uses"][0]["read_bytes_per_s"] == {
        "reason": "counter overflowed"
    }


def test_a_failed_sort_shows_its_failure_and_no_numbers() -> None:
    data = samples.edge()
    failed = next(sort for sort in data.sorts if sort.state == "failed")
    assert isinstance(failed.elapsed_s, Missing)
    assert failed.failure is not None
    assert failed.failure.startswith("space (VEN-SORT-SPACE)")
    assert all(use.sort != failed.label for use in data.uses)
    assert all(failed.label not in figure.label.split(", ") for figure in data.figures)
    assert f"{failed.label}: no time (failed: " in answer(data, "How long")


def test_an_interrupted_trial_alone_is_no_success() -> None:
    sort = samples.sort_trial(2, 10**9, 0, {"map+shuffle": 1.0})
    running = replace(sort, state=State.EXECUTING, elapsed_s=None)
    data = report_of(running)
    assert data.headline.endswith("no sort succeeded")
    assert data.uses == ()


def test_equal_sorts_get_different_labels() -> None:
    lengths = {"map+shuffle": 1.0, "sort+reduce": 1.0}
    data = report_of(*(samples.sort_trial(n, 10**9, 0, lengths) for n in (2, 3)))
    assert len({sort.label for sort in data.sorts}) == 2


def test_unknown_prices_carry_the_models_reason() -> None:
    table = samples.realistic().prices
    assert not isinstance(table, Missing)
    unknown = [price for price in table if not price.known]
    assert len(unknown) > 10
    for price in unknown:
        assert isinstance(price.cost_usd, Missing)
        assert isinstance(price.elapsed_s, Missing)
        assert len(price.elapsed_s.reason) > 5
    known = [price for price in table if price.known]
    assert {price.storage_kind for price in known} >= {"measured", "derived"}


def test_the_timeline_sums_disks_once_and_leaves_loopback_out() -> None:
    sort = samples.sort_trial(2, 10**9, 0, {"map+shuffle": 2.0})
    rows = [
        (0.0, "disk_read_bytes_per_s", "nvme0n1", 100.0, "B/s"),
        (0.0, "disk_read_bytes_per_s", "nvme0n1p2", 100.0, "B/s"),
        (0.0, "disk_read_bytes_per_s", "nvme1n1", 10.0, "B/s"),
        (0.0, "disk_read_bytes_per_s", "dm-0", 110.0, "B/s"),
        (0.0, "net_receive_bytes_per_s", "lo", 5.0, "B/s"),
        (0.0, "cpu_user", None, 0.25, "fraction"),
        (0.0, "cpu_nice", None, 0.25, "fraction"),
        (1.0, "cpu_user", None, 0.5, "fraction"),
    ]
    frame = pl.DataFrame(rows, schema=["t_s", "metric", "device", "value", "unit"], orient="row")
    found = timeline(sort, frame)
    cpu, disk, network = found.lanes
    assert disk.lines[0].values == (110.0, None)
    assert cpu.lines[0].values == (0.5, 0.5)
    assert network.lines == ()
    assert network.missing is not None
    assert found.loads[0].values[0] == 0.5


def test_a_long_series_is_thinned_and_says_so() -> None:
    sort = samples.sort_trial(2, 10**9, 0, {"map+shuffle": 5000.0})
    rows = [(float(t), "cpu_user", None, 0.5, "fraction") for t in range(5000)]
    frame = pl.DataFrame(rows, schema=["t_s", "metric", "device", "value", "unit"], orient="row")
    found = timeline(sort, frame)
    assert len(found.t_s) <= POINTS_MAX
    assert found.thinned is not None
    assert set(found.lanes[0].lines[0].values) == {0.5}


def test_the_page_has_all_its_values_and_hostile_text_stays_in_its_place() -> None:
    html = data_page("/report", samples.edge())
    assert "<img" not in html.split("<script>")[0]
    assert html.count("</script>") == 2
    found = twin(html)
    assert found == json.loads(json.dumps(document.encode(samples.edge())))
    assert samples.HOSTILE in {span["name"] for span in found["sorts"][0]["timeline"]["spans"]}


@given(st.text())
def test_any_text_survives_the_island(text: str) -> None:
    sort = replace(samples.single().sorts[0], label=text)
    data = replace(samples.empty(), sorts=(sort,))
    inside = document.island({"/api/report": document.encode(data)})
    assert not set(inside) & set("<>&\u2028\u2029")
    assert json.loads(inside)["/api/report"]["sorts"][0]["label"] == text


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_value_that_is_no_number_is_a_gap_in_the_line(bad: float) -> None:
    sort = samples.sort_trial(2, 10**9, 0, {"map+shuffle": 2.0})
    rows = [(0.0, "cpu_user", None, 0.5, "fraction"), (1.0, "cpu_user", None, bad, "fraction")]
    frame = pl.DataFrame(rows, schema=["t_s", "metric", "device", "value", "unit"], orient="row")
    data = report_of(sort, **{sort.id: frame})
    assert data.sorts[0].timeline.lanes[0].lines[0].values == (0.5, None)
    line = twin(data_page("/report", data))["sorts"][0]["timeline"]["lanes"][0]["lines"][0]
    assert line["values"] == [0.5, None]


def test_a_prediction_in_the_record_is_used_when_none_is_given() -> None:
    sort = samples.sort_trial(2, 10**9, 0, {"map+shuffle": 1.0})
    told = (
        Sample("predicted_elapsed_s", 0.8, "s"),
        Sample("predicted_low_s", 0.7, "s"),
        Sample("predicted_high_s", 0.9, "s"),
        Sample("predicted_phase_s", 0.8, "s", "map+shuffle"),
    )
    data = report_of(replace(sort, samples=(*sort.samples, *told)))
    rows = data.sorts[0].comparisons
    assert (rows[1].low_s, rows[1].high_s) == (0.7, 0.9)
    assert "predicted 800 ms (700 ms to 900 ms), took 1.0 s: 25% longer" in answer(
        data, "prediction"
    )
    assert [value(row.measured_over_predicted) for row in rows] == pytest.approx([1.25, 1.25])
    assert isinstance(rows[0].low_s, Missing)


def test_the_phases_of_an_unknown_engine_do_not_break_the_page() -> None:
    sort = samples.sort_trial(2, 10**9, 0, {"map+shuffle": 1.0})
    odd = replace(sort, phases=(Phase("shuffle the deck", 0.0, 3.0),), samples=())
    (sort_shown,) = twin(data_page("/report", report_of(odd)))["sorts"]
    assert [span["name"] for span in sort_shown["timeline"]["spans"]] == ["shuffle the deck"]


def test_writing_refuses_what_exists_and_leaves_nothing_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, data = tmp_path / "report.html", samples.empty()
    write_page(path, data_page("/report", data))
    assert path.read_text().startswith("<!doctype html>")
    with pytest.raises(VenturiError) as refused:
        write_page(path, data_page("/report", data))
    assert refused.value.code == "VEN-OUTPUT-EXISTS"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_page(path, data_page("/report", data), overwrite=True)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_a_missing_program_is_an_error_that_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(document, "files", lambda _: tmp_path)
    with pytest.raises(VenturiError) as missing:
        data_page("/report", samples.empty())
    assert missing.value.code == "VEN-REPORT-ASSET"
    assert missing.value.code in CODES
    assert "npm run build" in missing.value.hint
