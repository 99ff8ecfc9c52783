"""The figures of a benchmark as the document of benchmarks has them: made by a run, not typed.

A section of the document has a block for each command, which `renew` replaces:

    <!-- figures: scanner -->
    2026-11-18, version 0.2.0, ...
    | figure | Freshet | ... |
    <!-- end of figures -->
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from freshet.rdf.errors import InputError
from freshet_benchmarks.figures import Figure, Repeats, Spread, show_number

_END = "<!-- end of figures -->"
_WORDS = {2: "two", 3: "three", 4: "four", 5: "five"}


def figures_block(figures: Sequence[Figure], *, date: str, version: str, machine: str, load: str) -> str:
    """Where and when the figures were measured, and their table."""
    runs = max((each.repeats.runs for each in figures if each.repeats), default=1)
    how = "one run" if runs == 1 else f"median of {_WORDS.get(runs, runs)} runs, with their range"
    return f"{date}, version {version}, {machine}, {how}. Load average {load}.\n\n{figures_markdown(figures)}"


def figures_markdown(figures: Sequence[Figure]) -> str:
    """The table of all figures of a benchmark, in Markdown."""
    heading = ("figure", "Freshet", "range", "baseline", "ratio", "range of the ratio")
    rows = [heading, ("---",) * len(heading), *map(_row, figures)]
    return "".join("|" + "".join(f" {cell} |" if cell else " |" for cell in cells) + "\n" for cells in rows)


def _row(figure: Figure) -> tuple[str, ...]:
    repeats = figure.repeats or Repeats(1, Spread.of([figure.value]), None, None)
    against = f"{figure.baseline.name}: {show_number(figure.baseline.value)}" if figure.baseline else ""
    ratio = "" if figure.ratio is None else show_number(figure.ratio)
    return (
        f"`{figure.name}`",
        f"{show_number(figure.value)} {figure.unit}".strip(),
        _range(repeats.value),
        against.replace("|", "\\|"),
        ratio,
        _range(repeats.ratio),
    )


def _range(spread: Spread | None) -> str:
    if spread is None or spread.low == spread.high:
        return ""
    return f"{show_number(spread.low)} to {show_number(spread.high)}"


def renew(document: str, command: str, block: str) -> str:
    """The document with the figures of a command (`lsbench --triples 100M`) replaced.

    >>> page = "# A\\n<!-- figures: index -->\\nold\\n<!-- end of figures -->\\nText.\\n"
    >>> print(renew(page, "index", "new\\n"))
    # A
    <!-- figures: index -->
    new
    <!-- end of figures -->
    Text.
    <BLANKLINE>
    """
    begin = f"<!-- figures: {command} -->\n"
    found = re.search(re.escape(begin) + r".*?" + re.escape(_END), document, re.DOTALL)
    if found is None:
        raise InputError(f"the document has no figures of {command!r}; it has those of {', '.join(commands(document))}")
    return document[: found.start()] + begin + block + _END + document[found.end() :]


def commands(document: str) -> list[str]:
    """The commands whose figures a document has."""
    return re.findall(r"<!-- figures: (.+?) -->", document)
