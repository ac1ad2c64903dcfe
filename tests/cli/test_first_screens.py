"""The first screen of each verb: the answer in 24 lines of 80 columns."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import AGENT, into_pipe, on_terminal, venturi
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

DATA = Path(__file__).parents[1] / "data"
SPARK = DATA / "spark/4.3.0"
HADOOP = DATA / "mapreduce/3.4.2"
JOBS = {
    "skewed join": SPARK / "faults/skewed-join-faulty.zstd",
    "no finding": SPARK / "spill.log",
    "failed": SPARK / "failedjob.log",
    "incomplete": SPARK / "killed.log.inprogress",
    "stream": SPARK / "stream.zstd",
    "MapReduce": next(HADOOP.glob("*TeraGen*.jhist")),
}


def check(shown: list[str]) -> None:
    assert shown
    assert len(shown) <= 24
    assert max(map(len, shown)) <= 80
    assert len(next(filter(None, shown)).split()) <= 25


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, dict[str, list[str]]]:
    """A repository with the jobs, and the first screens of their imports."""
    home = tmp_path_factory.mktemp("first") / "home"
    settings = Settings(home, None, None, allow_debug=False)
    return settings, {name: on_terminal(settings, "import", str(log)) for name, log in JOBS.items()}


@pytest.mark.parametrize("job", JOBS)
def test_import_and_show_answer_on_one_screen(
    job: str, imported: tuple[Settings, dict[str, list[str]]]
) -> None:
    settings, screens = imported
    check(screens[job])
    id_ = screens[job][0].rpartition(" ")[2]
    shown = on_terminal(settings, "show", id_)
    check(shown)
    assert shown[-1].startswith("Next: ")
    assert len(on_terminal(settings, "show", id_, "--all")) > 24
    assert any(line.startswith("  Where ") for line in shown)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("results/fio/jobs.json",), "venturi catalog overlay --from-trials"),
        (("results/iostat/x.txt",), "venturi show "),
        (("results/aloja-minerva/trials.csv",), "venturi effect "),
        (
            ("table", "cases/other-suites/own-trials.csv", "--column", "elapsed_s=seconds"),
            "venturi effect disk",
        ),
        (("spark/4.3.0/join.log", "spark/4.3.0/spill.log"), "venturi compare "),
        (
            ("spark/4.3.0/eventlog_v2_local-1795206808966",),
            "the reasons, and where the time went: venturi show ",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_import_ends_with_the_next_command(
    words: tuple[str, ...], command: str, tmp_path: Path
) -> None:
    settings = Settings(tmp_path / "home", None, None, allow_debug=False)
    given = (str(DATA / word) if (DATA / word).exists() else word for word in words)
    shown = on_terminal(settings, "import", *given)
    check(shown)
    assert f"Next: {command}" in "\n".join(shown[-2:])


def test_import_of_a_job_is_shorter_than_its_screen(
    imported: tuple[Settings, dict[str, list[str]]],
) -> None:
    settings, screens = imported
    ids = {lines[0].rpartition(" ")[2] for lines in screens.values()}
    assert {len(each) for each in ids} == {7}
    for name, lines in screens.items():
        shown = on_terminal(settings, "show", lines[0].rpartition(" ")[2])
        assert len(lines) <= 8 < len(shown), name
        assert lines[1] == shown[0]
        assert lines[2:-1] == [line for line in shown if line in lines[2:-1]]


def test_the_failure_comes_first(imported: tuple[Settings, dict[str, list[str]]]) -> None:
    settings, screens = imported
    shown = on_terminal(settings, "show", screens["failed"][0].rpartition(" ")[2])
    assert shown[0].endswith("· failed")
    assert "the input is bad" in shown[1]


def test_the_costliest_finding_has_its_fix(
    imported: tuple[Settings, dict[str, list[str]]],
) -> None:
    settings, screens = imported
    shown = on_terminal(settings, "show", screens["skewed join"][0].rpartition(" ")[2])
    assert shown[1].startswith("Split the large partition in stage 4: saves about ")
    assert shown[3].startswith("  1. Uneven partitions: saves about ")
    assert any(line.startswith("     Fix: ") for line in shown)
    assert any("--conf spark.sql.adaptive.enabled=true" in line for line in shown)


def test_a_section_is_printed_whole(imported: tuple[Settings, dict[str, list[str]]]) -> None:
    settings, screens = imported
    id_ = screens["skewed join"][0].rpartition(" ")[2]
    for section, title in (
        ("--stages", "Critical path"),
        ("--executors", "Executors"),
        ("--sql", "SQL queries"),
        ("--slots", "What if: fewer or more slots"),
        ("--settings", "Configuration"),
        ("--samples", "Samples"),
    ):
        shown = on_terminal(settings, "show", id_, section)
        assert title in shown
        assert shown[-1] == "" or not shown[-1].endswith("--all")
        others = on_terminal(settings, "show", id_, "--all")
        assert len(shown) < len(others)


def test_a_pipe_gets_everything(imported: tuple[Settings, dict[str, list[str]]]) -> None:
    settings, screens = imported
    id_ = screens["skewed join"][0].rpartition(" ")[2]
    piped = venturi("show", id_, home=settings.home).stdout
    assert piped == venturi("show", id_, "--all", home=settings.home).stdout
    assert "Artifacts" in piped


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A repository with the shipped tables, other people's trials, and two pairs of Spark jobs."""
    home = tmp_path_factory.mktemp("results") / "home"
    settings = Settings(home, None, None, allow_debug=False)
    venturi("import", "published", home=home)
    venturi("import", "aloja", DATA / "results/aloja-minerva/trials.csv", home=home)
    for name in ("partition-count-sound", "partition-count-faulty"):
        venturi("import", SPARK / f"faults/{name}.zstd", home=home)
    return settings


HARDWARE = ("advise", "hardware", "--sort", "50TB", "--deadline", "2h")
WHERE = ("--where", "workload=terasort")
LAB_A = ("--where", "cluster=lab-a", *WHERE)


@pytest.mark.parametrize(
    "words",
    [
        ("ls",),
        ("rank", "--by", "cluster", *WHERE),
        ("rank", "--by", "net", "--by", "disk", *LAB_A),
        ("effect", "disk", *LAB_A),
        ("scaling", "hosts", *WHERE),
        ("scaling", "input_bytes", "--where", "source=Jaffe 2017, Table 21"),
        HARDWARE,
        ("predict", "--sort", "10TB", "--on", "i4i.8xlarge:24", "--on", "i3en.6xlarge:24"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_results_and_advice_answer_on_one_screen(results: Settings, words: tuple[str, ...]) -> None:
    check(on_terminal(results, *words))


def test_a_machine_answers_on_one_screen(results: Settings, tmp_path: Path) -> None:
    check(on_terminal(results, "probe", "disk", "--dir", str(tmp_path)))
    check(on_terminal(results, "show", "last"))
    check(on_terminal(results, "doctor", agent=AGENT))
    file = tmp_path / "c.toml"
    file.write_text(
        f'[[hosts]]\nname = "me"\nhere = true\nroles = ["master"]\ndisks.any = ["{tmp_path}"]\n'
    )
    check(on_terminal(results, "cluster", "check", str(file), agent=AGENT))


def test_a_native_trial_answers_on_one_screen(results: Settings, tmp_path: Path) -> None:
    options = ("--scale", "tiny", "--repeat", "1", "--warm-up", "0", "--dir", tmp_path)
    ran = venturi("run", "sort", "--engine", "native", *options, home=results.home)
    assert ran.returncode == 0, ran.stderr
    shown = on_terminal(results, "show", "last")
    check(shown)
    assert any(line.startswith("Next: ") for line in shown[-2:])


def test_the_recommendation_comes_first(results: Settings) -> None:
    shown = on_terminal(results, *HARDWARE)
    assert " × " in shown[0]
    assert "$" in shown[0]
    assert any("--explain" in line for line in shown)
    assert "Frontier" not in "\n".join(shown)
    assert any(line.startswith("Frontier") for line in on_terminal(results, *HARDWARE, "--all"))


def test_what_differs_between_jobs_is_sorted_by_time(results: Settings) -> None:
    rows = into_pipe(results, "ls", "--engine", "spark")[1:]
    sound, faulty = (
        next(row.split()[0] for row in rows if f"partition-count, {name}" in row)
        for name in ("sound", "faulty")
    )
    shown = on_terminal(results, "compare", "--why", sound, faulty)
    check(shown)
    assert shown[0] == "The second job took 2 min 05 s longer (2 min 18 s vs. 13.5 s)."
    assert "these are two programs" in shown[1]
    longer = [line for line in shown if line.startswith("    +") and "other parts" not in line]
    gaps = [float(line.split()[0]) for line in longer]
    assert gaps == sorted(gaps, reverse=True)
    assert any("spark.sql.shuffle.partitions: not set → 2000" in line for line in shown)


def test_compare_answers_with_the_difference_and_its_trials(
    tmp_path: Path, make_trial: Callable[..., Trial]
) -> None:
    settings = Settings(tmp_path / "home", None, None, allow_debug=False)
    keys = []
    with TrialRepository.open(settings) as repository:
        for threads, base_s in ((1, 100.0), (2, 92.0)):
            for repetition in range(8):
                made = make_trial(
                    repetition=repetition,
                    state=State.SUCCEEDED,
                    configuration={"threads": threads},
                    elapsed_s=base_s + repetition / 10,
                )
                repository.add(made)
            keys.append(made.group_key)
    shown = on_terminal(settings, "compare", *keys)
    check(shown)
    assert re.fullmatch(
        r"B is 7\.9\d% faster than A \(95% CI [\d.]+ to [\d.]+%\), 8 and 8 trials\.", shown[0]
    )
    assert shown[2].split()[:3] == ["A", "1", "min"]
    assert shown[2].endswith("threads 1")


def test_query_failed(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "home", None, None, allow_debug=False)
    log = DATA / "cases/query-failed/broadcast-timeout.log"
    for shown in (on_terminal(settings, "import", str(log)), on_terminal(settings, "show", "last")):
        check(shown)
        headline = next(line for line in shown if line.startswith("broadcast · "))
        assert headline.endswith("ended, 1 query failed")
        text = " ".join(line.strip() for line in shown)
        assert "Query failed: Could not execute broadcast in 300 secs." in text
        assert "raise spark.sql.broadcastTimeout" in text


def test_a_job_before_its_first_query_is_profiled(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "home", None, None, allow_debug=False)
    on_terminal(settings, "import", str(DATA / "spark/4.3.0/faults/partition-count-sound.zstd"))
    shown = on_terminal(settings, "show", "last")
    assert "the first query: your program's own code" in " ".join(shown[1:3])
    assert shown[-1].startswith("Next: profile your program up to its first query")
