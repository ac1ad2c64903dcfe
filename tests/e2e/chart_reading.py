"""The values that a reader gets from a chart or a table in the browser, by its axes and heads."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

Finding = dict[str, Any]


def affine(values: list[float], places: list[float]) -> float:
    """How far the `places` are from a straight scale of the `values`, in px at most."""
    low, high = min(range(len(values)), key=values.__getitem__), values.index(max(values))
    span = (places[high] - places[low]) / (values[high] - values[low])
    expected = [places[low] + span * (value - values[low]) for value in values]
    return max(abs(a - b) for a, b in zip(expected, places, strict=True))


def on_its_axis(chart: Finding, side: str, *, log: bool = False) -> list[float]:
    """The values of a chart's dots, read off the labels of one of its axes; times in seconds."""
    labels = []
    for word in chart["words"]:
        if found := re.fullmatch(r"\$?([+−]?[\d,.]+)", word["text"]):
            value = float(found[1].replace(",", "").replace("−", "-"))
            # Labels below the plane share a height; those on its left end at the same place.
            line = word["y"] if side == "x" else -(word["x"] + word["width"] / 2)
            labels.append((round(line), value, word[side]))
    edge = max(line for line, _, _ in labels)
    ticks = [(value, place) for line, value, place in labels if line >= edge - 1]
    (v0, p0), (v1, p1) = min(ticks), max(ticks)
    scale = math.log if log else float
    shares = [(dot[side] - p0) / (p1 - p0) for dot in chart["dots"]]
    values = [scale(v0) + share * (scale(v1) - scale(v0)) for share in shares]
    minutes = any(
        re.search("time.*[(]min[)]|difference.*[(]min[)]", w["text"])
        and (w["y"] > edge if side == "x" else w["x"] < -edge + 150)
        for w in chart["words"]
    )
    return [math.exp(value) if log else value * (60 if minutes else 1) for value in values]


def column(table: list[list[str]], name: str) -> list[str]:
    return [row[table[0].index(name)] for row in table[1:]]


def number(text: str) -> float:
    return float(text.replace(",", ""))


def close(values: list[float], expected: list[float], rel: float = 0.02) -> None:
    assert len(values) == len(expected)
    assert values == pytest.approx(expected, rel=rel)


def seconds(value: float) -> str:
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f} s"


def places(chart: Finding) -> tuple[float, float]:
    """Where 0 s is, and how many px a second has, by the labels of the time axis."""
    ticks = {
        float(word["text"][:-2]): word["x"]
        for word in chart["words"]
        if re.fullmatch(r"[\d.]+ s", word["text"])
        and word["y"] > max(w["y"] for w in chart["words"]) - 2
    }
    (low, x0), (high, x1) = min(ticks.items()), max(ticks.items())
    px_per_s = (x1 - x0) / (high - low)
    return x0 - low * px_per_s, px_per_s


def bar_of(chart: Finding, stage: Finding) -> tuple[float, float]:
    """From where to where the bar of a stage goes, in seconds."""
    zero, px_per_s = places(chart)
    label = f"{stage['label']} {stage['name']}"
    name = next(word for word in chart["words"] if word["text"] == label)
    row = [b for b in chart["boxes"] if b["top"] < name["y"] < b["bottom"] < b["top"] + 20]
    left, right = min(b["left"] for b in row), max(b["right"] for b in row)
    return (left - zero) / px_per_s, (right - zero) / px_per_s


def is_as_asked(step: Finding, most: int = 50) -> None:
    assert step["shown"] == step["ids"]
    assert len(step["shown"]) == min(most, step["total"])
    assert step["said"].startswith(f"{step['total']:,} trial")


def is_ranked(step: Finding) -> list[str]:
    """The groups in the order that is shown, which is the interface's."""
    rows, groups = step["table"][1:], step["answer"]["groups"]
    assert step["verdict"] == step["answer"]["verdict"]
    for row, group in zip(rows, groups, strict=True):
        assert row[0] == str(group["rank"])
        for cell, value, meaning in zip(row[1:3], group["key"], group["meanings"], strict=True):
            assert cell.startswith(value)
            assert cell.endswith(meaning or value)
        assert row[3].startswith(seconds(group["elapsed_s"]["median"]))
        assert row[4].startswith(f"${group['cost_usd']['median']:.3f}")
        assert row[5] == str(group["n"])
        assert row[-1].startswith(group["standing"])
    return [" ".join(group["key"]) for group in groups]


def scenes(name: str) -> pytest.MarkDecorator:
    """Mark a test as judging what the scene `name` of web/tests/scenes.mjs met."""
    return pytest.mark.parametrize("scene", [name], indirect=True)
