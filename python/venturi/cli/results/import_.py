"""`venturi import`: trials from archives, engines' logs and other people's results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from venturi.cli.options import DURATION, InputPath, json_option, label_option, print_json
from venturi.cli.results.import_files import SERVED, STARTER, check_exist, import_all, is_url
from venturi.cli.results.import_messages import FileOutcome, fields_of
from venturi.cli.results.import_sources import STDIN, fetched, is_file_url, refuse_password
from venturi.cli.results.mapping_file import mapping_text, read_mapping, require_writable
from venturi.cli.screen import details_option, show
from venturi.core.errors import ExitCode
from venturi.core.wording import did_you_mean
from venturi.record.importing.formats import AUTO, FORMATS, Format, FormatKind
from venturi.record.importing.recognise import OWN_TABLE, recognise
from venturi.record.store.files import replacing

_WORDS = (AUTO, *FORMATS)
_HELP = """Import engines' logs, archives and other people's results.

Without FORMAT, or with `auto`, the format of each FILE is recognized by its first bytes and
reported. (Write ./aloja for a file with the name of a format.)

\b
{formats}

Folders are searched at any depth, and so are zip and tar files, such as the zip that a Spark
history server gives. Files of no known format in them are skipped. Logs may be rolling
(eventlog_v2_*), and all files compressed (lz4, zstd, snappy, lzf, gzip, bzip2, xz). A MapReduce
history is read with the configuration (JOBID_conf.xml) next to it. A URL is a Spark history server
(http://HOST:18080), a folder in object storage (s3://BUCKET/FOLDER, with `pip install
'venturi[s3]'`) or a file (https://HOST/results.csv). Venturi imports all finished applications of
a server or folder. Each application becomes a trial; `venturi show` reports where its time went.
`-` reads standard input.

Existing trials are left unchanged, except by logs: a log that has more than the stored one of its
application, or that this version reads better, updates the trial in place. One that has less or
contradicts it is reported. An application that still writes its log is "running".

Invalid rows are rejected and counted by reason. A damaged trial in an archive is rejected with its
line, and the others are imported. Results or an archive that are damaged as a whole add nothing; a
truncated log adds what it holds. A rejected file does not stop the others. The exit status is 1 if
a file or a trial in an archive was rejected, if a log contradicts the stored one, or if a file
holds no trial.

In your own table of trials (CSV, JSON or Parquet), columns are guessed by their names. If a guess
is wrong, or a time or size has no unit, name the column with --column: elapsed_s, workload, engine,
engine_version, nodes, instance_type, input_bytes, input_records, repetition, started_at, state,
exit_code, or any key of the configuration. Other columns become configuration keys. With --mapping,
a file keeps the columns for the next table.

With --watch, folders and URLs are checked again and again until you interrupt it. Running
applications in folders are updated, those of URLs are imported as they finish. After a failure of a
server, network, disk or lock, a log is tried again with growing pauses; a log that can't be read is
tried again when it changes. The next start continues from there. --watch --status lists both.
"""


def _what(
    context: click.Context, parameter: click.Parameter, words: tuple[str, ...]
) -> tuple[Format | None, tuple[str, ...]]:
    """Return the format, if the first word names one (None: to be recognized), and the sources."""
    if context.resilient_parsing:  # a shell completes
        return None, words
    given = words[0] in _WORDS
    format_ = FORMATS.get(words[0])
    sources = words[1:] if given else words
    if not sources and words[0] != STARTER:
        raise click.BadParameter(f"name a file to import as {words[0]}")
    files = _files(sources)
    results = format_ not in {None, SERVED}
    for url in filter(is_url, sources):
        if results and not is_file_url(url, format_given=True):
            raise click.BadParameter(f"only logs of {SERVED.name} are read from {url}")
    hint = (
        ""
        if given or not files
        else did_you_mean(files[0].name, _WORDS, "check the path; formats are")
    )
    check_exist(format_, files, hint)
    return format_, sources


def _files(sources: tuple[str, ...]) -> list[Path]:
    return [Path(each) for each in sources if each != STDIN and not is_url(each)]


def _complete(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    first = not any(context.params.get("what") or ())
    names = [name for name in _WORDS if first and name.startswith(incomplete)]
    return [*map(CompletionItem, names), CompletionItem(incomplete, type="file")]


@click.command(
    help=_HELP.format(formats="\n".join(f"{f.name:18}{f.title}" for f in FORMATS.values()))
)
@click.argument(
    "what",
    nargs=-1,
    required=True,
    metavar="[FORMAT|auto] [FILE|DIR|URL|-]...",
    callback=_what,
    shell_complete=_complete,
)
@click.option(
    "--column",
    "columns",
    metavar="FIELD=COLUMN[:UNIT]",
    multiple=True,
    help="For your own table: the column that gives a field, such as elapsed_s=seconds or "
    "input_bytes=input_gb:GB; repeatable.",
)
@click.option(
    "--mapping",
    type=InputPath(dir_okay=False),
    metavar="FILE",
    help="For your own table: read its columns from FILE, or write them there if it is new.",
)
@label_option
@click.option("--watch", is_flag=True, help="Keep importing; update running applications.")
@click.option(
    "--status",
    "only_status",
    is_flag=True,
    help="With --watch: print the logs imported, waiting and refused so far, and exit.",
)
@click.option(
    "--every",
    "every_s",
    type=DURATION,
    default="30s",
    show_default=True,
    help="With --watch: interval between checks.",
)
@details_option
@json_option
def command(
    what: tuple[Format | None, tuple[str, ...]],
    columns: tuple[str, ...],
    mapping: Path | None,
    every_s: float,
    *,
    watch: bool,
    only_status: bool,
    as_json: bool,
) -> int:
    format_, sources = what
    is_new = mapping is not None and not mapping.exists()
    if mapping is not None:
        if is_new:
            require_writable(mapping)
        else:
            columns = (*read_mapping(mapping), *columns)
    if columns or mapping:
        if format_ is not None and format_.name != OWN_TABLE:
            raise click.UsageError(f"--column and --mapping belong to the format {OWN_TABLE}")
        format_ = replace(FORMATS[OWN_TABLE], options=columns)
    files, others = _files(sources), [each for each in sources if each == STDIN or is_url(each)]
    for each in others:
        refuse_password(each)
    if only_status:
        if not watch:
            raise click.UsageError("--status belongs to --watch")
        _print_status(sources, as_json=as_json)
        return ExitCode.OK
    if watch:
        from venturi.cli.results.follow import follow

        _check_watched(format_, sources, as_json=as_json)
        follow(format_, sources, every_s)
    outcomes, status = ([], ExitCode.OK) if others and not files else import_all(format_, files)
    for source in others:
        found, ended = _import_other(format_, source)
        outcomes += found
        status = max(status, ended)
    if mapping is not None and is_new and any(each.imported for each in outcomes):
        with replacing(mapping) as file:
            file.write(mapping_text(columns, outcomes).encode())
        click.echo(f"the columns are in {mapping}: --mapping {mapping} reads them", err=True)
    if as_json:
        print_json([fields_of(each) for each in outcomes])
    return status


def _import_other(format_: Format | None, source: str) -> tuple[list[FileOutcome], ExitCode]:
    """Import standard input, the file at a URL, or the logs of a server or store."""
    results = format_ is not None and format_ != SERVED
    if source == STDIN or is_file_url(source, format_given=results):
        with fetched(source) as (path, name):
            return import_all(format_, [path], name)
    from venturi.cli.results.follow import import_served

    return import_served(source)


def _print_status(sources: tuple[str, ...], *, as_json: bool) -> None:
    from venturi.cli.results.watch_notes import WatchNotes, status_lines

    status = WatchNotes(sources).status()
    if as_json:
        print_json(status)
    else:
        show(*status_lines(status))


def _check_watched(format_: Format | None, sources: tuple[str, ...], *, as_json: bool) -> None:
    """Raise an error for --watch of something other than engines' logs."""
    if as_json:
        raise click.UsageError("--watch never ends, so it prints no --json")
    for each in sources:
        if each == STDIN or is_file_url(each, format_given=False):
            raise click.UsageError(f"--watch imports folders, servers and stores, not {each}")
    files = [each for each in _files(sources) if each.is_file()]
    found = [format_] if format_ else [recognise(each) for each in files]
    for other in (each for each in found if each.kind is not FormatKind.LOG):
        raise click.UsageError(f"--watch imports engines' logs, not {other.name}")
