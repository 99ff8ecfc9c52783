"""CONSTRUCT's template over solutions, by pyoxigraph: blank nodes of the template are new for every solution."""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph as ox

from reference.query_text import NO_BASE, QueryText

Term = ox.NamedNode | ox.BlankNode | ox.Literal
# A query cannot name a blank node of the data, so it goes through the template under a name.
STANDS_FOR_BLANK = "urn:blank:"


def instantiate(template: str, solutions: Sequence[frozenset[tuple[str, Term]]]) -> tuple[ox.Triple, ...]:
    """The set of triples that `CONSTRUCT { template }` makes of solutions."""
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
