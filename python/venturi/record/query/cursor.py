"""Cursors: where a page ended, sealed with the query it is of."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import math
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from venturi.core.errors import UsageError
from venturi.record.query.conditions import canonical
from venturi.record.query.selection import Query
from venturi.record.store.tables import TRIALS, storable

_CURSOR_LENGTH_MAX = 1 << 16
_CHECKSUM_BYTES = 8


def after(
    terms: Sequence[sa.ColumnElement[Any]], values: Sequence[Any], query: Query
) -> sa.ColumnElement[bool]:
    """Return the SQL for rows after `values` in the order of `terms`, missing ones last."""
    after: sa.ColumnElement[bool] = sa.false()
    for term, value in reversed(list(zip(terms, values, strict=True))):
        if value is None:
            after = term.is_(None) & after
            continue
        bound = sa.literal(value, term.type)
        beyond = term < bound if query.descending else term > bound
        if term is not TRIALS.c.id:
            beyond |= term.is_(None)
        after = beyond | ((term == bound) & after)
    return after


def _digest(query: Query) -> str:
    """Distinguishes queries with pages that don't belong together."""
    conditions = sorted([c.key, c.op, sorted(map(str, c.values))] for c in query.conditions)
    text = json.dumps([conditions, canonical(query.sort), query.descending, query.with_excluded])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_cursor(query: Query, values: Sequence[Any]) -> str:
    """The cursor of a page that ended at `values` of the terms of the order."""
    payload = json.dumps([_digest(query), *values]).encode()
    return base64.urlsafe_b64encode(_checksum(payload) + payload).decode()


def open_cursor(query: Query, terms: Sequence[sa.ColumnElement[Any]]) -> list[Any]:
    """The values of `terms` at which the page before ended."""
    problem = "damaged"
    try:
        if len(query.cursor or "") > _CURSOR_LENGTH_MAX:
            raise ValueError("too long")
        content = base64.b64decode(query.cursor or "", altchars=b"-_", validate=True)
        checksum, payload = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
        if not hmac.compare_digest(checksum, _checksum(payload)):
            raise ValueError("checksum")
        digest, *values = json.loads(payload)
        if digest != _digest(query):
            problem = "of another query"
            raise ValueError(problem)
        if len(values) != len(terms) or not all(map(_fits, terms, values)):
            raise ValueError("values")
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        raise UsageError(
            "VEN-QUERY-CURSOR",
            f"the cursor is {problem}",
            where={"cursor": (query.cursor or "")[:100]},
            hint="start again with the first page",
        ) from error
    return list(values)


def _checksum(payload: bytes) -> bytes:
    # Against accidents and guessing; a cursor gives no rights, so that no secret is needed.
    return hashlib.blake2b(payload, digest_size=_CHECKSUM_BYTES, person=b"venturi cursor").digest()


def _fits(term: sa.ColumnElement[Any], value: Any) -> bool:
    """Whether `value` may be one of `term`."""
    kind = term.type.python_type
    if value is None:
        return term is not TRIALS.c.id
    if kind is float:
        return type(value) is float and math.isfinite(value)
    if kind is int:
        return type(value) is int and -(2**63) <= value < 2**63
    return type(value) is kind and (kind is not str or storable(value))
