"""The narrowest point is named where the times say so, and only there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_trials import MakeTrial, succeeded
from venturi.record.trial import Phase, Sample, Trial
from venturi.results.bottleneck import PhaseFinding, narrowest_points

PHASE_S = 10.0
UNITS = {"bytes": "B", "workers": "1", "page_faults": "1"}


def stage(name: str, device: str | None = None, **metrics: float | None) -> list[Sample]:
    """Samples of one stage; by default one worker over the whole phase."""
    known = {"workers": 1.0, "started_s": 0.0, "ended_s": PHASE_S} | metrics
    return [
        Sample(
            f"stage_{metric}",
            value,
            UNITS.get(metric, "s"),
            phase="map+shuffle",
            labels={"stage": name, "device": device},
            missing_reason="not reported" if value is None else None,
        )
        for metric, value in known.items()
    ]


def find(make: MakeTrial, *stages: list[Sample], phase: str = "map+shuffle") -> PhaseFinding:
    trial: Trial = make(
        phases=(Phase(phase, 0.0, PHASE_S),), samples=tuple(s for group in stages for s in group)
    )
    (finding,) = narrowest_points(trial)
    return finding


def test_the_busiest_stage_is_the_narrowest_and_its_neighbours_agree(
    make_trial: MakeTrial,
) -> None:
    finding = find(
        make_trial,
        stage("read", "/in", useful_s=4.0, blocked_s=5.0, idle_s=0.0, bytes=8e9),
        stage("distribute", workers=2.0, useful_s=19.0, blocked_s=0.5, idle_s=0.5, bytes=8e9),
        stage("write_partitions", "/scratch", useful_s=3.0, idle_s=6.0, bytes=8e9),
    )
    assert finding.verdict == "narrowest"
    assert (finding.stage, finding.device, finding.utilisation) == ("distribute", None, 0.95)
    assert finding.reason is None
    assert finding.runner_up is not None
    assert finding.runner_up.name == "read on /in"
    text = "\n".join(finding.evidence)
    assert "95%" in text
    assert "moved 800 MB/s of a possible 842 MB/s" in text
    assert "read on /in was blocked by the next stage for 50%" in text
    assert "write_partitions on /scratch waited for input for 60%" in text


def test_a_stage_with_little_to_do_is_not_narrow_however_slow(make_trial: MakeTrial) -> None:
    """Only a tenth was spilled, slowly: its ideal rate is the lowest, yet reading takes longer."""
    finding = find(
        make_trial,
        stage("read", useful_s=9.0, bytes=10e9),
        stage("write_partitions", useful_s=3.0, bytes=1e9, started_s=6.0),
    )
    assert finding.stage == "read"
    slow = finding.stages[1]
    assert slow.ideal_bytes_per_s is not None
    assert finding.stages[0].ideal_bytes_per_s is not None
    assert slow.ideal_bytes_per_s < finding.stages[0].ideal_bytes_per_s
    assert slow.ideal_bytes_per_s == pytest.approx(1e9 / 3)


def test_one_slow_device_is_named(make_trial: MakeTrial) -> None:
    finding = find(make_trial, stage("read", "/a", useful_s=9.0), stage("read", "/b", useful_s=4.0))
    assert (finding.stage, finding.device) == ("read", "/a")


def test_equals_cannot_be_told_apart(make_trial: MakeTrial) -> None:
    finding = find(make_trial, stage("read", useful_s=9.0), stage("write_partitions", useful_s=8.8))
    assert (finding.verdict, finding.stage) == ("cannot tell", None)
    assert finding.reason is not None
    assert "about equal" in finding.reason
    assert finding.utilisation == 0.9


def test_nobody_busy_means_the_cause_lies_elsewhere(make_trial: MakeTrial) -> None:
    finding = find(make_trial, stage("read", useful_s=3.0, waiting_for_memory_s=6.0))
    assert finding.verdict == "cannot tell"
    assert finding.reason is not None
    assert "outside the stages" in finding.reason
    assert any("waited for memory for 60%" in line for line in finding.evidence)


@pytest.mark.parametrize("lost", ["useful_s", "workers"])
def test_missing_times_cannot_tell_even_if_another_stage_is_busy(
    make_trial: MakeTrial, lost: str
) -> None:
    silent = stage("distribute", **{"useful_s": 1.0, lost: None})
    finding = find(make_trial, stage("read", useful_s=9.0), silent)
    assert finding.verdict == "cannot tell"
    assert finding.reason is not None
    assert f"distribute has no {lost}" in finding.reason


def test_a_phase_without_stages_cannot_tell(make_trial: MakeTrial) -> None:
    finding = find(make_trial)
    assert finding.verdict == "cannot tell"
    assert finding.evidence == ()
    trial = make_trial(phases=(Phase("validate", 0.0, 1.0),))
    assert narrowest_points(trial) == ()


def test_a_stage_without_workers_took_no_part(make_trial: MakeTrial) -> None:
    absent = stage("write_partitions", workers=0.0, useful_s=0.0)
    finding = find(make_trial, stage("read", useful_s=9.0), absent)
    assert finding.stage == "read"
    assert len(finding.stages) == 1


@given(useful=st.lists(st.floats(0, PHASE_S), min_size=1, max_size=3))
def test_order_of_stages_does_not_matter(useful: list[float]) -> None:
    assert narrow(useful) == narrow(useful, backwards=True)


def narrow(useful: list[float], backwards: bool = False) -> str | None:
    stages = [
        stage(name, useful_s=useful_s)
        for name, useful_s in zip(("read", "distribute", "write_partitions"), useful, strict=False)
    ]
    return find(succeeded, *(stages[::-1] if backwards else stages)).stage


def thread_stage(useful_s: float, cpu_s: float, core_wait_s: float, **more: float) -> list[Sample]:
    return stage("distribute", useful_s=useful_s, cpu_s=cpu_s, core_wait_s=core_wait_s, **more)


def with_others(make: MakeTrial, samples: list[Sample], share: float | None) -> PhaseFinding:
    others = [] if share is None else [Sample("cpu_others_share", share, "fraction")]
    trial: Trial = make(phases=(Phase("map+shuffle", 0.0, PHASE_S),), samples=(*samples, *others))
    (finding,) = narrowest_points(trial)
    return finding


@pytest.mark.parametrize(
    ("others", "sentence"),
    [
        (0.61, "distribute, waiting for a core: other programs used 61% of the CPU time"),
        (0.02, "distribute, waiting for a core: its own threads need more cores than there are"),
        (None, "distribute, waiting for a core"),
    ],
)
def test_who_waits_for_a_core_is_not_busy_computing(
    make_trial: MakeTrial, others: float | None, sentence: str
) -> None:
    finding = with_others(make_trial, thread_stage(9.7, 0.5, 7.2), others)
    assert finding.sentence == sentence
    assert finding.evidence[0] == (
        "distribute was busy for 97% of the phase: CPU 5%, waiting for a core 72%, stalled 20%"
    )


def test_computing_is_processor_time(make_trial: MakeTrial) -> None:
    finding = with_others(make_trial, thread_stage(9.7, 9.0, 0.2, system_s=0.8), 0.5)
    assert finding.sentence == "distribute, computing"
    assert "CPU 90% (8% in the kernel)" in finding.evidence[0]


def test_page_faults_are_named(make_trial: MakeTrial) -> None:
    finding = with_others(make_trial, thread_stage(9.7, 1.0, 1.0, page_faults=123456.0), None)
    assert finding.sentence.startswith("distribute, stalled on page faults")
    assert "123,456 page faults" in finding.evidence[0]


def test_of_a_disks_stage_processor_time_says_nothing(make_trial: MakeTrial) -> None:
    busy = stage("read", "/in", useful_s=9.0, cpu_s=0.1, core_wait_s=4.0)
    finding = with_others(make_trial, busy, 0.9)
    assert (finding.sentence, finding.cause) == ("read on /in", None)
