"""`venturi report`: any page of the web application, with its data, as one HTML file."""

from __future__ import annotations

import click

from venturi.cli.html import PageFile, html_options
from venturi.cli.repository import open_repository


@click.command()
@click.argument("url", metavar="PAGE-URL")
@html_options(
    "-o", "--output", required=True,
    help="The HTML file to write; it needs no server and no network.",
)  # fmt: skip
def command(url: str, html: PageFile) -> None:
    """Write a page of the web application, with its data, as one HTML file.

    PAGE-URL is path and query of the page as the browser shows them, such as
    '/cost?where=workload=terasort&by=network&usd_per_hour=3.5' or /trials/ID.
    """
    with open_repository() as repository:
        html.write_answers(url, repository)
