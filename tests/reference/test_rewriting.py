"""The reference reads RSP-QL by its own small rewriting: that has to be right, too."""

from __future__ import annotations

import pytest

from reference.rewriting import duration_ms, rewrite

WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE PT5S STEP PT5S]"


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT5S", 5000),
        ("PT1M30S", 90_000),
        ("PT0.25S", 250),
        ("P1DT1H", 90_000_000),
        ("10s", 10_000),
        ("7ms", 7),
        ("2m", 120_000),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert duration_ms(text) == milliseconds


def test_what_is_taken_out() -> None:
    asked = rewrite(f"""PREFIX : <http://e/>
REGISTER ISTREAM :q AS SELECT ?s {WINDOW}
FROM NAMED WINDOW <http://e/x> ON <http://e/t> [RANGE PT2S]
WHERE {{ WINDOW :w {{ ?s :p "WINDOW :w {{"@en }} # WINDOW :w {{
  window <http://e/x> {{ ?s :q ?v FILTER(?v <= 3 && ?v>=1 || ?v = "1"^^:t) }} }}""")
    assert (asked.name, asked.output) == ("http://e/q", "istream")
    assert [(w.name, w.stream, w.width_ms, w.slide_ms) for w in asked.windows] == [
        ("http://e/w", "http://e/s", 5000, 5000),
        ("http://e/x", "http://e/t", 2000, 2000),
    ]
    first, second = (window.graph for window in asked.windows)
    assert f'{{ GRAPH <{first}>  {{ ?s :p "WINDOW :w {{"@en }} # WINDOW :w {{\n' in asked.sparql
    assert f'GRAPH <{second}>  {{ ?s :q ?v FILTER(?v <= 3 && ?v>=1 || ?v = "1"^^:t) }}' in asked.sparql
    assert "REGISTER" not in asked.sparql
    assert "FROM" not in asked.sparql


@pytest.mark.parametrize(
    ("prologue", "name", "expected"),
    [
        ("PREFIX : <http://e/>", ":q", "http://e/q"),
        ("PREFIX : <http://e/>", "<q>", "q"),
        ("BASE <http://b/> PREFIX : <http://e/>", "<q>", "http://b/q"),
    ],
)
def test_names(prologue: str, name: str, expected: str) -> None:
    asked = rewrite(f"{prologue} REGISTER RSTREAM {name} AS SELECT ?s {WINDOW} WHERE {{ WINDOW :w {{ ?s ?p ?o }} }}")
    assert asked.name == expected


def test_no_name() -> None:
    asked = rewrite(f"PREFIX : <http://e/> SELECT ?s {WINDOW} WHERE {{ WINDOW :w {{ ?s ?p ?o }} }}")
    assert (asked.name, asked.output) == (None, "rstream")
