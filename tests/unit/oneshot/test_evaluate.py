from __future__ import annotations

import pytest

from freshet.algebra import nodes
from freshet.algebra.expressions import Variable
from freshet.federation.errors import RefusedError
from freshet.oneshot import operators as operators
from freshet.oneshot.evaluate import evaluate, operator
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import Iri
from naive_solutions import scope_of

NODES = {node for node in vars(nodes).values() if isinstance(node, type) and issubclass(node, nodes.Node)} - {
    nodes.Node
}


def test_every_node_is_evaluated() -> None:
    """Those of the algebra; evaluation that remembers has nodes of its own, which stand for some of them."""
    assert {node for node in operator.registry if node.__module__ != "freshet.oneshot.tracing"} - {object} == NODES


def test_what_is_refused_is_named() -> None:
    with pytest.raises(UnsupportedError, match="WINDOW with a variable is not supported"):
        evaluate(nodes.Window(Variable("w"), nodes.BGP(())), scope_of())


def test_services_are_refused_unless_somebody_allows_them() -> None:
    with pytest.raises(RefusedError, match="may not ask"):
        evaluate(nodes.Service(Iri("http://example.org/"), nodes.BGP(())), scope_of())
    assert evaluate(nodes.Service(Iri("http://example.org/"), nodes.BGP(()), silent=True), scope_of()).count == 1
