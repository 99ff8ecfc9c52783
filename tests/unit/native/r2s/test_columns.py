"""Which answers are read from the results of a join."""

from __future__ import annotations

import pytest

from freshet.native.plan.lower import lower
from freshet.native.r2s.columns import goes_out_of_order
from freshet.syntax.parser import parse_query

CLOSING, MOVING = "RANGE PT3S STEP PT1S", "COUNT 3"
A, B, STORED = "WINDOW <http://e/a> { ?s ?p ?o }", "WINDOW <http://e/b> { ?s ?q ?v }", "?s <http://e/k> ?k ."


@pytest.mark.parametrize(
    ("first", "second", "where", "expected"),
    [
        (CLOSING, CLOSING, f"{A} {B}", True),
        (CLOSING, CLOSING, f"{STORED} {A} {B}", True),
        (CLOSING, CLOSING, f"{STORED} {A}", False),
        (CLOSING, CLOSING, f"{{ {A} }} UNION {{ {B} }}", False),
        (CLOSING, MOVING, f"{A} {B}", False),
    ],
)
def test_joins_of_several_windows_that_close(first, second, where, expected):
    text = f"""REGISTER RSTREAM <q> AS SELECT ?s ?o
        FROM NAMED WINDOW <http://e/a> ON <http://e/s> [{first}]
        FROM NAMED WINDOW <http://e/b> ON <http://e/t> [{second}] WHERE {{ {where} }}"""
    assert goes_out_of_order(lower(parse_query(text), streams=["http://e/s", "http://e/t"])) is expected
