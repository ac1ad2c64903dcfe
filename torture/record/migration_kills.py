"""The upgrade of a repository of the first revision, killed at random instants."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

from torture.changes import Changes, Kill
from torture.play import Play, Round, TortureCase
from torture.record.stores import Store, Stores, trial
from torture.verbs import VerbRunner
from venturi.core.settings import Settings
from venturi.record.store import tables
from venturi.record.trial import Trial
from venturi.record.trial_json import encode

_FIRST = "0001"
_TRIALS = 300


def play(round_: Play) -> None:
    """Kill an upgrade between its beginning and after its end: see `Changes`."""
    stores = Stores(round_, _first_revision)
    changes: dict[str, Changes] = {}
    with VerbRunner(round_.folder / "work") as verbs:
        for run in (verbs.learn, verbs.run_followed):
            for number, kind in enumerate(stores.kinds):
                with stores.one(number) as store:
                    ran = run(store.settings, "ls", "--limit", 1)
                    assert ran.status == 0, ran.stderr
                    changes[kind] = ran.all_changes()
        for case in round_.cases():
            with stores.one(case.number) as store, case:
                kill = changes[store.kind].draw(round_.chance)
                case.label = f"{store.kind}, {kill}"
                _kill(case, verbs, store, kill, changes[store.kind])


def _first_revision(settings: Settings) -> dict[str, Trial]:
    """Trials as they were stored in the beginning."""
    engine = sa.create_engine(settings.database_url or f"sqlite:///{settings.home}/venturi.sqlite")
    config = Config()
    config.set_main_option("script_location", str(Path(tables.__file__).parents[1] / "migrations"))
    config.set_main_option("path_separator", "os")
    trials = [trial(f"old{number:04}") for number in range(_TRIALS)]
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, _FIRST)
    with engine.begin() as connection:
        old = sa.Table("trials", sa.MetaData(), autoload_with=connection)
        rows = [{**tables.trial_row(each), "record": encode(each)} for each in trials]
        columns = old.c.keys()
        connection.execute(sa.insert(old), [{key: row[key] for key in columns} for row in rows])
    engine.dispose()
    if settings.database_url is None:
        (settings.home / "venturi.sqlite").chmod(0o600)
    return {each.id: each for each in trials}


def _revision(settings: Settings) -> str:
    engine = sa.create_engine(settings.database_url or f"sqlite:///{settings.home}/venturi.sqlite")
    with engine.connect() as connection:
        found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar_one()
    engine.dispose()
    return str(found)


def _kill(case: TortureCase, verbs: VerbRunner, store: Store, kill: Kill, changes: Changes) -> None:
    ran = verbs.run_followed(store.settings, "ls", "--limit", 1, kill=kill)
    changes.learn(ran.all_changes(), killed=ran.killed)
    assert ran.killed or ran.status == 0, ran.stderr
    revision = _revision(store.settings)
    assert revision in {_FIRST, tables.REVISION}, f"half way: {revision}"
    assert ran.killed or revision == tables.REVISION
    # Opens it, which upgrades what is left to be; the trials are the foreign ones.
    assert store.trials(tidy=True) == {}
    assert _revision(store.settings) == tables.REVISION
    store.export(case.play.folder / "export.zip")
    state = "old" if revision == _FIRST else "new"
    case.saw(f"killed {ran.where}, {state} revision" if ran.killed else "done before")


ROUND = Round(
    name="migration-kills",
    question="The upgrade of a repository of the first revision is killed at a random instant. "
    "Is it old or new, with all its trials, and does the next start complete it?",
    count=1000,
    few=2,
    run=play,
)
