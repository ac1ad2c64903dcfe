"""Cached answers about jobs: computing them takes too long for a page."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Generic, TypeVar

from pydantic import TypeAdapter

from venturi.core.errors import VenturiError
from venturi.record.account_tables import ACCOUNT_TABLES
from venturi.record.store.answer_cache import cached_answer, forget_answers, store_answer
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

T = TypeVar("T")
LARGE_BYTES = 500_000  # of its account; about a smaller one no answer takes longer than a page may


def is_large(trial: Trial) -> bool:
    """Whether answers about the job of `trial` are cached."""
    tables = (each for each in trial.artifacts if each.name in ACCOUNT_TABLES)
    return sum(each.size_bytes for each in tables) >= LARGE_BYTES


class CachedAnswer(Generic[T]):
    """An answer about a trial's job, by its name, and the type that it has."""

    def __init__(self, name: str, shape: type[T]) -> None:
        self._name, self._shape = name, shape

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self._shape)

    def known(self, repository: TrialRepository, trial: Trial) -> T | None:
        """The cached answer about `trial`; None if it must be computed."""
        answer = cached_answer(repository.artifacts_dir.parent, trial, self._name)
        if answer is not None:
            with suppress(ValueError):  # damaged: recompute it
                return self._adapter.validate_json(answer)
        return None

    def of(self, repository: TrialRepository, trial: Trial, make: Callable[[], T]) -> T:
        """The cached answer about `trial`, else the result of `make`."""
        if not is_large(trial):
            return make()
        if (cached := self.known(repository, trial)) is not None:
            return cached
        home = repository.artifacts_dir.parent
        made = make()
        store_answer(home, trial, self._name, self._adapter.dump_json(made))
        try:
            repository.get(trial.id)
        except VenturiError:  # removed since, with its cached answers
            forget_answers(home, trial.id)
        return made
