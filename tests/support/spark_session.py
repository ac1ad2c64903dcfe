"""A small Spark inside the tests' own process, for programs that are called directly."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from processes import keep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = "-XX:TieredStopAtLevel=1"  # a JVM of seconds does not repay its second compiler


@contextmanager
def local_spark(folder: Path) -> Iterator[SparkSession]:
    """A session with two threads and its files in `folder`; its JVM ends with it."""
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "768m",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.local.dir": str(folder),
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with _jvm(), _session("local[2]", settings) as session:
        yield session


class _Shared:
    """The Spark session that files of one group share, and its cleanup."""

    session: SparkSession | None = None
    ending = ExitStack()


def shared_spark(make_folder: Callable[[], Path]) -> SparkSession:
    """The Spark that the programs of several files share, begun by the first."""
    if _Shared.session is None:
        from pyspark import SparkContext

        _Shared.session = _Shared.ending.enter_context(local_spark(make_folder()))
        keep(SparkContext._gateway.proc.pid)
    return _Shared.session


def end_shared_spark() -> None:
    """Ends it, if it was begun."""
    _Shared.session = None
    _Shared.ending.close()


@contextmanager
def logged_session(
    master: str, events: Path, settings: Mapping[str, str]
) -> Iterator[SparkSession]:
    """A session with `settings` in a running JVM, with its event log in `events`."""
    own = {
        "spark.driver.host": "127.0.0.1",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.enabled": "false",
    }
    with _session(master, {**own, **settings}) as session:
        yield session


@contextmanager
def _session(master: str, settings: Mapping[str, str]) -> Iterator[SparkSession]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def local_jvm(settings: Mapping[str, str], said: Path) -> Iterator[None]:
    """A JVM for contexts one after another, begun with `settings`; its errors go to `said`."""
    from pyspark import SparkConf, SparkContext

    conf = SparkConf(loadDefaults=False)
    conf.setAll([("spark.driver.memory", "768m"), *settings.items()])
    ours = os.dup(2)
    with _jvm():
        try:
            with said.open("wb") as file:
                os.dup2(file.fileno(), 2)
                SparkContext._ensure_initialized(conf=conf)
        finally:
            os.dup2(ours, 2)
            os.close(ours)
        yield


@contextmanager
def _jvm() -> Iterator[None]:
    """The JVM that is begun within is gone in the end; the shared one, before."""
    from pyspark import SparkContext

    end_shared_spark()
    try:
        yield
    finally:
        gateway = SparkContext._gateway
        if gateway is not None:
            gateway.shutdown()
            gateway.proc.stdin.close()  # the JVM ends when its input does
            gateway.proc.wait(30)
            SparkContext._gateway = SparkContext._jvm = None
