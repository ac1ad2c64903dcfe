"""The pages of the web application: this list makes its routes, navigation and titles too.

`scripts/generated.py` writes it for the browser (`web/src/generated/pages.ts`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from venturi.core.errors import ExitCode, VenturiError
from venturi.web.moved import moved


@dataclass(frozen=True, slots=True)
class Page:
    """A page, whose component is `web/src/pages/TOPIC/NAME/Name.tsx`.

    `asks` are the paths that it asks with its own query, `always` those that it asks whatever that
    is: what it shows, and so what a file of it carries. What only controls ask for, such as facets,
    is in neither. `menu` is its name in the navigation,
    where one that `selects` takes the conditions of the page before along. A page with a `question`
    and what it is `about` is on the first page. One that is not `served` is in files only: a
    command writes it with its data.
    """

    name: str
    topic: str
    path: str
    title: str
    asks: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    menu: str | None = None
    selects: bool = True
    question: str = ""
    about: str = ""
    served: bool = True


def _analysis(name: str, menu: str, title: str, question: str, about: str) -> Page:
    """A page over the trials that its filters choose."""
    return Page(
        name,
        "results",
        f"/{name}",
        title,
        (f"/api/{name}",),
        menu=menu,
        question=question,
        about=about,
    )


PAGES = (
    Page(
        "start",
        "share",
        "/",
        "A repository of trials",
        (),
        ("/api/status", "/api/start", "/api/views"),
    ),
    Page(
        "repository",
        "results",
        "/trials",
        "Repository",
        ("/api/trials",),
        ("/api/keys",),
        "Repository",
        question="Which trials are there?",
        about="All trials, with facets, search and downloads.",
    ),
    Page(
        "trial",
        "results",
        "/trials/{id}",
        "Trial",
        (
            "/api/trials/{id}",
            "/api/trials/{id}/series",
            "/api/trials/{id}/hosts",
            "/api/trials/{id}/job",
            "/api/trials/{id}/tasks",
            "/api/trials/{id}/io",
        ),
    ),
    Page(
        "clusters",
        "measure",
        "/clusters",
        "Clusters",
        ("/api/clusters",),
        menu="Clusters",
        selects=False,
        question="Which hosts is my cluster made of?",
        about="Hosts, links, disks, what differs, its probes and trials.",
    ),
    _analysis(
        "cost",
        "Cost",
        "Cost and time",
        "Which configuration is best?",
        "Time against cost at your prices, ranked with ties.",
    ),
    _analysis(
        "compare",
        "Compare",
        "Compare",
        "Is the difference real?",
        "Distributions, the ratio with its interval, a verdict.",
    ),
    Page(
        "jobs",
        "jobs",
        "/jobs",
        "Two jobs",
        ("/api/jobs",),
        selects=False,
        question="Why was it slower today?",
        about="Two jobs of Spark or MapReduce: time, settings, plans, data.",
    ),
    _analysis(
        "effect",
        "Effects",
        "Effects",
        "What does a setting bring?",
        "Disk, network, maps, compression: all else being equal.",
    ),
    _analysis(
        "scaling",
        "Scaling",
        "Scaling",
        "How does it scale?",
        "Nodes, data size, cores: points, curve, memory cliff.",
    ),
    Page(
        "advice",
        "machines",
        "/advice",
        "Hardware advice",
        ("/api/advice", "/api/catalogs"),
        menu="Advice",
        selects=False,
        question="Which hardware should I take?",
        about="Predicted time and cost of cloud machines.",
    ),
    Page(
        "catalog",
        "machines",
        "/catalog",
        "Catalogues",
        ("/api/catalog", "/api/catalogs"),
        menu="Catalogues",
        selects=False,
    ),
    Page(
        "exclusions",
        "results",
        "/exclusions",
        "Exclusions",
        ("/api/exclusions",),
        menu="Exclusions",
        selects=False,
    ),
    Page("report", "share", "/report", "Report", served=False),
    Page("simulation", "machines", "/simulation", "Simulation", served=False),
    Page("trace", "jobs", "/trace", "Trace", served=False),
)
_ID = r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}"


def _found(path: str) -> tuple[Page, dict[str, str]] | None:
    """The served page at `path`, and the parts of the path that have names."""
    for page in PAGES:
        pattern = page.path.replace("{id}", f"(?P<id>{_ID})")
        if page.served and (match := re.fullmatch(pattern, path)):
            return page, match.groupdict()
    return None


def is_page(path: str) -> bool:
    """Whether `path` is one of the application's pages."""
    return _found(path) is not None


def requests_of(page_url: str) -> tuple[str, ...]:
    """Everything that the page at `page_url` (path and query) shows, as `canonical` writes it.

    VEN-API-UNKNOWN if there is no such page.
    """
    parts = urlsplit(moved(page_url))
    found = None if parts.scheme or parts.netloc else _found(parts.path or "/")
    if found is None:
        paths = (page.path.replace("{id}", "ID") for page in PAGES if page.served)
        raise VenturiError(
            "VEN-API-UNKNOWN",
            f"{page_url!r} is not a page",
            where={"page": page_url},
            hint=f"pages are {', '.join(paths)}, with a query as in the browser",
            exit_code=ExitCode.USAGE,
        )
    page, in_path = found
    asked = (canonical(each.format(**in_path), parts.query) for each in page.asks)
    return (*page.always, *asked)


def canonical(path: str, query: str) -> str:
    """`path` with `query` sorted by name, written as the browser's URLSearchParams does."""
    pairs = sorted(parse_qsl(query, keep_blank_values=True), key=lambda pair: pair[0])
    text = urlencode(pairs, safe="*").replace("~", "%7E")
    return f"{path}?{text}" if text else path
