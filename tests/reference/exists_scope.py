"""A group with EXISTS in it -> the same group as a sub-select, since pyoxigraph lets EXISTS see what it must not.

`{ P FILTER NOT EXISTS { Q } }` is joined as a whole (SPARQL 1.1, 18.2.2.2 and 18.6): what Q has in common with P is
substituted, what only the patterns beside the group bind is not. pyoxigraph joins the group by trying it for each
solution beside it, looks at the expressions of the filter for variables that would be bound too early, but not into the
pattern of EXISTS. It does not do so with a sub-select. Freshet answers as the specification has it.
"""

from __future__ import annotations

from dataclasses import dataclass

from reference.query_text import QueryText


@dataclass
class Group:
    """Braces, where they open, and what stands before them."""

    start: int
    before: str
    has_exists: bool = False


def kept_apart(text: str) -> str:
    """The query with sub-selects around what stands in groups that have EXISTS.

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
            if group.has_exists and groups:
                opened.add(group.start)
                closed.add(at)
        elif word == "EXISTS" and not any(group.before == "EXISTS" for group in groups):
            next(group for group in reversed(groups) if group.before != "OPTIONAL").has_exists = True
    return "".join(
        f"{space}{word} SELECT * {{" if at in opened else f"{space}}} {word}" if at in closed else space + word
        for at, (space, word) in enumerate(zip(query.spaces, query.words, strict=True))
    )
