"""Exclusions and views: recorded, bounded, revoked, and never lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from venturi.core.errors import CODES, ExitCode, VenturiError
from venturi.core.settings import Settings
from venturi.record.access import exclusions, views
from venturi.record.access.actions import VIEW_DELETED, find_actions
from venturi.record.access.authors import Author
from venturi.record.query import counting, paging
from venturi.record.query.conditions import parse_condition
from venturi.record.query.paging import whole_trials
from venturi.record.query.selection import Query
from venturi.record.store import tables
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial, now

MakeTrial = Callable[..., Trial]
ANN = Author("ann", "login")


def error_of(action: Callable[[], object]) -> VenturiError:
    with pytest.raises(VenturiError) as caught:
        action()
    assert caught.value.code in CODES
    return caught.value


def ids(repository: TrialRepository, *texts: str, with_excluded: bool = False) -> set[str]:
    conditions = tuple(map(parse_condition, texts))
    page = paging.rows(repository, Query(conditions, with_excluded=with_excluded))
    return {row.id for row in page.rows}


def test_a_rule_covers_what_is_there_and_what_comes_until_it_is_revoked(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    repository.add_many(make_trial(id=f"t{n}", configuration={"n": n}) for n in range(4))
    before = whole_trials(repository)
    rule = exclusions.add(repository, ("n>=2", "workload=terasort"), " Ann ", "the fan of node 3")
    assert (rule.author, rule.reason, rule.revoked_at) == (
        Author(said="Ann"),
        "the fan of node 3",
        None,
    )
    assert now() - rule.created_at < timedelta(minutes=5)
    assert rule.trials == 2
    repository.add(make_trial(id="t9", configuration={"n": 9}))
    assert ids(repository) == {"t0", "t1"}
    assert ids(repository, with_excluded=True) == {"t0", "t1", "t2", "t3", "t9"}
    assert exclusions.find(repository)[0].trials == 3
    assert exclusions.covering(repository, ["t1", "t2", "t9", "none"]) == {
        "t2": (rule.id,),
        "t9": (rule.id,),
    }
    assert [t for t in whole_trials(repository) if t.id != "t9"] == before, "no trial was changed"

    revoked = exclusions.revoke(repository, rule.id, "Bob")
    assert replace(revoked, revoked_at=None, revoked_by=None, trials=rule.trials) == rule
    assert revoked.revoked_by == Author(said="Bob")
    assert revoked.revoked_at is not None
    assert revoked.revoked_at >= rule.created_at
    assert exclusions.find(repository) == (revoked,)
    assert ids(repository) == {"t0", "t1", "t2", "t3", "t9"}
    assert revoked.trials == 3, "what it would cover"
    assert exclusions.covering(repository, ["t2"]) == {}
    error = error_of(lambda: exclusions.revoke(repository, rule.id, "Cid"))
    assert error.code == "VEN-EXCLUSION-REVOKED"
    assert "Bob" in error.message
    assert exclusions.find(repository) == (revoked,)


def test_the_oldest_of_several_rules_is_named(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    repository.add(make_trial(id="t0", configuration={"disk": "SSD"}))
    texts = [("disk=SSD",), ("elapsed_s=",), ("disk=HDD",)]
    first, second, _ = (exclusions.add(repository, each, "me", "why") for each in texts)
    (row,) = paging.rows(repository, Query(with_excluded=True)).rows
    assert row.excluded == first.id
    assert exclusions.covering(repository, ["t0"]) == {"t0": (first.id, second.id)}
    exclusions.revoke(repository, first.id, "me")
    (row,) = paging.rows(repository, Query(with_excluded=True)).rows
    assert row.excluded == second.id
    assert paging.rows(repository, Query()).rows == ()
    assert counting.excluded_count(repository, Query((parse_condition("disk=SSD"),))) == 1


def test_a_missing_value_is_covered_only_where_it_is_asked_for(
    repository: TrialRepository, make_trial: MakeTrial
) -> None:
    """NULL in a column must neither cover a trial nor make it disappear."""
    repository.add_many([make_trial(id="none"), make_trial(id="slow", elapsed_s=9.0)])
    rule = exclusions.add(repository, ["elapsed_s>5"], "me", "too slow")
    assert ids(repository) == {"none"}
    exclusions.revoke(repository, rule.id, "me")
    exclusions.add(repository, ["elapsed_s="], "me", "no time")
    assert ids(repository) == {"slow"}


@pytest.mark.parametrize(
    ("texts", "author", "reason", "code"),
    [
        ([], "me", "why", "VEN-EXCLUSION-VALUE"),
        (["a=1"] * 21, "me", "why", "VEN-EXCLUSION-VALUE"),
        (["a=" + "x" * 1_000], "me", "why", "VEN-EXCLUSION-VALUE"),
        (["a=\x1b[2J"], "me", "why", "VEN-EXCLUSION-VALUE"),
        (["a=\0"], "me", "why", "VEN-EXCLUSION-VALUE"),
        (["a=\ud800"], "me", "why", "VEN-EXCLUSION-VALUE"),
        (["workload"], "me", "why", "VEN-QUERY-VALUE"),
        (["hosts=many"], "me", "why", "VEN-QUERY-VALUE"),
        (["a=1"], " ", "why", "VEN-EXCLUSION-VALUE"),
        (["a=1"], "me", "", "VEN-EXCLUSION-VALUE"),
        (["a=1"], "m\ne", "why", "VEN-EXCLUSION-VALUE"),
        (["a=1"], "m" * 101, "why", "VEN-EXCLUSION-VALUE"),
        (["a=1"], "me", "w" * 1_001, "VEN-EXCLUSION-VALUE"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(
    repository: TrialRepository, texts: list[str], author: str, reason: str, code: str
) -> None:
    error = error_of(lambda: exclusions.add(repository, texts, author, reason))
    assert error.code == code
    assert error.exit_code is ExitCode.USAGE
    assert exclusions.find(repository) == ()


def test_unknown_ids_are_errors(repository: TrialRepository) -> None:
    for unknown in ("", "x", "\0", "\ud800", "01" * 40):
        error = error_of(partial(exclusions.revoke, repository, unknown, "me"))
        assert error.code == "VEN-EXCLUSION-UNKNOWN"
        assert error_of(partial(views.delete, repository, unknown, ANN)).code == "VEN-VIEW-UNKNOWN"
        assert error_of(partial(repository.get, unknown)).code == "VEN-RECORD-UNKNOWN"


def test_only_so_many_rules_are_in_force(
    repository: TrialRepository, make_trial: MakeTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exclusions, "IN_FORCE_MAX", 3)
    repository.add_many(make_trial(id=f"t{n}") for n in range(4))
    rules = [exclusions.add(repository, [f"id=t{n}"], "me", "why") for n in range(3)]
    assert ids(repository) == {"t3"}
    error = error_of(lambda: exclusions.add(repository, ["id=t3"], "me", "why"))
    assert (error.code, "in force" in error.message) == ("VEN-EXCLUSION-VALUE", True)
    exclusions.revoke(repository, rules[1].id, "me")
    exclusions.add(repository, ["id=t3"], "me", "why")
    assert ids(repository) == {"t1"}


def test_views_are_saved_listed_and_deleted(repository: TrialRepository) -> None:
    made = views.save(repository, " fast ones ", "/trials?where=elapsed_s%3C60", "Ann")
    assert (made.name, made.author) == ("fast ones", Author(said="Ann"))
    other = views.save(repository, "Über", "/cost?by=disk", "Bob")
    assert views.find(repository) == (made, other)
    error = error_of(lambda: views.save(repository, "fast ones", "/", "Bob"))
    assert error.code == "VEN-VIEW-DUPLICATE"
    assert views.find(repository) == (made, other)
    views.delete(repository, "fast ones", ANN)
    assert views.find(repository) == (other,)
    with repository.reading() as connection:
        (deleted,) = find_actions(connection, VIEW_DELETED)
    assert (deleted.subject, deleted.author) == ("fast ones", ANN)
    assert error_of(lambda: views.delete(repository, "fast ones", ANN)).code == "VEN-VIEW-UNKNOWN"


@pytest.mark.parametrize(
    ("name", "url", "author"),
    [
        ("", "/", "me"),
        ("n" * 101, "/", "me"),
        ("a\nb", "/", "me"),
        ("\ud800", "/", "me"),
        ("n", "", "me"),
        ("n", "trials", "me"),
        ("n", "//elsewhere/x", "me"),
        ("n", "https://elsewhere", "me"),
        ("n", "/\\elsewhere", "me"),
        ("n", "/a b", "me"),
        ("n", "/" + "x" * 8_000, "me"),
        ("n", "/\0", "me"),
        ("n", "/", ""),
        ("n", "/", "m" * 101),
    ],
)
def test_a_view_that_is_none_is_refused(
    repository: TrialRepository, name: str, url: str, author: str
) -> None:
    assert error_of(lambda: views.save(repository, name, url, author)).code == "VEN-VIEW-VALUE"
    assert views.find(repository) == ()


def test_only_so_many_views_are_kept(
    repository: TrialRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "VIEWS_MAX", 2)
    for name in ("a", "b"):
        views.save(repository, name, "/", "me")
    assert error_of(lambda: views.save(repository, "c", "/", "me")).code == "VEN-VIEW-VALUE"


def test_going_back_would_lose_what_people_added_and_is_refused(
    repository_settings: Settings, make_trial: MakeTrial
) -> None:
    url = repository_settings.database_url or f"sqlite:///{repository_settings.home}/venturi.sqlite"

    def go_back() -> None:
        config = Config()
        folder = tables.__file__.removesuffix("store/tables.py")
        config.set_main_option("script_location", folder + "migrations")
        config.set_main_option("path_separator", "os")
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.downgrade(config, "0002")

    with TrialRepository.open(repository_settings) as repository:
        repository.add(make_trial(id="t"))
        rule = exclusions.add(repository, ["id=t"], "me", "why")
    engine = sa.create_engine(url)
    with pytest.raises(ValueError, match="1 exclusions are recorded"):
        go_back()
    with TrialRepository.open(repository_settings) as repository:
        assert exclusions.find(repository) == (rule,)
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM exclusions"))
    go_back()
    engine.dispose()
    with TrialRepository.open(repository_settings) as repository:
        assert [trial.id for trial in whole_trials(repository)] == ["t"]
        exclusions.add(repository, ["id=t"], "me", "again")
        assert counting.count(repository, Query()) == 0
