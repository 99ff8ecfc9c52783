"""Queries in the forms of other engines are accepted, and run: `cases/accepted/queries.toml`."""

from __future__ import annotations

import tomllib

import pytest

import freshet
from case_files import CASES
from declaring import register

ACCEPTED = tomllib.loads((CASES / "accepted" / "queries.toml").read_text(encoding="utf-8"))["query"]
PREFIX = "PREFIX : <http://example.org/>\n"


@pytest.mark.parametrize(
    "accepted", ACCEPTED, ids=lambda accepted: f"{accepted['engine']}-{accepted['form']}".replace(" ", "_")
)
def test_accepted(accepted: dict[str, str]) -> None:
    with freshet.Session() as session:
        session.stream("http://example.org/s")
        register(session, PREFIX + accepted["text"].lstrip("\n"), file="hot.rq")
        for stream in session.streams():
            session.push(stream.iri, "<http://example.org/a> <http://example.org/p> 1 .", time_ms=500)
        session.finish()
        assert session.failures == []
