"""The record as text: nothing is lost, nothing unknown gets in."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import CODES, VenturiError
from venturi.record.trial import (
    SCHEMA_VERSION,
    SUCCESSORS,
    TERMINAL,
    Artifact,
    Clock,
    Cluster,
    Engine,
    Failure,
    Host,
    Link,
    Owner,
    Phase,
    PriceQuote,
    Provenance,
    ProvenanceKind,
    Rack,
    Sample,
    Software,
    State,
    Trial,
    TrialWarning,
    Workload,
    new_id,
)
from venturi.record.trial_json import decode, encode

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBER = st.floats(allow_nan=False, allow_infinity=False)
COUNT = st.integers(min_value=0, max_value=1 << 70)
SCALAR = TEXT | COUNT | NUMBER | st.booleans() | st.none()
JSON = st.recursive(
    SCALAR, lambda j: st.lists(j, max_size=3) | st.dictionaries(TEXT, j, max_size=3)
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def some(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(strategy, max_size=3).map(tuple)


LABELS = st.dictionaries(TEXT, SCALAR, max_size=3)
SAMPLE = st.builds(Sample, TEXT, NUMBER, TEXT, maybe(TEXT), LABELS) | st.builds(
    Sample, TEXT, st.none(), TEXT, maybe(TEXT), LABELS, missing_reason=TEXT
)
PRICE = st.builds(PriceQuote, NUMBER, TEXT, TEXT, TEXT, TEXT)
FOLDERS = st.dictionaries(TEXT, some(TEXT), max_size=2)
HOST = st.builds(
    Host,
    TEXT,
    st.dictionaries(TEXT, JSON, max_size=3),
    some(TEXT),
    st.dictionaries(TEXT, st.builds(Link, TEXT, maybe(NUMBER)), max_size=2),
    maybe(TEXT),
    FOLDERS,
    maybe(st.builds(Clock, NUMBER, NUMBER)),
)
CLUSTER = st.builds(
    Cluster,
    some(HOST),
    FOLDERS,
    maybe(TEXT),
    maybe(TEXT),
    maybe(PRICE),
    maybe(TEXT),
    some(st.builds(Rack, TEXT, maybe(TEXT), maybe(NUMBER))),
    maybe(NUMBER),
)
KINDS = st.sampled_from(["series", "log", "manifest", "other"])


@st.composite
def trials(draw: st.DrawFn) -> Trial:
    """Any valid trial."""
    state = draw(st.sampled_from(State))
    ended_badly = state in TERMINAL and state is not State.SUCCEEDED
    return Trial(
        id=new_id(),
        workload=draw(st.builds(Workload, TEXT, TEXT, maybe(TEXT), maybe(COUNT), maybe(COUNT))),
        engine=draw(st.builds(Engine, TEXT, TEXT)),
        cluster=draw(CLUSTER),
        configuration=draw(LABELS),
        software=draw(
            st.builds(
                Software,
                TEXT,
                maybe(TEXT),
                maybe(TEXT),
                maybe(TEXT),
                st.dictionaries(TEXT, TEXT, max_size=2),
            )
        ),
        provenance=draw(st.builds(Provenance, st.sampled_from(ProvenanceKind), TEXT, maybe(TEXT))),
        started_at=draw(st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC))),
        state=state,
        experiment=draw(maybe(TEXT)),
        repetition=draw(COUNT),
        warm_up=draw(st.booleans()),
        seed=draw(maybe(COUNT)),
        elapsed_s=draw(NUMBER if state is State.SUCCEEDED else maybe(NUMBER)),
        phases=draw(some(st.builds(Phase, TEXT, NUMBER, NUMBER))),
        samples=draw(some(SAMPLE)),
        artifacts=draw(some(st.builds(Artifact, KINDS, TEXT, TEXT, COUNT, TEXT))),
        warnings=draw(some(st.builds(TrialWarning, TEXT, TEXT))),
        failure=draw(st.builds(Failure, TEXT, TEXT, TEXT)) if ended_badly else None,
        owner=draw(maybe(st.builds(Owner, TEXT, TEXT, COUNT, COUNT))),
    )


@pytest.mark.slow
@given(trials())
def test_every_trial_survives_writing_and_reading(trial: Trial) -> None:
    text = encode(trial)
    assert "\n" not in text
    again = decode(text)
    assert again == trial
    assert encode(again) == text
    assert again.group_key == trial.group_key


def changed(trial: Trial, change: Callable[[dict[str, Any]], None]) -> str:
    """`trial` as JSON after `change`."""
    data = json.loads(encode(trial))
    change(data)
    return json.dumps(data)


def refusal(text: str | bytes) -> VenturiError:
    with pytest.raises(VenturiError) as caught:
        decode(text, where={"line": 7})
    assert caught.value.code in CODES
    assert caught.value.where["line"] == 7
    return caught.value


@pytest.mark.parametrize("place", [[], ["workload"], ["cluster"], ["software"], ["provenance"]])
def test_an_unknown_key_is_refused_and_named(
    make_trial: Callable[..., Trial], place: list[str]
) -> None:
    def add_key(data: dict[str, Any]) -> None:
        for key in place:
            data = data[key]
        data["suprise"] = 1

    error = refusal(changed(make_trial(), add_key))
    assert error.code == "VEN-RECORD-SCHEMA"
    assert error.where["field"] == ".".join([*place, "suprise"])


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 0, None, "1", True])
def test_other_schema_versions_are_refused(
    make_trial: Callable[..., Trial], version: object
) -> None:
    error = refusal(changed(make_trial(), lambda data: data.update(schema_version=version)))
    if version is not True:
        assert error.code == "VEN-RECORD-VERSION"
        assert ("update" in error.hint) == (version == SCHEMA_VERSION + 1)


def test_a_record_of_version_1_is_read_as_before(make_trial: Callable[..., Trial]) -> None:
    trial = make_trial(
        cluster=Cluster((Host("here", {"cores": 2}),), {"input": ("/data",)}, "type", "ib"),
        configuration={"threads": 2},
    )

    def as_of_version_1(data: dict[str, Any]) -> None:
        data["schema_version"] = 1
        for name in ("name", "racks", "dilation", "dilate_cpu"):
            del data["cluster"][name]
        for name in ("roles", "links", "rack", "disks", "clock"):
            del data["cluster"]["hosts"][0][name]

    assert decode(changed(trial, as_of_version_1)) == trial
    assert trial.group_key == "4384a3cbb1052577", "stored keys hold"


def test_another_layout_of_a_cluster_is_another_group(make_trial: Callable[..., Trial]) -> None:
    link = Link("10.0.0.1", 1e8)
    host = Host("h1", {}, ("worker",), {"data": link}, "r1", {"ssd": ("/ssd",)}, Clock(0.1, 0.01))
    cluster = Cluster((host,), dilation=20.0, racks=(Rack("r1", None, 1e9),))
    key = make_trial(cluster=cluster).group_key

    def of_host(**changes: Any) -> str:
        return make_trial(cluster=replace(cluster, hosts=(replace(host, **changes),))).group_key

    assert of_host(clock=None) == key
    assert of_host(links={"data": replace(link, address="10.0.0.9")}) == key
    others = {
        of_host(roles=("master",)),
        of_host(links={"data": replace(link, bytes_per_s=1e9)}),
        of_host(rack="r2"),
        of_host(disks={"hdd": ("/ssd",)}),
        make_trial(cluster=replace(cluster, dilation=None)).group_key,
        make_trial(cluster=replace(cluster, dilate_cpu=True)).group_key,
        make_trial(cluster=replace(cluster, racks=())).group_key,
    }
    assert len(others | {key}) == 8


def test_a_record_without_a_version_is_refused(make_trial: Callable[..., Trial]) -> None:
    text = changed(make_trial(), lambda data: data.pop("schema_version"))
    assert refusal(text).code == "VEN-RECORD-VERSION"


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{", '{"schema_version": 1', b"\xff", "[" * 99999]
)
def test_what_is_no_record_is_refused(text: str | bytes) -> None:
    assert refusal(text).code == "VEN-RECORD-SCHEMA"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "../../etc"),
        ("id", ""),
        ("state", "sleeping"),
        ("state", "failed"),
        ("state", "succeeded"),
        ("repetition", "1"),
        ("repetition", 1.5),
        ("elapsed_s", math.nan),
        ("elapsed_s", "12"),
        ("started_at", "2026-01-02T03:04:05"),
        ("configuration", {"a": math.inf}),
        ("configuration", {"a": [1]}),
        ("samples", [{"metric": "m", "value": None, "unit": "s"}]),
        ("samples", [{"metric": "m", "value": 1, "unit": "s", "missing_reason": "lost"}]),
        ("samples", [{"metric": "m", "value": math.nan, "unit": "s"}]),
        ("phases", [{"name": "p", "started_s": 0, "elapsed_s": math.inf}]),
    ],
)
def test_a_field_with_a_bad_value_is_refused(
    make_trial: Callable[..., Trial], field: str, value: object
) -> None:
    text = changed(make_trial(), lambda data: data.update({field: value}))
    assert refusal(text).code == "VEN-RECORD-SCHEMA"


def test_what_json_cannot_hold_is_an_error(make_trial: Callable[..., Trial]) -> None:
    with pytest.raises(VenturiError) as caught:
        encode(make_trial(experiment="\udc80"))
    assert caught.value.code == "VEN-RECORD-SCHEMA"


def test_the_state_machine_allows_its_steps_and_no_others(
    make_trial: Callable[..., Trial],
) -> None:
    failure = Failure("k", "c", "m")
    for before in State:
        for after in State:
            trial = make_trial(
                state=before,
                elapsed_s=1.0,
                failure=failure if before in TERMINAL - {State.SUCCEEDED} else None,
            )
            bad_end = after in TERMINAL - {State.SUCCEEDED}
            if after in SUCCESSORS[before]:
                assert trial.advance(after, failure=failure if bad_end else None).state is after
            else:
                with pytest.raises(VenturiError) as caught:
                    trial.advance(after)
                assert caught.value.code == "VEN-RECORD-STATE"


def test_the_group_key_holds_what_was_chosen_and_nothing_else(
    make_trial: Callable[..., Trial],
) -> None:
    trial = make_trial()
    same = [
        replace(trial, id=new_id()),
        replace(trial, repetition=3, warm_up=True, elapsed_s=5.0, seed=9),
        replace(trial, configuration=dict(reversed(trial.configuration.items()))),
    ]
    other = [
        replace(trial, configuration={**trial.configuration, "threads": 4}),
        replace(trial, workload=replace(trial.workload, version="v2")),
        replace(trial, engine=Engine("native", "0.2.0")),
        replace(trial, cluster=replace(trial.cluster, hosts=(Host("there"),))),
        replace(trial, cluster=replace(trial.cluster, disks_by_role={"input": ("/other",)})),
        replace(trial, provenance=Provenance(ProvenanceKind.SIMULATED, "venturi")),
    ]
    assert {t.group_key for t in same} == {trial.group_key}
    assert len({t.group_key for t in [trial, *other]}) == len(other) + 1


def test_ids_are_unique_ulids_that_sort_by_time() -> None:
    ids = [new_id() for _ in range(1_000)]
    assert len(set(ids)) == 1_000
    assert all(re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", id_) for id_ in ids)
    time.sleep(0.002)
    assert new_id() > max(ids)
