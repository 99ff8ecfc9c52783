"""Group graph patterns: text to algebra (section 18.2.2)."""

from __future__ import annotations

import pytest

from freshet.algebra.expressions import And, Call, Compare, Constant, Exists, Variable
from freshet.algebra.nodes import (
    BGP,
    Alternative,
    Extend,
    Filter,
    Graph,
    Inverse,
    Join,
    LeftJoin,
    Link,
    Minus,
    NegatedPropertySet,
    Node,
    PathPattern,
    Project,
    Repeat,
    Sequence,
    Service,
    TriplePattern,
    Union,
    Values,
)
from freshet.rdf.terms import RDF, XSD, Iri, Literal
from freshet.syntax.parser import parse_query

S, P, OBJ, X, Y = (Variable(name) for name in ("s", "p", "o", "x", "y"))
EMPTY = BGP(())


def ex(name: str) -> Iri:
    return Iri(f"http://ex/{name}")


def integer(number: int) -> Literal:
    return Literal(str(number), Iri(XSD + "integer"))


def bgp(*triples: tuple) -> BGP:
    return BGP(tuple(TriplePattern(*triple) for triple in triples))


def pattern(text: str) -> Node:
    """The algebra of the pattern of an ASK query."""
    return parse_query(f"PREFIX : <http://ex/> ASK {text}").root


A = bgp((S, ex("a"), X))
B = bgp((S, ex("b"), Y))
A_TEXT, B_TEXT = "?s :a ?x", "?s :b ?y"
POSITIVE = Compare(">", X, Constant(integer(0)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", EMPTY),
        ("{ ?s :a ?x . ?s :b ?y }", bgp((S, ex("a"), X), (S, ex("b"), Y))),
        ("{ ?s :a ?x ; :b ?y , 1 ; }", bgp((S, ex("a"), X), (S, ex("b"), Y), (S, ex("b"), integer(1)))),
        ("{ { ?s :a ?x } }", A),
        ("{ { ?s :a ?x } { ?s :b ?y } }", Join(A, B)),
        ("{ ?s :a ?x {} }", A),
        ("{ {} ?s :a ?x }", A),
        ("{ ?s :a ?x OPTIONAL { ?s :b ?y } }", LeftJoin(A, B)),
        ("{ OPTIONAL { ?s :b ?y } }", LeftJoin(EMPTY, B)),
        ("{ ?s :a ?x MINUS { ?s :b ?y } }", Minus(A, B)),
        ("{ { ?s :a ?x } UNION { ?s :b ?y } UNION {} }", Union(Union(A, B), EMPTY)),
        ("{ GRAPH ?p { ?s :a ?x } }", Graph(P, A)),
        ("{ GRAPH :g { } }", Graph(ex("g"), EMPTY)),
        ("{ SERVICE :s { ?s :a ?x } }", Service(ex("s"), A)),
        ("{ SERVICE SILENT ?p { ?s :a ?x } }", Service(P, A, silent=True)),
        ("{ ?s :a ?x BIND (?x AS ?y) }", Extend(A, Y, X)),
        ("{ ?s :a ?x BIND (1 AS ?y) ?s :a ?x }", Join(Extend(A, Y, Constant(integer(1))), A)),
        ("{ VALUES ?x { 1 UNDEF :a } }", Values((X,), ((integer(1),), (None,), (ex("a"),)))),
        ("{ VALUES (?x ?y) { (1 2) (UNDEF 3) } }", Values((X, Y), ((integer(1), integer(2)), (None, integer(3))))),
        ("{ VALUES () { () () } }", Values((), ((), ()))),
        ("{ ?s :a ?x { SELECT ?s { ?s :b ?y } } }", Join(A, Project(B, (S,)))),
        ("{ SELECT ?s { ?s :b ?y } }", Project(B, (S,))),
    ],
)
def test_group_elements(text, expected):
    assert pattern(text) == expected


def test_filters_hold_for_the_whole_group_and_do_not_part_a_basic_graph_pattern():
    expected = Filter(And(POSITIVE, Call("BOUND", (Y,))), bgp((S, ex("a"), X), (S, ex("b"), Y)))
    assert pattern("{ FILTER(?x > 0) ?s :a ?x . FILTER BOUND(?y) ?s :b ?y }") == expected


def test_the_filter_of_optional_is_the_condition_of_the_left_join():
    assert pattern("{ ?s :b ?y OPTIONAL { ?s :a ?x FILTER(?x > 0) } }") == LeftJoin(B, A, POSITIVE)


def test_a_filter_in_a_group_within_optional_stays_where_it_is():
    assert pattern("{ ?s :b ?y OPTIONAL { { ?s :a ?x FILTER(?x > 0) } } }") == LeftJoin(B, Filter(POSITIVE, A))


def test_having_of_a_sub_select_is_no_condition_of_the_left_join():
    node = pattern("{ ?s :b ?y OPTIONAL { SELECT ?x { ?s :a ?x } GROUP BY ?x HAVING (?x > 0) } }")
    assert isinstance(node, LeftJoin)
    assert node.condition is None
    assert isinstance(node.right, Project)


def test_exists_has_a_pattern():
    assert pattern("{ ?s :a ?x FILTER NOT EXISTS { ?s :b ?y } }") == Filter(Exists(B, negated=True), A)


def test_a_long_union_is_folded_in_halves():
    node = pattern("{" + " UNION ".join(["{ ?s :a ?x }"] * 1000) + "}")
    depth = 0
    while isinstance(node, Union):
        node, depth = node.left, depth + 1
    assert depth < 30


# ---- blank nodes and collections


def test_blank_nodes_are_variables_of_our_own():
    first = Variable(".b0")
    assert pattern("{ [] :a _:x . _:x :b [ ] }") == bgp(
        (first, ex("a"), Variable("._x")), (Variable("._x"), ex("b"), Variable(".b1"))
    )


def test_a_blank_node_property_list_as_object_and_as_subject():
    node = Variable(".b0")
    assert pattern("{ ?s :a [ :b ?y ] }") == bgp((S, ex("a"), node), (node, ex("b"), Y))
    assert pattern("{ [ :b ?y ] :a ?s }") == bgp((node, ex("b"), Y), (node, ex("a"), S))
    assert pattern("{ [ :b ?y ] }") == bgp((node, ex("b"), Y))


def test_a_collection_is_a_chain_of_cells():
    first, rest, nil = (Iri(RDF + name) for name in ("first", "rest", "nil"))
    one, two = Variable(".b0"), Variable(".b1")
    assert pattern("{ ?s :a ( 1 ?x ) }") == bgp(
        (S, ex("a"), one), (one, first, integer(1)), (one, rest, two), (two, first, X), (two, rest, nil)
    )
    assert pattern("{ ?s :a () }") == bgp((S, ex("a"), nil))


def test_a_blank_node_label_may_be_used_again_past_a_filter():
    label = Variable("._x")
    assert pattern("{ _:x :a ?x FILTER(?x > 0) _:x :b ?y }") == Filter(
        POSITIVE, bgp((label, ex("a"), X), (label, ex("b"), Y))
    )


# ---- property paths


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (":a*", Repeat(Link(ex("a")), 0)),
        (":a+", Repeat(Link(ex("a")), 1)),
        (":a?", Repeat(Link(ex("a")), 0, once=True)),
        (":a|:b|:c", Alternative(Alternative(Link(ex("a")), Link(ex("b"))), Link(ex("c")))),
        (":a|:b/:c", Alternative(Link(ex("a")), Sequence(Link(ex("b")), Link(ex("c"))))),
        ("(:a/^:b)*", Repeat(Sequence(Link(ex("a")), Inverse(Link(ex("b")))), 0)),
        ("!:a", NegatedPropertySet((ex("a"),))),
        ("!^:a", NegatedPropertySet((), (ex("a"),))),
        ("!(:a|^:b|a)", NegatedPropertySet((ex("a"), Iri(RDF + "type")), (ex("b"),))),
    ],
)
def test_paths(text, path):
    assert pattern(f"{{ ?s {text} ?o }}") == PathPattern(S, path, OBJ)


def test_what_a_path_can_be_without_being_one_becomes_triples():
    middle = Variable(".p0")
    assert pattern("{ ?s (:a) ?o }") == bgp((S, ex("a"), OBJ))
    assert pattern("{ ?s ^:a ?o }") == bgp((OBJ, ex("a"), S))
    assert pattern("{ ?s :a/:b ?o }") == bgp((S, ex("a"), middle), (middle, ex("b"), OBJ))


def test_a_long_sequence_has_a_variable_of_its_own_between_each_two_steps():
    node = pattern("{ ?s :a/:b/:c/^:d ?o }")
    assert isinstance(node, BGP)
    assert len({triple.subject for triple in node.patterns} | {triple.object for triple in node.patterns}) == 5


def test_a_path_parts_a_basic_graph_pattern():
    path = PathPattern(S, Repeat(Link(ex("p")), 0), OBJ)
    assert pattern("{ ?s :a ?x ; :p* ?o ; :b ?y }") == Join(Join(A, path), B)


def test_a_variable_is_a_predicate():
    assert pattern("{ ?s ?p ?o }") == bgp((S, P, OBJ))
