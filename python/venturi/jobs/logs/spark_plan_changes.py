"""What adaptive execution changed of the plans of queries in Spark event logs.

The first plans of the latest queries are held; what is kept is only what of them is not in the last
plan, and the reverse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from venturi.jobs.logs.columnar import TableBuilder, TooManyError
from venturi.record.account_kind import SPARK
from venturi.record.plan_texts import PASSING, comparable, differing

if TYPE_CHECKING:
    import polars as pl

_HELD = 50_000  # operators of first plans: those of a thousand queries, or more
_KEPT = 200_000  # operators that changed


class PlanChanges:
    """The changes that a log told of so far."""

    def __init__(self) -> None:
        self._first: dict[int, Counter[str]] = {}
        self._changes: dict[int, tuple[Counter[str], Counter[str]]] = {}
        self._held = self._kept = 0

    def begin(self, query: int, operators: Iterable[tuple[str, str | None]]) -> None:
        """A query begins with these operators, each a name and a text."""
        self._drop(query)
        self._first[query] = _comparable(operators)
        self._held += len(self._first[query])
        while self._held > _HELD:
            self._drop(next(iter(self._first)))

    def change(self, query: int, operators: Iterable[tuple[str, str | None]]) -> None:
        """A query goes on with these operators instead."""
        if (first := self._first.get(query)) is None:
            return
        self.forget(query)
        found = differing(first, _comparable(operators))
        n = sum(map(len, found))
        if self._kept + n > _KEPT:
            raise TooManyError
        self._kept += n
        self._changes[query] = found

    def forget(self, query: int) -> None:
        """The last plan of a query is not known."""
        self._kept -= sum(map(len, self._changes.pop(query, ())))

    def _drop(self, query: int) -> None:
        self._held -= len(self._first.pop(query, ()))

    def table(self) -> pl.DataFrame | None:
        """All of them, None if there is none."""
        if not self._kept:
            return None
        table = TableBuilder("plan_changes", SPARK)
        for query, sides in sorted(self._changes.items()):
            for came, operators in zip((False, True), sides, strict=True):
                for text, n in operators.items():
                    table.append((query, came, text, n))
        return table.finish()


def _comparable(operators: Iterable[tuple[str, str | None]]) -> Counter[str]:
    """Those that do something, without what plans have around them only when they run."""
    return comparable(text or name for name, text in operators if not name.startswith(PASSING))
