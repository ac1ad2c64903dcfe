"""`venturi ingest`: another name of `venturi import` for the logs of engines."""

from __future__ import annotations

from pathlib import Path

import click

from venturi.cli.import_ import check_there, import_all, trial_fields
from venturi.cli.options import json_option, print_json
from venturi.record.importing.formats import FORMATS, Format, Kind


@click.group()
def command() -> None:
    """Read the logs that Spark and MapReduce write of their own jobs, as `venturi import` does.

    Each application becomes an imported trial with its stages, its configuration, and tables of its
    jobs, stages, tasks and executors; `venturi show` tells where its time went. The same log is
    taken in once. An application that failed or never ended is kept as failed or interrupted.

    Of Spark rolling folders (eventlog_v2_*) are read, too, and what is compressed with lz4, zstd,
    snappy or gzip; of MapReduce the configuration (JOBID_conf.xml) that lies beside a history.
    """


def _subcommand(format_: Format) -> None:
    @command.command(
        format_.name, help=f"Read {format_.title}.\n\nThe exit status is 1 if a file is none."
    )
    @click.argument(
        "paths", nargs=-1, required=True, metavar="DIR|FILE...", type=click.Path(path_type=Path)
    )
    @json_option
    def read(paths: tuple[Path, ...], as_json: bool) -> int:
        check_there(format_, paths)
        outcomes, status = import_all(format_, paths)
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
