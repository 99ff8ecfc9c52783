"""CONSTRUCT's template over solutions, by pyoxigraph: blank nodes of the template are new for every solution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pyoxigraph as ox

from reference.query_text import NO_BASE, QueryText

Term = ox.NamedNode | ox.BlankNode | ox.Literal
# A query cannot name a blank node of the data, so it goes through the template under a name.
STANDS_FOR_BLANK = "urn:blank:"


Solutions = Sequence[frozenset[tuple[str, Term]]]


def instantiate(template: str, solutions: Solutions) -> tuple[ox.Triple | ox.Quad, ...]:
    """The set of triples that `CONSTRUCT { template }` makes of solutions, or of quads where it has GRAPH."""
    words = QueryText(template)
    if "GRAPH" not in words.upper:
        return _triples(template, solutions)
    labels = sorted(set(_labels(words)))
    found: set[ox.Quad] = set()
    for number, solution in enumerate(solutions):
        # A label is one node in all graphs of the template: a variable, bound to another node in each solution.
        blanks = {(_variable(label)[1:], ox.BlankNode(f"of{number}{label[2:]}")) for label in labels}
        bound = {**dict(solution), **dict(blanks)}
        for graph, block in _blocks(words):
            name = bound.get(graph[1:]) if graph is not None and graph[0] in "?$" else graph
            if isinstance(name, str) and name.startswith("_:"):
                name = bound[_variable(name)[1:]]
            elif isinstance(name, str):
                name = ox.NamedNode(words.resolve(name))
            if graph is not None and not (isinstance(name, ox.NamedNode) or graph.startswith("_:")):
                continue
            for label in labels:
                block = block.replace(label, _variable(label))
            made = _triples(f"{words.prologue}\nCONSTRUCT {{ {block} }}", [frozenset(bound.items())])
            found |= {ox.Quad(*triple, name or ox.DefaultGraph()) for triple in made}
    return tuple(found)


def _blocks(words: QueryText) -> Iterator[tuple[str | None, str]]:
    """The pieces of a template, each with the name of its graph."""
    at = words.find("CONSTRUCT", 0) + 2
    end = words.closing(at - 1)
    while at < end:
        if words.upper[at] == "GRAPH":
            brace = words.find("{", at)
            stop = words.closing(brace)
            yield "".join(words.words[at + 1 : brace]), words.text(brace + 1, stop)
            at = stop + 1 + (words.words[stop + 1] == ".")
        else:
            stop = words.upper.index("GRAPH", at, end) if "GRAPH" in words.upper[at:end] else end
            yield None, words.text(at, stop)
            at = stop


def _labels(words: QueryText) -> Iterator[str]:
    """The labels of blank nodes, `_` and `:x` as words."""
    for one, two in pairwise(words.words):
        if one == "_" and two.startswith(":"):
            yield one + two


def _variable(label: str) -> str:
    return f"?blank_{label[2:]}"


def _triples(template: str, solutions: Solutions) -> tuple[ox.Triple, ...]:
    names = sorted({name for solution in solutions for name, _ in solution})
    rows = [f"({' '.join(_cell(dict(solution).get(name)) for name in names)})" for solution in solutions]
    values = f"VALUES ({' '.join(f'?{name}' for name in names)}) {{ {' '.join(rows)} }}"
    made = ox.Store().query(f"{template} WHERE {{ {values} }}", base_iri=NO_BASE)
    return tuple({ox.Triple(*map(_back, triple)) for triple in made if not _stands_for_blank(triple.predicate)})


def template_variables(template: str) -> set[str]:
    return {f"?{word[1:]}" for word in QueryText(template).words if word[0] in "?$" and len(word) > 1}


def _cell(term: Term | None) -> str:
    if term is None:
        return "UNDEF"
    return f"<{STANDS_FOR_BLANK}{term.value}>" if isinstance(term, ox.BlankNode) else str(term)


def _stands_for_blank(term: Term) -> bool:
    return isinstance(term, ox.NamedNode) and term.value.startswith(STANDS_FOR_BLANK)


def _back(term: Term) -> Term:
    return ox.BlankNode(term.value.removeprefix(STANDS_FOR_BLANK)) if _stands_for_blank(term) else term
