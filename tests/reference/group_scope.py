"""A group with FILTER, BIND or EXISTS in it -> the same group as a sub-select, since pyoxigraph lets them see too much.

`{ P FILTER(E) }` is joined as a whole (SPARQL 1.1, 18.2.2.2 and 18.6): E, and the pattern of an EXISTS in it, sees what
P binds, not what only the patterns beside the group bind. pyoxigraph mostly joins the group by trying it for each
solution beside it. It keeps variables of E out where it sees them, but does not look into the pattern of EXISTS, nor at
what VALUES with UNDEF binds beside an OPTIONAL. It does neither to a sub-select. Freshet is as the specification says.
"""

from __future__ import annotations

from dataclasses import dataclass

from reference.query_text import QueryText


@dataclass
class Group:
    """Braces, where they open, and what stands before them."""

    start: int
    before: str
    has_expression: bool = False


def kept_apart(text: str) -> str:
    """The query with sub-selects around what stands in groups that have expressions.

    Not around that of the query itself, nor in EXISTS, whose groups are substituted into. The condition of OPTIONAL
    belongs to the group around it, whose variables it may speak of.
    """
    query = QueryText(text)
    groups: list[Group] = []
    opened, closed = set(), set()
    for at, word in enumerate(query.upper):
        if word == "{":
            groups.append(Group(at, query.upper[at - 1]))
        elif word == "}" and groups:
            group = groups.pop()
            if group.has_expression and groups:
                opened.add(group.start)
                closed.add(at)
        elif word in ("FILTER", "BIND") and not any(group.before == "EXISTS" for group in groups):
            next(group for group in reversed(groups) if group.before != "OPTIONAL").has_expression = True
    return "".join(
        f"{space}{word} SELECT * {{" if at in opened else f"{space}}} {word}" if at in closed else space + word
        for at, (space, word) in enumerate(zip(query.spaces, query.words, strict=True))
    )
