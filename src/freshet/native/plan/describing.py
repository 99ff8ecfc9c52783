"""A plan as people and programs read it (`freshet explain`): what each operator does, and how it follows changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from freshet.algebra.names import IriText
from freshet.algebra.text import endpoint_text, expression_text, order_text, term_text, triple_text
from freshet.algebra.window_text import window_line
from freshet.algebra.windows import WindowDeclaration
from freshet.native.measuring import Measurements
from freshet.native.plan.plan import (
    Plan,
    PlanCache,
    PlanCondition,
    PlanDistinct,
    PlanDraw,
    PlanExtend,
    PlanFilter,
    PlanGroup,
    PlanJoin,
    PlanLeaf,
    PlanLeftJoin,
    PlanMoment,
    PlanNegation,
    PlanNode,
    PlanOrdered,
    PlanProject,
    PlanReevaluate,
    PlanService,
    PlanShared,
    PlanSharedRead,
    PlanUnion,
    PlanValues,
    Source,
    Stored,
    children,
)
from freshet.native.plan.range_bounds import ordered_variables
from freshet.rdf.terms import Iri
from freshet.rdf.wording import show_count

INCREMENTAL = "by increments"
REEVALUATED = "evaluated again whenever its input has changed"


def plan_text(plan: Plan, short: IriText = str, measured: Measurements | None = None) -> list[str]:
    """The operators of a plan as a tree, with what each had to do where that was measured."""
    return list(_tree(plan.root, short, measured))


def plan_json(plan: Plan, measured: Measurements | None = None) -> dict[str, Any]:
    return _json(plan.root, measured)


def _tree(node: PlanNode, short: IriText, measured: Measurements | None) -> Iterator[str]:
    title, body = describe_operator(node, short)
    yield title + _measured_text(node, measured)
    yield from (f"  {line}" for line in body)
    below = children(node)
    if len(below) == 1:
        yield from _tree(below[0], short, measured)
        return
    for at, child in enumerate(below):
        last = at == len(below) - 1
        first, *rest = _tree(child, short, measured)
        yield f"{'└─' if last else '├─'} {first}"
        yield from (f"{'  ' if last else '│ '} {line}" for line in rest)


def _json(node: PlanNode, measured: Measurements | None) -> dict[str, Any]:
    title, body = describe_operator(node, str)
    found: dict[str, Any] = {"operator": type(node).__name__.removeprefix("Plan"), "text": " ".join([title, *body])}
    found["how"] = REEVALUATED if isinstance(node, PlanReevaluate) else INCREMENTAL
    if isinstance(node, PlanReevaluate):
        found["reason"] = node.reason
    work = None if measured is None else measured.of(node)
    if measured is not None and work is not None:
        found |= {"steps": work.steps, "came": work.came, "went": work.went}
        if measured.has_time(node):
            found["seconds"] = measured.own_seconds(node)
    below = [_json(child, measured) for child in children(node)]
    return found | ({"children": below} if below else {})


def _measured_text(node: PlanNode, measured: Measurements | None) -> str:
    work = None if measured is None else measured.of(node)
    if measured is None or work is None:
        return ""
    own = f", {measured.own_seconds(node) * 1000:,.1f} ms" if measured.has_time(node) else ""
    return f"    [{work.came:,} came, {work.went:,} went in {show_count(work.steps, 'step')}{own}]"


def describe_operator(node: PlanNode, short: IriText) -> tuple[str, list[str]]:
    """An operator's line, and the lines of its body."""
    match node:
        case PlanLeaf(source=source, pattern=pattern):
            return f"Pattern {triple_text(pattern, short)} in {_source(source, short)}", []
        case PlanJoin(conditions=conditions):
            return "Join", [
                f"where {expression_text(each.expression, short)}{_ordered_text(node, each)}" for each in conditions
            ]
        case PlanFilter(condition=condition):
            return f"Filter {expression_text(condition, short)}", []
        case PlanExtend(variable=variable, expression=expression):
            return f"Extend ?{variable} = {expression_text(expression, short)}", []
        case PlanDraw(variable=variable, expression=expression):
            return f"Draw ?{variable} = {expression_text(expression, short)}, once for each row", []
        case PlanMoment(variable=variable):
            return f"Time of the evaluation as ?{variable}", []
        case PlanLeftJoin(condition=condition):
            return "LeftJoin" if condition is None else f"LeftJoin where {expression_text(condition, short)}", []
        case PlanNegation(condition=condition, negated=negated):
            words = "Without a match" if negated else "With a match"
            return words if condition is None else f"{words} where {expression_text(condition, short)}", []
        case PlanValues(variables=variables, rows=rows):
            names = "".join(f" ?{name}" for name in variables)
            return f"Values{names}, {show_count(len(rows), 'row')}", []
        case PlanGroup(keys=keys, aggregates=aggregates):
            by = f"by {' '.join(f'?{key}' for key in keys)}" if keys else "of everything"
            return f"Group {by}", [f"?{name} = {expression_text(each, short)}" for name, each in aggregates]
        case PlanOrdered(conditions=conditions, offset=offset, limit=limit):
            parts = [order_text(each, short) for each in conditions]
            parts += [f"offset {offset}"] if offset else []
            parts += [] if limit is None else [f"limit {limit}"]
            return f"Ordered {' '.join(parts)}", []
        case PlanReevaluate(graphs=graphs, reason=reason):
            read = [_source(source, short) for _, sources in graphs for source in sources]
            return f"{reason[0].upper()}{reason[1:]} ({REEVALUATED})", [f"reads {each}" for each in read]
        case PlanProject(names=names):
            return f"Project {' '.join(f'?{name}' for name in sorted(names))}".rstrip(), []
        case PlanService(endpoint=endpoint, silent=silent):
            words = "Local view of SILENT" if silent else "Local view of"
            return f"{words} {endpoint_text(endpoint, short)}, refreshed where it matters", []
        case PlanCache():
            return "Cache of stored data, joined once and indexed", []
        case PlanUnion():
            return "Union", []
        case PlanShared(number=number):
            return f"Shared {number}", []
        case PlanSharedRead(number=number):
            return f"The rows of Shared {number}", []
        case PlanDistinct():
            return "Distinct", []
    return type(node).__name__.removeprefix("Plan"), []


def _ordered_text(join: PlanJoin, condition: PlanCondition) -> str:
    """The variables by whose order rows are found that satisfy a condition."""
    names = ordered_variables(join, condition)
    return f" (ordered index on {', '.join(f'?{name}' for name in names)})" if names else ""


def _source(source: Source, short: IriText) -> str:
    if isinstance(source, Stored):
        return "the stored graph" if source.graph is None else f"the stored graph {term_text(source.graph, short)}"
    return f"the window on {window_line(WindowDeclaration(Iri(''), source), short).split(' on ', 1)[1]}"
