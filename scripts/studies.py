"""Writes the results of the studies into their pages, as tables and Venturi's answers, from the
repository with their trials, and draws each page's first table.

Usage: python scripts/studies.py [--pictures] [NAME...]. The repository is that of VENTURI_HOME. A
page is docs/studies/NAME.md; the text between its two comments `results` is replaced. --pictures:
only draw the existing tables.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from screenshots import IMAGES, ROOT, VENTURI
from study_pictures import picture
from study_tables import (
    COST,
    FIGURES,
    SHORTEST_S,
    TIME,
    Group,
    central,
    contradicted,
    corrected_usd,
    figures,
    layout,
    published,
    ranking_table,
    table,
)

from venturi.core.units import binary_size, format_bytes_decimal, format_latency
from venturi.core.wording import percent
from venturi.measure.engines.spark.tiers import RESERVES_SETTING
from venturi.measure.hosts.trace_results import TracedPattern
from venturi.record.job_account import TIERS_SETTING
from venturi.terminal.io_shares import not_attributed, pattern_name
from venturi.terminal.io_trace import read as read_trace

STUDIES = ROOT / "docs/studies"
BETWEEN = re.compile(r"(<!-- results -->\n).*?(<!-- end of results -->)", re.DOTALL)
# Prices of Table 2: the whole cluster an hour, and surcharges by layout.
PRICES = (
    "--usd-per-hour=3.50",
    *("--plus=cluster=IB:0.80", "--plus=disk=HDD:0.20", "--plus=disk=SSD:0.70"),
)
TEN_TB = "10000000000000"


def venturi(*words: str) -> str:
    """Run `venturi` and return its stdout."""
    done = subprocess.run([VENTURI, *words], check=True, text=True, stdout=subprocess.PIPE)
    return done.stdout


def asked(*words: str) -> Any:
    """The data of its JSON answer."""
    return json.loads(venturi(*words, "--json"))["data"]


def experiment(name: str) -> str:
    """The id of the study's plan, which is the experiment of its trials."""
    return str(asked("plan", "status", str(STUDIES / f"{name}.toml"))["plan"])


def ranked(where: str, by: Sequence[str], *more: str) -> Any:
    """Return the answer of `venturi rank`."""
    return asked("rank", *(f"--by={key}" for key in by), "--where", where, *more)


def listed(where: str, *more: str) -> Any:
    """The trials that succeeded."""
    return asked("ls", "--where", where, *more, "--state", "succeeded", "--limit", "0")


def measured(wheres: Sequence[str]) -> list[str]:
    """Those of plans that have a trial; asking for a value that no trial has is an error."""
    there = {f"experiment={each['experiment']}" for each in asked("ls", "--limit", "0")}
    return [where for where in wheres if where in there]


def middle(where: str, group: Group) -> str:
    """Return the id of the trial with the time nearest to its group's median."""
    keys = (f"{key}={value or ''}" for key, value in group["key"].items())
    found = listed(where, *(word for key in keys for word in ("--where", key)))
    took_s = central(group)
    return str(min(found, key=lambda trial: abs(trial["elapsed_s"] - took_s))["id"])


def said(answer: Mapping[str, Any]) -> str:
    """The verdict as it was given."""
    return f"> {answer['verdict']}\n"


def effects(where: str, key: str, *more: str) -> str:
    """Return the verdicts of `venturi effect KEY`, a line for each value."""
    answer = asked("effect", key, "--where", where, *more)
    told = [effect["verdict"] for effect in answer["effects"]]
    return quoted_list(told)


def quoted_list(lines: Iterable[str]) -> str:
    """Output of a command as a quoted list, each line once."""
    return "".join(f"> - {line}\n" for line in dict.fromkeys(lines))


def aloja(where: str) -> str:
    """The rankings by time and by cost, compared with the published and the corrected table."""
    by = ("cluster", "disk")
    printed = {
        (row["configuration.net"], row["configuration.disk"]): row
        for row in published("poggi-2015")
        if row["place"] == "Table 2"
    }
    printed_s = {key: float(row["elapsed_s"]) for key, row in printed.items()}
    printed_usd = {key: float(row["cost_usd"]) for key, row in printed.items()}
    corrected = {key: corrected_usd(key) for key in SHORTEST_S}
    time, cost = ranked(where, by), ranked(where, by, "--objective", "cost", *PRICES)
    usd = {layout(each): central(each, COST) for each in cost["groups"]}
    seconds = {layout(each): central(each) for each in time["groups"]}
    return "\n".join(
        (
            "By time:\n",
            ranking_table(time["groups"], TIME, seconds, printed_s, SHORTEST_S),
            said(time),
            "By cost:\n",
            ranking_table(cost["groups"], COST, usd, printed_usd, corrected),
            said(cost),
            "Effect of the network over all layouts, and of the disks over both networks "
            "(`venturi effect`):\n",
            effects(where, "cluster", "--baseline", "ETH")
            + effects(where, "disk", "--baseline", "HD5"),
            "Pairs in the opposite order to the published one:\n",
            contradicted(printed_s, seconds),
        )
    )


def vm_layout(where: str) -> str:
    """The six layouts, and each of the two causes with the other one held."""
    answer = ranked(where, ("cluster",))
    rows = []
    for group in answer["groups"]:
        ports, _, machines = str(group["key"]["cluster"]).partition("-")
        rows.append(
            (
                machines,
                {"own": "one each", "shared": "all shared"}[ports],
                16 // int(machines),
                *figures(group),
            )
        )
    printed = [
        (row["configuration.platform"], row["elapsed_s"])
        for row in published("jaffe-2017")
        if row["workload"] == "teragen" and row["input_bytes"] == TEN_TB
    ]
    head = ("machines a host", "ports", "disks a DataNode", *FIGURES)
    pairs = (
        ("own-1", "shared-1"),
        ("own-2", "shared-2"),
        ("own-4", "shared-4"),
        ("shared-1", "shared-2"),
        ("shared-1", "shared-4"),
        ("own-1", "own-4"),
    )
    told = asked("effect", "cluster", "--where", where, "--baseline", "own-1")
    shared = asked("effect", "cluster", "--where", where, "--baseline", "shared-1")
    verdicts = [each["verdict"] for each in (*told["effects"], *shared["effects"])]
    took = {str(each["key"]["cluster"]): central(each) for each in answer["groups"]}
    return "\n".join(
        (
            table(head, rows),
            "`venturi rank`:\n",
            said(answer),
            table(
                ("from", "to", "change", "ratio of medians"),
                (
                    (one, other, _change(one, other), f"{took[other] / took[one]:.2f}")
                    for one, other in pairs
                ),
            ),
            "`venturi effect cluster`, against own-1 and against shared-1:\n",
            quoted_list(verdicts),
            "Published, TeraGen of 10 TB (s): "
            + ", ".join(f"{cluster} {seconds}" for cluster, seconds in printed)
            + "\n",
        )
    )


def _change(one: str, other: str) -> str:
    (ports, machines), (other_ports, other_machines) = one.split("-"), other.split("-")
    changes = [
        word
        for word, differs in (
            ("ports", ports != other_ports),
            ("machines and disks a DataNode", machines != other_machines),
        )
        if differs
    ]
    # A machine's own port is one of two: with more machines, more ports.
    if ports == other_ports == "own":
        changes.append("ports")
    return " and ".join(changes)


def uneven(where: str) -> str:
    """Report the slow parts with and without second copies, and the tail of each group's median
    trial.
    """
    by = ("cluster", "mapreduce.map.speculative")
    answer = ranked(where, by)
    rows = []
    for group in answer["groups"]:
        cluster, second = group["key"][by[0]], str(group["key"][by[1]])
        job = asked("show", middle(where, group)).get("job") or {"stages": ()}
        rows.append(
            (
                cluster,
                "yes" if second.lower() == "true" else "no",
                *figures(group),
                _tail(job, 0),
                _tail(job, 1),
                _killed(job),
            )
        )
    head = (
        "cluster",
        "second copies",
        *FIGURES,
        "map: longest / median",
        "reduce: longest / median",
        "attempts killed",
    )
    return "\n".join(
        (
            table(head, rows),
            "`venturi rank`:\n",
            said(answer),
            "`venturi effect cluster --baseline even` (without speculation), and the effect of "
            "speculation:\n",
            effects(where, "cluster", "--baseline", "even", "--where", f"{by[1]}=false")
            + effects(
                where, by[1], "--baseline", "false", "--ignore", "mapreduce.reduce.speculative"
            ),
        )
    )


def _tail(job: Any, stage: int) -> str:
    """The longest task of a stage by its median one."""
    for skew in job["stages"][stage]["skews"] if len(job["stages"]) > stage else ():
        if skew["what"] == "task time" and skew["ratio"] is not None:
            return f"{skew['ratio']:.2f}"
    return "-"


def _killed(job: Any) -> int:
    """Return the number of attempts killed because another attempt finished first."""
    return sum(stage["attempts_by_outcome"].get("killed", 0) for stage in job["stages"])


def tiers(*wheres: str) -> str:
    """Report by workload: the layouts, the relevant ratios, the placement of files, the
    predictions; finally (from the last plan) the effect of reserved space for shuffle data.

    Plans without measurements are omitted.
    """
    *workloads, reserves = wheres
    there = measured(wheres)
    found = [of_tiers(where) for where in workloads if where in there]
    found += [of_reserves(reserves)] if reserves in there else []
    return "\n".join(found) or UNMEASURED


def of_tiers(where: str) -> str:
    """The results of one workload."""
    answer = ranked(where, TIERS_BY)
    groups = {tier_layout(each["key"]): each for each in answer["groups"]}
    middles = {name: middle(where, each) for name, each in groups.items()}
    hdd_s = central(groups[HDDS]) if HDDS in groups else None
    rows = [
        (
            name,
            *figures(each),
            "-" if hdd_s is None else f"{hdd_s / central(each):.2f}",
        )
        for name, each in groups.items()
    ]
    head = ("local files", *FIGURES, f"{HDDS} / it")
    beside = "mergerfs" if MERGED in groups else SSD if hdd_s is None else None
    title = listed(where)[0]["workload"] + (f", compared with {beside}" if beside else "")
    return "\n".join(
        (
            f"### {title}\n",
            table(head, rows),
            "`venturi rank`:\n",
            said(answer),
            "Ratios of medians (`venturi compare`):\n",
            table(("ratio", "is", "interval", "bar"), ratios(where, middles)),
            "Bytes by tier, over all files that a trial wrote (`venturi show`):\n",
            placed(middles),
            *(
                f"Predicted from a trial of *{name}* (`venturi advise tiers`):\n\n"
                f"{predicted(name, middles[name], groups)}"
                for name in (HALF, NONE_FIT, ALL_FIT)
                if name in middles and len(groups) > 2
            ),
        )
    )


def of_reserves(where: str) -> str:
    """With spills on the fast disk, and without."""
    answer = ranked(where, [RESERVES_SETTING])
    groups = {str(each["key"][RESERVES_SETTING]): each for each in answer["groups"]}
    rows = [(name, *figures(each)) for name, each in groups.items()]
    middles = {name: middle(where, each) for name, each in groups.items()}
    head = ("reserves", *FIGURES)
    return "\n".join(
        (
            "### Reserve for shuffle data: terasort with spills\n",
            table(head, rows),
            "`venturi rank`:\n",
            said(answer),
            "Bytes by tier:\n",
            placed(middles),
        )
    )


def tier_layout(key: Mapping[str, Any]) -> str:
    """Return the name of a layout on the page."""
    disk, tiers_ = (str(key[name]) for name in TIERS_BY)
    return STOCK[disk] if tiers_ == "none" else f"tiers, {FITS.get(tiers_, tiers_)}"


def ratios(where: str, middles: Mapping[str, str]) -> Iterable[Sequence[object]]:
    """Yield the ratios with an expected value, and that value; `middles` are trials by layout.

    All trials are from one plan, in which layouts took turns, because a host's state changes from
    day to day.
    """
    for over, under, bar in EXPECTED:
        if over not in middles or under not in middles:
            continue
        answer = asked("compare", middles[under], middles[over], "--where", where)
        verdict = answer["groups"][1]["against_first"]
        ratio, found = verdict["ratio"], verdict["interval"]
        told = "-" if found is None else f"{found['low']:.2f} to {found['high']:.2f}"
        yield f"{over} / {under}", "-" if ratio is None else f"{ratio:.2f}", told, bar


def placed(middles: Mapping[str, str]) -> str:
    """Bytes by kind and tier, of the layouts with tiers."""
    rows = [
        (
            name,
            use["kind"],
            use["tier"],
            f"{use['seen_bytes'] / 1e6:.0f}",
            f"{use['peak_bytes'] / 1e6:.0f}",
            use["overflows"],
        )
        for name, trial in middles.items()
        for use in (asked("show", trial).get("job") or {}).get("tiers", ())
        if use["seen_bytes"]
    ]
    return table(("layout", "kind", "tier", "MB in all", "MB at most", "overflows"), rows)


def predicted(of: str, trial: str, groups: Mapping[str, Group]) -> str:
    """Compare the times by fast storage, predicted from `trial` of the layout `of`, with the
    measured ones.
    """
    sizes = {name: size for name in groups if (size := fast_bytes(groups[name])) is not None}
    words = [word for size in dict.fromkeys(sizes.values()) for word in ("--size", f"{size}B")]
    try:
        answer = asked("advise", "tiers", trial, *words)
    except subprocess.CalledProcessError as error:
        return f"nothing: exit status {error.returncode}\n"
    steps = {step["fast_bytes"]: step["time_s"] for step in answer["steps"]}
    rows, off = [], []
    for name, size in sizes.items():
        found, took_s = steps[size], central(groups[name])
        if name != of:
            off.append(abs(found["value"] / took_s - 1))
        rows.append(
            (
                name,
                f"{found['value']:.1f}",
                f"{found['low']:.1f} to {found['high']:.1f}",
                f"{took_s:.1f}",
                f"{found['value'] / took_s:.2f}",
            )
        )
    head = ("local files", "predicted (s)", "range", "measured (s)", "predicted / measured")
    error = ""
    if off:
        error = f"Median error over the other layouts: {100 * statistics.median(off):.0f} %."
    return f"{table(head, rows)}\n{error}\n"


def fast_bytes(group: Group) -> int | None:
    """Return the amount of fast storage in a layout, for `advise tiers`; None if it isn't an
    amount.
    """
    disk, tiers_ = (str(group["key"][name]) for name in TIERS_BY)
    if disk == "hdd" or FITS.get(tiers_) == NOTHING:
        return 0
    if tiers_ == "none":
        return None
    return round(float(tiers_.removeprefix("ssd max ").removesuffix("MB")) * 1e6)


def spark_io(*wheres: str) -> str:
    """Report, plan by plan, the time of each combination, and the patterns in its trial of median
    time; plans without measurements are omitted.
    """
    there = measured(wheres)
    if not there:
        return UNMEASURED
    groups = [
        (where, spark_io_words(each["key"]), each)
        for where in there
        for each in ranked(where, SPARK_IO_BY)["groups"]
    ]
    times = [(*words, *figures(each)) for _, words, each in groups]
    rows, attributed = [], []
    for where, words, each in groups:
        trace = read_trace(asked("trace", "show", middle(where, each)))
        if trace.whose is None:
            continue
        attributed.append(f"- {', '.join(words)}: {not_attributed(trace.whose)}")
        rows += [
            (pattern_name(found), *words, *spark_io_figures(found))
            for found in trace.whose.patterns
            if found.file_class in SPARK_IO_FILES and found.verdict is not None
        ]
    factors = ("workload", "disk", "partitions", "sorts")
    columns = (
        "bytes",
        "median size",
        "without a seek",
        "of 16 streams",
        "mean run",
        "median time",
        "verdict",
    )
    return "\n".join(
        (
            table((*factors, *FIGURES), times),
            "The patterns of the trial with the median time of each:\n",
            table(("pattern", *factors, *columns), sorted(rows)),
            *attributed,
            "",
        )
    )


def spark_io_words(key: Group) -> tuple[str, ...]:
    """Return the name of a combination: its workload, disk, partitions, and whether its sorts
    spill.
    """
    *words, threshold = (str(key[name]) for name in SPARK_IO_BY)
    return *words, "spill" if int(threshold) < NEVER_SPILLS else "in memory"


def spark_io_figures(found: TracedPattern) -> Sequence[str]:
    """Return the figures of a pattern."""
    size, times, verdict = found.size_median_bytes, found.issued_to_done, found.verdict
    plain, streams = found.seek_plain, found.seek_streams
    p50_ns = None if times is None else times.p50_ns
    return (
        format_bytes_decimal(found.issued.bytes),
        "-" if size is None else binary_size(size),
        *(percent(each.zero / each.count) if each.count else "-" for each in (plain, streams)),
        format_bytes_decimal(found.runs.mean_bytes),
        format_latency(None if p50_ns is None else p50_ns / 1e9),
        "-" if verdict is None else ACCESS.get(verdict.access, verdict.access.replace("_", " ")),
    )


ACCESS = {"cannot_tell": "undecided"}
UNMEASURED = "Not measured yet: `make studies` writes what the repository has.\n"
TIERS_BY = ("disk", TIERS_SETTING)
HDDS, SSD, EVENLY, MERGED = "HDDs only", "SSD only", "stock, spread evenly", "mergerfs, half fits"
STOCK = {"hdd": HDDS, "ssd": SSD, "mixed": EVENLY, "merged": MERGED}
NOTHING, SOME, EVERYTHING = "nothing fits", "half fits", "everything fits"
FITS = {
    "ssd 100GB": NOTHING,
    "ssd max 50MB": SOME,
    "ssd max 90MB": SOME,
    "ssd max 150MB": SOME,
    "ssd max 1000MB": EVERYTHING,
}
NONE_FIT, HALF, ALL_FIT = (f"tiers, {fits}" for fits in (NOTHING, SOME, EVERYTHING))
EXPECTED = (
    (ALL_FIT, SSD, "at most 1.02"),
    (NONE_FIT, HDDS, "at most 1.02"),
    (HDDS, ALL_FIT, "at least 1.8"),
    (HDDS, HALF, "at least 1.4"),
    (EVENLY, HALF, "at least 1.1"),
    (MERGED, HALF, "-"),
)
SPILL_SETTING = "spark.shuffle.spill.numElementsForceSpillThreshold"
SPARK_IO_BY = ("workload", "disk", "spark.sql.shuffle.partitions", SPILL_SETTING)
NEVER_SPILLS = 2**31 - 1
SPARK_IO_FILES = ("rdd_block", "shuffle_data", "spill")
RESULTS: Mapping[str, Callable[..., str]] = {
    "aloja": aloja,
    "vm-layout": vm_layout,
    "uneven": uneven,
    "tiers": tiers,
    "spark-io": spark_io,
}
# A study has a plan of its name, or these.
PLANS = {
    "tiers": (
        "tiers-terasort",
        "tiers-mergerfs",
        "tiers-nweight",
        "tiers-mergerfs-nweight",
        "tiers-sql-analysis",
        "tiers-mergerfs-sql-analysis",
        "tiers-kmeans",
        "tiers-mergerfs-kmeans",
        "tiers-cost",
        "tiers-reserves",
    ),
    "spark-io": ("spark-io", "spark-io-kmeans"),
}


def write(name: str) -> None:
    """Write the results of a study into its page."""
    wheres = [f"experiment={experiment(plan)}" for plan in PLANS.get(name, (name,))]
    page = STUDIES / f"{name}.md"
    text, count = BETWEEN.subn(
        lambda found: f"{found[1]}\n{RESULTS[name](*wheres)}\n{found[2]}",
        page.read_text(encoding="utf-8"),
    )
    if count != 1:
        raise SystemExit(f"{page}: the two comments for results are not there once each")
    page.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0."""
    names = [each for each in arguments if each != "--pictures"] or list(RESULTS)
    for name in names:
        if "--pictures" not in arguments:
            write(name)
        text = (STUDIES / f"{name}.md").read_text(encoding="utf-8")
        if UNMEASURED not in text:
            (IMAGES / f"study-{name}.svg").write_text(picture(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
