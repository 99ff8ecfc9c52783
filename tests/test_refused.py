"""What the engine cannot do is refused by name before anything runs: `cases/refused/queries.toml`."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

import freshet
from case_files import CASES
from declaring import register
from freshet.rdf.errors import FreshetError, QuerySyntaxError, UnsupportedError

REFUSED = tomllib.loads((CASES / "refused" / "queries.toml").read_text(encoding="utf-8"))["query"]
PREFIX = "PREFIX : <http://example.org/>\n"
ERRORS = {"unsupported": UnsupportedError, "syntax": QuerySyntaxError, "input": FreshetError}


@pytest.mark.parametrize("refused", REFUSED, ids=lambda refused: refused["name"].replace(" ", "_"))
def test_refused_by_name(refused: dict[str, Any]) -> None:
    session = freshet.Session()
    with pytest.raises(ERRORS[refused["kind"]]) as problem:
        register(session, PREFIX + refused["text"].lstrip("\n"), file="hot.rq")
    message = str(problem.value)
    assert refused["says"].lower() in message.lower()
    assert message.startswith("hot.rq")
    assert "\n" not in message
    if "line" in refused:
        assert problem.value.line == refused["line"]
        assert problem.value.column is not None
    if refused["kind"] == "input":
        assert not isinstance(problem.value, UnsupportedError)


def test_a_refused_query_leaves_nothing_behind() -> None:
    session = freshet.Session()
    text = PREFIX + "REGISTER RSTREAM :q AS SELECT ?s FROM NAMED WINDOW :w ON :s [RANGE PT5S STEP PT5S]\n"
    with pytest.raises(FreshetError):
        register(session, text + "WHERE { WINDOW :w { ?s :p ?v } SERVICE :e { ?s :p ?v } }")
    registered = register(session, text + "WHERE { WINDOW :w { ?s :p ?v } }")
    session.push("http://example.org/s", '1\t<http://example.org/a> <http://example.org/p> "x" .\n')
    session.finish()
    assert [report.time_ms for report in registered.take()] == [5000]
