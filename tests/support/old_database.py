"""A database at an older revision of the schema."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.config import Config

from venturi.core.settings import Settings
from venturi.record.store import tables
from venturi.record.trial import Trial
from venturi.record.trial_json import encode


class OldDatabase:
    """A database that is moved between revisions as the migrations do it."""

    def __init__(self, settings: Settings) -> None:
        settings.home.mkdir(parents=True, exist_ok=True)
        url = settings.database_url or f"sqlite:///{settings.home}/venturi.sqlite"
        self.engine = sa.create_engine(url)

    def move(self, how: Callable[[Config, str], None], revision: str) -> None:
        config = Config()
        config.set_main_option(
            "script_location", str(Path(tables.__file__).parents[1] / "migrations")
        )
        config.set_main_option("path_separator", "os")
        with self.engine.begin() as connection:
            config.attributes["connection"] = connection
            how(config, revision)

    def rows(self, table: str) -> list[dict[str, Any]]:
        with self.engine.begin() as connection:
            reflected = sa.Table(table, sa.MetaData(), autoload_with=connection)
            found = connection.execute(sa.select(reflected).order_by(*reflected.primary_key))
            return [dict(row) for row in found.mappings()]

    def fill(self, trials: list[Trial]) -> None:
        with self.engine.begin() as connection:
            old = sa.Table("trials", sa.MetaData(), autoload_with=connection)
            rows = [{k: v for k, v in tables.trial_row(t).items() if k in old.c} for t in trials]
            for row, trial in zip(rows, trials, strict=True):
                row["record"] = encode(trial)
            connection.execute(sa.insert(old), rows)
