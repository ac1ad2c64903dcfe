"""Named tokens, which grant access to a server until they expire, and sessions of browsers.

A token is 256 random bits. Only its SHA-256 is stored. A slow hash isn't needed: it protects
passwords, which people choose; 256 random bits can't be guessed. Looking up a digest by an index
leaks nothing through timing, because an attacker can't choose the digest of a guess.

Servers look a token up for each request, so additions, expiry and revocation take effect
immediately on every server of a repository.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import sqlalchemy as sa

from venturi.core.errors import UsageError, VenturiError
from venturi.record.access.authors import Author, author_of, columns_of
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import SESSIONS, TOKENS, microseconds, moment
from venturi.record.trial import now

Role = Literal["read", "write"]
TokenState = Literal["in force", "expired", "revoked"]
SESSION = timedelta(days=7)
# So often the last use is written down, not with every request.
USE = timedelta(minutes=1)
TOKENS_MAX = 1_000
SESSIONS_MAX = 100  # of a token
_NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")
SECRET = re.compile(r"ven_[0-9A-Za-z_-]{43}")
_SESSION = re.compile(r"session_[0-9A-Za-z_-]{43}")


@dataclass(frozen=True, slots=True)
class Token:
    """A token without its secret."""

    name: str
    role: Role
    author: Author
    created_at: datetime
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None

    def state(self, at: datetime) -> TokenState:
        """Return the token's state at the time `at`."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= at else "in force"

    def use_is_old(self, at: datetime) -> bool:
        """Whether its recorded last use is old enough to be updated."""
        return self.last_used_at is None or at - self.last_used_at >= USE


def add(
    repository: TrialRepository,
    name: str,
    role: Role,
    author: Author,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """Add a token; return it with its secret, which can't be recovered later.

    Raises VEN-TOKEN-VALUE for an invalid or reserved name, an expiry in the past, or too many
    tokens. Raises VEN-TOKEN-DUPLICATE for a name that a token has or had: in records it stands for
    one holder.
    """
    if not _NAME.fullmatch(name):
        raise _refused(
            f"{name[:100]!r} is not a valid token name",
            "name",
            "write 1 to 64 of a-z, 0-9 and . _ @ + -, a letter or digit first: ci, ada@lab",
        )
    if name in OWN.values():
        raise _refused(f"{name!r} is the name of a token from a server's settings", "name", "")
    secret = f"ven_{secrets.token_urlsafe(32)}"
    made = Token(name, role, author, now(), expires_at)
    if made.state(made.created_at) != "in force":
        raise _refused(
            f"{expires_at:%Y-%m-%d %H:%M} UTC has passed", "expires", "write it like 90d or a date"
        )
    with repository.writing(alone=True, counts=False) as connection:
        if connection.execute(sa.select(TOKENS.c.name).where(TOKENS.c.name == name)).first():
            raise VenturiError(
                "VEN-TOKEN-DUPLICATE",
                f"a token named {name!r} exists or existed",
                where={"name": name},
                hint="choose another name: past changes stay recorded under this one",
            )
        if connection.execute(sa.select(sa.func.count()).select_from(TOKENS)).scalar_one() >= (
            TOKENS_MAX
        ):
            raise _refused(f"there are {TOKENS_MAX:,} tokens, revoked ones too", "tokens", "")
        values = {
            "name": name,
            "role": role,
            "digest": _digest(secret),
            "created_at_us": microseconds(made.created_at),
            "expires_at_us": None if expires_at is None else microseconds(expires_at),
            **columns_of(author),
        }
        connection.execute(sa.insert(TOKENS).values(values))
    return made, secret


def find(repository: TrialRepository) -> tuple[Token, ...]:
    """All tokens, revoked and expired ones too, by name."""
    with repository.reading() as connection:
        return tuple(map(_token, connection.execute(sa.select(TOKENS).order_by(TOKENS.c.name))))


def revoke(repository: TrialRepository, name: str) -> Token:
    """Revoke a token and all its sessions immediately and for good; idempotent.

    Raises VEN-TOKEN-UNKNOWN if no token has this name.
    """
    here = TOKENS.c.name == name
    with repository.writing(alone=True, counts=False) as connection:
        found = _one(connection, sa.select(TOKENS).where(here)) if _NAME.fullmatch(name) else None
        if found is None:
            raise VenturiError(
                "VEN-TOKEN-UNKNOWN",
                f"no token is named {name[:100]!r}",
                where={"name": name[:100]},
                hint="`venturi token list` lists them",
            )
        if found.revoked_at is None:
            ended = {"revoked_at_us": microseconds(now())}
            connection.execute(sa.update(TOKENS).where(here).values(ended))
        connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.token == name))
        found = _one(connection, sa.select(TOKENS).where(here))
    assert found is not None
    return found


def revoke_all(connection: sa.Connection) -> int:
    """End all tokens, and return how many weren't revoked before.

    Used when an empty repository is filled; it has no sessions.
    """
    left = TOKENS.c.revoked_at_us.is_(None)
    ended = sa.update(TOKENS).where(left).values(revoked_at_us=microseconds(now()))
    return connection.execute(ended).rowcount


def is_secret(text: str) -> bool:
    """Whether `text` has the form of a secret of a token or a session."""
    return bool(SECRET.fullmatch(text) or _SESSION.fullmatch(text))


def holder(repository: TrialRepository, secret: str) -> Token | None:
    """Return the token with this secret, in any state."""
    if not SECRET.fullmatch(secret):
        return None
    digest = _digest(secret)
    with repository.reading() as connection:
        row = connection.execute(sa.select(TOKENS).where(TOKENS.c.digest == digest)).one_or_none()
    # Found by the index; compared once more, so that no collation can ever decide it.
    return _token(row) if row is not None and hmac.compare_digest(row.digest, digest) else None


def in_force(repository: TrialRepository) -> tuple[Token, ...]:
    """The tokens that servers take now."""
    at = now()
    return tuple(token for token in find(repository) if token.state(at) == "in force")


def any_writer(repository: TrialRepository) -> bool:
    """Whether servers accept a token for writing now."""
    return any(token.role == "write" for token in in_force(repository))


def open_session(repository: TrialRepository, token: Token) -> str:
    """The secret of a new session of `token`, which lasts a week and no longer than the token.

    Of more than SESSIONS_MAX of one token the oldest end.
    """
    secret = f"session_{secrets.token_urlsafe(32)}"
    at = now()
    ends = min(at + SESSION, token.expires_at or at + SESSION)
    values = {"digest": _digest(secret), "token": token.name, "expires_at_us": microseconds(ends)}
    with repository.writing(counts=False) as connection:
        old = SESSIONS.c.expires_at_us <= microseconds(at)
        connection.execute(sa.delete(SESSIONS).where(old))
        mine = sa.select(SESSIONS.c.digest).where(SESSIONS.c.token == token.name)
        surplus = mine.order_by(SESSIONS.c.expires_at_us.desc()).offset(SESSIONS_MAX - 1)
        connection.execute(sa.delete(SESSIONS).where(SESSIONS.c.digest.in_(surplus)))
        connection.execute(sa.insert(SESSIONS).values(values))
    return secret


def holder_of_session(repository: TrialRepository, secret: str) -> Token | None:
    """The token of a session that has not ended; None if it or the token has."""
    if not _SESSION.fullmatch(secret):
        return None
    digest, at = _digest(secret), now()
    joined = sa.select(TOKENS).join(SESSIONS, SESSIONS.c.token == TOKENS.c.name)
    lasts = SESSIONS.c.expires_at_us > microseconds(at)
    with repository.reading() as connection:
        found = _one(connection, joined.where(SESSIONS.c.digest == digest, lasts))
    return found if found is not None and found.state(at) == "in force" else None


def close_session(repository: TrialRepository, secret: str) -> None:
    """End a session. An unknown secret changes nothing and waits for no writer: any client may send
    one.
    """
    if not _SESSION.fullmatch(secret):
        return
    here = SESSIONS.c.digest == _digest(secret)
    with repository.reading() as connection:
        found = connection.execute(sa.select(SESSIONS.c.token).where(here)).first()
    if found is not None:
        with repository.writing(counts=False) as connection:
            connection.execute(sa.delete(SESSIONS).where(here))


def note_use(repository: TrialRepository, token: Token) -> None:
    """Record that `token` is in use, unless another server has done so in this minute."""
    at = now()
    old = TOKENS.c.last_used_at_us.is_(None) | (TOKENS.c.last_used_at_us <= microseconds(at - USE))
    values = {"last_used_at_us": microseconds(at)}
    with repository.writing(counts=False) as connection:
        connection.execute(sa.update(TOKENS).where(TOKENS.c.name == token.name, old).values(values))


OWN: dict[Role, str] = {"read": "read-token", "write": "write-token"}
"""The names of the tokens in a server's own settings."""


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _one(connection: sa.Connection, chosen: sa.Select[Any]) -> Token | None:
    row = connection.execute(chosen).one_or_none()
    return None if row is None else _token(row)


def _token(row: sa.Row[Any]) -> Token:
    def at(microseconds: int | None) -> datetime | None:
        return None if microseconds is None else moment(microseconds)

    # A newer Venturi may have added roles: grant the least.
    role: Role = "write" if row.role == "write" else "read"
    return Token(
        row.name,
        role,
        author_of(row._mapping),
        moment(row.created_at_us),
        at(row.expires_at_us),
        at(row.last_used_at_us),
        at(row.revoked_at_us),
    )


def _refused(message: str, field: str, hint: str) -> VenturiError:
    return UsageError("VEN-TOKEN-VALUE", message, where={"field": field}, hint=hint)
