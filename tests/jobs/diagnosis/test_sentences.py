"""The answer in one sentence, and the words for causes."""

from __future__ import annotations

from pathlib import Path

import pytest

from venturi.jobs.diagnosis.calibration import Saving
from venturi.jobs.diagnosis.find import Diagnosis, diagnose
from venturi.jobs.diagnosis.sentences import saving_words
from venturi.jobs.diagnosis.table import load_rules
from venturi.jobs.logs import mapreduce, spark
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.causes import BY_ELIMINATION, NOT_IN_LOG, UNATTRIBUTED, UNFINISHED
from venturi.jobs.stages.elapsed import IDLE, NO_EXECUTOR, ON_DRIVER, OTHER_STAGES
from venturi.jobs.stages.timeline import timeline
from venturi.jobs.stages.verdict import in_words
from venturi.record.importing.formats import Log

DATA = Path(__file__).parents[2] / "data"
LOGS = [
    path
    for path in sorted([*(DATA / "spark").rglob("*"), *(DATA / "cases").rglob("*")])
    if path.is_file()
    and path.read_bytes()[:1] in (b"{", b"\x28")  # JSON lines, or Zstandard
    and not path.parent.name.startswith(("eventlog_v2_", "other-suites"))
]
PARTS = (*BY_ELIMINATION, *ON_DRIVER, IDLE, NO_EXECUTOR, OTHER_STAGES, NOT_IN_LOG, UNATTRIBUTED)


def diagnosis(path: Path) -> Diagnosis:
    line = timeline(spark.read(Log(path, (path,))))
    return diagnose(line, analyse(line.account, None, line))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_answer_is_one_short_sentence(path: Path) -> None:
    said = diagnosis(path).sentence
    assert len(said.split()) <= 25
    assert said[0].isupper() or said[0].isdigit()
    assert said.endswith(".")
    assert ". " not in said


@pytest.mark.parametrize("name", sorted({*PARTS, UNFINISHED, "cpu"}))
def test_a_label_has_at_most_four_words(name: str) -> None:
    assert 1 <= len(in_words(name).split()) <= 4


def test_titles_and_fixes_are_short() -> None:
    for rule in load_rules().values():
        assert len(rule.title.split()) <= 4, rule.id
        for text in rule.fix.values():
            assert len(text.split()) <= 8, rule.id
        assert set(rule.fix) <= {*rule.do, "any"}, rule.id


def test_a_finding_names_fix_place_and_saving() -> None:
    said = diagnosis(DATA / "spark/4.3.0/faults/missed-broadcast-faulty.zstd").sentence
    assert said.startswith("Broadcast the small table in query 0: saves about ")
    assert said.endswith(" s) of 39.4 s.")


def test_a_bound_says_at_most() -> None:
    first = diagnosis(DATA / "cases/slow-executor/other-host.zstd").findings[0]
    assert (first.rule, first.bound) == ("late-executors", True)
    assert first.saving.startswith("saves at most ")
    assert first.saving_s <= first.saving_high_s == first.replayed_s


def test_a_job_without_findings_says_what_bounds_it() -> None:
    said = diagnosis(DATA / "cases/dropped-events/whole.log").sentence
    assert said == "CPU-bound: tasks compute for 74% of 36.6 s; more cores would help."
    said = diagnosis(DATA / "spark/4.3.0/faults/partition-count-sound.zstd").sentence
    assert said == (
        "Driver-bound: 91% of 13.5 s passes without a task, mostly before the first query: your "
        "program's own code, which the log doesn't show."
    )


def test_an_answer_that_is_unknown_says_how_to_record_it() -> None:
    said = diagnosis(DATA / "spark/4.3.0/faults/spill-sound.zstd").sentence
    assert said.startswith("Can't tell: 47% of 1 min 55 s has no recorded cause; ")
    assert said.endswith("(venturi run).")
    said = diagnosis(DATA / "cases/dropped-events/starts-and-ends.log").sentence
    assert said.startswith("Can't tell: the log lacks events for 22% of 36.6 s; ")


@pytest.mark.parametrize("number", ["0001", "0002"])
def test_a_job_of_mapreduce_has_maps_and_no_driver(number: str) -> None:
    (path,) = (DATA / "mapreduce").rglob(f"job_1795206600551_{number}-*.jhist*")
    line = timeline(mapreduce.read(Log(path, (path,))))
    said = diagnose(line, analyse(line.account, None, line)).sentence
    assert "Driver" not in said
    assert "stage" not in said
    assert ("in its maps: saves about" in said) is (number == "0002")
    assert ("without a task, mostly application master; " in said) is (number == "0001")


@pytest.mark.parametrize(
    ("saved_s", "elapsed_s", "words"),
    [
        (45, 146, "saves about 45 s (30–60 s) of 146 s"),
        (86, 185.3, "saves about 1.4 min (0.96–1.9 min) of 3.1 min"),
        (120, 185.3, "saves about 2 min (1.3–2.7 min) of 3.1 min"),
        (1_500, 36_000, "saves about 25 min (17–33 min) of 600 min"),
    ],
)
def test_a_saving_and_the_whole_time_have_one_unit(
    saved_s: float, elapsed_s: float, words: str
) -> None:
    saving = Saving(saved_s, saved_s * 2 / 3, saved_s * 4 / 3, "measured")
    assert saving_words(saving, elapsed_s, None, bound=False) == words
