"""Plays the rounds and prints the results; `make torture` plays them all at full length."""

from __future__ import annotations

import datetime
import shutil
import sys
import tempfile
import time
from pathlib import Path

import click

from torture.play import Play, UnavailableError
from torture.postgresql import Postgresql
from torture.report import RoundResult, line_of, written
from torture.rounds import ROUNDS

PAGE = Path(__file__).resolve().parents[1] / "docs/reliability.md"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", metavar="ROUND,...", help=f"Rounds to play: {', '.join(ROUNDS)}.")
@click.option("--count", type=click.IntRange(1), help="Cases of each (default: its own number).")
@click.option("--few", is_flag=True, help="As few as the suite plays.")
@click.option("--seed", type=int, default=1, show_default=True, help="Of all chance.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where to play (default: a new folder of the temporary one).",
)
@click.option("--write", is_flag=True, help="Keep the figures in docs/reliability.md.")
def main(
    only: str | None,
    count: int | None,
    few: bool,
    seed: int,
    folder: Path | None,
    write: bool,
) -> None:
    """Kills, failing calls, odd shapes, hostile input: nothing lost, torn, hung or misreported.

    The exit status is 1 if a round found a fault. Ctrl-C ends the round; the cases until then
    count.
    """
    names = only.split(",") if only else list(ROUNDS)
    if unknown := [name for name in names if name not in ROUNDS]:
        raise click.UsageError(f"no round {unknown[0]}; there are {', '.join(ROUNDS)}")
    place = Path(tempfile.mkdtemp(prefix="venturi-torture-", dir=folder))
    results = []
    server = _LazyPostgresql()
    try:
        for name in names:
            results.append(_play(name, count, few, seed, place / name, server))
            click.echo(line_of(results[-1]))
            if results[-1].interrupted:
                break
    finally:
        server.close()
        shutil.rmtree(place, ignore_errors=True)
        if write and results:
            PAGE.write_text(written(PAGE.read_text("utf-8"), results), "utf-8")
    if any(result.faults for result in results):
        sys.exit(1)
    if results[-1].interrupted:
        sys.exit(130)


class _LazyPostgresql:
    """A PostgreSQL that starts on first use."""

    def __init__(self) -> None:
        self._started: Postgresql | None = None

    def __call__(self) -> Postgresql:
        try:
            self._started = self._started or Postgresql()
        except FileNotFoundError as error:
            raise UnavailableError(str(error)) from error
        return self._started

    def close(self) -> None:
        if self._started is not None:
            self._started.close()


def _play(
    name: str, count: int | None, few: bool, seed: int, folder: Path, server: _LazyPostgresql
) -> RoundResult:
    round_ = ROUNDS[name]
    cases = count or (round_.few if few else round_.count)
    folder.mkdir(parents=True)
    say = lambda text: click.echo(f"  {name}: {text}", err=True)  # noqa: E731
    play = Play(folder, seed, cases, say, server)
    started_s = time.monotonic()
    unavailable, interrupted = None, False
    try:
        round_.run(play)
    except UnavailableError as reason:
        unavailable = str(reason)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return RoundResult(
        name=name,
        question=round_.question,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        seed=seed,
        done=play.done,
        elapsed_s=time.monotonic() - started_s,
        seen=dict(play.seen),
        hits=dict(play.hits),
        faults=tuple(play.faults),
        unavailable=unavailable,
        interrupted=interrupted,
    )


if __name__ == "__main__":
    main()
