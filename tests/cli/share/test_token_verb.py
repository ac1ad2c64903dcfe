"""`venturi token` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import venturi
from venturi.core.settings import Settings
from venturi.record.access import tokens
from venturi.record.store.repository import TrialRepository


def test_a_token_is_added_listed_and_revoked(tmp_path: Path) -> None:
    def call(*words: str) -> tuple[int, str, str]:
        done = venturi("token", *words, home=tmp_path)
        return done.returncode, done.stdout, done.stderr

    assert call("list") == (0, "", "no tokens\n")
    status, secret, said = call("add", "ci", "--role", "write", "--expires", "90d")
    assert (status, secret[:4], secret[-1]) == (0, "ven_", "\n")
    assert "ci: may write until" in said
    assert secret.strip() not in said
    _, text, _ = call("list")
    assert all(word in text for word in ("ci", "write", "in force"))
    status, text, _ = call("list", "--json")
    (row,) = json.loads(text)["data"]
    assert (row["name"], row["role"], row["state"]) == ("ci", "write", "in force")
    assert (row["last_used_at"], row["revoked_at"]) == (None, None)
    assert secret.strip() not in text
    with TrialRepository.open(Settings(tmp_path, None, None, allow_debug=False)) as repository:
        found = tokens.holder(repository, secret.strip())
    assert found is not None
    assert found.expires_at is not None
    assert (found.expires_at - found.created_at).days in {89, 90}
    assert call("revoke", "ci") == (0, "", "ci: revoked\n")
    assert call("revoke", "ci")[0] == 0
    assert json.loads(call("list", "--json")[1])["data"][0]["state"] == "revoked"
    status, text, _ = call("add", "ada", "--role", "read", "--json", "--expires", "2099-01-31")
    data = json.loads(text)["data"]
    assert (status, data["expires_at"], data["token"][:4]) == (
        0,
        "2099-01-31T00:00:00+00:00",
        "ven_",
    )


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("add", "CI", "--role", "read"), "VEN-TOKEN-VALUE"),
        (("add", "write-token", "--role", "read"), "VEN-TOKEN-VALUE"),
        (("add", "ci", "--role", "read", "--expires", "2001-01-01"), "VEN-TOKEN-VALUE"),
        (("add", "ci", "--role", "read", "--expires", "soon"), "VEN-UNIT-SYNTAX"),
        (("add", "ci", "--role", "read", "--expires", "9e99d"), "VEN-UNIT-SYNTAX"),
        (("add", "ci", "--role", "admin"), "--role"),
        (("add", "ci"), "--role"),
        (("revoke", "ci"), "VEN-TOKEN-UNKNOWN"),
    ],
)
def test_what_is_no_token_is_refused(tmp_path: Path, words: tuple[str, ...], code: str) -> None:
    done = venturi("token", *words, home=tmp_path)
    assert (done.returncode in {1, 2}, done.stdout) == (True, "")
    assert code in done.stderr
