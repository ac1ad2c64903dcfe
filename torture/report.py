"""The results of a round, as a line on the terminal and as a row of docs/reliability.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_BEGIN = "<!-- rounds: written by `python -m torture --write` -->"
_END = "<!-- end of rounds -->"
_HEAD = ("round", "question", "cases", "faults", "outcomes", "date, seed, time")


@dataclass(frozen=True, slots=True)
class RoundResult:
    """One playing of a round. `unavailable` says why it could not be played, else None."""

    name: str
    question: str
    date: str
    seed: int
    done: int
    elapsed_s: float
    seen: Mapping[str, int]
    faults: tuple[str, ...]
    unavailable: str | None
    interrupted: bool = False
    hits: Mapping[str, int] = field(default_factory=dict)


def line_of(played: RoundResult) -> str:
    """One line, and one more for each fault."""
    if played.unavailable is not None:
        return f"{played.name}: not played: {played.unavailable}"
    first = (
        f"{played.name}: {played.done:,} cases in {played.elapsed_s:.0f} s, "
        f"{len(played.faults)} faults ({_seen(played)})"
    )
    return "\n".join([first, *(f"  FAULT {fault}" for fault in played.faults)])


def written(page: str, results: Sequence[RoundResult]) -> str:
    """The page with the rows of `results`; rows of rounds that were not played stay."""
    before, _, rest = page.partition(_BEGIN)
    table, _, after = rest.partition(_END)
    rows = {
        line.split("|")[1].strip(): line for line in table.splitlines() if line.startswith("| `")
    }
    for played in results:
        if played.unavailable is None:
            rows[f"`{played.name}`"] = _row(played)
    lines = [_cells(_HEAD), "|---" * len(_HEAD) + "|", *(rows[name] for name in sorted(rows))]
    return "\n".join([before + _BEGIN, *lines, _END + after])


def _row(played: RoundResult) -> str:
    return _cells(
        (
            f"`{played.name}`",
            played.question,
            f"{played.done:,}",
            f"{len(played.faults)}",
            _sentences(played.seen) + (f" Kills: {_counts(played.hits)}." if played.hits else ""),
            f"{played.date}, {played.seed}, {played.elapsed_s:.0f} s",
        )
    )


def _cells(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def _sentences(counts: Mapping[str, int]) -> str:
    """Each outcome as a sentence: they can be many."""
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return " ".join(f"{what[:1].upper()}{what[1:]}: {count:,}." for what, count in order) or "None."


def _seen(played: RoundResult) -> str:
    hits = f"; kills: {_counts(played.hits)}" if played.hits else ""
    return (_counts(played.seen) or "nothing") + hits


def _counts(counts: Mapping[str, int]) -> str:
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{what} {count:,}" for what, count in order)
