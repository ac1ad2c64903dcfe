"""Opening the repository's database: SQLite or PostgreSQL, at the newest schema."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from venturi.core.errors import VenturiError
from venturi.record.store.tables import CHANGES, CONFIGURATION, JOBS, METADATA, REVISION, TRIALS

_BUSY_TIMEOUT_S = 30.0
# Without these, who waits for a server that is gone without a word (its machine is off, the network
# cut) waits for hours: the kernel asks after two. The URL may say otherwise, by the same names.
_LOST_AFTER = {
    "connect_timeout": 10,  # s
    "keepalives_idle": 10,  # s
    "keepalives_interval": 5,  # s
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,  # ms
}
_WRITING_PRAGMAS = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON")
_SQLITE_PRAGMAS = (
    "cache_size = -65536",  # KiB: the default of 2 MB makes a big transaction write pages twice
    "analysis_limit = 1000",  # entries of each index that ANALYZE looks at
)
# PostgreSQL's classes of errors of values that it cannot hold, or that are too long for it.
_NO_SUCH_VALUE = {"22", "54"}
_LOCK_NOT_AVAILABLE = "55P03"
_REVISION = re.compile(r"\d{4}")
_MIGRATIONS = Path(__file__).parents[1] / "migrations"
# Alembic's own.
_VERSIONS = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
# Any two numbers, the same in every Venturi: the names of PostgreSQL's locks around migrating and
# around writing alone.
_MIGRATION_LOCK = 0x56454E54
_WRITING_LOCK = 0x56454E55


class Database:
    """Connections in transactions, one kind for reading and one for writing."""

    def __init__(
        self,
        url: str | sa.URL,
        *,
        read_only: bool = False,
        mode: int = 0o600,
        patience_s: float | None = None,
    ) -> None:
        """Opens the database at `url` (SQLAlchemy's form), creating or upgrading its tables; a file
        of SQLite's that it makes has `mode`.

        Who writes waits `patience_s` for others who do, then it is VEN-RECORD-BUSY; by default 30 s
        on SQLite, and as long as it takes on PostgreSQL.

        One that is `read_only` is left as it is: VEN-RECORD-DATABASE if that is not a repository of
        this revision. So is one with another program's tables, however it is opened.
        """
        self._url = _url(url)
        self._patience_s = patience_s
        self._engine = _engine(self._url, patience_s or _BUSY_TIMEOUT_S, read_only=read_only)
        self._where = {"database": self._url.render_as_string(hide_password=True)}
        if not read_only:
            _make_file(self._url, mode)
        try:
            if read_only:
                self.require_newest()
            else:
                self._upgrade()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the connections."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the database and changes nothing."""
        engine = self._engine
        if engine.dialect.name == "postgresql":  # SQLite does so by itself
            engine = engine.execution_options(isolation_level="REPEATABLE READ")
        with self._reported(), engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                # Its default of 4 MB makes it sort what it could group in memory, ten times slower.
                connection.exec_driver_sql("SET LOCAL work_mem = '64MB'")
            yield connection

    @contextmanager
    def writing(self, *, alone: bool = False, counts: bool = True) -> Iterator[sa.Connection]:
        """A transaction that may write. On SQLite it is the only one; others wait for it.

        On PostgreSQL writers run concurrently: lock the rows a decision depends on (`FOR UPDATE`).
        Only `alone` transactions wait for each other: two that insert many rows in different orders
        would deadlock. With `counts` false the change isn't counted, because it affects no answer.
        """
        engine = self._engine.execution_options(venturi_writes=True)
        with self._reported(), engine.begin() as connection:
            if self._patience_s is not None and engine.dialect.name == "postgresql":
                wait_ms = round(self._patience_s * 1e3)
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {wait_ms:d}")
            if alone:
                _lock(connection, _WRITING_LOCK)
            yield connection
            if counts:
                # Last: on PostgreSQL other writers wait here until this one has committed.
                connection.execute(sa.update(CHANGES).values(made=CHANGES.c.made + 1))
                made = sa.select(CHANGES.c.made).scalar_subquery()
                connection.execute(
                    sa.update(JOBS).where(JOBS.c.changed.is_(None)).values(changed=made)
                )

    def size_bytes(self) -> int:
        """The size of the database, with indexes."""
        sizes = {
            "sqlite": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
            "postgresql": "SELECT pg_database_size(current_database())",
        }
        with self.reading() as connection:
            return int(connection.exec_driver_sql(sizes[connection.dialect.name]).scalar_one())

    def analyze(self, connection: sa.Connection) -> None:
        """Update the statistics of the query planner within the transaction."""
        for table in (TRIALS, CONFIGURATION):
            connection.exec_driver_sql(f"ANALYZE {table.name}")

    def vacuum(self) -> None:
        """After many rows: lets PostgreSQL's indexes answer alone; autovacuum comes a minute late.

        Only the speed of queries depends on it, so that a refusal is no error.
        """
        if self._engine.dialect.name == "postgresql":
            engine = self._engine.execution_options(isolation_level="AUTOCOMMIT")
            with suppress(SQLAlchemyError), engine.connect() as connection:
                connection.exec_driver_sql(f"VACUUM {TRIALS.name}, {CONFIGURATION.name}")

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:  # the latter from a driver's own cursor
            cause = getattr(error, "orig", None) or error
            if str(getattr(cause, "sqlstate", ""))[:2] in _NO_SUCH_VALUE:
                raise VenturiError(
                    "VEN-RECORD-LIMIT",
                    f"the database cannot hold a value: {str(cause).strip()}",
                    where=self._where,
                    hint="nothing was stored; a retry would fail, too",
                ) from error
            if _is_locked(cause):
                raise VenturiError(
                    "VEN-RECORD-BUSY",
                    "another command has locked the repository for a long time",
                    where=self._where,
                    hint="nothing was changed; retry when it has ended",
                ) from error
            hint = "is it running, reachable, writable, and does the disk have room?"
            if "readonly" in str(cause) or "unable to open" in str(cause):
                hint = (
                    "even reading needs write permission. Set VENTURI_HOME to a folder of "
                    "your own; its owner can share trials with `venturi export` or `venturi "
                    "serve`"
                )
            raise VenturiError(
                "VEN-RECORD-DATABASE",
                f"the database failed: {str(cause).strip()}",
                where=self._where,
                hint=hint,
            ) from error

    def require_newest(self) -> None:
        """VEN-RECORD-DATABASE, unless this is a repository of this revision and answers."""
        file = Path(self._url.database or "")
        if self._engine.dialect.name == "sqlite" and not file.is_file():
            raise self._refused("there is no database", "give the database of your repository")
        with self.reading() as connection:
            revision = _revision(connection)
        if revision is None or not _REVISION.fullmatch(revision):
            raise self._foreign()
        if revision < REVISION:
            raise self._refused(
                f"the database is at revision {revision}, this Venturi reads {REVISION}",
                "it was not changed. `venturi ls` upgrades it; to upgrade a copy, set "
                "VENTURI_HOME or VENTURI_DATABASE_URL to it",
            )
        self._require_known(revision)

    def _require_known(self, revision: str) -> None:
        if revision > REVISION:
            raise self._refused(
                f"the database is at revision {revision}, this Venturi knows {REVISION}",
                "update Venturi, or use another VENTURI_HOME",
            )

    def _foreign(self) -> VenturiError:
        return self._refused(
            "the database is not a Venturi repository",
            "it was not changed; give the database of your repository",
        )

    def _refused(self, message: str, hint: str) -> VenturiError:
        return VenturiError("VEN-RECORD-DATABASE", message, where=self._where, hint=hint)

    def _upgrade(self) -> None:
        # Without the settings of those that write: one of them changes a file of SQLite.
        waiting = _waiting(self._url, self._patience_s or _BUSY_TIMEOUT_S)
        looking = sa.create_engine(self._url, connect_args=waiting)
        try:
            with self._reported(), looking.connect() as connection:
                revision = _revision(connection)
                if revision == REVISION:
                    return
                used = _has_tables(connection)
        finally:
            looking.dispose()
        if used if revision is None else not _REVISION.fullmatch(revision):
            raise self._foreign()
        with self.writing() as connection:
            _lock(connection, _MIGRATION_LOCK)
            revision = _revision(connection)  # another process may have been faster
            if revision == REVISION:
                return
            if revision is not None:
                self._require_known(revision)
            elif connection.dialect.name == "sqlite":
                _create(connection)
                return
            migrate(connection)


def _create(connection: sa.Connection) -> None:
    """Create the tables of a new SQLite file, the same that all migrations create.

    Loading Alembic and migrating ten times would take 0.2 s of a user's first command.
    """
    METADATA.create_all(connection, checkfirst=False)
    connection.execute(sa.insert(CHANGES).values(made=0))
    _VERSIONS.create(connection)
    connection.execute(sa.insert(_VERSIONS).values(version_num=REVISION))


def migrate(connection: sa.Connection) -> None:
    """Migrate the tables to the newest revision."""
    from alembic import command  # noqa: PLC0415 - only to migrate
    from alembic.config import Config  # noqa: PLC0415 - only to migrate

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    table = sa.table("alembic_version", sa.column("version_num", sa.String))
    return connection.execute(sa.select(table.c.version_num)).scalar_one_or_none()


def _has_tables(connection: sa.Connection) -> bool:
    """Whether the schema in use has tables that an extension didn't create."""
    if connection.dialect.name != "postgresql":
        return bool(sa.inspect(connection).get_table_names())
    own = sa.text(
        "SELECT EXISTS (SELECT FROM pg_class c"
        " WHERE c.relnamespace = current_schema()::regnamespace"
        " AND c.relkind IN ('r', 'p') AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.deptype = 'e'"
        " AND d.classid = 'pg_class'::regclass AND d.objid = c.oid))"
    )
    return bool(connection.execute(own).scalar_one())


def _lock(connection: sa.Connection, name: int) -> None:
    """Waits for the lock `name` of PostgreSQL, until the transaction ends; SQLite needs none."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(name)))


def _url(given: str | sa.URL) -> sa.URL:
    try:
        url = sa.make_url(given)
        if url.drivername in {"postgresql", "postgres"}:
            url = url.set(drivername="postgresql+psycopg")
        if (backend := url.get_backend_name()) not in {"sqlite", "postgresql"}:
            raise ArgumentError(f"{backend} is neither sqlite nor postgresql")
        url.get_dialect().import_dbapi()
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
        raise VenturiError(
            "VEN-RECORD-DATABASE",
            f"VENTURI_DATABASE_URL cannot be used: {error}",
            hint="write it like postgresql+psycopg://user@host/name; "
            "PostgreSQL needs `pip install 'venturi[postgresql]'`",
        ) from error
    return url


def _is_locked(cause: object) -> bool:
    """Whether the error is a lock timeout."""
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    return str(getattr(cause, "sqlstate", "")) == _LOCK_NOT_AVAILABLE


def _waiting(url: sa.URL, patience_s: float) -> dict[str, float]:
    """How long to wait for others, or for a server that does not answer."""
    if url.get_backend_name() == "sqlite":
        return {"timeout": patience_s}
    return {key: value for key, value in _LOST_AFTER.items() if key not in url.query}


def _engine(url: sa.URL, patience_s: float, *, read_only: bool) -> sa.Engine:
    lite = url.get_backend_name() == "sqlite"
    arguments = _waiting(url, patience_s)
    if lite and read_only:
        file = f"file:{quote(url.database or '')}"
        url = url.set(database=file).update_query_dict({"mode": "ro", "uri": "true"})
    engine = sa.create_engine(url, connect_args=arguments)
    if lite:
        event.listen(engine, "connect", _on_sqlite_read if read_only else _on_sqlite_write)
        event.listen(engine, "begin", _on_sqlite_begin)
    elif read_only:
        return engine.execution_options(postgresql_readonly=True)
    return engine


def _make_file(url: sa.URL, mode: int) -> None:
    """Create the file of SQLite's database with `mode`; SQLite would apply the umask, and gives its
    other files the same mode.
    """
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return
    path = Path(url.database)
    with suppress(OSError):  # it exists or can't be created; using it will report that
        path.touch(mode & 0o600, exist_ok=False)
        path.chmod(mode)


def _on_sqlite_write(connection: Any, _record: object) -> None:
    _set(connection, (*_WRITING_PRAGMAS, *_SQLITE_PRAGMAS))


def _on_sqlite_read(connection: Any, _record: object) -> None:
    _set(connection, _SQLITE_PRAGMAS)


def _set(connection: Any, pragmas: Sequence[str]) -> None:
    # Python's own transaction handling begins too late and never IMMEDIATE; we say BEGIN ourselves.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in pragmas:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _on_sqlite_begin(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("venturi_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
