"""Every rewrite rule by itself: `cases/rewrite/<rule>.toml` holds patterns and the plans that it makes of them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from case_files import CASES
from freshet.algebra.names import ShortNames
from freshet.algebra.nodes import Node, Project
from freshet.algebra.printing import plan_text
from freshet.algebra.rewrite.order_joins import order_joins
from freshet.algebra.rewrite.project_early import project_early
from freshet.algebra.rewrite.rules import RULES, RULES_OF_NEGATION
from freshet.algebra.rewrite.walk import bottom_up
from freshet.algebra.scope import variables_in_scope
from freshet.algebra.statistics import BoundPlaces
from freshet.syntax.parser import parse_query

LOCAL = {rule.__name__: rule for rule in (*RULES, *RULES_OF_NEGATION)}
WHOLE: dict[str, Callable[[Node], Node]] = {
    "order_joins": partial(order_joins, statistics=BoundPlaces()),
    "project_early": lambda node: project_early(node, set(variables_in_scope(node))),
}
FILES = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in (CASES / "rewrite").glob("*.toml")}


def plan(rule: str, pattern: str) -> str:
    """What one rule makes of a pattern; the projection of SELECT * around it is left out."""
    query = parse_query(f"PREFIX : <http://e/> SELECT * {{ {pattern} }}")
    assert isinstance(query.root, Project)
    root = query.root.child
    if rule in WHOLE:
        changed = WHOLE[rule](root)
    else:
        changed = bottom_up(root, (LOCAL[rule],), () if rule == "negate_optional" else (LOCAL[rule],))
    return plan_text(changed, ShortNames(query.prefixes))


@pytest.mark.parametrize(
    ("rule", "case"),
    [pytest.param(rule, case, id=f"{rule}: {case['name']}") for rule in sorted(FILES) for case in FILES[rule]["case"]],
)
def test_rule(rule: str, case: dict[str, Any]) -> None:
    assert plan(rule, case["query"]) == case["plan"]


def test_every_rule_has_cases() -> None:
    assert set(FILES) == {*LOCAL, *WHOLE}
