"""Variable scope (section 18.2.1)."""

from __future__ import annotations

import pytest

from freshet.algebra import nodes
from freshet.algebra.expressions import Aggregate, Constant, Variable
from freshet.algebra.nodes import BGP, Node, PatternTerm, Repeat, TriplePattern
from freshet.algebra.scope import variables_in_scope, visible_variables
from freshet.rdf.terms import Iri, Literal

A, B, C, D = (Variable(name) for name in "abcd")
P = Iri("p")
ONE = Constant(Literal("1"))


def triple(subject: PatternTerm, object_: PatternTerm) -> BGP:
    return BGP((TriplePattern(subject, P, object_),))


LEFT, RIGHT = triple(B, A), triple(A, C)


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (BGP(()), ()),
        (LEFT, (B, A)),
        (nodes.PathPattern(B, Repeat(nodes.Link(P), 0), A), (B, A)),
        (nodes.Join(LEFT, RIGHT), (B, A, C)),
        (nodes.LeftJoin(LEFT, RIGHT), (B, A, C)),
        (nodes.Union(LEFT, RIGHT), (B, A, C)),
        (nodes.Minus(LEFT, RIGHT), (B, A)),
        (nodes.Filter(C, LEFT), (B, A)),
        (nodes.Graph(D, LEFT), (D, B, A)),
        (nodes.Graph(P, LEFT), (B, A)),
        (nodes.Window(D, LEFT), (D, B, A)),
        (nodes.Service(D, LEFT), (D, B, A)),
        (nodes.Extend(LEFT, D, ONE), (B, A, D)),
        (nodes.Values((D, A), ()), (D, A)),
        (nodes.Group(LEFT, (A,), ((Variable(".agg0"), Aggregate("COUNT", None)),)), (A, Variable(".agg0"))),
        (nodes.OrderBy(LEFT, ()), (B, A)),
        (nodes.Project(LEFT, (D, A)), (D, A)),
        (nodes.Distinct(LEFT), (B, A)),
        (nodes.Reduced(LEFT), (B, A)),
        (nodes.Slice(LEFT), (B, A)),
        (nodes.Describe(LEFT, (A,)), (Variable(".subject"), Variable(".predicate"), Variable(".object"))),
    ],
)
def test_variables_in_scope(node, expected):
    assert variables_in_scope(node) == expected


def test_every_node_has_a_scope():
    """A node that is added to the algebra and forgotten here is found out."""
    tested = {type(node) for node, _ in test_variables_in_scope.pytestmark[0].args[1]}
    assert {kind for kind in vars(nodes).values() if isinstance(kind, type) and issubclass(kind, Node)} == tested | {
        Node
    }


def test_variables_of_our_own_are_not_visible():
    node = BGP((TriplePattern(Variable("._x"), P, A), TriplePattern(Variable(".p0"), P, B)))
    assert visible_variables(node) == (A, B)
