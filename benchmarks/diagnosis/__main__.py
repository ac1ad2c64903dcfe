"""`python -m benchmarks.diagnosis`: Spark programs with and without a planted cause of slowness.

Each program runs in two variants that differ in the planted cause alone. Venturi diagnoses both
logs: the first finding should name the cause, and in the fixed program no finding should. The time
saved is compared with the promised one. The logs stay in the folder `--logs`, so that an
interrupted run goes on where it stopped, and changed rules need no new runs.

The programs run with the installed pyspark, and with those in the folders `--spark`, made by
`pip install --target FOLDER pyspark==VERSION`. `--page` writes the tables into the study of
docs/studies/diagnosis.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks.diagnosis.figures import HEAD, Pair, pair_of, row, summary
from benchmarks.diagnosis.program import VARIANTS, files
from benchmarks.diagnosis.runs import LOGS, Programs
from benchmarks.into_page import write_table


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(tuple(files())))
@click.option("--spark", "sparks", multiple=True, type=click.Path(path_type=Path, exists=True))
@click.option("--logs", type=click.Path(path_type=Path), default=LOGS)
@click.option("--again", is_flag=True, help="Run programs whose logs exist, too.")
@click.option("--read-only", is_flag=True, help="Diagnose existing logs, and run nothing.")
@click.option("--results", type=click.Path(path_type=Path), help="Update this JSON file.")
@click.option(
    "--page", type=click.Path(path_type=Path, exists=True), help="Write the tables there."
)
def main(
    names: tuple[str, ...],
    *,
    sparks: tuple[Path, ...],
    logs: Path,
    results: Path | None,
    page: Path | None,
    again: bool,
    read_only: bool,
) -> None:
    """Run the programs, or those named, on each Spark, and print the findings; status 1 if any
    program failed.
    """
    failed = False
    for spark in (None, *sparks):
        programs, pairs = Programs(logs, spark), []
        for name in names or files():
            there = [programs.log_of(name, variant) for variant in VARIANTS]
            if read_only and not all(log.exists() for log in there):
                continue
            for log in there if again else ():
                log.unlink(missing_ok=True)
            try:
                faulty, fixed = (programs.diagnosed(name, each) for each in VARIANTS)
            except click.ClickException as error:
                failed = True
                error.show()
                continue
            pairs.append(pair_of(name, faulty, fixed))
            click.echo(f"{name}, Spark {programs.version}: {pairs[-1]}")
        click.echo("\n".join(summary(pairs)))
        if results is not None:
            _store(results, programs.version, pairs)
        if page is not None:
            write_table(page, f"causes, Spark {programs.version}", HEAD, map(row, pairs))
    sys.exit(failed)


def _store(file: Path, version: str, pairs: Sequence[Pair]) -> None:
    """Replace the results of these programs in `file`; others stay."""
    stored = json.loads(file.read_text(encoding="ascii")) if file.exists() else {}
    stored.setdefault(version, {}).update({pair.name: pair.stored() for pair in pairs})
    file.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
