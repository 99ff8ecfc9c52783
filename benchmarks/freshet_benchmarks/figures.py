"""What a benchmark found, in one form for people and one for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from rich.table import Table


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a figure is held against."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Spread:
    """The lowest and the highest of some numbers."""

    low: float
    high: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Spread:
        """The spread of at least one number."""
        return cls(min(numbers), max(numbers))


@dataclass(frozen=True, slots=True)
class Repeats:
    """How the runs vary whose medians a figure has."""

    runs: int
    value: Spread
    baseline: Spread | None
    ratio: Spread | None


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. Its name stays the same from one version to the next."""

    name: str
    value: float
    unit: str
    baseline: Baseline | None = None
    repeats: Repeats | None = None

    @property
    def ratio(self) -> float | None:
        """Value over baseline; None where there is nothing to divide by."""
        return self.value / self.baseline.value if self.baseline and self.baseline.value else None

    def as_json(self) -> dict[str, Any]:
        """The object that `bench --json` prints for it."""
        baseline = {"name": self.baseline.name, "value": self.baseline.value} if self.baseline else None
        found = {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "baseline": baseline,
            "ratio": self.ratio,
        }
        return found if self.repeats is None else {**found, "repeats": asdict(self.repeats)}


def combine_runs(runs: Sequence[Sequence[Figure]]) -> list[Figure]:
    """The figures of several runs of a benchmark as one: medians, with the range of the runs.

    >>> runs = [[Figure("rows", value, "rows/s")] for value in (5.0, 7.0, 9.0)]
    >>> [(each.value, each.repeats.value) for each in combine_runs(runs)]
    [(7.0, Spread(low=5.0, high=9.0))]

    A figure that some runs lack has the median of the others.
    """
    by_name: dict[str, list[Figure]] = {}
    for run in runs:
        for figure in run:
            by_name.setdefault(figure.name, []).append(figure)
    return [_combine(figures) for figures in by_name.values()]


def _combine(figures: list[Figure]) -> Figure:
    first = figures[0]
    values = [each.value for each in figures]
    baselines = [each.baseline.value for each in figures if each.baseline]
    ratios = [each.ratio for each in figures if each.ratio is not None]
    repeats = Repeats(
        len(figures),
        Spread.of(values),
        Spread.of(baselines) if baselines else None,
        Spread.of(ratios) if ratios else None,
    )
    baseline = Baseline(first.baseline.name, median(baselines)) if first.baseline else None
    return Figure(first.name, median(values), first.unit, baseline, repeats)


def figures_json(bench: str, figures: Sequence[Figure]) -> str:
    """All figures of a benchmark as one JSON object on one line."""
    return json.dumps({"bench": bench, "figures": [figure.as_json() for figure in figures]}, allow_nan=False)


def figures_of_json(found: dict[str, Any]) -> list[Figure]:
    """The figures of an object that `bench --json` printed."""
    return [
        Figure(
            each["name"],
            each["value"],
            each["unit"],
            Baseline(**each["baseline"]) if each["baseline"] else None,
            _repeats(each["repeats"]) if "repeats" in each else None,
        )
        for each in found["figures"]
    ]


def _repeats(found: dict[str, Any]) -> Repeats:
    spreads = {name: Spread(**found[name]) if found[name] else None for name in ("baseline", "ratio")}
    return Repeats(found["runs"], Spread(**found["value"]), **spreads)


def figures_table(bench: str, figures: Sequence[Figure]) -> Table:
    """All figures of a benchmark for the eye."""
    table = Table(title=bench, title_justify="left", box=None, pad_edge=False, header_style="dim")
    repeated = any(figure.repeats for figure in figures)
    table.add_column("figure")
    for heading in ("median" if repeated else "value", "unit", "against", "ratio"):
        table.add_column(heading, justify="left" if heading in ("unit", "against") else "right")
    if repeated:
        for heading in ("runs", "range", "range of the ratio"):
            table.add_column(heading, justify="right")
    for figure in figures:
        against = f"{figure.baseline.name} {show_number(figure.baseline.value)}" if figure.baseline else ""
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
        row = [figure.name, show_number(figure.value), figure.unit, against, ratio]
        table.add_row(*row, *(_repeats_cells(figure.repeats) if figure.repeats else ()))
    return table


def _repeats_cells(repeats: Repeats) -> tuple[str, str, str]:
    ratio = f"{repeats.ratio.low:.2f} to {repeats.ratio.high:.2f}" if repeats.ratio else ""
    return str(repeats.runs), f"{show_number(repeats.value.low)} to {show_number(repeats.value.high)}", ratio


def show_number(value: float) -> str:
    """A number with three digits that count, or with all of its whole ones."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
