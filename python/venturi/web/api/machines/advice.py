"""`/api/advice`: the advisor's answer as its page shows it; `/api/catalogs`: the catalogs to
choose.

`/api/advice` answers `document.encode(page)` of an `AdvicePage` (web/document.py): the fields of
the dataclass by name, a `Missing` as `{"reason": "..."}`, a timestamp as ISO 8601 text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from functools import lru_cache
from shlex import join
from typing import Annotated, Literal

from venturi.core.errors import VenturiError
from venturi.core.settings import load
from venturi.core.units import parse_bytes, parse_duration_s
from venturi.machines.advice.explain import Explanation, explain_first, explain_type
from venturi.machines.advice.explain import explain as explain_option
from venturi.machines.advice.hardware import Advice, advise, compared, predict, type_and_nodes
from venturi.machines.advice.limits import limited, own_limits
from venturi.machines.advice.network_costs import network_costs
from venturi.machines.advice.option import AdviceObjective
from venturi.machines.advice.question import DEFAULT_MAX_NODES, HardwareRequest
from venturi.machines.advice.suppositions import assumed, filled_share
from venturi.machines.advice.volumes import attach, equipped, parse_volumes
from venturi.machines.catalog import DEFAULT, Catalog, load_shipped, shipped
from venturi.machines.catalog.diff import diff
from venturi.machines.catalog.find import shipped_with, type_named, unknown
from venturi.machines.cost.choices import MOST_NODES, Durability, Exchange, NetworkChoice
from venturi.machines.cost.job import sort_job
from venturi.machines.cost.operation import operated
from venturi.record.query.conditions import refused
from venturi.terminal.catalog import summarise
from venturi.web.advice_page.build import advice_page
from venturi.web.advice_page.data import AdvicePage
from venturi.web.api.request_arguments import Parameter
from venturi.web.api.shapes import CatalogInfo, Catalogs
from venturi.web.catalog_page import CatalogPage, difference_page, list_page, show_page

DEFAULT_SORT = "100TB"


def catalogs() -> Catalogs:
    """The catalogs that come with Venturi; a server uses no others."""
    return Catalogs(tuple(map(_info, shipped())), DEFAULT)


def catalog(
    *,
    name: Annotated[
        str | None,
        Parameter(alias="catalog", max_length=200, description="A catalog; default: list all."),
    ] = None,
    type_name: Annotated[
        str | None,
        Parameter(alias="type", max_length=200, description="Show the facts of this type."),
    ] = None,
    against: Annotated[
        str | None, Parameter(max_length=200, description="Show the changes to this catalog.")
    ] = None,
) -> CatalogPage:
    """Machine types with their facts and sources, or the changes between two catalogs."""
    at = _this_day()
    if name is None:
        summaries = tuple(summarise(load_shipped(each), at.date(), each) for each in shipped())
        return list_page(summaries, at)
    known = _catalog(name)
    if against is not None:
        return difference_page(name, against, diff(known, _catalog(against)), at)
    return show_page(known, None if type_name is None else type_named(known, type_name), at)


VolumesOf = Annotated[
    str | None,
    Parameter(max_length=100, examples=["gp3:4"], description="Network volumes of each node."),
]
ExchangeOf = Annotated[
    Literal["remote", "all"],
    Parameter(description="Share of the shuffle that crosses the network."),
]
DisksOf = Annotated[
    Literal["turns", "half", "both"] | None,
    Parameter(description="Concurrent reads and writes of disks, if not measured."),
]
FillOf = Annotated[
    float | None, Parameter(gt=0, le=100, description="Max fill of local disks, in %.")
]
ShareOf = Annotated[
    float | None, Parameter(gt=0, le=100, description="Usable share of the line rate, in %.")
]
LowOf = Annotated[
    float | None, Parameter(gt=0, le=100, description="Worst network, in % of its rate.")
]
PriceOf = Annotated[Literal["on-demand", "spot"], Parameter(description="Kind of price.")]
RatesOf = Annotated[
    list[str] | None,
    Parameter(max_length=10, description="Rates if unknown: NVMe=1000MB/s/TB."),
]
MostNodes = Annotated[
    int | None, Parameter(ge=1, le=MOST_NODES, description="Available nodes, if unknown.")
]


def advice(
    *,
    sort: Annotated[
        str, Parameter(max_length=40, description="Amount of data to sort.", examples=["100TB"])
    ] = DEFAULT_SORT,
    catalog: Annotated[
        list[str] | None,
        Parameter(max_length=10, description="Catalogs, from /api/catalogs."),
    ] = None,
    durability: Annotated[
        list[Literal["2-io", "replicated", "volumes", "objects"]] | None,
        Parameter(max_length=4, description="Fault tolerance."),
    ] = None,
    deadline: Annotated[
        str | None, Parameter(max_length=40, examples=["30min"], description="Maximum time.")
    ] = None,
    budget: Annotated[
        float | None,
        Parameter(gt=0, allow_inf_nan=False, description="Maximum cost in US dollars."),
    ] = None,
    objective: Literal["recommended", "cheapest", "fastest"] = "recommended",
    nodes: Annotated[
        int | None, Parameter(ge=1, le=MOST_NODES, description="Only this number of nodes.")
    ] = None,
    network: Literal["at-scale", "baseline", "unlimited"] = "at-scale",
    explain: Annotated[
        str | None, Parameter(max_length=200, description="TYPE or TYPE:NODES; default: the first.")
    ] = None,
    max_nodes: MostNodes = None,
    volumes: VolumesOf = None,
    exchange: ExchangeOf = "remote",
    disks: DisksOf = None,
    fill: FillOf = None,
    network_share: ShareOf = None,
    network_low: LowOf = None,
    price: PriceOf = "on-demand",
    assume: RatesOf = None,
) -> AdvicePage:
    """Recommended machines: type, number, cost, and how certain that is."""
    today = datetime.now(UTC).date()
    shares = {"fill": fill, "network": network_share, "network-low": network_low}
    texts = [text for text in assume or () if text.strip()]
    texts += [f"{name}={share:g}%" for name, share in shares.items() if share is not None]
    texts += [] if disks is None else [f"disks={disks}"]
    texts += [] if price == "on-demand" else [f"price={price}"]
    names = tuple(dict.fromkeys(catalog or (DEFAULT,)))
    limits = own_limits(load().operating_limits)
    classes = dict.fromkeys([*(durability or ()), *(["volumes"] if volumes else [])])
    job = sort_job(parse_bytes(sort, unit_needed=True), exchange=Exchange(exchange))
    request = HardwareRequest(
        job=operated(job, filled_share=filled_share(texts)),
        durabilities=tuple(Durability(name) for name in classes),
        max_nodes=max_nodes or limits.max_nodes or DEFAULT_MAX_NODES,
        max_vcpus=limits.max_vcpus,
        limits=limits.words,
        objective=AdviceObjective(objective),
        deadline_s=None if deadline is None else parse_duration_s(deadline),
        budget_usd=budget,
        nodes=nodes,
        network=NetworkChoice(network.replace("-", " ")),
        today=today,
    )
    command = _command(
        request,
        sort,
        deadline,
        names,
        explain=explain,
        assumed=texts,
        volumes=volumes,
        max_nodes=max_nodes,
    )

    def page() -> AdvicePage:
        catalogs = [_with(_catalog(name), texts, volumes, today) for name in names]
        return _advised(request, limited(catalogs, limits, today), explain, command)

    if limits.prices is not None:  # the price list may change
        return page()
    return _cached_page(_Question(repr((request, limits, command)), page))


@dataclass(frozen=True, slots=True)
class _Question:
    """A question by its `text`, which decides the answer."""

    text: str
    answer: Callable[[], AdvicePage] = field(compare=False)


@lru_cache(16)
def _cached_page(question: _Question) -> AdvicePage:
    return question.answer()


def predictions(
    *,
    on: Annotated[
        list[str],
        Parameter(
            min_length=1, max_length=20, description="TYPE:NODES", examples=[["i2.8xlarge:178"]]
        ),
    ],
    sort: Annotated[
        str, Parameter(max_length=40, description="Amount of data to sort.", examples=["100TB"])
    ] = DEFAULT_SORT,
    catalog: Annotated[
        list[str] | None,
        Parameter(max_length=10, description="Catalogs, from /api/catalogs."),
    ] = None,
    durability: Annotated[
        Literal["2-io", "replicated", "volumes", "objects"],
        Parameter(description="Fault tolerance."),
    ] = "2-io",
    network: Literal["at-scale", "baseline", "unlimited"] = "at-scale",
) -> AdvicePage:
    """Time and cost of a job on given machines, each figure with its formula and origin."""
    today = datetime.now(UTC).date()
    types = [text.partition(":")[0] for text in on]
    found = [equipped(_catalog(name)) for name in dict.fromkeys(catalog or shipped_with(types))]
    found = limited(found, own_limits(load().operating_limits).of_prices(), today)
    job = operated(sort_job(parse_bytes(sort, unit_needed=True), Durability(durability)))
    request = HardwareRequest(
        job=job, network=NetworkChoice(network.replace("-", " ")), today=today
    )
    explanations = []
    for text in dict.fromkeys(on):
        name, nodes = _type_and_nodes(text, "on")
        if nodes is None:
            raise _no_machines(text, "on")
        known = next((each for each in found if name in each.types), found[0])
        candidate = predict(job, known.name, type_named(known, name), nodes, request.network)
        explanations.append(explain_option(request, candidate, nodes))
    answer = compared(request, [each.option for each in explanations], found)
    words = ["venturi", "predict", "--sort", sort, "--durability", durability]
    words += [word for text in on for word in ("--on", text)]
    words += [word for each in found for word in ("--catalog", each.name)]
    return _answered(answer, found, explanations, join([*words, "--network", network]))


def _advised(
    request: HardwareRequest, catalogs: Sequence[Catalog], explain: str | None, command: str
) -> AdvicePage:
    answer = advise(request, catalogs)
    explanations = (
        explain_first(answer, catalogs)
        if explain is None
        else explain_type(answer, catalogs, *_type_and_nodes(explain, "explain"))
    )
    return _answered(answer, catalogs, explanations, command)


def _answered(
    answer: Advice, catalogs: Sequence[Catalog], explanations: Sequence[Explanation], command: str
) -> AdvicePage:
    return advice_page(
        answer,
        bars=network_costs(answer, catalogs),
        explanations=explanations,
        generated_at=_this_day(),
        command=command,
    )


def _this_day() -> datetime:
    """Prices are judged by the day, and the same question has the same answer all day."""
    return datetime.combine(datetime.now(UTC).date(), time(), UTC)


def _catalog(name: str) -> Catalog:
    """A shipped catalog. Never a file: clients must not choose the files that a server reads."""
    if name not in shipped():
        raise unknown(
            f"{name[:200]!r} is not a shipped catalog",
            name[:200],
            shipped(),
            "shipped",
            {"catalog": name[:200]},
        )
    return load_shipped(name)


def _info(name: str) -> CatalogInfo:
    known = load_shipped(name)
    days: list[date] = [
        day for each in known.types.values() if (day := each.fact("price").as_of) is not None
    ]
    newest = max(days, default=None)
    return CatalogInfo(name, len(known.types), None if newest is None else newest.isoformat())


def _type_and_nodes(text: str, field: str) -> tuple[str, int | None]:
    found = type_and_nodes(text)
    if found is None:
        raise _no_machines(text, field)
    return found


def _no_machines(text: str, field: str) -> VenturiError:
    return refused(f"{text[:80]!r} is not TYPE or TYPE:NODES", field, "such as i2.8xlarge:178")


def _with(catalog: Catalog, assumptions: list[str], volumes: str | None, today: date) -> Catalog:
    """The catalog with the assumptions and, if it has any, the volumes of its machines."""
    found = assumed(catalog, assumptions, today)
    if volumes is None:
        return equipped(found)
    return attach(found, *parse_volumes(volumes))


def _command(
    request: HardwareRequest,
    sort: str,
    deadline: str | None,
    names: Sequence[str],
    *,
    explain: str | None,
    assumed: list[str],
    volumes: str | None,
    max_nodes: int | None,
) -> str:
    """The command line that asks the same."""
    words = ["venturi", "advise", "hardware", "--sort", sort]
    words += [word for name in names for word in ("--catalog", name)]
    words += [word for each in request.durabilities for word in ("--durability", each.value)]
    options = {
        "--deadline": deadline,
        "--budget": None if request.budget_usd is None else f"{request.budget_usd:g}",
        "--nodes": None if request.nodes is None else str(request.nodes),
        "--explain": explain,
        "--volumes": volumes,
        "--exchange": None if request.job.exchange is Exchange.REMOTE else request.job.exchange,
        "--max-nodes": None if max_nodes is None else str(max_nodes),
    }
    words += [word for text in assumed for word in ("--assume", text)]
    for name, value in options.items():
        words += [] if value is None else [name, value]
    words += ["--objective", request.objective.value]
    return join([*words, "--network", request.network.value.replace(" ", "-")])
