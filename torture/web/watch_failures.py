"""`venturi import URL --watch` against a history server that fails at random, and killed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from torture.play import Play, Round
from torture.verbs import VerbRunner
from torture.web.failing_server import FailingServer, zip_of
from venturi.core.settings import Settings
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.upkeep.check import check
from venturi.record.upkeep.findings import FindingKind

_LOG = Path(__file__).parents[2] / "tests" / "data" / "spark" / "4.3.0" / "tiny.log"
_SOUND, _UNSOUND = 8, 3
_LAST_TRIES = 30
_WATCH = ("--watch", "--every", "50ms")


def _applications() -> dict[str, bytes]:
    """Sound applications, and others with an archive that never holds a log."""
    log = _LOG.read_bytes()
    starts = (line for line in log.splitlines() if b'"SparkListenerApplicationStart"' in line)
    id_ = json.loads(next(starts))["App ID"].encode()
    found = {}
    for number in range(_SOUND):
        name = f"app-20261128000000-{number:04}"
        found[name] = zip_of({name: log.replace(id_, name.encode())})
    return found | {
        "unsound-note": zip_of({"a-note": b"no log"}),
        "unsound-zip": b"no zip file at all",
        "unsound-empty": zip_of({}),
    }


def play(round_: Play) -> None:
    """Kill the watch again and again; then let it end its work with a server that works."""
    server = FailingServer(round_.chance, _applications())
    settings = Settings(round_.folder / "home", None, None, allow_debug=False)
    with VerbRunner(round_.folder / "work") as verbs, server.serving() as url:
        verbs.learn(settings, "import", _LOG.parent / "join.log")
        with TrialRepository.open(settings) as repository:
            before = _ids(repository)
        for case in round_.cases():
            with case:
                last = case.number == round_.count - 1
                case.label = f"watch, after {sum(server.seen.values())} requests"
                server.rate = 0.0 if last else 0.5
                delay_s = 5.0 if last else round_.chance.uniform(0.5, 6.0)
                for _ in range(_LAST_TRIES if last else 1):
                    ran = verbs.run(settings, "import", url, *_WATCH, kill_after_s=delay_s)
                    assert ran.killed, f"it ended: {ran.stderr[-300:]}"
                    assert "Traceback" not in ran.stderr
                    assert "VEN-INGEST-BUG" not in ran.stderr
                    status = json.loads(
                        verbs.run(settings, "import", url, "--watch", "--status", "--json").stdout
                    )["data"]
                    status["logs"] = [
                        each for each in status["logs"] if not each["key"].endswith(" ghost")
                    ]
                    states = [each["state"] for each in status["logs"]]
                    if states == ["refused"] * _UNSOUND and status["imported"] == _SOUND:
                        break
                with TrialRepository.open(settings) as repository:
                    trials = _ids(repository) - before
                    assert not [
                        each
                        for each in check(repository).findings
                        if each.kind is not FindingKind.LEFTOVER
                    ]
                assert len(trials) <= _SOUND, "an application is in twice"
                if last:
                    _check_all(status, len(trials))
                case.saw("all in" if last else "killed")
    round_.say(f"{sum(server.seen.values())} requests, {len(server.seen) - 1} kinds of failure")


def _check_all(status: dict[str, Any], trials: int) -> None:
    assert trials == _SOUND, f"{trials} of {_SOUND} sound logs are in"
    refused = {each["key"].split()[-1]: each["reason"] for each in status["logs"]}
    assert set(refused) == {"unsound-note", "unsound-zip", "unsound-empty"}, refused
    assert all(refused.values()), "refused without a reason"


def _ids(repository: TrialRepository) -> set[str]:
    return {each.id for each in whole_trials(repository)}


ROUND = Round(
    name="watch-failures",
    question="A history server fails half of the time, in 30 ways, while `import --watch` is "
    "killed at random instants. Is each sound log imported exactly once, and is each unsound one "
    "listed with its reason?",
    count=200,
    few=3,
    run=play,
)
