"""A Spark program with a planted cause of slowness, and how one run of it starts.

`python -m benchmarks.diagnosis.program NAME faulty|fixed FOLDER DATA [KEY=VALUE]...`: FOLDER gets
the event log and all other output; settings given as KEY=VALUE override the program's own. With
`prepare` in place of the variant, the program writes its input into DATA.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

LOCAL = "local[2,4]"
EXECUTORS = "local-cluster[2,1,1024]"
NO_BROADCAST = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
NOT_ADAPTIVE = {"spark.sql.adaptive.enabled": "false"}
PREPARE, FAULTY, FIXED = "prepare", "faulty", "fixed"
VARIANTS = (FAULTY, FIXED)
_PROGRAMS = Path(__file__).with_name("programs")


@dataclass(frozen=True, slots=True)
class Run:
    """A program's session, whether it is to be faulty, its own folder, and its input."""

    spark: SparkSession
    faulty: bool
    folder: Path
    data: Path


@dataclass(frozen=True, slots=True)
class FaultyProgram:
    """A program in two variants that differ in nothing but the planted cause.

    `finding` is the rule that names the cause, and `api` the part of Spark that the program uses.
    `prepare` writes the input of both variants, outside their measured time. `settings` apply to
    both variants, `faulty` and `fixed` to one.
    """

    run: Callable[[Run], None]
    finding: str
    api: str = "SQL"
    prepare: Callable[[Path], None] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    faulty: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    master: str = LOCAL


def files() -> dict[str, Path]:
    """Return the file of each program by the program's name, grouped by kind (the folder)."""
    found = sorted(_PROGRAMS.glob("*/[!_]*.py"))
    return {file.stem.replace("_", "-"): file for file in found}


def load(name: str) -> FaultyProgram:
    """Import the program `name`; its functions are sent to Python workers by value."""
    file = files()[name]
    module = importlib.import_module(f"{__package__}.programs.{file.parent.name}.{file.stem}")
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    program: FaultyProgram = module.PROGRAM
    return program


def payload(rows: DataFrame) -> DataFrame:
    """Add a column of 64 characters."""
    return rows.withColumn("payload", f.sha2(f.col("id").cast("string"), 256))


def sink(rows: DataFrame) -> None:
    """Compute every column of every row and keep none."""
    rows.write.format("noop").mode("overwrite").save()


def session(master: str, name: str, settings: Mapping[str, str]) -> SparkSession:
    """Start Spark."""
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def main(name: str, variant: str, folder: Path, data: Path, chosen: Mapping[str, str]) -> None:
    """Run a variant of the program `name` with the settings `chosen`, or prepare its input."""
    program = load(name)
    if variant == PREPARE:
        assert program.prepare is not None
        program.prepare(data)
        return
    faulty = variant == FAULTY
    settings = {
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": folder.as_uri(),
        "spark.eventLog.enabled": "true",
        "spark.eventLog.rolling.enabled": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **program.settings,
        **(program.faulty if faulty else program.fixed),
        **chosen,
    }
    master = settings.pop("spark.master", program.master)
    spark = session(master, f"{name}, {variant}", settings)
    program.run(Run(spark, faulty, folder, data))
    spark.stop()


if __name__ == "__main__":
    given = dict(each.split("=", 1) for each in sys.argv[5:])
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), given)
