"""Window: the pattern in a window's content, which the dataset has as a graph under the window's name."""

from __future__ import annotations

from dataclasses import replace

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Window
from freshet.oneshot.constants import constant_id
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import Table
from freshet.rdf.errors import UnsupportedError


@operator.register
def _(node: Window, scope: Scope) -> Table:
    if isinstance(node.name, Variable):
        raise UnsupportedError("WINDOW with a variable is not supported yet in one-shot queries")
    content = scope.dataset.graph(constant_id(node.name, scope.dictionary))
    return evaluate(node.child, replace(scope, graph=content))
