"""`venturi report`: any page of the web application, with its data, as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from venturi.cli.html import free_for_page, page_of, write_html
from venturi.cli.repository import open_repository


@click.command()
@click.argument("page", metavar="PAGE-URL")
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
    required=True, help="The HTML file to write; it needs no server and no network.",
)  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace the file if it exists.")
def command(page: str, output: Path, overwrite: bool) -> None:
    """Write a page of the web application, with its data, as one HTML file.

    PAGE-URL is path and query of the page as the browser shows them, such as
    '/cost?where=workload=terasort&by=network&usd_per_hour=3.5' or /trials/ID.
    """
    free_for_page(output, overwrite=overwrite)
    with open_repository() as repository:
        text = page_of(repository, page)
    write_html(output, text, overwrite=overwrite)
