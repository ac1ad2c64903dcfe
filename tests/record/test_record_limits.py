"""Limits on stored trials: excess is rejected by field, or cut if it was measured."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime, timedelta, timezone
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from venturi.core import settings
from venturi.core.errors import CODES, VenturiError
from venturi.core.settings import SETTINGS, Settings, TrialLimits
from venturi.record.importing.importer import import_file
from venturi.record.limits import _RULES, CUT, check, fitted
from venturi.record.query.counting import count
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import (
    Artifact,
    Cluster,
    Failure,
    Host,
    Phase,
    Sample,
    State,
    Trial,
    TrialWarning,
    Workload,
)

Make = Callable[..., Trial]
LIMITS = TrialLimits()
AHEAD, BEHIND = (timezone(sign * timedelta(hours=23, minutes=59)) for sign in (1, -1))


def ended(make_trial: Make, **changes: Any) -> Trial:
    return make_trial(**{"state": State.SUCCEEDED, "elapsed_s": 1.0, **changes})


def workload(**changes: Any) -> Workload:
    return replace(Workload("terasort", "v1"), **changes)


def host(facts: dict[str, Any]) -> Cluster:
    return Cluster((Host("here", facts),))


def nested(depth: int) -> dict[str, Any]:
    return {"in": nested(depth - 1)} if depth else {}


# A value beyond the limits, and the field that rejects it.
BEYOND: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "the year 1 with an offset that leads out of the calendar": (
        "started_at",
        lambda: {"started_at": datetime(1, 1, 1, tzinfo=AHEAD)},
    ),
    "the year 9999 with such an offset": (
        "started_at",
        lambda: {"started_at": datetime(9999, 12, 31, 23, 59, 59, tzinfo=BEHIND)},
    ),
    "the last second of 1989": (
        "started_at",
        lambda: {"started_at": datetime.fromisoformat("1989-12-31T23:59:59Z")},
    ),
    "1990 by the clock, 1989 in UTC": (
        "started_at",
        lambda: {"started_at": datetime(1990, 1, 1, 12, tzinfo=AHEAD)},
    ),
    "the year 2100": (
        "started_at",
        lambda: {"started_at": datetime.fromisoformat("2100-01-01T00:00:00Z")},
    ),
    "a negative time": ("elapsed_s", lambda: {"elapsed_s": -5.0}),
    "a time without end": ("elapsed_s", lambda: {"elapsed_s": 1e308}),
    "100,000 configuration keys": (
        "configuration",
        lambda: {"configuration": {f"k{n}": n for n in range(100_000)}},
    ),
    "a name of 1 MB": ("workload.name", lambda: {"workload": workload(name="n" * 1_000_000)}),
    "NUL in a name": ("workload.name", lambda: {"workload": workload(name="tera\0sort")}),
    "a line end in a name": ("experiment", lambda: {"experiment": "two\nlines"}),
    "an escape sequence in a value": (
        "configuration.disk",
        lambda: {"configuration": {"disk": "\x1b[31mSSD"}},
    ),
    "half a surrogate pair in a key": (
        "configuration.\ufffd",
        lambda: {"configuration": {"\ud800": 1}},
    ),
    "a number that no sum can have": ("configuration.x", lambda: {"configuration": {"x": 1e300}}),
    "a whole number of 5,000 digits": (
        "configuration.x",
        lambda: {"configuration": {"x": 10**5_000}},
    ),
    "a negative count": ("workload.input_bytes", lambda: {"workload": workload(input_bytes=-1)}),
    "a count beyond 2^53": (
        "workload.input_records",
        lambda: {"workload": workload(input_records=2**53)},
    ),
    "a negative repetition": ("repetition", lambda: {"repetition": -1}),
    "a sample beyond all sums": (
        "samples[1].value",
        lambda: {"samples": (Sample("a", 1.0, "s"), Sample("b", -1e200, "s"))},
    ),
    "NUL in a label": (
        "samples[0].labels.device",
        lambda: {"samples": (Sample("a", 1.0, "s", None, {"device": "sd\0"}),)},
    ),
    "too many samples": ("samples", lambda: {"samples": (Sample("a", 1.0, "s"),) * 20_001}),
    "a phase of negative length": ("phases[0].elapsed_s", lambda: {"phases": (Phase("m", 0, -1),)}),
    "too many phases": ("phases", lambda: {"phases": (Phase("m", 0, 1),) * 5_001}),
    "too many hosts": ("cluster.hosts", lambda: {"cluster": Cluster((Host("h"),) * 10_001)}),
    "NUL deep in the facts": (
        "cluster.hosts[0].facts.disks[1].name",
        lambda: {"cluster": host({"disks": [{"name": "sda"}, {"name": "\0"}]})},
    ),
    "a fact that is no number": (
        "cluster.hosts[0].facts.load",
        lambda: {"cluster": host({"load": math.nan})},
    ),
    "facts nested without end": (
        "cluster.hosts[0].facts" + 12 * ".in",
        lambda: {"cluster": host(nested(50))},
    ),
    "a folder with a line end": (
        "cluster.disks_by_role.input[0]",
        lambda: {"cluster": Cluster((Host("h"),), {"input": ("/a\nb",)})},
    ),
    "a long message": (
        "warnings[0].message",
        lambda: {"warnings": (TrialWarning("C", "m" * 70_000),)},
    ),
    "too many warnings": ("warnings", lambda: {"warnings": (TrialWarning("C", "m"),) * 501}),
    "an artifact of 5 GB": (
        "artifacts[0].size_bytes",
        lambda: {"artifacts": (Artifact("log", "l", "x/l", 5 * 10**9, "0" * 64),)},
    ),
    "a record of 20 MB": (
        "the record",
        lambda: {"configuration": {f"k{n}": "v" * 65_000 for n in range(300)}},
    ),
}


@pytest.mark.parametrize("what", BEYOND)
def test_what_readers_cannot_bear_is_refused_by_field_and_nothing_is_stored(
    repository: TrialRepository, make_trial: Make, what: str
) -> None:
    field, changes = BEYOND[what]
    trial = ended(make_trial, **changes())
    for store in (repository.add, lambda each: repository.add_many([ended(make_trial), each])):
        with pytest.raises(VenturiError) as caught:
            store(trial)
        error = caught.value
        assert error.code == "VEN-RECORD-LIMIT"
        assert (error.where["trial"], error.where["field"]) == (trial.id, field)
        assert len(str(error.where["value"])) < 200
        assert error.where["limit"]
        assert str(error.where["limit"]) in error.message
        assert error.message.isprintable()
        assert count(repository, Query()) == 0


@pytest.mark.parametrize("what", BEYOND)
def test_what_was_measured_is_cut_and_says_so_unless_it_was_wrong_before_it_began(
    repository: TrialRepository, make_trial: Make, what: str
) -> None:
    field, changes = BEYOND[what]
    begun = repository.add(make_trial(state=State.VALIDATING))
    trial = replace(begun.advance(State.SUCCEEDED, elapsed_s=1.0), **changes())
    if field in {"started_at", "elapsed_s", "repetition", "artifacts[0].size_bytes"}:
        with pytest.raises(VenturiError, match=field.replace("[", r"\[")) as caught:
            repository.save(trial)
        assert caught.value.code == "VEN-RECORD-LIMIT"
        return
    saved = repository.save(trial)
    assert repository.get(trial.id) == saved
    assert saved.state is State.SUCCEEDED
    assert saved.warnings[-1].code == CUT
    assert field in saved.warnings[-1].message
    assert fitted(saved, LIMITS) is saved, "what was cut fits"
    check(saved, LIMITS)


def test_of_phases_the_longest_stay_and_of_samples_the_first(make_trial: Make) -> None:
    limits = replace(LIMITS, phases=2, samples=2, warnings=2)
    trial = ended(
        make_trial,
        phases=(Phase("a", 0, 3), Phase("b", 3, 1), Phase("c", 4, 2)),
        samples=tuple(Sample(name, 1.0, "s") for name in "abc"),
        warnings=tuple(TrialWarning("C", name) for name in "abc"),
    )
    made = fitted(trial, limits)
    assert [each.name for each in made.phases] == ["a", "c"]
    assert [each.metric for each in made.samples] == ["a", "b"]
    assert made.warnings[0].message == "a"
    assert made.warnings[1].message == (
        "truncated to the size limits: phases is 3 entries, more than 2 entries; samples is "
        "3 entries, more than 2 entries; warnings is 3 entries, more than 2 entries"
    )


def test_what_cannot_be_kept_of_a_measured_trial_has_a_reason_in_its_place(
    make_trial: Make,
) -> None:
    made = fitted(
        ended(
            make_trial,
            samples=(Sample("a", 1e200, "s"),),
            phases=(Phase("never", 0, -1), Phase("m\0ap", 1, 2)),
            failure=None,
        ),
        LIMITS,
    )
    assert made.samples == (Sample("a", None, "s", missing_reason="1e+200 is not within ±1e+100"),)
    assert made.phases == (Phase("m\N{REPLACEMENT CHARACTER}ap", 1, 2),)


def test_an_honest_trial_is_left_as_it_is(make_trial: Make) -> None:
    trial = ended(
        make_trial,
        state=State.FAILED,
        failure=Failure("engine", "VEN-X", "Exception in thread main\n\tat Sort.java:12\n"),
        configuration={f"spark.k{n}": "v" for n in range(1_500)} | {"é": "日本", "on": True},
        phases=tuple(Phase(f"stage {n}", n - 0.5, 1.0) for n in range(4_000)),
        started_at=datetime(1990, 1, 1, 23, 59, tzinfo=AHEAD),
    )
    check(trial, LIMITS)
    assert fitted(trial, LIMITS) is trial


def test_limits_are_settings(repository_settings: Settings, make_trial: Make) -> None:
    found = settings.load({"VENTURI_MAX_CONFIGURATION_KEYS": "1"}).limits
    assert found == replace(LIMITS, configuration_keys=1)
    with TrialRepository.open(replace(repository_settings, limits=found)) as repository:
        repository.add(ended(make_trial, configuration={"a": 1}))
        with pytest.raises(VenturiError, match="more than 1 entries") as caught:
            repository.add(ended(make_trial, configuration={"a": 1, "b": 2}))
    assert "VENTURI_MAX_CONFIGURATION_KEYS" in caught.value.hint
    for wrong in ("0", "-1", "many", "1e3", "9" * 30):
        with pytest.raises(VenturiError) as caught:
            settings.load({"VENTURI_MAX_PHASES": wrong})
        assert caught.value.where == {"variable": "VENTURI_MAX_PHASES", "value": wrong}
    assert {f"VENTURI_MAX_{each.name.upper()}" for each in fields(TrialLimits)} <= {
        each.variable for each in SETTINGS
    }
    assert {"VEN-RECORD-LIMIT", CUT} <= set(CODES)


def test_every_field_that_holds_text_or_numbers_has_a_rule() -> None:
    # Fields with few values, or derived ones, need no rule.
    free = {
        (Cluster, "dilate_cpu"),
        (Trial, "id"),
        (Trial, "warm_up"),
        (Trial, "schema_version"),
        (Sample, "value"),
    }
    for record, rules in _RULES.items():
        for name, hint in get_type_hints(record).items():
            named = isinstance(hint, type) and issubclass(hint, Enum)
            literal = str(hint).startswith("typing.Literal")
            if not named and not literal and (record, name) not in free:
                assert name in dict(rules), f"{record.__name__}.{name} {get_args(hint)}"


def test_a_log_is_taken_in_without_what_readers_cannot_bear(settings: Settings) -> None:
    log = Path(__file__).parents[1] / "data" / "spark" / "4.3.0" / "join.log"
    limits = replace(LIMITS, phases=1, configuration_keys=2)
    with TrialRepository.open(replace(settings, limits=limits)) as repository:
        (arrival,) = import_file(repository, "spark-eventlog", log).trials
        trial = repository.get(arrival.trial)
        assert (len(trial.phases), len(trial.configuration)) == (1, 2)
        assert trial.warnings[-1].code == CUT
        assert "phases is " in trial.warnings[-1].message
        assert trial.warnings[-1].message in arrival.account["warnings"]
        again = import_file(repository, "spark-eventlog", log)
        assert (again.added, again.already_present) == (0, 1)
