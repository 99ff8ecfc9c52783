"""Random query, random changes of the stored graphs: a live query has the answer that a query asked anew would have.

`FRESHET_EXAMPLES` says how many, `FRESHET_SEED` where to start counting.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import fields, replace
from random import Random
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest

from counts import count
from freshet import Session
from freshet.algebra.expressions import And, Compare, Constant, Not, Or
from freshet.algebra.nodes import (
    BGP,
    Distinct,
    Filter,
    Group,
    Join,
    LeftJoin,
    Minus,
    Project,
    Query,
    QueryForm,
    TriplePattern,
    Union,
)
from freshet.algebra.sparql import query_text
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.oxigraph import parsed_key
from freshet.rdf.reading import Quads
from freshet.rdf.terms import XSD, Iri, Literal, Term, term_from_key
from freshet.results.live_change import LiveChange
from freshet.results.report import BooleanAnswer, GraphAnswer, Solutions
from freshet.store.changes import ChangeLog
from freshet.syntax.parser import parse_query
from random_algebra import LITERALS, NODES, random_quads, random_query
from random_expressions import slice_text, total_order

EXAMPLES = count(500, "FRESHET_EXAMPLES")
FIRST_SEED = int(os.environ.get("FRESHET_SEED", "0"))
BLOCKS = 10
STREAM = "http://e/s"
ALIKE = (NODES, LITERALS)  # terms that can stand for each other
_PATTERNS = (BGP, TriplePattern, Join, Project, Distinct, Filter, LeftJoin, Minus, Union, Group)
_CHANGED = (*_PATTERNS, Compare, And, Or, Not, Constant)

Bag = Counter[tuple[str | None, ...]]
Row = tuple[int, int, int]


class Follower:
    """Has the answer of a live query by what it was told."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self.variables: tuple[str, ...] = ()
        self.bag: Bag = Counter()
        self.changes = 0

    def take(self, change: LiveChange) -> None:
        assert change.is_answer == (self.changes == 0), "the whole answer comes once, and first"
        assert change.is_answer or len(change.added) or len(change.removed), "nothing is reported only if it changes"
        self.changes += 1
        self.variables = change.variables
        removed = bag_of(change.removed, self.dictionary)
        assert removed <= self.bag, "only what is there is removed"
        added = bag_of(change.added, self.dictionary)
        assert not added & removed
        self.bag = self.bag - removed + added


def bag_of(rows: np.ndarray, dictionary: Dictionary) -> Bag:
    if not rows.shape[1]:
        return Counter({(): len(rows)} if len(rows) else {})
    columns = [dictionary.keys(rows[:, at].copy()).to_pylist() for at in range(rows.shape[1])]
    return Counter(zip(*columns, strict=True))


class World:
    """A session and a pyoxigraph store with the same quads."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.session = Session()
        self.session.stream(STREAM, absorb=True, lateness_ms=10_000)
        self.store = ox.Store()
        self.now_ms = 0
        self.followers: list[tuple[str, Query | str, Follower]] = []

    def add(self, quads: list[ox.Quad]) -> None:
        """Some are absorbed, also again and with times in any order; others are loaded."""
        self.store.extend(quads)
        by_graph: dict[int, list[Row]] = {}
        for quad in quads:
            by_graph.setdefault(self._graph(quad), []).append(self._row(quad))
        if self.random.random() < 0.7:
            absorbed = by_graph.pop(0, [])
            absorbed += self.random.sample(absorbed, len(absorbed) // 3)
            if absorbed:
                times = np.array([self.now_ms + self.random.randint(-500, 500) for _ in absorbed])
                self.now_ms += self.random.randint(0, 1000)
                self.session.engine.push(STREAM, Elements(times, *columns(absorbed)))
        with self.session.engine.loading():
            for graph, rows in by_graph.items():
                self.session.engine.load(*columns(rows), graph)

    def delete(self) -> None:
        """Some of what is there goes, by an update that may bring something too."""
        gone = [quad for quad in self.store if self.random.random() < 0.3]
        again = self.random.sample(gone, len(gone) // 3)
        came = oxigraph_quads(self.random)[:2] if self.random.random() < 0.5 else []
        for quad in gone:
            self.store.remove(quad)
        self.store.extend([*again, *came])
        log = ChangeLog()
        log.delete(self._quads(gone))
        log.insert(self._quads([*again, *came]))
        self.session.engine.update(log.net())

    def _quads(self, quads: list[ox.Quad]) -> Quads:
        rows = [(*self._row(quad), self._graph(quad)) for quad in quads]
        return Quads(*np.array(rows, np.int64).reshape(-1, 4).T.copy())

    def follow(self, name: str, query: Query | str) -> None:
        follower = Follower(self.session.dictionary)
        parsed = parse_query(query) if isinstance(query, str) else query
        self.session.engine.register_live(name, parsed, follower.take)
        self.followers.append((name, query, follower))

    def check(self, about: str) -> None:
        assert not self.session.failures, about
        for _, query, follower in self.followers:
            expected = self._anew(query, follower.variables)
            missing, wrong = expected - follower.bag, follower.bag - expected
            assert follower.bag == expected, f"{about}\nmissing {missing}\nwrong {wrong}"

    def _anew(self, query: Query | str, names: tuple[str, ...]) -> Bag:
        text = query if isinstance(query, str) else query_text(query)
        # Of a slice, and of the ways of a negated property set, which pyoxigraph does not count, the one-shot evaluator
        # says what there is.
        if isinstance(query, str) or "!(" in text:
            found = self.session.query(text)
            if isinstance(found, BooleanAnswer):
                return Counter({(f'"{str(bool(found)).lower()}"^^<{XSD}boolean>',): 1})
            if isinstance(found, GraphAnswer):
                return bag_of(found.shown.rows, self.session.dictionary)
            assert isinstance(found, Solutions)
            assert found.variables == names
            return bag_of(found.rows, self.session.dictionary)
        answer = self.store.query(text)
        assert isinstance(answer, ox.QuerySolutions)
        return Counter(
            tuple(None if (term := row[name]) is None else parsed_key(term, "") for name in names) for row in answer
        )

    def _graph(self, quad: ox.Quad) -> int:
        return 0 if isinstance(quad.graph_name, ox.DefaultGraph) else self._id(quad.graph_name)

    def _row(self, quad: ox.Quad) -> Row:
        return self._id(quad.subject), self._id(quad.predicate), self._id(quad.object)

    def _id(self, term: ox.NamedNode | ox.BlankNode | ox.Literal) -> int:
        return self.session.dictionary.encode(term_from_key(parsed_key(term, "")))


def columns(rows: list[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return tuple(np.array(column, np.int64) for column in zip(*rows, strict=True))  # type: ignore[return-value]


def oxigraph_quads(random: Random) -> list[ox.Quad]:
    lines = [f"{s} {p} {o} {'' if name is None else name} ." for s, p, o, name in random_quads(random)]
    return list(ox.parse("\n".join(lines), ox.RdfFormat.N_QUADS))


def batches(random: Random) -> list[list[ox.Quad]]:
    quads = oxigraph_quads(random) + oxigraph_quads(random)
    random.shuffle(quads)
    cuts = sorted(random.randint(0, len(quads)) for _ in range(random.randint(1, 6)))
    return [quads[start:end] for start, end in zip([0, *cuts], [*cuts, len(quads)], strict=True)]


def sliced(random: Random, query: Query) -> str | None:
    """The query with an order that leaves nothing open, and a slice."""
    names = [f"?{name}" for name in _names(query)]
    if not names:
        return None
    inner = query_text(replace(query, default_graphs=(), named_graphs=()))
    return f"SELECT {' '.join(names)} {{ {{ {inner} }} }} {total_order(random, names)} {slice_text(random)}"


def in_another_form(random: Random, query: Query) -> str:
    """A CONSTRUCT, ASK or DESCRIBE with the pattern of the query."""
    inner = query_text(replace(query, default_graphs=(), named_graphs=()))
    names = [f"?{name}" for name in _names(query)]
    kind = random.choice(["ASK", "CONSTRUCT", "CONSTRUCT", "DESCRIBE"] if names else ["ASK"])
    if kind == "ASK":
        return f"ASK {{ {{ {inner} }} }}"
    if kind == "DESCRIBE":
        return f"DESCRIBE {random.choice(names)} <http://e/a> {{ {{ {inner} }} }}"
    terms = [*names, *names, "<http://e/a>", "<http://e/b>", '"x"', "1"]
    starts = [term for term in terms if term[0] in "?<"]
    triples = [
        f"{random.choice(starts)} {random.choice(starts)} {random.choice(terms)} ." for _ in range(random.randint(0, 4))
    ]
    return f"CONSTRUCT {{ {' '.join(triples)} }} WHERE {{ {{ {inner} }} }}"


def _names(query: Query) -> tuple[str, ...]:
    found = ox.Store().query(query_text(query))
    assert isinstance(found, ox.QuerySolutions)
    return tuple(variable.value for variable in found.variables)


def with_other_constants(random: Random, query: Query | str) -> list[Query | str]:
    """Queries that differ from one in some constants, and are the same where there are none."""
    if isinstance(query, str):
        return [query]
    others = []
    for _ in range(random.randint(1, 3)):
        chosen = {term: random.choice(list(same)) for same in ALIKE for term in same if random.random() < 0.5}
        others.append(replace(query, root=_replaced(query.root, chosen)))
    return list(others)


def _replaced(part: Any, chosen: dict[Term, Term]) -> Any:
    if isinstance(part, Iri | Literal):
        return chosen.get(part, part)
    if isinstance(part, tuple):
        return tuple(_replaced(each, chosen) for each in part)
    if isinstance(part, _CHANGED):
        return replace(part, **{place.name: _replaced(getattr(part, place.name), chosen) for place in fields(part)})
    return part


def check(seed: int) -> int:
    random = Random(seed)
    world = World(random)
    waiting: list[Query | str] = []
    for _ in range(random.randint(1, 3)):
        query = random_query(random)
        if query.form is QueryForm.SELECT:
            waiting.append(query)
            if random.random() < 0.3 and (text := sliced(random, query)) is not None:
                waiting.append(text)
            if random.random() < 0.5:
                waiting.append(in_another_form(random, query))
    waiting += [other for each in waiting if random.random() < 0.5 for other in with_other_constants(random, each)]
    about = f"seed {seed}\n" + "\n".join(each if isinstance(each, str) else query_text(each) for each in waiting)
    number = 0
    for batch in batches(random):
        while waiting and random.random() < 0.6:
            number += 1
            try:
                world.follow(f"live{number}", waiting.pop(0))
            except UnsupportedError:
                continue
        world.check(about)
        world.add(batch)
        world.check(about)
        if random.random() < 0.5:
            world.delete()
            world.check(about)
        if world.followers and random.random() < 0.1:
            name, _, follower = world.followers.pop(random.randrange(len(world.followers)))
            world.session.engine.unregister(name)
            follower.changes = -1_000_000
    return sum(follower.changes for _, _, follower in world.followers)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_live_equals_reevaluation(block: int) -> None:
    changes = 0
    for seed in range(FIRST_SEED + block * EXAMPLES // BLOCKS, FIRST_SEED + (block + 1) * EXAMPLES // BLOCKS):
        changes += check(seed)
    assert changes > 0
