"""A slice of every long round, with a fixed seed; `make torture` plays them at full length."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from torture.__main__ import main
from torture.play import Play, Round, UnavailableError
from torture.report import RoundResult, line_of, written
from torture.rounds import ROUNDS

SEED = 20_150_827


# Rounds of which a case, or what they try by name instead of at random, is in another test, too.
LONG = {
    "archives": "record/importing/test_exchange.py",
    "connection-cuts": "record/store/test_lost_connection.py",
    "engine-kills": "measure/engines/test_engine_real.py",
    "lab-kills": "measure/lab/test_lab.py",
    "plan-kills": "cli/measure/test_plan_verb.py",
    "requests": "web/api/test_api_schema.py",
    "upkeep-kills": "record/upkeep/test_backup.py",
    "upload-kills": "web/server/test_uploads.py",
    "watch-failures": "cli/results/test_follow.py",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.long] * (n in LONG)) for n in sorted(ROUNDS)]
)
def test_a_slice_of_the_round_has_no_fault(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    round_ = ROUNDS[name]
    server = partial(request.getfixturevalue, "postgresql")
    play = Play(tmp_path, SEED, round_.few, postgresql=server)
    try:
        round_.run(play)
    except UnavailableError as reason:
        pytest.skip(str(reason))
    assert play.faults == []
    assert 0 < play.done <= round_.few
    assert sum(play.seen.values()) == play.done, "every case ended in something that was seen"


def test_what_is_long_is_tried_elsewhere_too() -> None:
    tests = Path(__file__).parents[1]
    assert LONG.keys() <= ROUNDS.keys()
    assert all((tests / file).is_file() for file in LONG.values())


def test_a_failed_case_is_a_fault_and_the_round_goes_on(tmp_path: Path) -> None:
    play = Play(tmp_path, 7, 3)
    for case in play.cases():
        with case:
            case.label = "odd" if case.number % 2 else "even"
            assert case.number != 1, "torn"
            case.saw("whole")
    assert play.done == 3
    assert play.seen == {"whole": 2}
    (fault,) = play.faults
    assert fault.startswith("seed 7, case 1 odd: torn (test_rounds.py:")


def test_what_is_no_failed_assertion_ends_the_round(tmp_path: Path) -> None:
    case = next(Play(tmp_path, 7, 3).cases())
    with pytest.raises(OSError, match="full"), case:
        raise OSError("full")


def _played(name: str, done: int, faults: tuple[str, ...] = ()) -> RoundResult:
    return RoundResult(
        name, "Is it so?", "2026-11-22", 1, done, 61.0, {"old": 2, "new": 3}, faults, None
    )


def test_figures_of_rounds_that_were_not_played_stay() -> None:
    page = Path("docs/reliability.md").read_text("utf-8").partition("<!-- rounds")[0]
    page += "<!-- rounds: written by `python -m torture --write` -->\n<!-- end of rounds -->\n"
    first = written(page, [_played("a-kills", 1000), _played("b-calls", 10)])
    second = written(first, [_played("b-calls", 3110, ("case 5: hung",))])
    row = "| `a-kills` | Is it so? | 1,000 | 0 | New: 3. Old: 2. | 2026-11-22, 1, 61 s |"
    assert row in second
    assert "| `b-calls` | Is it so? | 3,110 | 1 |" in second
    assert second.endswith("<!-- end of rounds -->\n")
    assert second.startswith("# Reliability\n")


def test_a_fault_is_a_line_of_its_own() -> None:
    assert line_of(_played("b", 3, ("case 5: hung",))).splitlines() == [
        "b: 3 cases in 61 s, 1 faults (new 3, old 2)",
        "  FAULT case 5: hung",
    ]


def test_what_an_interrupted_round_has_played_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(play: Play) -> None:
        for case in play.cases():
            with case:
                if case.number == 2:
                    raise KeyboardInterrupt
                case.saw("whole")

    for name in ("a-kills", "b-kills"):
        monkeypatch.setitem(ROUNDS, name, Round(name, "Is it so?", 1000, 2, run))
    ended = CliRunner().invoke(main, ["--only", "a-kills,b-kills"])
    assert ended.exit_code == 130
    assert ended.stdout == "a-kills: 2 cases in 0 s, 0 faults (whole 2)\n"
