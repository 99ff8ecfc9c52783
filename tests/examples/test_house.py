"""The house, without Spark: replayed, from Python, and in the notebook."""

from __future__ import annotations

import ast
import json
import runpy
from typing import Any

import pandas as pd
import pytest

from command_line import in_another_process
from example_folders import EXAMPLES, readme_blocks
from freshet.results.report import BooleanAnswer, Report, Solutions
from freshet.runtime.explaining import Explanation

HOUSE = EXAMPLES / "house"


def test_the_script_prints_what_its_readme_shows(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(HOUSE / "warm_floors.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert any(printed in block for block in readme_blocks("house"))


def test_the_json_files_have_the_readings_of_the_recording() -> None:
    files = sorted((HOUSE / "in" / "temperature").iterdir())
    readings = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    lines = []
    for reading in readings:
        start = f"{pd.Timestamp(reading['at']).value // 10**6}\t<http://example.org/house/reading/{reading['id']}>"
        lines.append(f"{start} <http://example.org/house/room> <http://example.org/house/room/{reading['room']}> .")
        degrees = f'"{reading["degrees"]}"^^<http://www.w3.org/2001/XMLSchema#decimal>'
        lines.append(f"{start} <http://example.org/house/degrees> {degrees} .")
    assert lines == (HOUSE / "readings.tnt").read_text().splitlines()


def test_replay_reports_seven_times() -> None:
    stream = f"http://example.org/house/temperature={HOUSE / 'readings.tnt'}"
    done = in_another_process(
        "replay", "-s", stream, "-d", HOUSE / "house.ttl", "-q", HOUSE / "warmFloors.rq", "--format", "ndjson"
    )
    assert done.status == 0, done.err
    reports = [json.loads(line) for line in done.out.splitlines()]
    assert [report["time"] for report in reports] == list(range(10_000, 80_000, 10_000))
    [first, second] = reports[0]["bindings"]
    assert (first["average"]["value"], second["average"]["value"]) == ("19.25", "21")


def run_cells(cells: list[dict[str, Any]]) -> list[Any]:
    """Run the cells of a notebook in order; gives what each shows: the value of its last expression."""
    names: dict[str, Any] = {}
    shown = []
    for number, cell in enumerate(cells):
        tree = ast.parse("".join(cell["source"]), f"cell {number}")
        last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), names)
        shown.append(None if last is None else eval(compile(last, f"cell {number}", "eval"), names))
    return shown


def test_the_notebook_shows_plans_reports_and_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = json.loads((EXAMPLES / "notebook" / "house.ipynb").read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    monkeypatch.chdir(EXAMPLES / "notebook")
    loaded, _, plan, report, types, averages, rooms, asked, _ = run_cells(cells)
    assert loaded == 8
    assert isinstance(plan, Explanation)
    assert "Group by ?floor" in plan._repr_html_()
    assert isinstance(report, Report)
    assert "warmFloors at 1970-01-01T00:00:10.000Z" in report._repr_html_()
    assert types["average"] == "decimal128(38, 2)[pyarrow]"
    assert types["readings"] == "Int64"
    assert averages.shape == (7, 2)
    assert averages["floor/1"].tolist() == [19.25, 19.83, 19.75, 19.67, 20.83, 20.75, 19.5]
    assert isinstance(rooms, Solutions)
    assert len(rooms.rows) == 4
    assert isinstance(asked, BooleanAnswer)
    assert not asked
    assert "line 1:" in capsys.readouterr().out
