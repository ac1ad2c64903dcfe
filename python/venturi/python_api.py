"""Venturi as a library: the objects that `venturi.open()` returns.

Every answer is that of the verbs and pages, from the same functions; nothing here writes to the
repository. Errors are `venturi.core.errors.VenturiError`, with a code, a place and a remedy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from venturi.core import settings
from venturi.core.errors import UsageError, VenturiError
from venturi.core.statistics.stats import ALPHA
from venturi.core.wording import count_of
from venturi.record.query.checks import conditions_for, require_keys
from venturi.record.query.conditions import refused
from venturi.record.query.counting import count, excluded_count
from venturi.record.query.known_keys import KeyInfo, keys
from venturi.record.query.paging import stored_trials
from venturi.record.query.selection import Query
from venturi.record.query.trial_columns import BELONGING, check_settings
from venturi.record.query.trial_table import TrialTable, sample_table, trial_table
from venturi.record.repeat_group import repeat_group
from venturi.record.store.closing import Closing
from venturi.record.store.repository import TrialRepository as _Repository
from venturi.record.store.tables import text_of
from venturi.record.trial import Scalar, Trial
from venturi.results.compare.repeat_groups import Comparison, compare_groups
from venturi.results.ranking.rank_trials import (
    Prices,
    RecordedPrices,
    TrialRanking,
    counted,
    no_prices,
    prices_recorded,
    rank_trials,
    require_rankable,
)
from venturi.results.ranking.ranking import Objective
from venturi.web.api.results.series import whole_series
from venturi.web.effects import Question, effects

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from venturi.results.effects.effect import Effects

Where = str | Iterable[str]
"""Conditions as the verbs take them: `disk=SSD`, `elapsed_s<500`, `network=` (missing). All must
hold; several values of one key are alternatives."""


class Rows:
    """Rows of named, typed columns, in the form that you work with. Missing values are null."""

    def __init__(self, read: Callable[[], pl.DataFrame]) -> None:
        self._read = read

    @cached_property
    def _frame(self) -> pl.DataFrame:
        return self._read()

    def polars(self) -> pl.DataFrame:
        """A Polars data frame."""
        return self._frame

    def arrow(self) -> pa.Table:
        """An Arrow table; VEN-PACKAGE-MISSING without the extra `arrow`."""
        from venturi.record.store.frames import pl

        _require("pyarrow", "arrow")
        return self._frame.to_arrow(compat_level=pl.CompatLevel.oldest())

    def pandas(self) -> pd.DataFrame:
        """A pandas data frame; whole numbers and flags keep their type where some are missing.

        VEN-PACKAGE-MISSING without the extra `pandas`.
        """
        _require("pandas", "pandas")
        _require("pyarrow", "pandas")
        import pandas as pd
        import pyarrow as pa  # noqa: PLC0415 - an extra

        nullable = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
        return self.arrow().to_pandas(types_mapper=nullable.get)


class Trials(Rows):
    """The chosen trials, newest first: a table with a row each, and the records themselves.

    The table is that of `venturi export`; it is read at the first use of `polars`, `arrow` or
    `pandas`. `len` and iteration query the repository each time.
    """

    def __init__(
        self, repository: _Repository, query: Query, columns: Sequence[str], limit: int | None
    ) -> None:
        super().__init__(
            lambda: _whole(trial_table(repository, query, columns=columns, most=limit))
        )
        self._repository, self._query, self._limit = repository, query, limit

    def __len__(self) -> int:
        found = count(self._repository, self._query)
        return found if self._limit is None else min(found, self._limit)

    def __iter__(self) -> Iterator[Trial]:
        """The whole records, read in batches."""
        yield from islice(stored_trials(self._repository, self._query), self._limit)

    def __repr__(self) -> str:
        without = f", {self.excluded:,} left out by exclusions" if self.excluded else ""
        return f"<{count_of(len(self), 'trial')}{without}>"

    @property
    def excluded(self) -> int:
        """How many requested trials are left out by exclusions."""
        return 0 if self._query.with_excluded else excluded_count(self._repository, self._query)

    def samples(self) -> Rows:
        """A row for each sample: `id` of the trial, `metric`, `phase`, `labels` (a JSON object),
        `value`, `unit`, `missing_reason`."""
        return Rows(lambda: _whole(sample_table(self._repository, self._query, most=self._limit)))


class Repository(Closing):
    """A repository to be read; a context manager. `venturi.open()` makes one."""

    def __init__(self, repository: _Repository) -> None:
        self._repository = repository

    def close(self) -> None:
        """Closes the database."""
        self._repository.close()

    def keys(self) -> tuple[KeyInfo, ...]:
        """The keys by which trials can be chosen: columns of the record, and keys of the
        configuration.
        """
        return tuple(key for key in keys(self._repository) if key.n)

    def trials(
        self,
        where: Where = (),
        *,
        columns: Sequence[str] = (),
        limit: int | None = None,
        with_excluded: bool = False,
    ) -> Trials:
        """The trials that meet all conditions; at most the newest `limit`.

        `columns` (default: all) are those of the table, by name. Trials that an exclusion covers
        are left out unless requested.
        """
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise refused(
                f"{limit!r} is not a number of trials", "limit", "give 1 or more, or None"
            )
        return Trials(self._repository, self._query(where, with_excluded), columns, limit)

    def trial(self, id: str) -> Trial:
        """The trial with this id (or its beginning; `last`, `last~1`), whole."""
        return self._repository.get(id)

    def series(self, trial: str | Trial) -> Rows:
        """The series of the trial's hosts: `t_s` seconds since its start, `metric`, `device`,
        `value`, `unit`, `host`; VEN-RECORD-ARTIFACT where none was recorded.
        """
        found = self.trial(trial) if isinstance(trial, str) else trial
        frame = whole_series(self._repository, found)
        return Rows(lambda: frame)

    def compare(
        self,
        first: str | Trial,
        *others: str | Trial,
        metric: str = "elapsed_s",
        where: Where = (),
        ignore: Sequence[str] = (),
        keep: Sequence[str] = (),
    ) -> Comparison:
        """Repeat groups (by key, or by one of their trials) against the first, by `metric`, of each
        the trials that meet all of `where`. Groups that differ only in settings of `ignore` are
        one, and so are those that differ in settings that are unique per trial and not in `keep`.

        `metric` is `elapsed_s` or a sample of the whole trial. As `venturi compare` answers.
        """
        names = [each if isinstance(each, str) else each.id for each in (first, *others)]
        only = self._query(where).conditions
        ignored = require_keys(self._repository, ignore)
        keep_ = require_keys(self._repository, keep)
        groups = [
            repeat_group(self._repository, name, *only, ignored=ignored, keep=keep_).trials
            for name in names
        ]
        return compare_groups(groups, metric)

    def effect(
        self,
        *keys: str,
        where: Where = (),
        baseline: Scalar | Sequence[Scalar] = None,
        ignore: Sequence[str] = (),
        keep: Sequence[str] = (),
        level: float = 1 - ALPHA,
        crude: bool = False,
    ) -> Effects:
        """The effect of a setting (or of a combination of several), all else being equal.

        `baseline` is the reference value (for several keys one of each; default: the most
        frequent), `ignore` names keys in which trials may differ, `keep` those that count although
        they are unique per trial. As `venturi effect` answers.
        """
        question = Question(
            keys, _baseline(baseline), tuple(ignore), level, crude, keep=tuple(keep)
        )
        return effects(self._repository, self._query(where), question)

    def rank(
        self,
        *by: str,
        where: Where = (),
        ignore: Sequence[str] = (),
        keep: Sequence[str] = (),
        objective: Objective | str = Objective.TIME,
        usd_per_node_hour: float | None = None,
        prices: Literal["recorded"] | None = None,
        crude: bool = False,
    ) -> TrialRanking:
        """Groups of trials by `objective` (`time`, `cost`, `cost x time`, `time and cost`): the
        best one, and those that are statistically tied with it. Groups are matched in all settings
        but those of `ignore`, and those that are unique per trial and not in `keep`. As `venturi
        rank` answers.

        A cost needs the price of a node, or a cost recorded with every trial; with `prices` as
        "recorded" trials without one are left out. VEN-COMPARE-GROUPS where the trials did
        different work.
        """
        known = [each.value for each in Objective]
        if objective not in known:
            hint = f"one of {', '.join(known)}"
            raise refused(f"{objective!r} is not an objective", "objective", hint)
        wanted = Objective(objective)
        if prices not in (None, "recorded") or (prices and usd_per_node_hour is not None):
            hint = 'give prices="recorded" alone, or the price of a node: usd_per_node_hour=0.5'
            raise refused(
                f"prices={prices!r} is unknown or conflicts with usd_per_node_hour", "prices", hint
            )
        keys_ = require_keys(self._repository, by)
        check_settings(keys_, "by", BELONGING)
        ignored = require_keys(self._repository, ignore)
        keep_ = require_keys(self._repository, keep)
        trials = counted(self._repository, self._query(where), keys_, ignored, keep_)
        charged: Prices | RecordedPrices | None = None
        if usd_per_node_hour is not None:
            charged = Prices(usd_per_node_hour, per="node")
        elif prices or wanted is not Objective.TIME:
            charged = prices_recorded(self._repository, trials, asked=prices is not None)
            if charged is None:
                raise no_prices(self._repository, trials)
        require_rankable(trials, keys_, charged)
        return rank_trials(trials, keys_, wanted, charged, crude=crude)

    def _query(self, where: Where, with_excluded: bool = False) -> Query:
        texts = [where] if isinstance(where, str) else list(where)
        return Query(conditions_for(self._repository, texts), with_excluded=with_excluded)


def open(home: str | os.PathLike[str] | None = None) -> Repository:
    """The repository in the folder `home`, or at the URL of a database, such as
    `postgresql://user@host/name`; default: that of the settings, as for the verbs.

    It is read-only: VEN-RECORD-DATABASE where no repository exists, or one that `venturi` would
    first have to upgrade.
    """
    chosen = settings.load()
    given = None if home is None else os.fspath(home)
    if given is not None and "://" in given:
        if given.startswith(("http:", "https:")):
            raise UsageError(
                "VEN-RECORD-DATABASE",
                f"{given} is a server, not a repository",
                where={"url": given},
                hint="download its trials (/api/download), or open the folder that it serves",
            )
        chosen = replace(chosen, database_url=given)
    elif given is not None:
        chosen = replace(chosen, home=Path(given).expanduser(), database_url=None)
    if chosen.database_url is None and not (chosen.home / "venturi.sqlite").is_file():
        raise VenturiError(
            "VEN-RECORD-DATABASE",
            f"there is no repository in {chosen.home}",
            where={"folder": str(chosen.home)},
            hint="give the folder in which `venturi` records (VENTURI_HOME); `venturi import "
            "published` or `venturi quickstart` begins one",
        )
    return Repository(_Repository.open(chosen, read_only=True))


def _whole(table: TrialTable) -> pl.DataFrame:
    from venturi.record.store.frames import pl

    return pl.concat([pl.DataFrame(schema=table.schema), *(part for part, _ in table.parts())])


def _baseline(value: Scalar | Sequence[Scalar]) -> str | None:
    if value is None or isinstance(value, str | int | float):
        return None if value is None else text_of(value)
    return json.dumps(list(value))


def _require(package: str, extra: str) -> None:
    if find_spec(package) is None:
        raise VenturiError(
            "VEN-PACKAGE-MISSING",
            f"{package} is not installed",
            where={"package": package},
            hint=f"`pip install 'venturi[{extra}]'`, or take `.polars()`, which needs nothing else",
        )
