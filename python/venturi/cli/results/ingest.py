"""`venturi ingest`: another name of `venturi import` for the logs of engines."""

from __future__ import annotations

from pathlib import Path

import click

from venturi.cli.options import DURATION, json_option, print_json
from venturi.cli.results.follow import follow, import_served, is_url
from venturi.cli.results.import_ import check_there, import_all, trial_fields
from venturi.core.errors import ExitCode
from venturi.record.importing.formats import FORMATS, Format, Kind

SERVED = "spark-eventlog"
"""The format whose logs a server may have."""


@click.group()
def command() -> None:
    """Read the logs that Spark and MapReduce write of their own jobs, as `venturi import` does.

    Each application becomes an imported trial with its stages, its configuration, and tables of its
    jobs, stages, tasks and executors; `venturi show` tells where its time went. The same log is
    taken in once. An application that failed or never ended is kept as failed or interrupted.

    Folders are read at any depth. Of Spark rolling folders (eventlog_v2_*) are read, too, and what
    is compressed with lz4, zstd, snappy, lzf or gzip; of MapReduce the configuration
    (JOBID_conf.xml) that lies beside a history. The address of a history server of Spark
    (http://HOST:18080), or of a folder in object storage (s3://BUCKET/FOLDER, with
    `pip install 'venturi[s3]'`), stands for all applications that are over there.

    With --watch folders and addresses are looked at again and again, and what has ended since is
    taken in; interrupt it to end it. The next start goes on where it was.
    """


def _subcommand(format_: Format) -> None:
    @command.command(
        format_.name, help=f"Read {format_.title}.\n\nThe exit status is 1 if a file is none."
    )
    @click.argument("sources", nargs=-1, required=True, metavar="DIR|FILE|URL...")
    @click.option("--watch", is_flag=True, help="Go on, and take in what ends.")
    @click.option(
        "--every",
        "every_s",
        type=DURATION,
        default="30s",
        show_default=True,
        help="How long --watch waits between two looks.",
    )
    @json_option
    def read(sources: tuple[str, ...], every_s: float, *, watch: bool, as_json: bool) -> int:
        paths = [Path(each) for each in sources if not is_url(each)]
        check_there(format_, paths)
        if len(paths) < len(sources) and format_.name != SERVED:
            raise click.UsageError(f"only logs of {SERVED} are read from an address")
        if watch:
            if as_json:
                raise click.UsageError("--watch has no end, and so no --json")
            follow(format_, sources, every_s)
        outcomes, status = import_all(format_, paths) if paths else ([], ExitCode.OK)
        for url in filter(is_url, sources):
            found, ended = import_served(format_, url)
            outcomes += found
            status = max(status, ended)
        if as_json:
            data: list[dict[str, object]] = []
            for each in outcomes:
                if each.imported is None:
                    assert each.error is not None
                    data.append({"file": str(each.file), "error": each.error.as_dict()})
                else:
                    fields = map(trial_fields, each.imported.trials)
                    data += ({"file": str(each.file), **told} for told in fields)
            print_json(data)
        return status


for each in FORMATS.values():
    if each.kind is Kind.LOG:
        _subcommand(each)
