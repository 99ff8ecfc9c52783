"""Mistakes in the queries of a pipeline file, and in the files that it names, are reported at their places."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshet.rdf.errors import QuerySyntaxError
from freshet.runtime.pipeline_file import PipelineErrors, read_pipeline
from pipeline_text import PIPELINE, QUERY, problems, replaced


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("report: chnage", "'chnage' is not known here; did you mean 'change'?"),
        ("report: [close, 3]", "'3' is not known here"),
        ("every: 10", "10 has no unit: write 10s, 10ms, 10m or 10h"),
        ("every: 0", "'every' must be more than 0"),
        ("every: 0s", "'every' must be more than 0"),
        ("every: soon", "'soon' is not a duration"),
    ],
)
def test_when_a_query_cannot_report(folder: Path, keys: str, says: str) -> None:
    (problem,) = problems(replaced(PIPELINE, "slow: {file", f"slow: {{{keys}, file"), folder)
    assert problem.startswith("pipeline.yaml:14:")
    assert says in problem


def test_an_undeclared_stream_in_a_query_file(folder: Path) -> None:
    (folder / "slow.rq").write_text(QUERY.replace("ex:traffic", "ex:trafic"))
    assert problems(PIPELINE, folder) == [
        "slow.rq:5:26: the stream <http://example.org/trafic> is not declared;"
        " did you mean 'http://example.org/traffic'?"
    ]


def test_a_syntax_error_in_a_query_file(folder: Path) -> None:
    (folder / "slow.rq").write_text(QUERY.replace("FILTER (?speed < 20)", "FILTR (?speed < 20)"))
    (folder / "pipeline.yaml").write_text(PIPELINE)
    with pytest.raises(PipelineErrors) as raised:
        read_pipeline("pipeline.yaml")
    (error,) = raised.value.errors
    assert isinstance(error, QuerySyntaxError)
    assert (error.file, error.line, error.column) == ("slow.rq", 6, 46)
    assert error.excerpt


@pytest.mark.parametrize(
    ("block", "place"),
    [
        ("    text: |\n      SELECT ?x\n      WHERE ( )\n", "18:13"),
        ("    text: |2\n      SELECT ?x\n        WHERE ( )\n", "18:15"),
        ("    text: |\n\n\n      SELECT ?x\n      WHERE ( )\n", "20:13"),
        ("    text: |\n      SELECT ?x\n      WHERE {\n", "18:14"),
        ('    text: "SELECT ?x WHERE ( )"\n', "16:28"),
        ("    text: SELECT ?x WHERE ( )\n", "16:27"),
        ("    text: >\n      SELECT ?x\n      WHERE ( )\n", "16:11"),
    ],
)
def test_a_syntax_error_in_place(folder: Path, block: str, place: str) -> None:
    """At the bracket that does not belong there, or behind the end; folded text (>) has lost its lines."""
    start, end = PIPELINE.index("    text: |"), PIPELINE.index("checkpoint:")
    (line,) = problems(PIPELINE[:start] + block + PIPELINE[end:], folder)
    assert line.startswith(f"pipeline.yaml:{place}: ")
