"""What a benchmark found, in one form for people and one for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a figure is held against."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. Its name stays the same from one version to the next."""

    name: str
    value: float
    unit: str
    baseline: Baseline | None = None

    @property
    def ratio(self) -> float | None:
        """Value over baseline; None where there is nothing to divide by."""
        return self.value / self.baseline.value if self.baseline and self.baseline.value else None

    def as_json(self) -> dict[str, Any]:
        """The object that `bench --json` prints for it."""
        baseline = {"name": self.baseline.name, "value": self.baseline.value} if self.baseline else None
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "baseline": baseline,
            "ratio": self.ratio,
        }


def figures_json(bench: str, figures: Sequence[Figure]) -> str:
    """All figures of a benchmark as one JSON object on one line."""
    return json.dumps({"bench": bench, "figures": [figure.as_json() for figure in figures]}, allow_nan=False)


def figures_table(bench: str, figures: Sequence[Figure]) -> Table:
    """All figures of a benchmark for the eye."""
    table = Table(title=bench, title_justify="left", box=None, pad_edge=False, header_style="dim")
    table.add_column("figure")
    for heading in ("value", "unit", "against", "ratio"):
        table.add_column(heading, justify="left" if heading in ("unit", "against") else "right")
    for figure in figures:
        against = f"{figure.baseline.name} {_number(figure.baseline.value)}" if figure.baseline else ""
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
        table.add_row(figure.name, _number(figure.value), figure.unit, against, ratio)
    return table


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
