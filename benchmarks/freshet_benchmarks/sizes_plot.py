"""The picture of `freshet bench sizes` in `docs/benchmarks.md`: cost by size, both axes in powers of ten.

`freshet bench sizes --json | python -m freshet_benchmarks.sizes_plot FILE` draws it.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

Line = Sequence[tuple[float, float]]


class Panel(NamedTuple):
    """One diagram: what its axes are, and by which names the figures of each line are known."""

    size: str
    cost: str
    lines: Mapping[str, str]


PANELS = (
    Panel(
        "rows of the window",
        "µs an element",
        {"AVG by group": r"window_average_(\d+)_rows_microseconds", "join": r"window_join_(\d+)_rows_microseconds"},
    ),
    Panel(
        "queries",
        "ms a batch",
        {
            "at once, CQELS-QL": r"queries_cqels_(\d+)_ms",
            "one a batch, CQELS-QL": r"queries_cqels_(\d+)_one_a_batch_ms",
            "at once, RSP-QL": r"queries_rspql_(\d+)_ms",
            "one a batch, RSP-QL": r"queries_rspql_(\d+)_one_a_batch_ms",
        },
    ),
    Panel("stored triples", "ms a batch", {"L1 to L6": r"stored_(\d+)_triples_batch_ms"}),
)
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP, _LEGEND = 240, 170, 60, 40, 80, 16
_COLOURS = ("#1f5f99", "#c0632b", "#3d8b4f", "#7a5aa6")


def plot(figures: Mapping[str, float]) -> str:
    """An SVG with a diagram for each panel."""
    width = _LEFT + len(PANELS) * (_WIDTH + _GAP)
    height = _TOP + _HEIGHT + 50 + _LEGEND * max(len(panel.lines) for panel in PANELS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="11">'
    ]
    for number, panel in enumerate(PANELS):
        parts += _panel(panel, figures, _LEFT + number * (_WIDTH + _GAP))
    return "\n".join([*parts, "</svg>\n"])


def line_of(figures: Mapping[str, float], name: str) -> Line:
    """Sizes and costs, by size."""
    found = ((re.fullmatch(name, key), value) for key, value in figures.items())
    return sorted((float(match[1]), value) for match, value in found if match and value > 0)


def _panel(panel: Panel, figures: Mapping[str, float], left: int) -> list[str]:
    lines = {label: line_of(figures, name) for label, name in panel.lines.items()}
    points = [point for line in lines.values() for point in line]
    if not points:
        return []
    low_x, high_x = _range([x for x, _ in points])
    low_y, high_y = _range([y for _, y in points])

    def place(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - low_x) / (high_x - low_x)
        up = (math.log10(y) - low_y) / (high_y - low_y)
        return round(left + _WIDTH * across, 1), round(_TOP + _HEIGHT * (1 - up), 1)

    parts = [_text(left, _TOP - 12, f"{panel.cost} by {panel.size}", bold=True)]
    for power in range(low_x, high_x + 1):
        x, _ = place(10**power, 10**low_y)
        parts.append(_rule(x, _TOP, x, _TOP + _HEIGHT))
        parts.append(_text(x - 8, _TOP + _HEIGHT + 14, _short(power)))
    for power in range(low_y, high_y + 1):
        _, y = place(10**low_x, 10**power)
        parts.append(_rule(left, y, left + _WIDTH, y))
        parts.append(_text(left - 34, y + 4, _short(power)))
    for at, (label, line) in enumerate(lines.items()):
        colour = _COLOURS[at]
        drawn = " ".join(f"{x},{y}" for x, y in (place(*point) for point in line))
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for point in line:
            x, y = place(*point)
            parts.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>')
        top = _TOP + _HEIGHT + 34 + at * _LEGEND
        parts.append(f'<rect x="{left}" y="{top - 8}" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(left + 16, top, label))
    return parts


def _range(values: Sequence[float]) -> tuple[int, int]:
    """The powers of ten around values."""
    low = math.floor(math.log10(min(values)))
    return low, max(low + 1, math.ceil(math.log10(max(values))))


def _short(power: int) -> str:
    """A power of ten: 0.01, 10, 1k, 10M."""
    if power < 3:
        return f"{10.0**power:g}"
    return f"{10 ** (power % 3)}{'kMG'[power // 3 - 1]}"


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#ddd"/>'


def _text(left: float, top: float, text: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{left}" y="{top}"{weight}>{text}</text>'


def main() -> None:
    found = {figure["name"]: figure["value"] for figure in json.load(sys.stdin)["figures"]}
    Path(sys.argv[1]).write_text(plot(found))


if __name__ == "__main__":
    main()
