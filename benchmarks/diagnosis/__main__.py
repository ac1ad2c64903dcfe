"""`python -m benchmarks.diagnosis`: ten Spark programs with a planted fault each, and without it.

Each is run in a process of its own, its log is read, and what Venturi finds first is compared with
what was planted; of those without a fault nothing above a tenth of the time may be found.
`--keep` writes the logs, trimmed, as `tests/data/spark` has them.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import click
from backports.zstd import compress

from benchmarks.diagnosis.programs import PROGRAMS, Program
from benchmarks.diagnosis.trimmed import trimmed
from venturi.advise.diagnosis.find import Diagnosis, diagnose
from venturi.model.stages.analysis import analyse
from venturi.model.stages.timeline import timeline
from venturi.record.accounts import spark
from venturi.record.accounts.find import Log

KINDS = ("faulty", "sound")
MOST = 0.1
_LEVEL = 19


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(tuple(PROGRAMS)))
@click.option("--keep", type=click.Path(path_type=Path), help="A folder for the trimmed logs.")
def main(names: tuple[str, ...], keep: Path | None) -> None:
    """Runs the programs, or those named, and prints what was found; status 1 if it is wrong."""
    click.echo("| program | | elapsed | first finding | saves at most | as planted |")
    click.echo("|---|---|--:|---|--:|---|")
    wrong = 0
    for name in names or PROGRAMS:
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                log = run(name, kind, Path(folder))
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{name}-{kind}.zstd").write_bytes(compress(trimmed(log), _LEVEL))
                found, elapsed_s = look(log)
            right = as_planted(PROGRAMS[name], kind, found)
            wrong += not right
            first = found.findings[0] if found.findings else None
            said = ("none", "-") if first is None else (first.rule, f"{first.share:.0%}")
            click.echo(
                f"| {name} | {kind} | {elapsed_s:.1f} s | {said[0]} | {said[1]} "
                f"| {'yes' if right else 'NO'} |"
            )
    sys.exit(wrong > 0)


def run(name: str, kind: str, folder: Path) -> Path:
    """The log of the program `name`."""
    program = Path(__file__).with_name("programs.py")
    subprocess.run([sys.executable, program, name, kind, folder], check=True, capture_output=True)
    (log,) = (each for each in folder.iterdir() if each.name.startswith(("local-", "app-")))
    return log


def look(log: Path) -> tuple[Diagnosis, float]:
    """What is found in a log, and the application's seconds."""
    account = spark.read(Log(log, (log,)))
    line = timeline(account)
    analysis = analyse(account, None, line)
    return diagnose(line, analysis), analysis.elapsed_s or 0.0


def as_planted(program: Program, kind: str, found: Diagnosis) -> bool:
    """Whether the first finding is what was planted, or there is none where nothing was."""
    if kind == "faulty":
        return bool(found.findings) and found.findings[0].rule == program.finding
    return all(each.share <= MOST for each in found.findings)


if __name__ == "__main__":
    main()
