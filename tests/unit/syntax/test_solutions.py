"""SELECT, grouping and the other solution modifiers (sections 18.2.4 and 18.2.5)."""

from __future__ import annotations

import pytest

from freshet.algebra.expressions import Aggregate, Arithmetic, Call, Compare, Constant, Variable
from freshet.algebra.nodes import (
    BGP,
    Distinct,
    Extend,
    Filter,
    Group,
    Join,
    Node,
    OrderBy,
    OrderCondition,
    Project,
    Reduced,
    Slice,
    TriplePattern,
    Values,
)
from freshet.rdf.terms import XSD, Iri, Literal
from freshet.syntax.parser import parse_query

S, P, OBJ, C, K = (Variable(name) for name in ("s", "p", "o", "c", "k"))
AGG0, AGG1 = Variable(".agg0"), Variable(".agg1")
BODY = BGP((TriplePattern(S, P, OBJ),))
COUNT_O = Aggregate("COUNT", OBJ)


def one(number: int = 1) -> Constant:
    return Constant(Literal(str(number), Iri(XSD + "integer")))


def select(text: str) -> Node:
    return parse_query(text.replace("BODY", "{ ?s ?p ?o }")).root


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT ?s BODY", Project(BODY, (S,))),
        ("SELECT ?s ?o ?s BODY", Project(BODY, (S, OBJ))),
        ("SELECT ?nowhere BODY", Project(BODY, (Variable("nowhere"),))),
        ("SELECT * BODY", Project(BODY, (S, P, OBJ))),
        ("SELECT DISTINCT ?s BODY", Distinct(Project(BODY, (S,)))),
        ("SELECT REDUCED ?s BODY", Reduced(Project(BODY, (S,)))),
        ("SELECT (1 AS ?c) ?s BODY", Project(Extend(BODY, C, one()), (C, S))),
        (
            "SELECT (1 AS ?c) (?c + 1 AS ?k) BODY",
            Project(Extend(Extend(BODY, C, one()), K, Arithmetic("+", C, one())), (C, K)),
        ),
        ("SELECT ?s BODY LIMIT 3", Slice(Project(BODY, (S,)), 0, 3)),
        ("SELECT ?s BODY LIMIT 0", Slice(Project(BODY, (S,)), 0, 0)),
        ("SELECT ?s BODY OFFSET 2", Slice(Project(BODY, (S,)), 2, None)),
        ("SELECT ?s BODY OFFSET 2 LIMIT 3", Slice(Project(BODY, (S,)), 2, 3)),
        (
            "SELECT ?s BODY ORDER BY ?o DESC(?s) ASC(?p) STR(?o)",
            Project(
                OrderBy(
                    BODY,
                    (
                        OrderCondition(OBJ),
                        OrderCondition(S, descending=True),
                        OrderCondition(P),
                        OrderCondition(Call("STR", (OBJ,))),
                    ),
                ),
                (S,),
            ),
        ),
        ("SELECT ?s BODY VALUES ?s { 1 }", Project(Join(BODY, Values((S,), ((one().term,),))), (S,))),
    ],
)
def test_projection_order_and_slices(text, expected):
    assert select(text) == expected


def test_star_lists_visible_variables_in_order_of_appearance():
    text = """SELECT * {
        ?b ?a [ ?c _:x ] . GRAPH ?g { ?a ?d 1 } OPTIONAL { ?e ?b 2 } BIND (1 AS ?f) MINUS { ?hidden ?b 3 }
        FILTER EXISTS { ?hidden ?a 4 } { SELECT (1 AS ?h) ?i { ?hidden ?i 5 } }
    } VALUES ?j { 1 }"""
    root = select(text)
    assert isinstance(root, Project)
    assert [variable.name for variable in root.variables] == list("bacgdefhij")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "SELECT (COUNT(?o) AS ?c) BODY",
            Project(Extend(Group(BODY, (), ((AGG0, COUNT_O),)), C, AGG0), (C,)),
        ),
        (
            "SELECT ?s (COUNT(?o) + 1 AS ?c) BODY GROUP BY ?s",
            Project(Extend(Group(BODY, (S,), ((AGG0, COUNT_O),)), C, Arithmetic("+", AGG0, one())), (S, C)),
        ),
        ("SELECT ?s BODY GROUP BY ?s", Project(Group(BODY, (S,), ()), (S,))),
        ("SELECT ?s BODY GROUP BY (?s) ?s", Project(Group(BODY, (S,), ()), (S,))),
        (
            "SELECT ?k BODY GROUP BY (STR(?o) AS ?k) ?s",
            Project(Group(Extend(BODY, K, Call("STR", (OBJ,))), (K, S), ()), (K,)),
        ),
        (
            "SELECT (1 AS ?c) BODY GROUP BY STR(?o)",
            Project(
                Extend(Group(Extend(BODY, Variable(".key0"), Call("STR", (OBJ,))), (Variable(".key0"),), ()), C, one()),
                (C,),
            ),
        ),
        (
            "SELECT ?s BODY GROUP BY ?s HAVING (COUNT(?o) > 1) ORDER BY DESC(SUM(?o))",
            Project(
                OrderBy(
                    Filter(
                        Compare(">", AGG0, one()),
                        Group(BODY, (S,), ((AGG0, COUNT_O), (AGG1, Aggregate("SUM", OBJ)))),
                    ),
                    (OrderCondition(AGG1, descending=True),),
                ),
                (S,),
            ),
        ),
        (
            "SELECT (COUNT(?o) AS ?c) BODY HAVING (COUNT(?o) > 1)",
            Project(Extend(Filter(Compare(">", AGG0, one()), Group(BODY, (), ((AGG0, COUNT_O),))), C, AGG0), (C,)),
        ),
        (
            "SELECT (COUNT(?o) AS ?c) (?c + 1 AS ?k) BODY",
            Project(
                Extend(
                    Extend(Group(BODY, (), ((AGG0, COUNT_O),)), C, AGG0),
                    K,
                    Arithmetic("+", C, one()),
                ),
                (C, K),
            ),
        ),
        (
            "SELECT (COUNT(?o) AS ?o) BODY",
            Project(Extend(Group(BODY, (), ((AGG0, COUNT_O),)), OBJ, AGG0), (OBJ,)),
        ),
    ],
)
def test_grouping(text, expected):
    assert select(text) == expected


@pytest.mark.parametrize(
    ("text", "aggregate"),
    [
        ("COUNT(*)", Aggregate("COUNT", None)),
        ("count(DISTINCT *)", Aggregate("COUNT", None, distinct=True)),
        ("Sum(DISTINCT ?o)", Aggregate("SUM", OBJ, distinct=True)),
        ("MIN(?o)", Aggregate("MIN", OBJ)),
        ("MAX(?o)", Aggregate("MAX", OBJ)),
        ("AVG(?o * 1)", Aggregate("AVG", Arithmetic("*", OBJ, one()))),
        ("SAMPLE(?o)", Aggregate("SAMPLE", OBJ)),
        ("GROUP_CONCAT(?o)", Aggregate("GROUP_CONCAT", OBJ)),
        ("GROUP_CONCAT(DISTINCT ?o ; separator = ', ')", Aggregate("GROUP_CONCAT", OBJ, True, ", ")),
    ],
)
def test_aggregates(text, aggregate):
    assert select(f"SELECT ({text} AS ?c) BODY") == Project(
        Extend(Group(BODY, (), ((AGG0, aggregate),)), C, AGG0), (C,)
    )


def test_aggregates_of_a_sub_select_are_its_own():
    root = select("SELECT (SUM(?c) AS ?k) { { SELECT (COUNT(?o) AS ?c) BODY } }")
    inner = Project(Extend(Group(BODY, (), ((AGG0, COUNT_O),)), C, AGG0), (C,))
    assert root == Project(Extend(Group(inner, (), ((AGG0, Aggregate("SUM", C)),)), K, AGG0), (K,))
