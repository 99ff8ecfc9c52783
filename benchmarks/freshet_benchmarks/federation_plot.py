"""The picture in `docs/explanation/federation.md`.

`python -m freshet_benchmarks.federation_plot FILE` runs the experiments again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from freshet.federation.candidates import Numbers

_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 330, 220, 50, 40, 190
_COLOURS = {
    "wst": "#888888",
    "gnr_rnd": "#c7a76c",
    "gnr_lru": "#8c6d31",
    "wsj_rnd": "#9ecae1",
    "wsj_lru": "#3182bd",
    "wsj_wbm_text": "#fdae6b",
    "wsj_wbm": "#e6550d",
    "wsj_learnt": "#74c476",
    "wsj_hinted": "#41ab5d",
    "wsj_learnt_before": "#238b45",
    "wsj_adaptive": "#00441b",
    "wsj_wbm_star": "#756bb1",
    "bst": "#222222",
}


def plot(curves: Mapping[str, Mapping[str, Numbers]]) -> str:
    """An SVG: for each kind of data the wrong answers of each policy, added up over the evaluations."""
    width = _LEFT + len(curves) * (_WIDTH + _GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_TOP + _HEIGHT + 40}"'
        ' font-family="sans-serif" font-size="11">'
    ]
    for at, (title, lines) in enumerate(curves.items()):
        parts += _chart(title, lines, _LEFT + at * (_WIDTH + _GAP))
    return "\n".join([*parts, "</svg>\n"])


def _chart(title: str, lines: Mapping[str, Numbers], left: int) -> list[str]:
    most = max(float(line[-1]) for line in lines.values())
    parts = [
        f'<text x="{left}" y="{_TOP - 18}" font-weight="bold">{title}: wrong answers, cumulated</text>',
        f'<path d="M{left} {_TOP}V{_TOP + _HEIGHT}H{left + _WIDTH}" fill="none" stroke="#444"/>',
        f'<text x="{left - 6}" y="{_TOP + 4}" text-anchor="end">{most:,.0f}</text>',
        f'<text x="{left - 6}" y="{_TOP + _HEIGHT}" text-anchor="end">0</text>',
    ]
    count = len(next(iter(lines.values())))
    parts.append(f'<text x="{left + _WIDTH}" y="{_TOP + _HEIGHT + 16}" text-anchor="end">{count} evaluations</text>')
    ends = _label_places([_TOP + _HEIGHT * (1 - float(line[-1]) / most) for line in lines.values()])
    for (name, line), end in zip(lines.items(), ends, strict=True):
        heights = _TOP + _HEIGHT * (1 - line / most)
        places = left + _WIDTH * np.arange(1, count + 1) / count
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights, strict=True))
        colour = _COLOURS[name]
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        label = name.replace("_star", "*").replace("_", " ")
        parts.append(f'<text x="{left + _WIDTH + 5}" y="{end + 4:.1f}" fill="{colour}">{label}</text>')
    return parts


def _label_places(heights: Sequence[float], apart: float = 13.0) -> list[float]:
    """The heights of labels, moved down where they would overlap."""
    result = list(heights)
    last = -apart
    for at in np.argsort(heights).tolist():
        result[at] = last = max(result[at], last + apart)
    return result


def main() -> None:
    from freshet_benchmarks.federation import experiments

    shown = 15
    curves = {
        f"{data} data, {shown} %": {
            policy: np.mean([run.errors.cumsum() for run in runs], axis=0)
            for (policy, percent), runs in results.items()
            if percent == shown
        }
        for data, results in experiments().items()
    }
    Path(sys.argv[1]).write_text(plot(curves))


if __name__ == "__main__":
    main()
