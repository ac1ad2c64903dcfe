"""`venturi plan` killed at random instants of its trials, and resumed until it is done."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from torture.changes import Changes
from torture.play import Play, Round, TortureCase
from torture.record.stores import Store, Stores
from torture.verbs import VerbRunner, processes_of
from venturi.record.trial import State

_REPEATS = 2
_PLAN = f"""
repeats = {_REPEATS}
warm_ups = 0
[factors]
workload = ["terasort"]
bytes = ["96kB"]
disk = ["here"]
[disks.here]
input = ["data"]
scratch = ["data"]
output = ["data"]
"""
_KILLS_MAX = 3
_ANOTHERS = "venturi-data-notes"
_GONE_S = 30.0


def play(round_: Play) -> None:
    """Up to three kills of a plan: see `Changes`."""
    stores = Stores(round_)
    work = round_.folder / "work"
    plan, data = work / "plan.toml", work / "data"
    with VerbRunner(work) as verbs:
        _tidy(data)
        plan.write_text(_PLAN)
        with stores.one(0) as store:
            ran = verbs.learn(store.settings, "plan", "start", plan, "--json")
            assert ran.status == 0, ran.stderr
        with stores.one(0) as store:
            ran = verbs.run_followed(store.settings, "plan", "start", plan, "--json")
            changes = ran.all_changes()
        for case in round_.cases():
            _tidy(data)
            with stores.one(case.number) as store, case:
                kills = _until_done(case, verbs, store, plan, changes)
                case.saw(f"done after {kills} kill{'' if kills == 1 else 's'}")


def _tidy(data: Path) -> None:
    """Empty the folder of data; otherwise one fault would appear in all later cases."""
    shutil.rmtree(data, ignore_errors=True)
    data.mkdir()
    (data / _ANOTHERS).write_text("another's")


def _until_done(
    case: TortureCase, verbs: VerbRunner, store: Store, plan: Path, changes: Changes
) -> int:
    """Kill and restart the plan until it is done; return the number of kills."""
    data = plan.parent / "data"
    begun, kills = False, 0
    done: set[str] = set()
    while True:
        kill = changes.draw(case.play.chance) if kills < _KILLS_MAX else None
        case.label += f" {store.kind} {kill or 'to its end'},"
        verb = "resume" if begun else "start"
        ran = verbs.run_followed(store.settings, "plan", verb, plan, "--json", kill=kill)
        wait_until_gone(verbs.folder)
        trials = store.trials()
        succeeded = {id_ for id_, each in trials.items() if each.state is State.SUCCEEDED}
        assert done <= succeeded, "a trial that was done is no longer"
        assert all(
            each.state in {State.SUCCEEDED, State.INTERRUPTED} for each in trials.values()
        ), f"a kill made a trial {[str(each.state) for each in trials.values()]}"
        done = succeeded
        if not ran.killed:
            break
        case.hit(ran.where)
        begun, kills = begun or bool(trials), kills + 1
    assert ran.status == 0, ran.stderr
    told = json.loads(ran.stdout)["data"]["counts"]
    assert told == {"done": _REPEATS, "failed": 0, "running": 0, "left": 0}, told
    repetitions = sorted(trials[id_].repetition or 0 for id_ in done)
    assert repetitions == list(range(_REPEATS)), f"repetitions {repetitions}"
    left = verbs.left(data)
    assert left == [_ANOTHERS], f"left: {left}"
    store.mend()
    assert store.trials(tidy=True) == trials
    return kills


def wait_until_gone(folder: Path) -> None:
    """Wait until no process of the plan is left."""
    deadline_s = time.monotonic() + _GONE_S
    while processes_of(folder):
        assert time.monotonic() < deadline_s, "a process of a killed plan goes on"
        time.sleep(0.005)


ROUND = Round(
    name="plan-kills",
    question="A plan is killed at random instants and resumed. Is each of its trials done once, "
    "and are no files or processes left?",
    count=1000,
    few=2,
    run=play,
)
