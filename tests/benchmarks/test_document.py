from __future__ import annotations

import json
from pathlib import Path

import pytest

from freshet.rdf.errors import InputError
from freshet_benchmarks.benchmarks import BENCHMARKS, SIZED
from freshet_benchmarks.document import commands, figures_block, figures_markdown, renew
from freshet_benchmarks.figures import Baseline, Figure, combine_runs, figures_json, figures_of_json

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"
RUNS = combine_runs(
    [
        [Figure("rate", value, "rows/s", Baseline("Other 1.0", 100.0)), Figure("share", 0.5, "")]
        for value in (150.0, 300.0, 200.0)
    ]
)


def test_the_table_has_medians_ranges_and_the_baseline() -> None:
    assert figures_markdown(RUNS) == (
        "| figure | Freshet | range | baseline | ratio | range of the ratio |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| `rate` | 200 rows/s | 150 to 300 | Other 1.0: 100 | 2 | 1.5 to 3 |\n"
        "| `share` | 0.5 | | | | |\n"
    )


def test_one_run_has_no_range() -> None:
    assert figures_markdown([Figure("rate", 2.0, "rows/s")]).splitlines()[-1] == "| `rate` | 2 rows/s | | | | |"


def test_figures_come_back_from_json() -> None:
    assert figures_of_json(json.loads(figures_json("x", RUNS))) == RUNS
    single = [Figure("rate", 2.0, "rows/s", Baseline("Other", 1.0))]
    assert figures_of_json(json.loads(figures_json("x", single))) == single


def test_a_block_says_where_and_when() -> None:
    block = figures_block(RUNS, date="2026-11-18", version="1.0", machine="2 cores", load="0.1")
    assert block.startswith(
        "2026-11-18, version 1.0, 2 cores, median of three runs, with their range. Load average 0.1.\n\n| figure |"
    )


def test_only_the_block_of_the_command_is_replaced() -> None:
    end = "<!-- end of figures -->\n"
    page = f"a\n<!-- figures: x -->\n1\n{end}b\n<!-- figures: x --triples 1M -->\n2\n{end}"
    assert renew(page, "x", "3\n") == page.replace("\n1\n", "\n3\n")
    assert renew(page, "x --triples 1M", "3\n") == page.replace("\n2\n", "\n3\n")
    with pytest.raises(InputError, match="has no figures of 'y'; it has those of x, x --triples 1M"):
        renew(page, "y", "3\n")


def test_the_document_has_a_block_for_every_benchmark() -> None:
    named = {command.split()[0] for command in commands(DOCUMENT.read_text())}
    assert named == {*BENCHMARKS, *SIZED} - {"federation"}  # its figures are on the page of federation
