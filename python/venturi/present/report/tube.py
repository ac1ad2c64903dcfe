"""The Venturi tube of a phase, as inline SVG: its flow passes the stages one after the other.

At each stage the opening is the inverse of the share of the phase in which the stage was usefully
busy: a stage busy all the time lets exactly the flow through (opening 1), one busy half of the time
could let through twice as much. Openings are drawn up to `OPENING_MAX`.
"""

from __future__ import annotations

from itertools import pairwise

from markupsafe import Markup

from venturi.present.report.data import Narrowest

OPENING_MAX = 4.0
STEP, HEIGHT = 104.0, 48.0  # units of the drawing: one stage, the widest opening
NAME_LENGTH = 16

_FRAME = Markup(
    '<svg class="tube" width="{0:.0f}" height="{1:.0f}" viewBox="0 -17 {0:.0f} {1:.0f}"'
    ' aria-hidden="true">'
)
_WALL = Markup('<path class="wall" d="M{}"/>')
_FLOW = Markup('<rect class="flow" x="0" y="{:.1f}" width="{:.0f}" height="{:.1f}"/>')
_PINCH = Markup('<path class="pinch" d="M{0:.1f} {1:.1f}V{2:.1f}M{0:.1f} {3:.1f}V{4:.1f}"/>')
_TEXT = Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>')


def _half(busy: float) -> float:
    """Half of the opening, in units of the drawing."""
    opening = OPENING_MAX if busy <= 0 else min(OPENING_MAX, max(1.0, 1 / busy))
    return opening / OPENING_MAX * HEIGHT / 2


def _wall(halves: list[float], sign: int) -> str:
    """A smooth wall through the middle of each stage, above (-1) or below (+1) the axis."""
    xs = [0.0, *(STEP * (place + 0.5) for place in range(len(halves))), STEP * len(halves)]
    ys = [HEIGHT / 2 + sign * half for half in (halves[0], *halves, halves[-1])]
    path = f"{xs[0]:.1f} {ys[0]:.1f}"
    for (x0, y0), (x1, y1) in pairwise(zip(xs, ys, strict=True)):
        middle = (x0 + x1) / 2
        path += f"C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x1:.1f} {y1:.1f}"
    return path


def tube(point: Narrowest) -> Markup:
    """The drawing of one phase; its words stand beside it, so it is hidden from screen readers."""
    halves = [_half(stage.busy) for stage in point.stages]
    width, flow = STEP * len(halves), HEIGHT / OPENING_MAX
    parts = [
        _FRAME.format(width, HEIGHT + 36),
        _FLOW.format((HEIGHT - flow) / 2, width, flow),
        _WALL.format(_wall(halves, -1)),
        _WALL.format(_wall(halves, 1)),
    ]
    for place, (stage, half) in enumerate(zip(point.stages, halves, strict=True)):
        x, middle = STEP * (place + 0.5), HEIGHT / 2
        kind = "throat" if stage.narrowest else "stage"
        if stage.narrowest:
            parts.append(_PINCH.format(x, 0, middle - half, middle + half, HEIGHT))
        name = stage.name.split(" on ")[0][:NAME_LENGTH]
        parts.append(_TEXT.format(kind, x, -6, name))
        parts.append(_TEXT.format(kind, x, HEIGHT + 14, f"busy {stage.busy:.0%}"))
    return Markup("").join([*parts, Markup("</svg>")])
