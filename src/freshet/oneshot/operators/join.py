"""Join: `{ merge(l, r) | l of left, r of right, l and r compatible }`, of any number of patterns at once.

Basic graph patterns side by side are one. The rest is joined from the smallest on, and each operand gets what has
been found before it, so that it need not look for what would be thrown away.

| left (?x, ?y) | right (?y, ?z) | joined (?x, ?y, ?z) |
| ------------- | -------------- | ------------------- |
| (1, a), (2, b)| (a, 3), (a, 4) | (1, a, 3), (1, a, 4)|
"""

from __future__ import annotations

from freshet.algebra.nodes import BGP, Join, Node
from freshet.algebra.scope import variables_in_scope
from freshet.oneshot.endpoint_rows import join_with_empty, lacks_endpoint, without_endpoint
from freshet.oneshot.estimates import estimate
from freshet.oneshot.evaluate import evaluate, operator
from freshet.oneshot.joining import join
from freshet.oneshot.scope import Scope
from freshet.oneshot.table import UNIT, Table, empty, stack_tables
from freshet.rdf.deadline import current


@operator.register
def _(node: Join, scope: Scope) -> Table:
    operands = _operands(node)
    if len(operands) == 1:
        return evaluate(operands[0], scope)
    names = [{variable.name for variable in variables_in_scope(operand)} for operand in operands]
    sizes = [estimate(operand, scope) for operand in operands]
    remaining = set(range(len(operands)))
    table = UNIT
    while remaining:
        ready = [at for at in remaining if not lacks_endpoint(operands[at], table)] or list(remaining)
        connected = [at for at in ready if not names[at].isdisjoint(table.columns)]
        at = min(connected or ready, key=sizes.__getitem__)
        remaining.remove(at)
        current().check()
        table, alone = without_endpoint(operands[at], table)
        hint = table.select(names[at]).bound_columns()
        found = evaluate(operands[at], scope.with_hint(hint if hint.columns else scope.hint))
        table = join(table, found)
        if alone is not None:
            table = stack_tables([table, join_with_empty(operands[at], alone, scope)])
        if table.count == 0:
            return empty(dict.fromkeys([*table.columns, *(name for each in names for name in each)]))
    return table


def _operands(node: Node) -> list[Node]:
    """What is joined, with all triple patterns in one basic graph pattern."""
    flat = _flat(node)
    patterns = tuple(pattern for operand in flat if isinstance(operand, BGP) for pattern in operand.patterns)
    others = [operand for operand in flat if not isinstance(operand, BGP)]
    return [BGP(patterns), *others] if patterns or not others else others


def _flat(node: Node) -> list[Node]:
    return [*_flat(node.left), *_flat(node.right)] if isinstance(node, Join) else [node]
