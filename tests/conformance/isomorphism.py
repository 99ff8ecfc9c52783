"""Whether rows of terms are the same under some one-to-one renaming of their blank nodes.

Blank nodes are distinguished by the rows they stand in (colour refinement). Where that leaves several that look alike,
one of the left is paired with each of the right in turn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from freshet.rdf.terms import BlankNode, Iri, Term, TripleTerm

Row = tuple[Term | None, ...]
Colours = dict[BlankNode, int]

_OWN = object()
_TRIPLE = Iri("urn:x-freshet:triple")  # stands before the terms of a triple term


def same_bag(left: Iterable[Row], right: Iterable[Row]) -> bool:
    """Equal as bags of rows."""
    plain_left, blank_left = _parted(map(_flattened, left))
    plain_right, blank_right = _parted(map(_flattened, right))
    if Counter(plain_left) != Counter(plain_right) or len(blank_left) != len(blank_right):
        return False
    return _match(blank_left, blank_right, dict.fromkeys(_nodes(blank_left), 0), dict.fromkeys(_nodes(blank_right), 0))


def same_sequence(left: Sequence[Row], right: Sequence[Row]) -> bool:
    """Equal row by row."""
    return same_bag([(number, *row) for number, row in enumerate(left)], [(n, *row) for n, row in enumerate(right)])


def _flattened(row: Iterable[Term | None]) -> Row:
    """The row with the terms of triple terms in their place, so that their blank nodes are some of the row."""
    found: list[Term | None] = []
    for term in row:
        if isinstance(term, TripleTerm):
            found += (_TRIPLE, *_flattened((term.subject, term.predicate, term.object)))
        else:
            found.append(term)
    return tuple(found)


def _parted(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    plain: list[Row] = []
    blank: list[Row] = []
    for row in rows:
        (blank if any(isinstance(term, BlankNode) for term in row) else plain).append(row)
    return plain, blank


def _nodes(rows: list[Row]) -> set[BlankNode]:
    return {term for row in rows for term in row if isinstance(term, BlankNode)}


def _match(left: list[Row], right: list[Row], left_colours: Colours, right_colours: Colours) -> bool:
    left_colours, right_colours = _refine(left, left_colours), _refine(right, right_colours)
    left_classes, right_classes = _classes(left_colours), _classes(right_colours)
    sizes = {colour: len(nodes) for colour, nodes in left_classes.items()}
    if sizes != {colour: len(nodes) for colour, nodes in right_classes.items()}:
        return False
    alike = [colour for colour, size in sizes.items() if size > 1]
    if not alike:
        return Counter(_coloured(left, left_colours)) == Counter(_coloured(right, right_colours))
    colour = min(alike, key=lambda colour: (sizes[colour], colour))
    chosen, mark = left_classes[colour][0], hash((colour, "chosen"))
    return any(
        _match(left, right, left_colours | {chosen: mark}, right_colours | {other: mark})
        for other in right_classes[colour]
    )


def _refine(rows: list[Row], colours: Colours) -> Colours:
    """Colours that say in which rows, beside which colours, each blank node stands; until no more are distinguished."""
    count = len(set(colours.values()))
    while True:
        seen: dict[BlankNode, list[int]] = defaultdict(list)
        for row in rows:
            for node in {term for term in row if isinstance(term, BlankNode)}:
                parts = tuple(
                    _OWN if term == node else ("blank", colours[term]) if isinstance(term, BlankNode) else term
                    for term in row
                )
                seen[node].append(hash(parts))
        colours = {node: hash((colours[node], tuple(sorted(places)))) for node, places in seen.items()}
        if (found := len(set(colours.values()))) == count:
            return colours
        count = found


def _classes(colours: Colours) -> dict[int, list[BlankNode]]:
    classes: dict[int, list[BlankNode]] = defaultdict(list)
    for node, colour in colours.items():
        classes[colour].append(node)
    return classes


def _coloured(rows: list[Row], colours: Colours) -> list[tuple[object, ...]]:
    return [tuple(("blank", colours[term]) if isinstance(term, BlankNode) else term for term in row) for row in rows]
