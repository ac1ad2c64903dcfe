"""The tables of the studies' pages: groups as they are ranked, compared with published figures."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from screenshots import ROOT
from study_table2 import cost_usd

PUBLISHED = ROOT / "python/venturi/record/starter"
# The shortest public trial of each row of Table 2 (cluster minerva100-10-18-21), which the table
# claims to show.
SHORTEST_S = {
    ("ETH", "SSD"): 265,
    ("IB", "SSD"): 228,
    ("IB", "SS2"): 207,
    ("ETH", "SS2"): 258,
    ("IB", "HS5"): 222,
    ("ETH", "HS5"): 275,
    ("ETH", "HD5"): 348,
    ("IB", "HD5"): 325,
}
TIME, COST = "elapsed_s", "cost"
# For groups of unmatched trials `rank` has medians, too, with a warning.
UNLIKE = {TIME: "elapsed_s", COST: "cost_usd"}
DIGITS = {TIME: 1, COST: 4}
Group = Mapping[str, Any]
FIGURES = ("trials", "median (s)", "interval", "standing")
"""The column heads for the result of `figures`."""


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def standing(group: Group) -> str:
    """Return a group's standing, with the reason if it is unknown."""
    return ": ".join(filter(None, (group["standing"], group["reason"])))


def central(group: Group, metric: str = TIME) -> float:
    """The median of a group: of trials that differ in nothing else, or else as `rank` has it."""
    if "summaries" in group:
        return float(group["summaries"][metric]["median"])
    return float(group["medians_not_like_with_like"][UNLIKE[metric]])


def trials(group: Group) -> int:
    """Return the number of trials."""
    if "summaries" in group:
        return max(int(each["n"]) for each in group["summaries"].values())
    return int(group["trials"])


def between(group: Group, metric: str = TIME) -> str:
    """The interval of its median, or, where trials differ in more, of its ratio."""
    alike = "summaries" in group
    found = (group["summaries"][metric] if alike else group)["interval"]
    if found is None:
        return "-"
    digits, what = (DIGITS[metric], "") if alike else (2, "ratio ")
    level = f"{100 * found['level']:.0f} %"
    return f"{what}{found['low']:.{digits}f} to {found['high']:.{digits}f} ({level})"


def figures(group: Group, metric: str = TIME) -> tuple[object, ...]:
    """Return a group's number of trials, their median, its interval, and the group's standing."""
    median = f"{central(group, metric):.{DIGITS[metric]}f}"
    return trials(group), median, between(group, metric), standing(group)


def published(name: str) -> list[dict[str, str]]:
    """The rows of a published table."""
    with (PUBLISHED / f"{name}.csv").open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


def layout(group: Group) -> tuple[str, str]:
    """The network and the disks of a group."""
    return group["key"]["cluster"], group["key"]["disk"]


def ranking_table(
    groups: Sequence[Group],
    metric: str,
    here: Mapping[tuple[str, str], float],
    printed: Mapping[tuple[str, str], float],
    corrected: Mapping[tuple[str, str], float],
) -> str:
    """Return a table of ranked groups, each figure as a multiple of the least in its column."""
    median_of = {TIME: "median (s)", COST: "median (USD)"}[metric]
    head = ("layout", FIGURES[0], median_of, *FIGURES[2:])
    return table(
        (*head, "of the least: here", "published", "corrected"),
        (
            (
                " ".join(layout(each)),
                *figures(each, metric),
                *(
                    f"{column[layout(each)] / min(column.values()):.2f}"
                    for column in (here, printed, corrected)
                ),
            )
            for each in groups
        ),
    )


def corrected_usd(key: tuple[str, str]) -> float:
    """Return the cost of the shortest public trial of a row of Table 2."""
    return cost_usd(key, SHORTEST_S[key])


def contradicted(
    printed_s: Mapping[tuple[str, str], float], here: Mapping[tuple[str, str], float]
) -> str:
    """Return the pairs of rows with the reverse order here, each by more than a twentieth, with
    both numbers.
    """
    told = ""
    for one in here:
        for other in here:
            published, found = printed_s[one] / printed_s[other], here[one] / here[other]
            if published > 1.05 and found < 1 / 1.05:
                told += (
                    f"- {' '.join(one)} / {' '.join(other)}: published {printed_s[one]:.0f} / "
                    f"{printed_s[other]:.0f} s = {published:.2f}, corrected "
                    f"{SHORTEST_S[one] / SHORTEST_S[other]:.2f}, here {here[one]:.1f} / "
                    f"{here[other]:.1f} s = {found:.2f}\n"
                )
    return told or "none\n"
