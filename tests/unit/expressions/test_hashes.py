"""Hash functions of simple literals."""

from __future__ import annotations

from hypothesis import given, settings

from expression_rows import Row, agree, rows, value
from freshet.rdf.terms import Literal
from oxigraph_expressions import LANGUAGE_STRINGS, STRINGS, TERMS

NAMES = ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")


@settings(max_examples=60, deadline=None)
@given(rows(STRINGS) | rows(LANGUAGE_STRINGS) | rows(TERMS))
def test_as_oxigraph(terms: list[Row]) -> None:
    agree([f"{name}(?a)" for name in NAMES], terms)


def test_examples_of_the_specification() -> None:
    assert value('MD5("abc")') == Literal("900150983cd24fb0d6963f7d28e17f72")
    assert value('SHA1("abc")') == Literal("a9993e364706816aba3e25717850c26c9cd0d89d")
