"""Queries on columns and configuration keys, compared with plain Python over the same trials."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from venturi.core.errors import ExitCode, VenturiError
from venturi.record.access import exclusions
from venturi.record.query import counting, faceting, grouping, known_keys, paging
from venturi.record.query.checks import require_keys
from venturi.record.query.conditions import (
    COLUMNS,
    LISTS,
    Condition,
    Op,
    parse_condition,
)
from venturi.record.query.grouping import GroupRow
from venturi.record.query.paging import whole_trials
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Host,
    Provenance,
    ProvenanceKind,
    Software,
    State,
    Trial,
    Workload,
    new_id,
)

MakeTrial = Callable[..., Trial]
DAY = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = ("disk", "threads", "x y", "workload", "über", "nul")
SCALARS = (
    None,
    True,
    False,
    0,
    1,
    2,
    2.0,
    2.5,
    -3,
    1 << 70,
    1e30,
    "2",
    "2.50",
    "SSD",
    "HDD",
    "ssd",
    "true",
    "a b",
    "a",
    "",
    "é\n\t",
    "'\"%_\\",
    "x" * 300,
)
GROUP_KEYS = ("configuration.disk", "threads", "workload", "state", "warm_up", "scale", "hosts")
RULES = (
    ("disk=SSD",),
    ("threads>=2",),
    ("scale=",),
    ("workload=sort", "warm_up=true"),
    ("none=",),
    ("elapsed_s<1.5", "disk="),
    ("state=failed",),
    ("started_at>2026-03-01T00:00+00:00",),
)
FACET_KEYS = (*GROUP_KEYS, "configuration.workload", "x y", "nul\0", "started_at", "elapsed_s")


def columns_of(trial: Trial) -> dict[str, Any]:
    """The value of each column for `trial`."""
    failure = trial.failure
    return {
        "id": trial.id,
        "workload": trial.workload.name,
        "workload_version": trial.workload.version,
        "scale": trial.workload.scale,
        "input_bytes": trial.workload.input_bytes,
        "engine": trial.engine.name,
        "engine_version": trial.engine.version,
        "state": trial.state.value,
        "failure_kind": failure and failure.kind,
        "failure": failure and failure.code,
        "experiment": trial.experiment,
        "group": trial.group_key,
        "repetition": trial.repetition,
        "warm_up": trial.warm_up,
        "provenance": trial.provenance.kind.value,
        "source": trial.provenance.source,
        "instance_type": trial.cluster.instance_type,
        "network": trial.cluster.network,
        "hosts": len(trial.cluster.hosts),
        "started_at": trial.started_at,
        "elapsed_s": trial.elapsed_s,
        "warnings": len(trial.warnings),
        "disturbed": trial.disturbed,
        **{
            name: next(iter(trial.values(name)), None)
            for name in ("cpu_others_share", "disk_others_share", "cpu_steal_share")
        },
    }


def as_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and value < 1e15:
        value = int(value)
    text = str(value).replace("\0", "␀")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return text if len(text) <= 200 else f"{text[:180]}…{digest}"


def as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def canonical(key: str) -> str:
    return key if key in COLUMNS else "configuration." + key.removeprefix("configuration.")


def value_of(trial: Trial, key: str) -> Any:
    """The value of a column, or the text of a configuration value; None if it is missing."""
    columns = columns_of(trial)
    if key in columns:
        return columns[key]
    value = trial.configuration.get(key.removeprefix("configuration."))
    return None if value is None else as_text(value)


def meets(trial: Trial, condition: Condition) -> bool:
    value = value_of(trial, condition.key)
    if condition.op in (Op.MISSING, Op.PRESENT):
        return (value is None) == (condition.op is Op.MISSING)
    if value is None:
        return condition.op is Op.NONE_OF
    is_column = condition.key in COLUMNS
    if condition.op in LISTS:
        equal = value in [v if is_column else as_text(v) for v in condition.values]
        return equal == (condition.op is Op.ONE_OF)
    number = value if is_column else as_number(value)
    bound: Any = condition.values[0]
    return (
        number is not None
        and {
            Op.BELOW: lambda: number < bound,
            Op.AT_MOST: lambda: number <= bound,
            Op.ABOVE: lambda: number > bound,
            Op.AT_LEAST: lambda: number >= bound,
        }[condition.op]()
    )


def in_order(trials: list[Trial], key: str, descending: bool) -> list[Trial]:
    """Numbers, then texts, each by value and id; then what is missing."""
    ranked: dict[int, list[tuple[Any, Trial]]] = {0: [], 1: [], 2: []}
    for trial in trials:
        value = value_of(trial, key)
        number = as_number(value) if isinstance(value, str) else value
        if value is None:
            ranked[2].append(((trial.id,), trial))
        elif key in COLUMNS:
            ranked[0].append(((value, trial.id), trial))
        elif number is not None:
            ranked[0].append(((number, value, trial.id), trial))
        else:
            ranked[1].append(((value, trial.id), trial))
    return [
        trial
        for rank in (0, 1, 2)
        for _, trial in sorted(ranked[rank], key=lambda pair: pair[0], reverse=descending)
    ]


@st.composite
def trials(draw: st.DrawFn) -> Trial:
    state = draw(st.sampled_from([State.SUCCEEDED, State.SUCCEEDED, State.FAILED, State.PLANNED]))
    imported = draw(st.booleans())
    kind = ProvenanceKind.IMPORTED if imported else ProvenanceKind.MEASURED
    day = st.integers(-3, 3).map(lambda days: DAY + timedelta(days=days, microseconds=days))
    return Trial(
        id=new_id(),
        workload=Workload(
            draw(st.sampled_from(["sort", "Sort", "über"])),
            "v1",
            draw(st.sampled_from([None, "tiny", "huge"])),
            draw(st.sampled_from([None, 10**11])),
        ),
        engine=Engine(draw(st.sampled_from(["native", "spark"])), "1"),
        cluster=Cluster(tuple(Host(f"h{n}") for n in range(draw(st.integers(0, 3))))),
        configuration=draw(st.dictionaries(st.sampled_from(SETTINGS), st.sampled_from(SCALARS))),
        software=Software("0.1.0", None, "release"),
        provenance=Provenance(kind, "test"),
        started_at=draw(st.none() | day) if imported else draw(day),
        state=state,
        repetition=draw(st.integers(0, 2)),
        warm_up=draw(st.booleans()),
        elapsed_s=draw(st.sampled_from([0.1, 1.0, 1.5, 2.0, 1e9 / 7]))
        if state is State.SUCCEEDED
        else None,
        failure=Failure("space", "VEN-X", "full") if state is State.FAILED else None,
    )


def conditions() -> st.SearchStrategy[Condition]:
    one_of = st.sampled_from(LISTS)
    orders = st.sampled_from([Op.BELOW, Op.AT_MOST, Op.ABOVE, Op.AT_LEAST])
    presence = st.sampled_from([Op.MISSING, Op.PRESENT])
    key = st.sampled_from(["disk", "threads", "x y", "configuration.workload", "über", "none"])
    some = [value for value in SCALARS if value is not None]
    numbers = st.sampled_from([0, 1.5, 2, 2.5, 1e25])
    choices = [
        st.builds(Condition, key, one_of, st.lists(st.sampled_from(some), min_size=1).map(tuple)),
        st.builds(Condition, key, orders, st.tuples(numbers)),
        st.builds(Condition, key | st.sampled_from(["scale", "started_at"]), presence),
        *(
            st.builds(Condition, st.just(name), one_of, st.tuples(st.sampled_from(values)))
            for name, values in {
                "workload": ("sort", "Sort", "s%"),
                "state": ("succeeded", State.FAILED),
                "warm_up": (True, False),
                "hosts": (1, 2.0, 2.5, 1 << 70),
                "started_at": (DAY,),
                "elapsed_s": (0.1, 1),
                "failure_kind": ("space",),
            }.items()
        ),
        st.builds(
            Condition,
            st.sampled_from(["elapsed_s", "hosts", "repetition"]),
            orders,
            st.tuples(numbers),
        ),
        st.builds(Condition, st.just("started_at"), orders, st.just((DAY,))),
    ]
    return st.one_of(choices)


def pages(repository: TrialRepository, question: Query) -> Iterator[paging.QueryPage]:
    while True:
        page = paging.rows(repository, question)
        yield page
        if page.next_cursor is None:
            return
        question = replace(question, cursor=page.next_cursor)


def plain_groups(trials: list[Trial], keys: list[str]) -> dict[tuple[Any, ...], GroupRow]:
    members: dict[tuple[Any, ...], list[Trial]] = {}
    for trial in trials:
        members.setdefault(tuple(value_of(trial, key) for key in keys), []).append(trial)
    return {
        values: GroupRow(
            values,
            len(of),
            Counter(trial.state.value for trial in of),
            tuple(sorted(t.elapsed_s for t in of if t.elapsed_s is not None and not t.warm_up)),
        )
        for values, of in members.items()
    }


@pytest.mark.slow
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    made=st.lists(trials(), max_size=12),
    chosen=st.lists(conditions(), max_size=3),
    sort=st.sampled_from(
        [
            "id",
            "started_at",
            "elapsed_s",
            "workload",
            "warm_up",
            "scale",
            "configuration.workload",
            "disk",
            "threads",
            "none",
        ]
    ),
    descending=st.booleans(),
    limit=st.integers(1, 6),
    keys=st.lists(st.sampled_from(GROUP_KEYS), unique=True, max_size=3),
    rules=st.lists(st.sampled_from(RULES), max_size=2),
)
def test_queries_answer_as_plain_python_does(
    repository: TrialRepository,
    made: list[Trial],
    chosen: list[Condition],
    sort: str,
    descending: bool,
    limit: int,
    keys: list[str],
    rules: list[tuple[str, ...]],
) -> None:
    # Every example has its own trials, among those of the examples before.
    token = new_id()
    made = [replace(trial, id=new_id(), experiment=token) for trial in made]
    chosen = [Condition("experiment", Op.ONE_OF, (token,)), *chosen]
    in_force = [exclusions.add(repository, texts, "me", "a test") for texts in rules]
    assert repository.add_many(made).added == len(made), "later than the rules"
    excluded = {
        trial.id: rule.id
        for rule in reversed(in_force)
        for trial in made
        if all(meets(trial, parse_condition(text)) for text in rule.conditions)
    }
    question = Query(tuple(chosen), sort, descending, limit, with_excluded=True)
    answers_as_python_does(repository, question, made, keys, excluded)
    kept = [trial for trial in made if trial.id not in excluded]
    question = replace(question, with_excluded=False)
    answers_as_python_does(repository, question, kept, keys, {})
    wanted = [trial for trial in made if all(meets(trial, c) for c in chosen)]
    left_out = len([trial for trial in wanted if trial.id in excluded])
    assert counting.excluded_count(repository, question) == left_out
    for rule in in_force:
        exclusions.revoke(repository, rule.id, "me")
    assert counting.count(repository, question) == len(wanted)


def answers_as_python_does(
    repository: TrialRepository,
    question: Query,
    made: list[Trial],
    keys: list[str],
    excluded: dict[str, str],
) -> None:
    chosen, sort, descending = question.conditions, question.sort, question.descending
    wanted = [trial for trial in made if all(meets(trial, c) for c in chosen)]
    found = [row for page in pages(repository, question) for row in page.rows]
    assert [row.id for row in found] == [t.id for t in in_order(wanted, sort, descending)]
    assert counting.count(repository, question) == len(wanted)
    by_id = {trial.id: trial for trial in made}
    for row in found:
        expected = columns_of(by_id[row.id])
        assert {key: getattr(row, key) for key in expected} == expected
        assert row.configuration == by_id[row.id].configuration
        assert row.excluded == excluded.get(row.id)

    for facet in faceting.facets(repository, question, [*FACET_KEYS]):
        others = [c for c in chosen if canonical(c.key) != canonical(facet.key)]
        values = [value_of(t, facet.key) for t in made if all(meets(t, c) for c in others)]
        counts = Counter(value for value in values if value is not None)
        assert {each.value: each.n for each in facet.values} == counts
        assert (facet.distinct, facet.missing) == (len(counts), values.count(None))
        assert [each.n for each in facet.values] == sorted(counts.values(), reverse=True)

    groups = grouping.group_by(repository, question, keys)
    assert {group.values: group for group in groups} == plain_groups(wanted, keys)
    assert len({group.values for group in groups}) == len(groups)
    assert [group.n for group in groups] == sorted((g.n for g in groups), reverse=True)


def refusal(action: Callable[[], object]) -> VenturiError:
    with pytest.raises(VenturiError) as caught:
        action()
    assert caught.value.exit_code is ExitCode.USAGE
    return caught.value


def resealed(cursor: str, change: Callable[[list[Any]], list[Any]]) -> str:
    """`cursor` with other content and a fitting checksum."""
    values = change(json.loads(base64.urlsafe_b64decode(cursor)[8:]))
    payload = json.dumps(values).encode()
    checksum = hashlib.blake2b(payload, digest_size=8, person=b"venturi cursor").digest()
    return base64.urlsafe_b64encode(checksum + payload).decode()


def test_a_cursor_that_was_not_given_out_is_refused(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    repository.add_many(make_trial(elapsed_s=float(number)) for number in range(4))
    question = Query(sort="elapsed_s", limit=2)
    cursor = paging.rows(repository, question).next_cursor
    assert cursor is not None
    assert len(paging.rows(repository, replace(question, cursor=cursor)).rows) == 2
    same = resealed(cursor, lambda values: values)
    assert same == cursor
    middle = len(cursor) // 2
    flipped = cursor[:middle] + ("A" if cursor[middle] != "A" else "B") + cursor[middle + 1 :]
    bad = [
        "",
        "x",
        "é",
        "\0",
        cursor[:-4],
        cursor + "AAAA",
        flipped,
        cursor * 5_000,
        base64.urlsafe_b64encode(b"[" * 10_000).decode(),
        resealed(cursor, lambda v: v[:-1]),
        resealed(cursor, lambda v: [*v, 1]),
        resealed(cursor, lambda v: [v[0], "1", v[2]]),
        resealed(cursor, lambda v: [v[0], True, v[2]]),
        resealed(cursor, lambda v: [v[0], float("nan"), v[2]]),
        resealed(cursor, lambda v: [v[0], v[1], None]),
        resealed(cursor, lambda v: [v[0], v[1], "\0"]),
        resealed(cursor, lambda v: [v[0], v[1], "\ud800"]),
        resealed(cursor, lambda v: [v[0], v[1], [1]]),
        resealed(cursor, lambda v: [1, *v[1:]]),
    ]
    for text in bad:
        error = refusal(partial(paging.rows, repository, replace(question, cursor=text)))
        assert error.code == "VEN-QUERY-CURSOR", text
    others = [
        replace(question, sort="started_at"),
        replace(question, descending=False),
        replace(question, with_excluded=True),
        replace(question, conditions=(Condition("hosts", Op.ONE_OF, (1,)),)),
    ]
    for other in others:
        error = refusal(partial(paging.rows, repository, replace(other, cursor=cursor)))
        assert "another query" in error.message
    assert paging.rows(repository, replace(question, limit=1, cursor=cursor)).rows, "limit is free"


def test_pages_stay_in_step_while_trials_are_added(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    old = [make_trial(started_at=DAY + timedelta(seconds=second)) for second in range(6)]
    repository.add_many(old)
    question, seen = Query(limit=2), []
    for page in pages(repository, question):
        seen += [row.id for row in page.rows]
        repository.add(make_trial(started_at=DAY + timedelta(days=1)))
    assert seen == [trial.id for trial in reversed(old)]


@pytest.mark.parametrize(
    "bad",
    [
        lambda: Condition("workload", Op.BELOW, ("a",)),
        lambda: Condition("warm_up", Op.ABOVE, (True,)),
        lambda: Condition("workload", Op.ONE_OF, (1,)),
        lambda: Condition("workload", Op.ONE_OF, ("a\0",)),
        lambda: Condition("workload", Op.ONE_OF, ("\ud800",)),
        lambda: Condition("hosts", Op.ONE_OF, (True,)),
        lambda: Condition("hosts", Op.ONE_OF, ("1",)),
        lambda: Condition("hosts", Op.ONE_OF, (10**400,)),
        lambda: Condition("elapsed_s", Op.BELOW, (float("nan"),)),
        lambda: Condition("started_at", Op.ABOVE, (1,)),
        lambda: Condition("started_at", Op.ABOVE, (datetime(2026, 1, 1),)),
        lambda: Condition("threads", Op.BELOW, ("two",)),
        lambda: Condition("threads", Op.BELOW, (1, 2)),
        lambda: Condition("threads", Op.BELOW),
        lambda: Condition("threads", Op.ONE_OF),
        lambda: Condition("threads", Op.ONE_OF, (DAY,)),
        lambda: Condition("threads", Op.ONE_OF, tuple(range(1_001))),
        lambda: Condition("threads", Op.MISSING, (1,)),
        lambda: Condition("\ud800", Op.MISSING),
        lambda: Query((Condition("a", Op.MISSING),) * 51),
        lambda: Query(limit=0),
        lambda: Query(limit=1_001),
        lambda: Query(sort="\ud800"),
        lambda: parse_condition("workload"),
        lambda: parse_condition("=x"),
        lambda: parse_condition("hosts=many"),
        lambda: parse_condition("threads<many"),
        lambda: parse_condition("warm_up=yes"),
        lambda: parse_condition("started_at>soon"),
        lambda: parse_condition("workload<b"),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(bad: Callable[[], object]) -> None:
    assert refusal(bad).code == "VEN-QUERY-VALUE"


def test_too_many_groups_facets_and_keys_are_refused(
    repository: TrialRepository, make_trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.add_many(make_trial(configuration={"run": number}) for number in range(12))
    monkeypatch.setattr(grouping, "GROUPS_MAX", 11)
    monkeypatch.setattr(faceting, "FACET_VALUES_MAX", 10)
    everything = Query()
    (facet,) = faceting.facets(repository, everything, ["run"])
    assert (len(facet.values), facet.distinct, facet.missing) == (10, 12, 0)
    for ask in (
        lambda: grouping.group_by(repository, everything, ["run"]),
        lambda: grouping.group_by(repository, everything, ["a"] * 9),
        lambda: faceting.facets(repository, everything, ["a"] * 51),
    ):
        assert refusal(ask).code == "VEN-QUERY-VALUE"


def test_saving_keeps_what_is_searched_in_step(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    trial = make_trial(configuration={"threads": 1, "old": "x"})
    repository.add(trial)
    trial = replace(trial.advance(State.PREPARING), configuration={"threads": True, "new": None})
    repository.save(trial)
    (row,) = paging.rows(repository, Query()).rows
    assert (row.state, row.configuration) == ("preparing", {"threads": True, "new": None})
    threads, old, new = faceting.facets(repository, Query(), ["threads", "old", "new"])
    assert threads.values == (faceting.FacetValue("true", 1),)
    assert (old.missing, new.missing) == (1, 1)
    failed = trial.advance(State.FAILED, failure=Failure("space", "VEN-X", "full"))
    repository.save(failed)
    assert counting.count(repository, Query((parse_condition("failure_kind=space"),))) == 1


def test_keys_are_known_with_what_they_hold(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    assert {key.n for key in known_keys.keys(repository)} == {0}
    values: list[Any] = [1, 2.5, True, "SSD", "7", None]
    repository.add_many(
        make_trial(
            configuration={
                "number": number,
                "flag": number > 2,
                "text": f"t{number // 2}",
                "hosts": "x",
                "mixed": value,
                "configuration.x": 1,
            },
            warm_up=number == 0,
        )
        for number, value in enumerate(values)
    )
    known = {key.key: key for key in known_keys.keys(repository)}
    assert set(COLUMNS) < set(known)

    def told(key: str) -> tuple[str, str, int, int]:
        found = known[key]
        return found.kind, found.type, found.n, found.distinct

    assert told("hosts") == ("column", "number", 6, 1)
    assert told("id") == ("column", "text", 6, 6)
    assert told("scale") == ("column", "text", 6, 1)
    assert told("warm_up") == ("column", "flag", 6, 2)
    assert told("started_at") == ("column", "moment", 6, 1)
    assert told("elapsed_s") == ("column", "number", 0, 0)
    assert told("number") == ("configuration", "number", 6, 6)
    assert told("flag") == ("configuration", "flag", 6, 2)
    assert told("text") == ("configuration", "text", 6, 3)
    assert told("mixed") == ("configuration", "mixed", 5, 5)
    assert told("configuration.hosts") == ("configuration", "text", 6, 1)
    assert told("configuration.configuration.x") == ("configuration", "number", 6, 1)
    # Every name reaches the values it was counted from.
    (facets_of_hosts,) = faceting.facets(repository, Query(), ["configuration.hosts"])
    assert facets_of_hosts.values == (faceting.FacetValue("x", 6),)
    trial = whole_trials(repository)[0]
    repository.save(replace(trial.advance(State.PREPARING), configuration={"new": 1}))
    after = {key.key: key.n for key in known_keys.keys(repository)}
    assert (after["new"], after["flag"]) == (1, 5), "what was known before is not told again"


def test_a_key_that_no_database_can_hold_is_of_no_trial(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    repository.add(make_trial(configuration={"disk": "SSD"}))
    for odd in ("\0", "a\0b"):
        with pytest.raises(VenturiError, match="no trial has a key") as refused:
            require_keys(repository, [odd])
        assert refused.value.code == "VEN-QUERY-VALUE"
