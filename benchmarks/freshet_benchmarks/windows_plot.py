"""The picture in `docs/benchmarks.md`.

`freshet bench windows --json | python -m freshet_benchmarks.windows_plot FILE` draws it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_WIDTH, _BAR, _ROW, _LEFT, _TOP = 300, 12, 22, 120, 44
_LIGHT, _DARK = "#9bbfe0", "#1f5f99"


def plot(figures: Mapping[str, float], windows: Sequence[str], workloads: Sequence[str]) -> str:
    """An SVG: for each workload a row of bars for how much of the pairs is found, and one for what waits on average."""
    height = _TOP + len(workloads) * (len(windows) * _ROW + 50)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + 2 * _WIDTH + 90}" height="{height}"'
        ' font-family="sans-serif" font-size="12">'
    ]
    top = _TOP
    for workload in workloads:
        measures = ("completeness", _LIGHT), ("waiting_mean", _DARK)
        for column, (measure, colour) in enumerate(measures):
            values = [figures[f"{workload}_{window}_{measure}"] for window in windows]
            left = _LEFT + column * (_WIDTH + 30)
            parts.append(_text(left, top - 10, f"{workload}: {_TITLES[measure]}", bold=True))
            parts += _bars(values, left, top, colour)
        parts += [_text(0, top + at * _ROW + _BAR, window.replace("_", " ")) for at, window in enumerate(windows)]
        top += len(windows) * _ROW + 50
    return "\n".join([*parts, "</svg>\n"])


_TITLES = {"completeness": "share of all pairs that is found", "waiting_mean": "records that wait, on average"}


def _bars(values: Sequence[float], left: int, top: int, colour: str) -> list[str]:
    room = _WIDTH - 60
    parts = []
    for at, value in enumerate(values):
        length = round(room * value / max(values))
        parts.append(f'<rect x="{left}" y="{top + at * _ROW}" width="{length}" height="{_BAR + 3}" fill="{colour}"/>')
        shown = f"{value:.3f}" if max(values) <= 1 else f"{value:,.0f}"
        parts.append(_text(left + length + 5, top + at * _ROW + _BAR, shown))
    return parts


def _text(left: int, top: int, text: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{left}" y="{top}"{weight}>{text}</text>'


def main() -> None:
    from freshet_benchmarks.windows import WINDOWS, WORKLOADS

    found = {figure["name"]: figure["value"] for figure in json.load(sys.stdin)["figures"]}
    Path(sys.argv[1]).write_text(plot(found, list(WINDOWS), [workload.name for workload in WORKLOADS]))


if __name__ == "__main__":
    main()
