"""`venturi catalog`: list, show, import, overlay and compare catalogs of machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.html import PageFile, command_line, html_options
from venturi.cli.open_repository import open_repository
from venturi.cli.options import InputPath, json_option, print_json
from venturi.cli.outputs import ready_file, writing
from venturi.cli.screen import show
from venturi.core.errors import VenturiError
from venturi.core.text_file import read_text
from venturi.core.wording import count_of
from venturi.record.store.files import replacing
from venturi.record.trial import Trial

if TYPE_CHECKING:
    from venturi.machines.catalog import Catalog
    from venturi.machines.catalog.importers.reading import ImportedCatalog
    from venturi.machines.catalog.units_check import Doubt
    from venturi.web.catalog_page import CatalogPage

NAMES_SHOWN = 10  # of the types that only one of two catalogs has

output_option = click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Write the catalog (CSV) to FILE.",
)
overwrite_option = click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
accept_option = click.option(
    "--accept-units",
    is_flag=True,
    help="Accept figures that seem to be in another unit; each gets a note.",
)


@click.group()
def command() -> None:
    """List, show, import and compare catalogs of machines.

    A catalog is a CSV file with one value per line, each with its kind (advertised, derived,
    measured), source and date. CATALOG is the name of a shipped catalog, or a file.
    """


@command.command("ls")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@html_options()
@json_option
def list_catalogs(*, files: tuple[str, ...], html: PageFile | None, as_json: bool) -> None:
    """List the shipped catalogs and FILEs, with dates and outdated prices."""
    from venturi.machines.catalog import shipped
    from venturi.machines.catalog.find import find_with_doubts
    from venturi.terminal import catalog as tables

    today = datetime.now(UTC).date()
    summaries, warnings = [], []
    for name in (*shipped(), *files):
        catalog, doubts = find_with_doubts(name)
        summaries.append(tables.summarise(catalog, today, name))
        warnings += [str(doubt) for doubt in doubts]
    if html is not None:
        from venturi.web.catalog_page import list_page

        _write_page(html, list_page, tuple(summaries), warnings=tuple(warnings))
    if as_json:
        print_json(summaries, tuple(warnings))
        return
    show(tables.list_table(summaries))
    _warn(warnings)


@command.command("show")
@click.argument("catalog_name", metavar="CATALOG")
@click.argument("type_name", metavar="[TYPE]", required=False)
@html_options()
@json_option
def show_(
    *, catalog_name: str, type_name: str | None, html: PageFile | None, as_json: bool
) -> None:
    """Show the types of CATALOG, or all facts and gaps of one TYPE."""
    from venturi.machines.catalog.find import find_with_doubts, type_named
    from venturi.terminal import catalog as tables

    catalog, doubts = find_with_doubts(catalog_name)
    chosen = None if type_name is None else type_named(catalog, type_name)
    warnings = [str(d) for d in doubts if chosen is None or d.instance_type == chosen.name]
    if html is not None:
        from venturi.web.catalog_page import show_page

        _write_page(html, show_page, catalog, chosen, warnings=tuple(warnings))
    if as_json:
        types = [chosen] if chosen is not None else list(catalog.types.values())
        data = [
            {
                "instance_type": each.name,
                "facts": each.facts,
            }
            for each in types
        ]
        print_json(data[0] if chosen is not None else data, tuple(warnings))
        return
    show(tables.types_table(catalog) if chosen is None else tables.type_table(chosen))
    _warn(warnings)


class FormatChoice(click.Choice[str]):
    """The importers by name; their list is loaded only when one is used."""

    def __init__(self) -> None:
        self.case_sensitive = True

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        from venturi.machines.catalog.importers import IMPORTERS

        return tuple(IMPORTERS)


class ImportCommand(click.Command):
    """Lists the formats in its help, and loads them only then."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from venturi.machines.catalog.importers import IMPORTERS

        super().format_help_text(ctx, formatter)
        with formatter.section("Formats"):
            formatter.write_dl(list(IMPORTERS.items()))


@command.command("import", cls=ImportCommand)
@click.argument("format_name", metavar="FORMAT", type=FormatChoice())
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=InputPath(dir_okay=False),
)
@output_option
@click.option("--region", metavar="NAME", help="Use the prices of this region.")
@click.option(
    "--as-of",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Date of the figures, if the source gives none.",
)
@accept_option
@overwrite_option
@json_option
def import_(
    *,
    format_name: str,
    files: tuple[Path, ...],
    output: Path,
    region: str | None,
    as_of: datetime | None,
    accept_units: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Convert FILEs of another format into a catalog.

    Rows with an invalid value are skipped, counted and listed. If figures seem to be in another
    unit, nothing is written until you correct or accept them.
    """
    from venturi.machines.catalog.importers import import_catalog
    from venturi.machines.catalog.importers.reading import (
        MAX_IMPORT_BYTES,
        CatalogSource,
        ImportOptions,
    )
    from venturi.machines.catalog.units_check import check_units

    ready_file(output, overwrite=overwrite)
    options = ImportOptions(region, None if as_of is None else as_of.date(), output.stem)
    texts = [read_text(path, "VEN-CATALOG-FORMAT", most_bytes=MAX_IMPORT_BYTES) for path in files]
    sources = [CatalogSource(str(path), text) for path, text in zip(files, texts, strict=True)]
    imported = import_catalog(format_name, sources, options)
    doubts = check_units(imported.catalog, imported.places)
    catalog = _settle(imported.catalog, doubts, str(files[0]), accept_units)
    _write(catalog, output)
    warnings = (*imported.notes, *_refusals(imported))
    if as_json:
        data = _written(catalog, output) | {
            "refused": imported.refused,
            "accepted_units": doubts,
        }
        print_json(data, warnings)
        return
    _warn(warnings)
    _say(catalog, output)


@command.command("overlay")
@click.argument("names", nargs=-1, metavar="[CATALOG_OR_ID]...")
@click.option(
    "--from-trials",
    is_flag=True,
    help="Use figures of recorded probes: the trials with these IDs (`last` started last), or all "
    "trials of the machine.",
)
@click.option("--type", "type_name", metavar="NAME", help="Instance type of the measured machine.")
@click.option("--onto", metavar="CATALOG", help="Catalog to update.")
@click.option(
    "--at-nodes",
    type=click.IntRange(2),
    metavar="N",
    help="With --from-trials: network rate in a cluster of N nodes, from the curve through all "
    "probed sizes.",
)
@click.option(
    "--both",
    is_flag=True,
    help="If two rates of one kind differ, use the lower and make the other the high end of its "
    "range. Default: use the newer.",
)
@click.option("--force", is_flag=True, help="Allow N beyond 8 times the largest probed size.")
@output_option
@accept_option
@overwrite_option
@json_option
def overlay_(
    *,
    names: tuple[str, ...],
    from_trials: bool,
    type_name: str | None,
    onto: str | None,
    at_nodes: int | None,
    both: bool,
    force: bool,
    output: Path,
    accept_units: bool,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Replace values of a catalog with better evidence.

    For each value, measured replaces derived, derived replaces advertised, and advertised replaces
    assumed. Between two of the same kind the newer wins. With --from-trials, figures come from
    `venturi probe` on a machine of the type NAME; otherwise from the given CATALOGs.
    """
    from venturi.machines.catalog.find import find
    from venturi.machines.catalog.units_check import check_units
    from venturi.machines.cost.overlay import (
        need_facts,
        network_at,
        overlay,
        overlay_from_trials,
        replace_facts,
    )

    if from_trials != (type_name is not None):
        raise click.UsageError("--from-trials and --type NAME go together")
    if at_nodes is not None and not from_trials:
        raise click.UsageError("--at-nodes needs --from-trials")
    if not from_trials and (not names or onto is None):
        raise click.UsageError("give CATALOGs and --onto, or --from-trials and --type")
    ready_file(output, overwrite=overwrite)
    left_out: dict[str, str] = {}
    if type_name is not None:
        trials = _probes(names, type_name)
        found = overlay_from_trials(trials, type_name)
        need_facts(found, [trial.id for trial in trials] if names else [])
        left_out, layers = dict(found.left_out), [found.catalog]
        if at_nodes is not None:
            at_scale = network_at(trials, type_name, at_nodes, force=force)
            # The requested size replaces measurements at other sizes.
            layers = [replace_facts(found.catalog, at_scale)]
    else:
        layers = [find(name) for name in names]
    catalog = find(onto) if onto is not None else layers.pop(0)
    for layer in layers:
        catalog = overlay(catalog, layer, both=both)
    doubts = check_units(catalog)
    catalog = _settle(catalog, doubts, str(output), accept_units)
    _write(catalog, output)
    warnings = tuple(f"left out: trial {name}: {why}" for name, why in left_out.items())
    if as_json:
        print_json(_written(catalog, output) | {"left_out": left_out}, warnings)
        return
    _warn(warnings)
    _say(catalog, output)


@command.command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="NEW")
@html_options()
@json_option
def diff_(*, old: str, new: str, html: PageFile | None, as_json: bool) -> None:
    """Compare two catalogs: types, then values, prices first."""
    from venturi.machines.catalog.diff import diff
    from venturi.machines.catalog.find import find_with_doubts
    from venturi.terminal import catalog as tables

    difference = diff(find_with_doubts(old)[0], find_with_doubts(new)[0])
    if html is not None:
        from venturi.web.catalog_page import difference_page

        _write_page(html, difference_page, old, new, difference)
    if as_json:
        print_json(difference)
        return
    for what, names in (("only in", difference.removed), ("only in", difference.added)):
        if names:
            of = old if names is difference.removed else new
            more = len(names) - NAMES_SHOWN
            rest = f" and {more} more (--json lists them)" if more > 0 else ""
            click.echo(f"{what} {of}: {', '.join(names[:NAMES_SHOWN])}{rest}")
    if difference.changes:
        show(tables.diff_table(difference))
    elif not difference.removed and not difference.added:
        click.echo("no difference", err=True)


def _write_page(html: PageFile, make: Callable[..., CatalogPage], *parts: Any, **more: Any) -> None:
    """The page that `make` makes of `parts`, now, by the command that was given."""
    shown = make(*parts, datetime.now(UTC), commands=(command_line(),), **more)
    html.write("/catalog", shown)


def _settle(catalog: Catalog, doubts: Sequence[Doubt], file: str, accept_units: bool) -> Catalog:
    """`catalog` with its doubtful figures accepted; an error if they are not."""
    from venturi.machines.catalog.units_check import accept, doubt_error

    if doubts and not accept_units:
        raise doubt_error(
            doubts, file, "correct the figures; if they are right, add --accept-units"
        )
    return accept(catalog, doubts)


def _write(catalog: Catalog, output: Path) -> None:
    from venturi.machines.catalog.write import render

    with writing(output), replacing(output) as file:
        file.write(render(catalog).encode())


def _written(catalog: Catalog, output: Path) -> dict[str, Any]:
    values = [f for t in catalog.types.values() for f in t.facts.values() if f.value is not None]
    return {"file": str(output), "types": len(catalog.types), "values": len(values)}


def _say(catalog: Catalog, output: Path) -> None:
    counts = _written(catalog, output)
    told = f"{count_of(counts['types'], 'type')}, {count_of(counts['values'], 'value')}"
    click.echo(f"{told} in {output}", err=True)


def _refusals(imported: ImportedCatalog) -> tuple[str, ...]:
    """One line a reason, with the first row it was given for."""
    counts = Counter((r.field, r.reason.split(":")[0]) for r in imported.refused)
    first = {(r.field, r.reason.split(":")[0]): r for r in reversed(imported.refused)}
    return tuple(
        f"left out {count_of(count, 'row')}: {field} {reason}, "
        f"first {first[field, reason].value!r} in {first[field, reason].place}"
        for (field, reason), count in counts.most_common()
    )


def _probes(ids: Sequence[str], type_name: str) -> list[Trial]:
    """The trials `ids`, or all probes of one host."""
    from venturi.record.query.conditions import Condition, Op
    from venturi.record.query.paging import whole_trials

    with open_repository() as repository:
        if ids:
            trials = [repository.get(id_) for id_ in ids]
        else:
            probes = Condition("workload", Op.ONE_OF, ("diskbench", "netbench", "hostfacts"))
            found = whole_trials(repository, probes)
            trials = [t for t in found if t.cluster.instance_type in (None, type_name)]
            hosts = {h.name for t in trials if not t.cluster.instance_type for h in t.cluster.hosts}
            if len(hosts) > 1:
                raise VenturiError(
                    "VEN-MODEL-INPUT",
                    f"probes of {len(hosts)} hosts are recorded, and nothing says which of them "
                    f"are {type_name}",
                    where={"hosts": ", ".join(sorted(hosts))},
                    hint="give the ids of the trials; `venturi ls` lists them",
                )
    return trials


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
