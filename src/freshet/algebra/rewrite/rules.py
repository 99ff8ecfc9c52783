"""The rewrite rules, in the order in which they are applied; each keeps what the query means exactly."""

from __future__ import annotations

from dataclasses import replace

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Node, Query, QueryForm
from freshet.algebra.rewrite.compare_nodes import compare_nodes
from freshet.algebra.rewrite.conditions import mentioned_variables
from freshet.algebra.rewrite.fold_constants import fold_constants
from freshet.algebra.rewrite.merge_patterns import merge_patterns
from freshet.algebra.rewrite.negate_optional import negate_optional
from freshet.algebra.rewrite.order_joins import order_joins
from freshet.algebra.rewrite.project_early import project_early
from freshet.algebra.rewrite.push_filters import push_filters
from freshet.algebra.rewrite.remove_identities import remove_identities
from freshet.algebra.rewrite.walk import LocalRule, bottom_up
from freshet.algebra.scope import variables_in_scope
from freshet.algebra.statistics import BoundPlaces, Statistics

RULES: tuple[LocalRule, ...] = (
    fold_constants,
    remove_identities,
    merge_patterns,
    compare_nodes,
    push_filters,
)
"""Applied together at every node, from the leaves up: when a node's turn comes, all below it has been rewritten.
None of them makes work for another further down, so one walk reaches the fixpoint."""

RULES_OF_NEGATION: tuple[LocalRule, ...] = (
    negate_optional,
    push_filters,
)
"""A second walk, when the filters are down where their OPTIONAL is: what has become a negation lets others pass."""


def simplify(root: Node) -> Node:
    """What is the same for one-shot and continuous queries, which choose the order of joins as they run."""
    return bottom_up(bottom_up(root, RULES, in_exists=RULES), RULES_OF_NEGATION, in_exists=())


def rewrite(query: Query, statistics: Statistics | None = None) -> Query:
    """The query as it is best evaluated; without statistics, joins are ordered by which places are bound."""
    root = order_joins(simplify(query.root), BoundPlaces() if statistics is None else statistics)
    return replace(query, root=project_early(root, _asked_for(query)))


def _asked_for(query: Query) -> set[Variable]:
    """The variables that the query's form makes use of."""
    match query.form:
        case QueryForm.SELECT:
            return set(variables_in_scope(query.root))
        case QueryForm.ASK:
            return set()
        case _:
            return mentioned_variables((query.template, query.resources))
