"""A query's algebra as a tree to read (`freshet explain`), and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from freshet.algebra.expressions import Exists, Expression, Variable
from freshet.algebra.nodes import (
    BGP,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    PathPattern,
    Project,
    Query,
    Reduced,
    Service,
    Slice,
    Union,
    Values,
    Window,
)
from freshet.algebra.text import expression_text, order_text, path_text, term_text, triple_text
from freshet.algebra.window_text import duration_text, window_json, window_line

_MOST_ROWS = 5


@dataclass(frozen=True, slots=True)
class Description:
    """What there is to say of one node: its facts by name, the nodes below it, and the patterns of its EXISTS."""

    facts: dict[str, Any]
    children: tuple[Node, ...] = ()
    exists: tuple[Node, ...] = ()


def explain_text(query: Query) -> str:
    """The query as a tree: what it gives, its windows, the graphs it reads, and its operators."""
    lines = [_headline(query)]
    if query.windows:
        title = "windows, merged with the default graph" if query.merged else "windows"
        lines += [title, *(f"  {window_line(declaration)}" for declaration in query.windows)]
    for title, graphs in (("from", query.default_graphs), ("from named", query.named_graphs)):
        if graphs:
            lines += [title, *(f"  {graph}" for graph in graphs)]
    if query.template:
        lines += ["template", *(f"  {triple_text(triple)}" for triple in query.template)]
    if query.resources:
        lines.append(f"describe {' '.join(term_text(resource) for resource in query.resources)}")
    return "\n".join([*lines, "plan", *(f"  {line}" for line in _tree(query.root))])


def explain_json(query: Query) -> dict[str, Any]:
    """The query as JSON: terms and expressions as text, operators as objects with `node`, facts and `children`."""
    return {
        "form": str(query.form),
        "name": query.name,
        "output": str(query.output) if query.windows else None,
        **({} if query.period_ms is None else {"period_ms": query.period_ms}),
        **({"merged": True} if query.merged else {}),
        "windows": [window_json(declaration) for declaration in query.windows],
        "default_graphs": [graph.value for graph in query.default_graphs],
        "named_graphs": [graph.value for graph in query.named_graphs],
        "template": [triple_text(triple) for triple in query.template],
        "resources": [term_text(resource) for resource in query.resources],
        "root": _node_json(query.root),
    }


def describe(node: Node) -> Description:
    """The facts, children and EXISTS patterns of a node."""
    facts: dict[str, Any]
    match node:
        case BGP(patterns):
            return Description({"patterns": [triple_text(pattern) for pattern in patterns]})
        case PathPattern(subject, path, object_):
            return Description({"path": f"{term_text(subject)} {path_text(path)} {term_text(object_)}"})
        case Join(left, right) | Union(left, right) | Minus(left, right):
            return Description({}, (left, right))
        case LeftJoin(left, right, condition):
            facts = {} if condition is None else {"condition": expression_text(condition)}
            return Description(facts, (left, right), _exists(condition))
        case Filter(condition, child):
            return Description({"condition": expression_text(condition)}, (child,), _exists(condition))
        case Graph(name, child) | Window(name, child, None):
            return Description({"name": term_text(name)}, (child,))
        case Window(name, child, Variable() as stream):
            return Description({"name": term_text(name), "stream": term_text(stream)}, (child,))
        case Service(endpoint, child, silent):
            return Description({"endpoint": term_text(endpoint), "silent": silent}, (child,))
        case Extend(child, variable, expression):
            facts = {"variable": term_text(variable), "expression": expression_text(expression)}
            return Description(facts, (child,), _exists(expression))
        case Values(variables, rows):
            cells = [["UNDEF" if term is None else term_text(term) for term in row] for row in rows]
            return Description({"variables": _names(variables), "rows": cells})
        case Group(child, keys, aggregates):
            computed = {term_text(variable): expression_text(aggregate) for variable, aggregate in aggregates}
            facts = {"keys": _names(keys), "aggregates": computed}
            return Description(facts, (child,), _exists(*(aggregate for _, aggregate in aggregates)))
        case OrderBy(child, conditions):
            facts = {"conditions": [order_text(each) for each in conditions]}
            return Description(facts, (child,), _exists(*(each.expression for each in conditions)))
        case Project(child, variables):
            return Description({"variables": _names(variables)}, (child,))
        case Slice(child, offset, limit):
            return Description({"offset": offset, "limit": limit}, (child,))
        case Distinct(child) | Reduced(child):
            return Description({}, (child,))
        case _:
            raise TypeError(f"no description is defined for {type(node).__name__}")


def _headline(query: Query) -> str:
    words = [query.form.upper(), "query"]
    if query.name is not None:
        words.append(f"<{query.name}>")
    if query.windows:
        words.append(f"as {query.output.upper()}")
    if query.period_ms is not None:
        words.append(f"every {duration_text(query.period_ms)}")
    return " ".join(words)


def _node_json(node: Node) -> dict[str, Any]:
    described = describe(node)
    below = {"children": described.children, "exists": described.exists}
    parts = {name: [_node_json(each) for each in nodes] for name, nodes in below.items() if nodes}
    return {"node": type(node).__name__, **described.facts, **parts}


def _tree(node: Node) -> Iterator[str]:
    """The lines of a node: its title, its body, and its children drawn below."""
    title, body = _title(node)
    children = [("", child) for child in _chained(node)] + [("EXISTS ", child) for child in describe(node).exists]
    yield title
    for line in body:
        yield f"{'│' if children else ' '}  {line}"
    for remaining, (label, child) in zip(range(len(children))[::-1], children, strict=True):
        first, *rest = _tree(child)
        yield f"{'├─' if remaining else '└─'} {label}{first}"
        for line in rest:
            yield f"{'│ ' if remaining else '  '} {line}"


def _chained(node: Node) -> list[Node]:
    """The children, where a chain of joins or unions is one node with many: how it is bracketed means nothing."""
    if not isinstance(node, Join | Union):
        return list(describe(node).children)
    sides = [node.left, node.right]
    return [part for side in sides for part in (_chained(side) if type(side) is type(node) else [side])]


def _title(node: Node) -> tuple[str, list[str]]:
    """A node's line, and the lines of its body."""
    facts = describe(node).facts
    match node:
        case BGP(patterns):
            return ("BGP" if patterns else "BGP (empty)"), facts["patterns"]
        case PathPattern():
            return f"Path {facts['path']}", []
        case LeftJoin() | Filter():
            return " ".join([type(node).__name__, *facts.values()]), []
        case Graph() | Window():
            of_stream = f" of {facts['stream']}" if "stream" in facts else ""
            return f"{type(node).__name__} {facts['name']}{of_stream}", []
        case Service(silent=silent):
            return f"Service {'SILENT ' if silent else ''}{facts['endpoint']}", []
        case Extend():
            return f"Extend {facts['variable']} = {facts['expression']}", []
        case Values(_, rows):
            shown = [" ".join(row) for row in facts["rows"][:_MOST_ROWS]]
            more = [f"... {len(rows) - _MOST_ROWS} more"] if len(rows) > _MOST_ROWS else []
            return f"Values {' '.join(facts['variables'])}".rstrip(), shown + more
        case Group():
            keys = f"by {' '.join(facts['keys'])}" if facts["keys"] else "of everything"
            return f"Group {keys}", [f"{name} = {text}" for name, text in facts["aggregates"].items()]
        case OrderBy():
            return f"OrderBy {' '.join(facts['conditions'])}", []
        case Project():
            return f"Project {' '.join(facts['variables'])}".rstrip(), []
        case Slice(_, offset, limit):
            parts = [f"offset {offset}"] if offset else []
            return " ".join(["Slice", *parts, *([] if limit is None else [f"limit {limit}"])]), []
        case _:
            return type(node).__name__, []


def _names(variables: tuple[Variable, ...]) -> list[str]:
    return [term_text(variable) for variable in variables]


def _exists(*expressions: Expression | None) -> tuple[Node, ...]:
    """The patterns of EXISTS in expressions, from left to right."""
    return tuple(pattern for expression in expressions for pattern in _exists_in(expression))


def _exists_in(expression: Expression | None) -> Iterator[Node]:
    if isinstance(expression, Exists):
        yield expression.pattern
    elif expression is not None and is_dataclass(expression):
        for field in fields(expression):
            value = getattr(expression, field.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Expression):
                    yield from _exists_in(part)
