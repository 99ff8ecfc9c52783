"""A query's algebra as a tree to read (`freshet explain`), and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from freshet.algebra.describing import describe
from freshet.algebra.names import IriText, ShortNames
from freshet.algebra.nodes import (
    BGP,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Node,
    OrderBy,
    PathPattern,
    Project,
    QuadPattern,
    Query,
    Service,
    Slice,
    StreamOperator,
    TriplePattern,
    Union,
    Values,
    Window,
)
from freshet.algebra.text import template_text, term_text, triple_terms
from freshet.algebra.window_text import duration_text, window_json, window_line

_MOST_ROWS = 5
_REPORTS = {
    StreamOperator.RSTREAM: "reporting all answers (RSTREAM)",
    StreamOperator.ISTREAM: "reporting what is new (ISTREAM)",
    StreamOperator.DSTREAM: "reporting what is gone (DSTREAM)",
}


def explain_text(query: Query, rewritten: Query | None = None) -> str:
    """The query as a tree: what it gives, its windows, the graphs it reads, its operators, and the prefixes used.

    Operators that stand one below the other work on what the next one gives; lines branch where there are several.
    `rewritten` is the query after the rewrite rules, shown beside it.
    """
    short = ShortNames(query.prefixes)
    lines = [_headline(query, short)]
    if query.windows:
        title = "windows, merged with the default graph" if query.merged else "windows"
        lines += [title, *(f"  {window_line(declaration, short)}" for declaration in query.windows)]
    for title, graphs in (("from", query.default_graphs), ("from named", query.named_graphs)):
        if graphs:
            lines += [title, *(f"  {short(graph)}" for graph in graphs)]
    if query.template:
        lines += ["template", *(f"  {line}" for line in _template(query.template, short))]
    if query.resources:
        lines.append(f"describe {' '.join(term_text(resource, short) for resource in query.resources)}")
    lines += ["plan", *(f"  {line}" for line in _tree(query.root, short))]
    if rewritten is not None:
        lines += _rewritten(query, rewritten, short)
    if short.used:
        lines += ["prefixes", *(f"  {prefix}: <{namespace}>" for prefix, namespace in sorted(short.used.items()))]
    return "\n".join(lines)


def plan_text(node: Node, iri_text: IriText = str) -> str:
    """An operator and all below it, as in the plan of `explain_text`."""
    return "\n".join(_tree(node, iri_text))


def explain_json(query: Query, rewritten: Query | None = None) -> dict[str, Any]:
    """The query as JSON: terms and expressions as text, operators as objects with `node`, facts and `children`.

    `root` is the plan as parsed, `rewritten` the one after the rewrite rules, or null where it was not asked for.
    """
    return {
        "form": str(query.form),
        "name": query.name,
        "output": str(query.output) if query.windows else None,
        **({} if query.period_ms is None else {"period_ms": query.period_ms}),
        **({} if query.accuracy is None else {"accuracy": query.accuracy}),
        **({} if query.latency_ms is None else {"latency_ms": query.latency_ms}),
        **({"merged": True} if query.merged else {}),
        "windows": [window_json(declaration) for declaration in query.windows],
        "default_graphs": [graph.value for graph in query.default_graphs],
        "named_graphs": [graph.value for graph in query.named_graphs],
        "template": [*map(template_text, query.template)],
        "resources": [term_text(resource) for resource in query.resources],
        "root": _node_json(query.root),
        "rewritten": None if rewritten is None else _node_json(rewritten.root),
    }


def _rewritten(query: Query, rewritten: Query, short: IriText) -> list[str]:
    whose = ", not used: windows are answered by the plan above" if query.windows else ""
    if rewritten.root == query.root:
        return [f"plan after rewriting{whose}", "  the same"]
    return [f"plan after rewriting{whose}", *(f"  {line}" for line in _tree(rewritten.root, short))]


def _headline(query: Query, short: IriText) -> str:
    words = f"{query.form.upper()} query"
    if query.name is not None:
        words += f" <{query.name}>"
    if query.windows:
        words += f", {_REPORTS[query.output]}"
    if query.period_ms is not None:
        words += f", every {duration_text(query.period_ms)}"
    if query.accuracy is not None:
        words += f", accuracy >= {query.accuracy:g}"
    return words if query.latency_ms is None else f"{words}, latency <= {duration_text(query.latency_ms)}"


def _node_json(node: Node) -> dict[str, Any]:
    described = describe(node)
    below = {"children": described.children, "exists": described.exists}
    parts = {name: [_node_json(each) for each in nodes] for name, nodes in below.items() if nodes}
    return {"node": type(node).__name__, **described.facts, **parts}


def _tree(node: Node, short: IriText) -> Iterator[str]:
    """The lines of a node: its title, its body, and below them what it works on; branches where that is several."""
    title, body = _title(node, short)
    yield title
    yield from (f"  {line}" for line in body)
    for pattern in describe(node).exists:
        first, *rest = _tree(pattern, short)
        yield f"  {{...}} is {first}"
        yield from (f"           {line}" for line in rest)
    children = _flatten_chain(node)
    if len(children) == 1:
        yield from _tree(children[0], short)
        return
    for remaining, child in zip(range(len(children))[::-1], children, strict=True):
        first, *rest = _tree(child, short)
        yield f"{'├─' if remaining else '└─'} {first}"
        yield from (f"{'│ ' if remaining else '  '} {line}" for line in rest)


def _flatten_chain(node: Node) -> list[Node]:
    """The children, where a chain of joins or unions is one node with many: how it is bracketed means nothing."""
    if not isinstance(node, Join | Union):
        return list(describe(node).children)
    sides = [node.left, node.right]
    return [part for side in sides for part in (_flatten_chain(side) if type(side) is type(node) else [side])]


def _align_columns(triples: Sequence[TriplePattern], short: IriText) -> list[str]:
    """Triples in columns."""
    rows = [triple_terms(triple, short) for triple in triples]
    subjects, predicates = (max((len(row[place]) for row in rows), default=0) for place in (0, 1))
    return [f"{subject:{subjects}} {predicate:{predicates}} {end}" for subject, predicate, end in rows]


def _template(patterns: Sequence[TriplePattern | QuadPattern], short: IriText) -> list[str]:
    """The triples of a template in columns, those of each graph below its name."""
    lines = []
    for graph, group in groupby(patterns, lambda each: None if isinstance(each, TriplePattern) else each.graph):
        triples = _align_columns([each if isinstance(each, TriplePattern) else each.triple for each in group], short)
        if graph is not None:
            triples = [f"GRAPH {term_text(graph, short)}", *(f"  {line}" for line in triples)]
        lines += triples
    return lines


def _title(node: Node, short: IriText) -> tuple[str, list[str]]:
    """A node's line, and the lines of its body."""
    facts = describe(node, short).facts
    match node:
        case BGP(patterns):
            if len(patterns) > 1:
                return "BGP", _align_columns(patterns, short)
            return " ".join(["BGP", *(facts["patterns"] or ["(empty)"])]), []
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
