"""`venturi report`: any page of the web application, with its data, as one HTML file."""

from __future__ import annotations

import re
from urllib.parse import unquote

import click

from venturi.cli.html import PageFile, html_options
from venturi.cli.open_repository import open_repository

_TRIAL = re.compile(r"(/trials/)([^/?#]+)(.*)", re.DOTALL)


@click.command()
@click.argument("url", metavar="PAGE-URL")
@html_options(
    "-o",
    "--output",
    required=True,
    help="HTML file to write; it needs no server and no network.",
)
def command(url: str, html: PageFile) -> None:
    """Write a web page with its data as one HTML file.

    PAGE-URL is the path and query of the page as the browser shows them, such as
    '/cost?where=workload=terasort&by=network&usd_per_hour=3.5' or /trials/ID. ID may be shortened,
    or `last`, as for `show`.
    """
    with open_repository() as repository:
        if found := _TRIAL.fullmatch(url):
            url = f"{found[1]}{repository.get(unquote(found[2])).id}{found[3]}"
        html.write_answers(url, repository)
