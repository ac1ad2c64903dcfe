"""`venturi prices`: the prices of jobs' machines, which a user sets once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.open_repository import open_repository
from venturi.cli.options import json_option, print_json
from venturi.cli.screen import details_option, next_step, show
from venturi.core import settings
from venturi.core.errors import UsageError
from venturi.core.wording import count_of, did_you_mean
from venturi.machines.cost.job_prices import (
    CORE_HOUR,
    MOST_USD,
    NAMED_KINDS,
    RECORDED,
    JobPrices,
    price_words,
)
from venturi.terminal.table import table

if TYPE_CHECKING:
    from pathlib import Path

    from venturi.jobs.fleet.fleet import Fleet

_FORMAT, _UNKNOWN = "VEN-PRICE-FORMAT", "VEN-PRICE-UNKNOWN"
_KINDS = (CORE_HOUR, *NAMED_KINDS)
_NAMES_MAX = 200
_EXAMPLES = {
    CORE_HOUR: "venturi prices set core-hour 0.05",
    "node": "venturi prices set node i4i.2xlarge 0.686",
    "cluster": "venturi prices set cluster NAME 12.5",
}
_APPLIES = {
    CORE_HOUR: "all other jobs, by the cores of their executors",
    "node": "jobs on nodes of this type, by their number",
    "cluster": "jobs on this cluster",
}
# A negative number isn't an option.
_WORDS: dict[str, Any] = {"ignore_unknown_options": True}


@click.group(invoke_without_command=True)
@details_option
@json_option
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Set the prices of jobs: per core-hour, node type or cluster.

    Without a command: list the prices with the number of jobs that each applies to. `venturi jobs`,
    `venturi show`, `venturi whatif` and the pages use them. A price recorded with a run takes
    precedence, then that of its cluster, its node type, and the core-hour.
    """
    if context.invoked_subcommand is not None:
        return
    prices = _read(settings.load().job_prices)
    fleet = _fleet(prices)
    used = Counter(job.price for job in fleet.jobs)
    if as_json:
        print_json(_data(prices, used, fleet))
        return
    if any(prices):
        made = table("price", "USD/h", "jobs", "applies to", prose=("applies to",))
        for kind, name, usd in prices:
            words = price_words(kind, name)
            made.add(words, f"{usd:,.6g}", f"{used[words]:,}", _APPLIES[kind])
        show(made)
    else:
        click.echo("No prices are set. Set one:", err=True)
        for example in _EXAMPLES.values():
            click.echo(f"  {example}", err=True)
    _say_others(used, fleet)
    if any(prices):
        next_step("venturi jobs")


@command.command("set", context_settings=_WORDS)
@click.argument("words", nargs=-1, metavar="core-hour USD | node TYPE USD | cluster NAME USD")
def set_(*, words: tuple[str, ...]) -> None:
    """Set a price in US dollars per hour.

    \b
    venturi prices set core-hour 0.05
    venturi prices set node i4i.2xlarge 0.686
    venturi prices set cluster NAME 12.5

    These are the prices of a core of an executor, of one node, and of a whole cluster. For imported
    logs, `venturi import --label cluster=NAME` or `--label instance_type=TYPE` names the machines.
    """
    kind, name = _target(words[:-1] if len(words) > 1 else words, "set")
    usd = _usd(words, kind)
    file, prices = _own()
    _write(file, prices.changed(kind, name, usd))
    click.echo(f"{price_words(kind, name)}: {usd:g} USD per hour, in {file}")


@command.command("unset", context_settings=_WORDS)
@click.argument("words", nargs=-1, metavar="core-hour | node TYPE | cluster NAME")
def unset(*, words: tuple[str, ...]) -> None:
    """Remove a price."""
    kind, name = _target(words, "unset")
    file, prices = _own()
    said = price_words(kind, name)
    if prices.get(kind, name) is None:
        known = [price_words(kind, name) for kind, name, _ in prices]
        hint = did_you_mean(said, known, "prices are set for")
        raise UsageError(_UNKNOWN, f"no price is set for {said}", where={"price": said}, hint=hint)
    _write(file, prices.changed(kind, name, None))
    click.echo(f"{said}: removed from {file}")


def _target(words: Sequence[str], verb: str) -> tuple[str, str]:
    """The kind and the name that `words` say; VEN-PRICE-FORMAT if they don't."""
    kind, *names = words or ("",)
    if kind not in _KINDS:
        said = f"{kind[:100]!r} is not a kind of price" if kind else "the kind of price is missing"
        raise _malformed(said, did_you_mean(kind, _KINDS, "kinds are"), kind)
    example = _EXAMPLES[kind]
    if verb == "unset":
        example = example.replace(" set ", " unset ").rpartition(" ")[0]
    wanted = 1 if kind in NAMED_KINDS else 0
    if len(names) != wanted:
        takes = f"the price of a {kind} takes {'one name' if wanted else 'no name'}"
        raise _malformed(takes, f"write it like `{example}`", " ".join(words))
    name = names[0] if names else ""
    if wanted and not (0 < len(name) <= _NAMES_MAX and name.isprintable()):
        hint = f"a name has 1 to {_NAMES_MAX} printable characters"
        raise _malformed(f"{name[:100]!r} is not a name of a {kind}", hint, name)
    return kind, name


def _usd(words: Sequence[str], kind: str) -> float:
    hint = f"write it like `{_EXAMPLES[kind]}`"
    if len(words) == 1:
        raise _malformed("the price is missing", hint, kind)
    try:
        usd = float(words[-1])
    except ValueError as error:
        said = f"{words[-1][:100]!r} is not a number of US dollars per hour"
        raise _malformed(said, hint, words[-1]) from error
    if not 0 < usd <= MOST_USD:
        said = f"{words[-1][:100]} is not a price: it must be above 0, and at most {MOST_USD:,.0f}"
        raise _malformed(said, f"`venturi prices unset` removes a price; {hint}", words[-1])
    return usd


def _malformed(message: str, hint: str, value: str) -> UsageError:
    return UsageError(_FORMAT, message, where={"value": value[:100]}, hint=hint)


def _own() -> tuple[Path, JobPrices]:
    """The file of the prices, and those in it; none if it doesn't exist yet."""
    own = settings.load()
    file = own.job_prices or own.home / "prices.toml"
    return file, _read(file if file.exists() else None)


def _read(file: Path | None) -> JobPrices:
    from venturi.machines.cost.prices_file import own_job_prices

    return own_job_prices(file)


def _write(file: Path, prices: JobPrices) -> None:
    from venturi.machines.cost.prices_file import write_job_prices

    write_job_prices(file, prices)


def _fleet(prices: JobPrices) -> Fleet:
    """The jobs that are diagnosed already."""
    from venturi.jobs.fleet.answer import fleet
    from venturi.record.query.selection import Query

    with open_repository() as repository:
        return fleet(repository, Query(), prices, go_on=lambda _done, _total: False)


def _data(prices: JobPrices, used: Counter[str | None], fleet: Fleet) -> dict[str, Any]:
    rows = [
        {"kind": kind, "name": name, "usd_per_hour": usd, "jobs": used[price_words(kind, name)]}
        for kind, name, usd in prices
    ]
    return {
        "file": str(_own()[0]),
        "prices": rows,
        "recorded": used[RECORDED],
        "without": used[None] - fleet.undiagnosed,
        "undiagnosed": fleet.undiagnosed,
    }


def _say_others(used: Counter[str | None], fleet: Fleet) -> None:
    """Print on stderr how many jobs have a price of their own, none, or aren't diagnosed yet."""
    if used[RECORDED]:
        click.echo(f"{count_of(used[RECORDED], 'job')} with a recorded price", err=True)
    if without := used[None] - fleet.undiagnosed:
        n = count_of(without, "job")
        click.echo(f"{n} without a price; `venturi jobs --json` has the reasons", err=True)
    if fleet.undiagnosed:
        n = count_of(fleet.undiagnosed, "job")
        click.echo(f"{n} not diagnosed yet: `venturi jobs` diagnoses them", err=True)
