"""One page of a linked data event stream (https://w3id.org/ldes/specification): its members, and where it leads.

A member is what the TREE specification has without a shape: the statements about it and about the blank nodes that they
lead to, and those in the graph with its name.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import pyoxigraph as ox

from freshet.rdf.oxigraph import term_time_ms
from freshet.rdf.terms import RDF_TYPE

TREE = "https://w3id.org/tree#"
LDES = "https://w3id.org/ldes#"
TIMESTAMP_PATH, IMMUTABLE = LDES + "timestampPath", LDES + "immutable"
_FROM = {TREE + name for name in ("GreaterThanRelation", "GreaterThanOrEqualToRelation", "EqualToRelation")}
_NO_BOUND = -math.inf

Subject = ox.NamedNode | ox.BlankNode
Quads = dict[Subject, list[ox.Quad]]


class Member(NamedTuple):
    """A member: what is the same where it comes again, its time (None if it has none), its statements as N-Quads."""

    key: str
    time_ms: int | None
    statements: list[str]


@dataclass(frozen=True, slots=True)
class Page:
    """Members, the pages after this one with the earliest time that they can have, and whether it can change.

    Of a page that follows without saying how, the time is None: it has nothing from before this page.
    """

    members: list[Member]
    relations: list[tuple[str, float | None]]
    is_immutable: bool
    time_path: str | None


def read_page(text: bytes, form: ox.RdfFormat, url: str, time_path: str | None) -> Page:
    """The page at a URL. `time_path` is the predicate with the times; None where the stream says it itself.

    Raises:
        SyntaxError: The text is not of the format.
    """
    quads: Quads = defaultdict(list)
    graphs: Quads = defaultdict(list)
    found: dict[str, list[ox.Quad]] = {TREE + "member": [], TREE + "relation": [], TIMESTAMP_PATH: [], IMMUTABLE: []}
    for quad in ox.parse(text, form, base_iri=url):
        if isinstance(quad.subject, Subject):
            quads[quad.subject].append(quad)
        if isinstance(quad.graph_name, Subject):
            graphs[quad.graph_name].append(quad)
        if quad.predicate.value in found:
            found[quad.predicate.value].append(quad)
    paths = [quad.object.value for quad in found[TIMESTAMP_PATH] if isinstance(quad.object, ox.NamedNode)]
    time_path = time_path or next(iter(paths), None)
    members = dict.fromkeys(quad.object for quad in found[TREE + "member"] if isinstance(quad.object, Subject))
    return Page(
        [_member(each, quads, graphs, time_path) for each in members],
        list(_relations([quad.object for quad in found[TREE + "relation"]], quads, time_path)),
        any(quad.subject == ox.NamedNode(url) and _is_true(quad.object) for quad in found[IMMUTABLE]),
        time_path,
    )


def _member(member: Subject, quads: Quads, graphs: Quads, time_path: str | None) -> Member:
    statements = dict.fromkeys(graphs.get(member, ()))
    open_nodes, seen = [member], {member}
    while open_nodes:
        for quad in quads.get(open_nodes.pop(), ()):
            statements[quad] = None
            if isinstance(quad.object, ox.BlankNode) and quad.object not in seen:
                seen.add(quad.object)
                open_nodes.append(quad.object)
    times = [
        time_ms
        for quad in quads.get(member, ())
        if quad.predicate.value == time_path and (time_ms := term_time_ms(quad.object)) is not None
    ]
    key = member.value if isinstance(member, ox.NamedNode) else _content(statements)
    scope = "m" + blake2b(key.encode(), digest_size=8).hexdigest()  # labels of pages are none of the stream's
    lines = [f"{_relabelled(quad, scope)} ." for quad in statements]
    return Member(key, max(times, default=None), lines)


def _content(statements: dict[ox.Quad, None]) -> str:
    """What tells a member without an IRI from others."""
    return "\n".join(sorted(str(_relabelled(quad, None)) for quad in statements))


def _relabelled(quad: ox.Quad, scope: str | None) -> ox.Quad:
    def term(each: object) -> object:
        if not isinstance(each, ox.BlankNode):
            return each
        return ox.BlankNode("any" if scope is None else f"{scope}{each.value}")

    return ox.Quad(term(quad.subject), quad.predicate, term(quad.object), term(quad.graph_name))  # type: ignore[arg-type]


def _relations(nodes: list[object], quads: Quads, time_path: str | None) -> Iterator[tuple[str, float | None]]:
    """Where relations lead, each place once."""
    bounds: dict[str, float | None] = {}
    for node in nodes:
        if not isinstance(node, Subject):
            continue
        about: dict[str, list[object]] = defaultdict(list)
        for quad in quads.get(node, ()):
            about[quad.predicate.value].append(quad.object)
        bound = _bound(about, time_path)
        for target in about[TREE + "node"]:
            if isinstance(target, ox.NamedNode):
                before = bounds.setdefault(target.value, bound)
                bounds[target.value] = bound if before is None else before if bound is None else max(before, bound)
    yield from bounds.items()


def _bound(about: dict[str, list[object]], time_path: str | None) -> float | None:
    """The earliest time behind a relation, None where it is a plain one."""
    types = {each.value for each in about[RDF_TYPE.value] if isinstance(each, ox.NamedNode)}
    if types <= {TREE + "Relation"}:
        return None
    paths = [each.value for each in about[TREE + "path"] if isinstance(each, ox.NamedNode)]
    times = [time_ms for each in about[TREE + "value"] if (time_ms := term_time_ms(each)) is not None]
    is_from = bool(types & _FROM) and (not paths or paths == [time_path])
    return min(times) if is_from and times else _NO_BOUND


def _is_true(term: object) -> bool:
    return isinstance(term, ox.Literal) and term.value in ("true", "1")
