"""What a solution was derived from: the triples that its patterns matched, and what else decided about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from freshet.algebra.expressions import Exists, Variable
from freshet.algebra.nodes import BGP, Minus, Node, PathPattern, PatternTerm, Service, Slice
from freshet.algebra.sparql import pattern_text
from freshet.oneshot.constants import known_id
from freshet.oneshot.dataset import GraphReader
from freshet.oneshot.path_witness import path_witness
from freshet.oneshot.paths import Walker
from freshet.oneshot.table import Rows, Table
from freshet.oneshot.tracing import Leaf, Mark, MarkKind, Sets, Trace
from freshet.rdf.dictionary import Dictionary

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class TracedTriple:
    """A triple that a pattern matched, and the graph in which it did."""

    triple: Triple
    graph: GraphReader


@dataclass(frozen=True, slots=True)
class TracedRemote:
    """A solution that an endpoint gave; none where SERVICE SILENT ignored that it failed."""

    endpoint: PatternTerm
    values: dict[str, int]


@dataclass(slots=True)
class Traces:
    """One way in which a solution was derived.

    `branches` are those of UNION that it came through, `unmatched` the OPTIONAL patterns that found nothing, `absent`
    the patterns of MINUS and NOT EXISTS, which must find nothing, `slices` the LIMIT and OFFSET that it is within.
    `sets` are the groups, and the equal solutions of a DISTINCT, that it stands for.
    """

    triples: list[TracedTriple] = field(default_factory=list)
    remote: list[TracedRemote] = field(default_factory=list)
    branches: list[str] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    slices: list[str] = field(default_factory=list)
    sets: list[TracedSet] = field(default_factory=list)

    @property
    def is_distinct(self) -> bool:
        """Whether the solution is nothing but equal ones of a DISTINCT."""
        return not self.triples and not self.remote and [each.kind for each in self.sets] == ["distinct"]


@dataclass(frozen=True, slots=True)
class TracedSet:
    """Solutions that one solution stands for: how many they are, and how some of them were derived."""

    kind: str
    total: int
    members: tuple[Traces, ...]


class Derivations:
    """How solutions of a traced evaluation were derived; of each set, `most` members, and of all together not more
    than some times as many."""

    def __init__(self, trace: Trace, dictionary: Dictionary, most: int) -> None:
        self._trace = trace
        self._dictionary = dictionary
        self._most = most
        self._left = 10 * most

    def of_row(self, table: Table, row: int) -> Traces:
        """How a row of a table came about."""
        result = Traces()
        numbers = {name: int(table.columns[name][row]) for name in self._trace.columns if name in table.columns}
        for name, number in numbers.items():
            match self._trace.columns[name]:
                case Leaf(Service() as service) as leaf if number:
                    result.remote.append(TracedRemote(service.endpoint, leaf.solution(number)[0]))
                case Leaf() as leaf if number:
                    result.triples += self._triples(leaf, number)
                case Sets() as sets if number:
                    result.sets.append(self._set(sets, number))
                case Mark() as mark:
                    _note(mark, number, numbers, result)
        return result

    def of_rows(self, table: Table, rows: Rows) -> tuple[int, tuple[Traces, ...]]:
        """How many ways there are, and some of them. The equal solutions of a DISTINCT are ways of their own."""
        found = [self.of_row(table, row) for row in rows[: self._most].tolist()]
        total = len(rows)
        if len(found) == 1 and found[0].is_distinct:
            [whole] = found
            [same] = whole.sets
            for each in same.members:
                each.slices += whole.slices
            return same.total, same.members
        return total, tuple(found)

    def _set(self, sets: Sets, number: int) -> TracedSet:
        table, rows = sets.members(number)
        shown = rows[: max(1, min(self._most, self._left))]
        self._left -= len(shown)
        return TracedSet(sets.kind, len(rows), tuple(self.of_row(table, row) for row in shown.tolist()))

    def _triples(self, leaf: Leaf, number: int) -> Iterator[TracedTriple]:
        solution, graph = leaf.solution(number)
        pattern = leaf.pattern
        if isinstance(pattern, BGP):
            for each in pattern.patterns:
                subject, predicate, object_ = (
                    self._id(term, solution) for term in (each.subject, each.predicate, each.object)
                )
                yield TracedTriple((subject, predicate, object_), graph)
            return
        assert isinstance(pattern, PathPattern)
        ends = self._id(pattern.subject, solution), self._id(pattern.object, solution)
        way = path_witness(pattern.path, *ends, Walker(graph, self._dictionary))
        for triple in dict.fromkeys(way or []):
            yield TracedTriple(triple, graph)

    def _id(self, term: PatternTerm, solution: dict[str, int]) -> int:
        return solution[term.name] if isinstance(term, Variable) else known_id(term, self._dictionary)


def _note(mark: Mark, number: int, numbers: dict[str, int], result: Traces) -> None:
    match mark.kind:
        case MarkKind.BRANCH if number:
            result.branches.append(f"branch {mark.value} of UNION: {_text(mark.part)}")
        case MarkKind.OPTIONAL if mark.within and not number and numbers.get(mark.within):
            result.unmatched.append(f"OPTIONAL {_text(mark.part)}")
        case MarkKind.NOTHING if number == mark.value:
            result.absent.append(_text(mark.part))
        case MarkKind.SLICE if number:
            result.slices.append(_text(mark.part))


def _text(part: object) -> str:
    match part:
        case Minus(_, right):
            return f"MINUS {pattern_text(right)}"
        case Exists(pattern):
            return f"NOT EXISTS {pattern_text(pattern)}"
        case Slice(_, offset, limit):
            return f"OFFSET {offset}" if limit is None else f"LIMIT {limit}" + (f" OFFSET {offset}" if offset else "")
    assert isinstance(part, Node)
    return pattern_text(part)
