"""What queries give back, as ids; the dictionary turns them into terms when they are written.

The dictionary keeps their terms as long as they themselves are kept: hold on to the report, not only to its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.nodes import StreamOperator
from freshet.results.readable import Readable

if TYPE_CHECKING:
    from freshet.rdf.dictionary import Dictionary


QUAD = ("subject", "predicate", "object", "graph")  # the columns of what CONSTRUCT gives, where it has GRAPH
TRIPLE = QUAD[:3]  # and where it has not


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class Solutions(Readable):
    """The answer to SELECT: a sequence of solutions.

    Attributes:
        variables: The names of the variables, without the question mark.
        rows: A row for each solution and a column of term ids for each variable, 0 where it is unbound.

    Example:
        >>> import freshet
        >>> session = freshet.Session()
        >>> answer = session.query("SELECT ?x ?y { VALUES (?x ?y) { (1 'one') (2 'two') } }")
        >>> answer
        2 solutions
        x  y
        1  one
        2  two
        >>> answer.variables, len(answer.rows)
        (('x', 'y'), 2)
        >>> [str(row["y"]) for row in answer.bindings()]
        ['"one"', '"two"']
        >>> answer.to_arrow().to_pydict()
        {'x': [1, 2], 'y': ['one', 'two']}
    """

    variables: tuple[str, ...]
    rows: NDArray[np.int64]
    dictionary: Dictionary | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BooleanAnswer(Readable):
    """The answer to ASK. It is true or false like the value that it holds.

    Example:
        >>> import freshet
        >>> bool(freshet.Session().query("ASK { FILTER (1 > 2) }"))
        False
    """

    value: bool

    def __bool__(self) -> bool:
        return self.value


@dataclass(frozen=True, slots=True, eq=False, repr=False, weakref_slot=True)
class GraphAnswer(Readable):
    """The answer to CONSTRUCT or DESCRIBE: a set of triples, as three columns of term ids.

    Its bindings and columns are called subject, predicate and object. Where the template has GRAPH, it is a set of
    quads: `graphs` are the ids of the graphs' names, 0 for the default graph, and the column is called graph.

    Example:
        >>> import freshet
        >>> session = freshet.Session()
        >>> answer = session.query("CONSTRUCT { <http://example.org/a> <http://example.org/size> 3 } {}")
        >>> answer.to_arrow().to_pydict()
        {'subject': ['http://example.org/a'], 'predicate': ['http://example.org/size'], 'object': [3]}
    """

    subjects: NDArray[np.int64]
    predicates: NDArray[np.int64]
    objects: NDArray[np.int64]
    dictionary: Dictionary | None = None
    graphs: NDArray[np.int64] | None = None

    @classmethod
    def of_rows(cls, rows: NDArray[np.int64], dictionary: Dictionary | None = None) -> GraphAnswer:
        """The answer with these triples, or quads, as rows."""
        graphs = rows[:, 3] if rows.shape[1] > len(TRIPLE) else None
        return cls(rows[:, 0], rows[:, 1], rows[:, 2], dictionary, graphs)

    @property
    def shown(self) -> Solutions:
        """The triples or quads as rows."""
        columns = [self.subjects, self.predicates, self.objects, *([] if self.graphs is None else [self.graphs])]
        return Solutions(QUAD[: len(columns)], np.stack(columns, axis=1), self.dictionary)


Answer = Solutions | BooleanAnswer | GraphAnswer


@dataclass(frozen=True, slots=True)
class Freshness:
    """How good an answer is that was made with remote data, and what it took.

    Attributes:
        accuracy: The share of the answer that is expected to be right.
        refreshes: The entries of local views that were refreshed since the report before.
        latency_ms: How long the evaluation took.
        oldest_ms: How long ago the oldest of the remote data in the answer was fetched.
        missed: The constraints that could not be kept: `accuracy`, `latency`.
        failing: Why an endpoint gave nothing, or None.
    """

    accuracy: float
    refreshes: int
    latency_ms: float
    oldest_ms: int
    missed: tuple[str, ...] = ()
    failing: str | None = None


@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)  # a frozen one takes five times as long to make
class Report(Readable):
    """What one evaluation of a registered query puts out (R2S). Several may hold one: do not change it.

    Attributes:
        query: The name of the query.
        time_ms: The event time of the evaluation, in milliseconds: when the window closed.
        stream: RSTREAM (all solutions), ISTREAM (those that are new) or DSTREAM (those that are gone).
        variables: The names of the variables, without the question mark.
        rows: A row for each solution and a column of term ids for each variable, 0 where it is unbound.
        graph: The triples or quads, where the query is a CONSTRUCT.
        freshness: How fresh the answer is, where the query has SERVICE.
        moment: The time again, twice, and one more where the evaluation was not at the close of a window.

    Example:
        >>> import freshet
        >>> session = freshet.Session()
        >>> session.stream("http://example.org/s")
        >>> query = session.register('''
        ...     REGISTER RSTREAM <all> AS SELECT ?n
        ...     FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
        ...     WHERE { WINDOW <w> { ?s <http://example.org/n> ?n } }''')
        >>> session.push("http://example.org/s", '100\\t<http://example.org/a> <http://example.org/n> "x" .')
        >>> session.finish()
        >>> [report] = query.take()
        >>> report.query, report.time_ms, str(report.stream), report.to_arrow().to_pydict()
        ('all', 1000, 'rstream', {'n': ['x']})
    """

    query: str
    time_ms: int
    stream: StreamOperator
    variables: tuple[str, ...]
    rows: NDArray[np.int64]
    graph: GraphAnswer | None = None
    freshness: Freshness | None = None  # where the query has SERVICE
    dictionary: Dictionary | None = None
    moment: int | None = None

    @property
    def shown(self) -> Solutions:
        """What there is to show: the rows, or the triples of the graph as rows of their own."""
        if self.graph is None:
            return Solutions(self.variables, self.rows, self.dictionary)
        return self.graph.shown
