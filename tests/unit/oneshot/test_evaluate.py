from __future__ import annotations

import pytest

from freshet.algebra import nodes
from freshet.algebra.expressions import Variable
from freshet.oneshot import operators as operators
from freshet.oneshot.evaluate import REFUSED, evaluate
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import Iri
from naive_solutions import scope_of

NODES = {node for node in vars(nodes).values() if isinstance(node, type) and issubclass(node, nodes.Node)} - {
    nodes.Node
}


def test_every_node_is_evaluated_or_refused() -> None:
    evaluated = set(evaluate.registry) - {object}
    assert evaluated | set(REFUSED) == NODES
    assert not evaluated & set(REFUSED)


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (nodes.Service(Iri("http://example.org/"), nodes.BGP(()), silent=True), "SERVICE is not supported"),
        (nodes.Window(Variable("w"), nodes.BGP(())), "WINDOW with a variable is not supported"),
    ],
)
def test_what_is_refused_is_named(node: nodes.Node, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        evaluate(node, scope_of())
