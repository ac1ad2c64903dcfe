"""Named tokens: rights, expiry, and the stored part."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa
from alembic import command

from old_database import OldDatabase
from venturi.core.errors import CODES, VenturiError
from venturi.core.settings import Settings
from venturi.record.access import exclusions, tokens, views
from venturi.record.access.actions import ADDED, added_by, find_actions
from venturi.record.access.authors import Author
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial, now

ADA = Author("ada", "login")


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(VenturiError) as caught:
        action()
    assert caught.value.code in CODES
    return caught.value.code


def state_of(token: tokens.Token | None) -> str | None:
    return None if token is None else token.state(now())


def later(monkeypatch: pytest.MonkeyPatch, by: timedelta) -> None:
    there = now() + by
    monkeypatch.setattr(tokens, "now", lambda: there)


def test_a_token_is_found_by_its_secret_alone(repository: TrialRepository) -> None:
    made, secret = tokens.add(repository, "ci", "write", ADA)
    assert (made.name, made.role, made.author, state_of(made)) == ("ci", "write", ADA, "in force")
    assert tokens.holder(repository, secret) == made
    for wrong in (
        "",
        "ci",
        secret[:-1],
        secret.swapcase(),
        f" {secret}",
        f"{secret}\n",
        "ven_" * 9,
        hashlib.sha256(secret.encode()).hexdigest(),
        f"{secret}\0",
        "\ud800",
    ):
        assert tokens.holder(repository, wrong) is None, wrong
        assert tokens.holder_of_session(repository, wrong) is None, wrong
    _, other = tokens.add(repository, "ci2", "read", ADA)
    assert other != secret
    assert tokens.holder(repository, other) == tokens.find(repository)[1]


def test_no_secret_is_stored(repository: TrialRepository) -> None:
    made, secret = tokens.add(repository, "ci", "write", ADA)
    session = tokens.open_session(repository, made)
    with repository.reading() as connection:
        kept = repr(
            [
                connection.exec_driver_sql(f"SELECT * FROM {table}").all()
                for table in ("tokens", "sessions", "actions")
            ]
        )
    assert "ci" in kept
    for secret_ in (secret, session):
        assert secret_.partition("_")[2][:20] not in kept
        assert hashlib.sha256(secret_.encode()).hexdigest() in kept
    assert secret not in repr(made)


def test_expiry_and_revocation_end_it_and_its_sessions(
    repository: TrialRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, secret = tokens.add(repository, "short", "read", ADA, now() + timedelta(hours=1))
    kept, other = tokens.add(repository, "kept", "read", ADA)
    session, lasting = (tokens.open_session(repository, each) for each in (short, kept))
    assert tokens.holder_of_session(repository, session) == short
    tokens.revoke(repository, "kept")
    assert tokens.holder_of_session(repository, lasting) is None
    assert state_of(tokens.holder(repository, other)) == "revoked"
    revoked_at = tokens.find(repository)[0].revoked_at
    assert tokens.revoke(repository, "kept").revoked_at == revoked_at, "a second time"
    later(monkeypatch, timedelta(hours=1))
    found = tokens.holder(repository, secret)
    assert found is not None
    assert found.state(tokens.now()) == "expired"
    assert tokens.holder_of_session(repository, session) is None
    assert tokens.in_force(repository) == ()


def test_a_session_lasts_a_week_and_can_be_closed(
    repository: TrialRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = tokens.add(repository, "ci", "write", ADA)
    first, second = (tokens.open_session(repository, made) for _ in range(2))
    tokens.close_session(repository, first)
    tokens.close_session(repository, "session_nothing")
    assert tokens.holder_of_session(repository, first) is None
    assert tokens.holder_of_session(repository, second) == made
    later(monkeypatch, tokens.SESSION)
    assert tokens.holder_of_session(repository, second) is None


def test_who_has_no_session_waits_for_no_writer(repository: TrialRepository) -> None:
    with repository.writing():
        tokens.close_session(repository, f"session_{'a' * 43}")


def test_a_token_has_so_many_sessions_and_the_oldest_end(
    repository: TrialRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "SESSIONS_MAX", 2)
    made, _ = tokens.add(repository, "ci", "write", ADA)
    another, _ = tokens.add(repository, "ann", "read", ADA)
    of_another = tokens.open_session(repository, another)
    opened = [tokens.open_session(repository, made) for _ in range(3)]
    found = [tokens.holder_of_session(repository, each) for each in (*opened, of_another)]
    assert found == [None, made, made, another]


def test_names_stand_for_one_holder(
    repository: TrialRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "",
        "CI",
        "a b",
        " ci",
        "ci\n",
        "-x",
        "a" * 65,
        "ü",
        "a\0",
        "read-token",
        "write-token",
        "\u202eci",
    ):
        assert code_of(lambda name=name: tokens.add(repository, name, "read", ADA)) == (
            "VEN-TOKEN-VALUE"
        ), name
    tokens.add(repository, "ci", "read", ADA)
    assert code_of(lambda: tokens.add(repository, "ci", "read", ADA)) == "VEN-TOKEN-DUPLICATE"
    tokens.revoke(repository, "ci")
    assert code_of(lambda: tokens.add(repository, "ci", "write", ADA)) == "VEN-TOKEN-DUPLICATE"
    past = now() - timedelta(seconds=1)
    assert code_of(lambda: tokens.add(repository, "old", "read", ADA, past)) == "VEN-TOKEN-VALUE"
    for name in ("nobody", "", "\0", "\ud800"):
        assert code_of(lambda name=name: tokens.revoke(repository, name)) == "VEN-TOKEN-UNKNOWN"
    monkeypatch.setattr(tokens, "TOKENS_MAX", 1)
    assert code_of(lambda: tokens.add(repository, "more", "read", ADA)) == "VEN-TOKEN-VALUE"
    assert [each.name for each in tokens.find(repository)] == ["ci"]


def test_use_is_noted_once_a_minute_and_changes_no_answer(
    repository: TrialRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changes() -> int:
        with repository.reading() as connection:
            return int(connection.execute(sa.text("SELECT made FROM changes")).scalar_one())

    before = changes()
    made, _ = tokens.add(repository, "ci", "read", ADA)
    assert made.use_is_old(now())
    tokens.note_use(repository, made)
    (used,) = tokens.find(repository)
    assert used.last_used_at is not None
    assert not used.use_is_old(now())
    tokens.note_use(repository, made)  # as another server, which has not seen it
    assert tokens.find(repository) == (used,)
    later(monkeypatch, tokens.USE)
    tokens.note_use(repository, used)
    (again,) = tokens.find(repository)
    assert again.last_used_at is not None
    assert again.last_used_at - used.last_used_at >= tokens.USE
    assert changes() == before


def test_a_role_of_a_newer_venturi_grants_the_least(repository: TrialRepository) -> None:
    _, secret = tokens.add(repository, "ci", "write", ADA)
    with repository.writing() as connection:
        connection.execute(sa.text("UPDATE tokens SET role = 'admin'"))
    found = tokens.holder(repository, secret)
    assert found is not None
    assert found.role == "read"


def test_what_was_recorded_before_is_kept_as_said(bare_settings: Settings) -> None:
    old = OldDatabase(bare_settings)
    old.move(command.upgrade, "0007")
    with old.engine.begin() as connection:
        for statement in (
            "INSERT INTO exclusions VALUES ('r', '[\"id=t\"]', 'Ada', 'why', 0, 0, 'Bob')",
            "INSERT INTO views VALUES ('mine', '/trials', 'Ada', 0)",
        ):
            connection.execute(sa.text(statement))
    for _ in range(2):
        with TrialRepository.open(bare_settings) as repository:
            (found,) = exclusions.find(repository)
            assert (found.author, found.revoked_by) == (Author(said="Ada"), Author(said="Bob"))
            assert found.author.text == "Ada (not verified)"
            assert views.find(repository)[0].author == Author(said="Ada")
        old.move(command.downgrade, "0007")
    old.engine.dispose()


def test_an_author_is_who_the_token_says_beside_what_they_say(
    repository: TrialRepository, make_trial: Callable[..., Trial]
) -> None:
    repository.add(make_trial(id="t"))
    ci = Author("ci", "token", "Ada")
    rule = exclusions.add(repository, ["id=t"], ci, "why")
    revoked = exclusions.revoke(repository, rule.id, ADA)
    assert exclusions.find(repository) == (revoked,)
    assert (revoked.author, revoked.revoked_by) == (ci, ADA)
    assert revoked.author.text == "ci (says: Ada)"
    assert Author(said="ci").text == "ci (not verified)", "no name is had by saying it"
    assert views.save(repository, "mine", "/", ci) == views.find(repository)[0]
    for said in ("", "two\nlines", "x" * 101, "\u202ecic", "a\0", "\x1b[2J"):
        by = Author("ci", "token", said)
        code = code_of(lambda by=by: exclusions.add(repository, ["id=t"], by, "why"))
        assert code == "VEN-EXCLUSION-VALUE", said
        assert code_of(lambda by=by: views.save(repository, "n", "/", by)) == "VEN-VIEW-VALUE"


def test_going_back_with_tokens_is_refused(repository_settings: Settings) -> None:
    with TrialRepository.open(repository_settings) as repository:
        _, secret = tokens.add(repository, "ci", "write", ADA)
    old = OldDatabase(repository_settings)
    with pytest.raises(ValueError, match="1 tokens are recorded"):
        old.move(command.downgrade, "0007")
    old.engine.dispose()
    with TrialRepository.open(repository_settings) as repository:
        assert tokens.holder(repository, secret) is not None


def test_who_brought_a_trial_is_kept_with_it(
    repository: TrialRepository, make_trial: Callable[..., Trial]
) -> None:
    trial = make_trial(id="t")
    repository.add(trial, Author("ci", "token"))
    code = code_of(lambda: repository.add(trial, Author("other", "token")))
    assert code == "VEN-RECORD-DUPLICATE"
    repository.add(replace(trial, id="u"))
    with repository.reading() as connection:
        (added,) = find_actions(connection, ADDED)
        assert added_by(connection, "t") == Author("ci", "token")
        assert added_by(connection, "u") is None
    assert (added.subject, added.author) == ("t", Author("ci", "token"))
