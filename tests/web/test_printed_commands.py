"""The command that a page prints, run in a terminal, gives the answer of the page."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httpx
import pytest

import pages_samples
from api_client import client_of
from command_line import printed
from public_data import dataset
from venturi.core.errors import UsageError
from venturi.core.settings import Settings
from venturi.record.access import exclusions
from venturi.record.importing.importer import import_file
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import TrialRow, rows
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Provenance, ProvenanceKind, Trial, new_id

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
LOGS = ROOT / "tests/data/spark/4.3.0"
JOBS = {
    "join": "join.log",
    "tiny": "tiny.log",
    "failed": "failedjob.log",
    "faulty": "faults/skewed-join-faulty.zstd",
    "sound": "faults/skewed-join-sound.zstd",
}
SORTS = {"m1000-01": 350, "al-08": 150, "minerva100-02-18-22": 150}
"""Sorts of each cluster, with a quarter as many word counts."""
OPTIONS = 2
"""Options that advice shows first."""
HOSTILE = 'it\'s "10%" $HOME; *'
Asked = list[tuple[str, object]]


def at(path: str, *asked: tuple[str, object]) -> str:
    return f"{path}?{urlencode(asked)}" if asked else path


def where(*texts: str) -> Asked:
    return [("where", text) for text in texts]


def by(*keys: str) -> Asked:
    return [("by", key) for key in keys]


SORT = where("workload=terasort")
LAB = where(f"source={pages_samples.LAB}")
M1000 = where("workload=terasort", "cluster=m1000-01")
PRICED: Asked = [("usd_per_hour", 3.5), ("plus", "net=IB:0.8"), ("objective", "cost")]
STATES = [
    # Rank
    at("/cost", *SORT, *by("disk")),
    at("/cost", *SORT, *by("disk", "net")),
    at("/cost", *where("workload=terasort", "disk!=HDD"), *by("disk")),
    at("/cost", *where("workload=terasort", "disk=SSD", "disk=HDD"), *by("disk")),
    at("/cost", *where("workload=terasort", "elapsed_s<900"), *by("net")),
    at("/cost", *where("workload=terasort", "elapsed_s>=10min", "maps>6"), *by("disk")),
    at("/cost", *where("workload=terasort", "net!="), *by("net")),
    at("/cost", *SORT, *by("disk"), ("excluded", 1)),
    at("/cost", *SORT, *by("disk"), ("crude", "true")),
    at("/cost", *SORT, *by("disk"), ("ignore", "maps"), ("ignore", "io_sort_factor")),
    at("/cost", *SORT, *by("disk"), ("keep", "cluster"), ("ignore", "net")),
    at("/cost", *M1000, *by("net", "disk"), *PRICED),
    at("/cost", *M1000, *by("net", "disk"), *PRICED[:2], ("objective", "pareto")),
    at("/cost", *M1000, *by("net"), *PRICED[:2], ("objective", "cost-time")),
    at("/cost", *SORT, *by("disk"), ("usd_per_hour", 0.5), ("per", "node")),
    at("/cost", *SORT, *by("disk"), ("usd_per_hour", 1), ("per", "node"), ("objective", "cost")),
    at("/cost", *where(f"source={HOSTILE}"), *by("disk kind")),
    at("/cost", *LAB, *by("hosts", "disk"), ("usd_per_hour", 2), ("per", "node")),
    at("/cost", *LAB, *where("hosts=4"), *by("disk"), *PRICED[:1], ("plus", "disk=SSD:0.5")),
    # Effect
    at("/effect", ("key", "disk"), *SORT),
    at("/effect", ("key", "disk"), ("key", "net"), *SORT),
    at("/effect", ("key", "disk"), ("key", "net"), ("baseline", '["HDD", "ETH"]'), *SORT),
    at("/effect", ("key", "disk"), ("baseline", "SSD"), *SORT),
    at("/effect", ("key", "disk"), ("level", 0.9), *SORT),
    at("/effect", ("key", "disk"), ("crude", 1), *SORT),
    at("/effect", ("key", "disk"), ("excluded", 1), *SORT),
    at("/effect", ("key", "net"), ("ignore", "io_sort_factor"), ("ignore", "maps"), *SORT),
    at("/effect", ("key", "net"), ("keep", "cluster"), *SORT),
    at("/effect", ("key", "maps"), *SORT),
    at("/effect", ("key", "maps"), *where("workload=terasort", "block_bytes>=128MiB")),
    at("/effect", ("key", "map tasks"), *where("workload=terasort", "cluster!=al-08")),
    at("/effect", ("key", "compression"), *where("workload=wordcount", "net=ETH", "net=IB")),
    # Scaling
    at("/scaling"),
    at("/scaling", *SORT),
    at("/scaling", ("leave_out", "cluster"), *SORT),
    at("/scaling", ("ignore", "cluster"), *SORT),
    at("/scaling", *LAB, *by("disk")),
    at("/scaling", *LAB, *by("disk", "net"), ("to", 12)),
    at("/scaling", ("x", "maps"), *SORT),
    at("/scaling", ("x", "maps"), ("by", "disk"), *SORT),
    at("/scaling", ("x", "maps"), ("skip", 2), *SORT),
    at("/scaling", ("x", "maps"), ("to", 20), *where("workload=terasort", "disk=HDD")),
    at("/scaling", ("x", "block_bytes"), ("excluded", "true"), *SORT),
    at("/scaling", ("x", "map tasks"), ("leave_out", "io_sort_factor"), *M1000),
    # Trials
    at("/trials"),
    at("/trials", *SORT),
    at("/trials", *where("disk!=HDD", "workload!=prep_terasort")),
    at("/trials", *where("elapsed_s>100", "elapsed_s<=300"), ("sort", "elapsed_s")),
    at("/trials", *SORT, ("sort", "elapsed_s"), ("desc", 0)),
    at("/trials", *SORT, ("sort", "maps"), ("desc", "false"), ("limit", 7)),
    at("/trials", *SORT, ("desc", 0), ("limit", 200)),
    at("/trials", *SORT, ("excluded", 1), ("limit", 1000), ("columns", "disk")),
    at("/trials", *where("started_at>=2015-01-01", "started_at<2027-06-01")),
    at("/trials", *where("scale=", "engine!=spark")),
    at("/trials", *where(f"source={HOSTILE}")),
    # Jobs
    at("/"),
    at("/", ("each", 1)),
    at("/", *where("state=failed")),
    at("/", *where("engine=spark", "elapsed_s>5s"), ("each", 1)),
    at("/", ("excluded", 1)),
    at("/jobs", ("before", "{faulty}"), ("after", "{sound}")),
    at("/jobs", ("before", "{sound}"), ("after", "{faulty}")),
    # What-if
    at("/whatif", ("trial", "{sound}"), ("executors", 4)),
    at("/whatif", ("trial", "{sound}"), ("executors", "2..8"), ("data", "2x")),
    at("/whatif", ("trial", "{faulty}"), ("disk", "nvme"), ("network", "25Gbit")),
    at("/whatif", ("trial", "{sound}"), ("on", "i4i.4xlarge:2"), ("from", "i3.2xlarge")),
    at("/whatif", ("trial", "{sound}"), ("set", "spark.sql.shuffle.partitions=400")),
    at("/whatif", ("trial", "{sound}"), ("data", "1.5x"), ("usd_per_node_hour", 0.3)),
    # Compare
    at("/compare", ("by", "group"), ("group", '["{one}"]'), ("group", '["{other}"]')),
    at(
        "/compare",
        *where("group={one}", "group={other}", "elapsed_s<2000"),
        *by("disk", "group"),
        ("group", '["HDD", "{one}"]'),
        ("group", '["SSD", "{other}"]'),
    ),
    # Advice
    at("/advice", ("sort", "5TB"), ("volumes", "gp3:4"), ("exchange", "all"), ("nodes", 8)),
    at("/advice", ("sort", "5TB"), ("fill", 70), ("disks", "half"), ("nodes", 3)),
    at("/advice", ("sort", "5TB"), ("network_low", 60), ("network", "baseline"), ("nodes", 9)),
    at("/advice", ("sort", "5TB"), ("price", "spot"), ("max_nodes", 40), ("nodes", 20)),
    at("/advice", ("catalog", "ec2-2014"), ("deadline", "2h"), ("objective", "cheapest")),
    at("/advice", ("catalog", "ec2-2014"), ("sort", "9TB"), ("durability", "replicated")),
    at("/advice", ("catalog", "ec2-2014"), ("budget", 400), ("assume", "HDD=90MB/s")),
]

REFUSED = at("/cost", *LAB, *by("disk"), *PRICED[:1])
WITHOUT = [
    at("/cost", *SORT),
    at("/effect", *SORT),
    at("/trials", ("cursor", "abc")),
    at("/whatif", ("trial", "{sound}"), ("from", "i3.2xlarge")),
    at("/compare", ("by", "disk"), *SORT),
    at("/compare", ("by", "group"), ("group", '["{one}"]'), ("group", "a wrong one")),
    at("/jobs", ("before", "{sound}")),
]


@dataclass(frozen=True)
class Pages:
    """A repository, a client of its pages, and the states with their commands (None: without)."""

    home: Path
    client: httpx.Client
    commands: Mapping[str, tuple[str, str | None]]


def table(folder: Path) -> Path:
    """A slice of ALOJA's table."""
    left = {
        (cluster, work): n // part
        for cluster, n in SORTS.items()
        for work, part in (("terasort", 1), ("wordcount", 4), ("prep_terasort", 8))
    }
    path = folder / "aloja.csv"
    with (
        dataset("aloja_dataset4.csv").open(newline="", encoding="utf-8") as file,
        path.open("w", newline="", encoding="utf-8") as out,
    ):
        read = csv.DictReader(file)
        write = csv.DictWriter(out, read.fieldnames or ())
        write.writeheader()
        for row in read:
            kind = row["Cl.Name"], row["Benchmark"]
            if left.get(kind, 0):
                left[kind] -= 1
                write.writerow(row)
    return path


def hostile(trials: Sequence[Trial]) -> Iterator[Trial]:
    """The trials, from a source and with a setting that a shell would misread."""
    for trial in trials:
        yield replace(
            trial,
            id=new_id(),
            configuration={"disk kind": f"{trial.configuration['disk']} {HOSTILE}"},
            provenance=Provenance(ProvenanceKind.MEASURED, HOSTILE),
        )


def fill(repository: TrialRepository, folder: Path) -> dict[str, str]:
    """Fill `repository`; returns the ids that the states name."""
    import_file(repository, "aloja", table(folder))
    lab = pages_samples.lab_trials()
    repository.add_many([*lab, *hostile([one for one in lab if len(one.cluster.hosts) == 4])])
    found = {}
    for name, log in JOBS.items():
        known = {row.id for row in all_rows(repository)}
        import_file(repository, "spark-eventlog", LOGS / log)
        (found[name],) = {row.id for row in all_rows(repository)} - known
    exclusions.add(repository, ["disk=SSD", "maps>8"], "Ada", "cold caches")
    exclusions.add(repository, [f"id={found['tiny']}"], "Ada", "a test")
    for disk, name in (("HDD", "one"), ("SSD", "other")):
        found[name] = next(
            one.group_key
            for one in lab
            if one.configuration == {"disk": disk, "net": "IB"} and len(one.cluster.hosts) == 4
        )
    return found


def all_rows(repository: TrialRepository) -> Sequence[TrialRow]:
    return rows(repository, Query((Condition.equal("engine", "spark"),), limit=1_000)).rows


def commands_of(urls: Sequence[str]) -> list[str | None]:
    """The commands that the web application's own function makes."""
    if shutil.which("node") is None or not (WEB / "node_modules/vite").is_dir():
        pytest.skip("the web application's packages are not installed: `make setup`")
    ran = subprocess.run(
        ["node", str(WEB / "tests/commands.mjs")],
        input=json.dumps(urls),
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[str | None] = json.loads(ran.stdout)
    return found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    folder = tmp_path_factory.mktemp("pages")
    settings = Settings(folder / "home", None, None, allow_debug=False)
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        ids = fill(repository, folder)
        states = [*STATES, REFUSED, *WITHOUT]
        urls = [filled(state, ids) for state in states]
        known = zip(urls, commands_of(urls), strict=True)
        while client.get("/api/fleet?excluded=1").json()["undiagnosed"]:
            pass
        yield Pages(settings.home, client, dict(zip(states, known, strict=True)))


def filled(state: str, ids: Mapping[str, str]) -> str:
    """The URL of a state: `{name}` is replaced by an id."""
    for name, id_ in ids.items():
        state = state.replace(quote(f"{{{name}}}"), id_)
    return state


# ---- the figures of a page, and of the verb ----


def of_ranking(page: Any) -> Any:
    return {
        tuple(map(str, group["key"])): (
            group["rank"],
            group["standing"],
            group["elapsed_s"]["median"],
            group["settings"],
            group["ratio"],
        )
        for group in page["groups"]
        if group["elapsed_s"]["median"] is not None
    }


def of_rank(verb: Any) -> Any:
    return {
        tuple(map(str, group["key"].values())): (
            group["rank"],
            group["standing"],
            pytest.approx(
                group["medians_not_like_with_like"]["elapsed_s"]
                if "settings" in group
                else group["summaries"]["elapsed_s"]["median"]
            ),
            group.get("settings"),
            group.get("ratio"),
        )
        for group in verb["groups"]
    }


def of_trials(page: Any) -> Any:
    return [(row["id"], row["state"], row["elapsed_s"]) for row in page["rows"]]


def of_ls(verb: Any) -> Any:
    return [(row["id"], row["state"], row["elapsed_s"]) for row in verb]


def of_fleet(answer: Any) -> Any:
    return [{**job, "started_at": None} for job in answer["jobs"]]


def of_option(option: Any) -> Any:
    which = [option[name] for name in ("instance_type", "volumes", "durability", "nodes")]
    times = [option[of][end] for of in ("time_s", "cost_usd") for end in ("value", "low", "high")]
    return [*which, *(pytest.approx(each, rel=1e-6) for each in times)]


def of_advice_page(page: Any) -> Any:
    return [of_option(row["option"]) for row in page["options"][:OPTIONS]]


def of_advice(verb: Any) -> Any:
    """The page has the first options of each class."""
    ranked = [one for found in verb["classes"] for one in found["ranked"][:OPTIONS]]
    return [of_option(one) for one in ranked[:OPTIONS]]


def of_whatif_page(page: Any) -> Any:
    sides = [page["answer"]["today"], *page["answer"]["targets"]]
    return [{**side["prediction"], "stages": None} for side in sides]


def of_whatif(verb: Any) -> Any:
    return [{**side, "stages": None} for side in (verb["today"], *verb["targets"])]


def of_compared_groups(page: Any) -> Any:
    return [
        (group["elapsed_s"]["median"], group["ratio"], group["p_value"]) for group in page["groups"]
    ]


def of_compare(verb: Any) -> Any:
    return [
        (group["summary"]["median"], test and test["ratio"], test and test["p_value"])
        for group in verb["groups"]
        for test in [group["against_first"]]
    ]


def same(answer: Any) -> Any:
    return answer


DATA = {"/": "/api/fleet"}
Figures = Callable[[Any], Any]
FIGURES: Mapping[str, tuple[Figures, Figures]] = {
    "/cost": (of_ranking, of_rank),
    "/effect": (same, same),
    "/scaling": (same, same),
    "/trials": (of_trials, of_ls),
    "/": (of_fleet, of_fleet),
    "/jobs": (lambda page: page["difference"], same),
    "/whatif": (of_whatif_page, of_whatif),
    "/compare": (of_compared_groups, of_compare),
    "/advice": (of_advice_page, of_advice),
}


def answered(pages: Pages, state: str) -> tuple[Any, str]:
    """The answer of the page in this state, and its command."""
    url, command = pages.commands[state]
    path = urlsplit(url).path
    answer = pages.client.get(f"{DATA.get(path, f'/api{path}')}?{urlsplit(url).query}")
    assert answer.status_code == 200, answer.text
    page = answer.json()
    if path == "/advice":
        (command,) = page["commands"]
    assert command is not None
    return page, command


@pytest.mark.parametrize("state", STATES)
def test_printed_command_gives_the_answer_of_the_page(
    state: str, pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, command = answered(pages, state)
    monkeypatch.setenv("VENTURI_HOME", str(pages.home))
    verb = json.loads(printed(*shlex.split(command)[1:], "--json"))["data"]
    of_page, of_verb = FIGURES[urlsplit(state).path]
    shown = of_page(page)
    assert shown, "a state without figures shows nothing"
    assert shown == of_verb(verb), command


def test_printed_command_of_a_refused_ranking_is_refused(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, command = answered(pages, REFUSED)
    monkeypatch.setenv("VENTURI_HOME", str(pages.home))
    with pytest.raises(UsageError) as refused:
        printed(*shlex.split(command)[1:])
    assert page["verdict"].startswith(f"Not ranked: {refused.value.message}")


def test_page_without_an_equal_verb_prints_no_command(pages: Pages) -> None:
    assert {pages.commands[state][1] for state in WITHOUT} == {None}
