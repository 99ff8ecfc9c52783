"""Why a row was reported: the query evaluated once more at that moment, by an evaluation that remembers.

Nothing is kept for this while queries run but the newest elements of streams. The windows at the moment are made of
these, the stored graph is the one of now without what streams have left in it since, and the row's values are hints
that keep the evaluation to what can lead to it (docs/decisions/0023-why.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from freshet.algebra import nodes
from freshet.algebra.expressions import Variable
from freshet.algebra.free_variables import variables_of
from freshet.algebra.nodes import QuadPattern, Query, QueryForm, StreamOperator, TriplePattern
from freshet.algebra.rewrite.rules import simplify
from freshet.expressions.context import Context
from freshet.native.plan.volatile import volatile_function
from freshet.native.plan.window_graphs import has_graphs_in_windows
from freshet.native.streams.element_log import HeldElements
from freshet.oneshot.answer import query_dataset
from freshet.oneshot.constants import known_id
from freshet.oneshot.construct import triple_terms
from freshet.oneshot.dataset import DEFAULT_GRAPH, Dataset, GraphReader, Ids, Triples
from freshet.oneshot.derivations import Derivations, TracedRemote, TracedTriple, Traces
from freshet.oneshot.evaluate import evaluate
from freshet.oneshot.scope import NO_SERVICES, Scope
from freshet.oneshot.table import Rows, Table
from freshet.oneshot.tracing import Trace, trace_pattern
from freshet.rdf.deadline import Deadline
from freshet.rdf.deletions import standing
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import BlankNode, Iri, Term
from freshet.results.report import Report
from freshet.results.why import MOST_MEMBERS, Derivation, Members, RemoteRow, StoredTriple, Why, WindowElement
from freshet.runtime.origins import PUSHED
from freshet.runtime.seen_graph import SeenDataset, is_in
from freshet.runtime.window_at import WhyGoneError, WindowsAt, end_of
from freshet.store.triple_index import TripleIndex

if TYPE_CHECKING:
    from freshet.native.engine import Engine, HeldForQuery
    from freshet.store.dataset import StoredDataset

Triple = tuple[int, int, int]
Row = tuple[int, ...]  # of a graph: a triple, or a quad

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_BEFORE = 64  # evaluations that are tried to find the last one that had a row of DSTREAM
_SECONDS, _BYTES = 30.0, 1 << 30
_UNSTABLE = ("SAMPLE", "GROUP_CONCAT")  # what they give depends on the order of solutions


class Explanations:
    """Why a query reported rows, by what is there now of the elements that it has read.

    Args:
        engine: The engine that has the query.
        stored: Its stored graphs.
        name: The query.

    Raises:
        WhyGoneError: No elements are kept.
        UnsupportedError: The query is an ASK or a DESCRIBE, or draws values (UUID and the like).
    """

    def __init__(self, engine: Engine, stored: StoredDataset, name: str) -> None:
        self._engine = engine
        self._stored = stored
        self._name = name
        self._held = engine.held_for(name)
        check_explained(self._held.query)
        if not self._held.most:
            raise WhyGoneError("no elements are kept for this", hint="why_elements of the session is 0")
        self._windows = WindowsAt(self._held.timing, self._held.sources, self._held.most)
        self._last: _Evaluation | None = None

    def why(
        self, report: Report, row: int = 0, *, members: int = MOST_MEMBERS, deadline: Deadline | None = None
    ) -> Why:
        """Why a row of a report was reported.

        Args:
            report: The report.
            row: Which of its rows, or of its triples, from 0.
            members: How many derivations of the row, and members of each group, are given.
            deadline: How long it may take, and how much memory.

        Raises:
            InputError: The report is another query's, or has no such row.
            WhyGoneError: What it was derived from is not there any more.
            ServiceError: An endpoint gives no answer.
        """
        if report.query != self._name:
            raise InputError(f"the report is one of the query {report.query}, not of {self._name}")
        if members < 1:
            raise InputError(f"members is {members}: it must be a positive number")
        shown = report.shown
        if not 0 <= row < len(shown.rows):
            raise InputError(f"the report has {len(shown.rows)} rows: there is no row {row}")
        values = dict(zip(shown.variables, shown.rows[row].tolist(), strict=True))
        graph = [] if report.graph is None else [tuple(each) for each in shown.rows.tolist()]
        moment = 2 * report.time_ms if report.moment is None else report.moment
        dictionary = self._engine.dictionary
        with dictionary.pins, (deadline or Deadline(_SECONDS, _BYTES)).running():
            for at in _moments(self._held.query, self._windows, moment):
                found = self._evaluation(at).derive(values, graph, members)
                if found is not None:
                    terms = dictionary.decode_many(list(values.values()))
                    named = {name: term for name, term in zip(values, terms, strict=True) if term is not None}
                    return Why(self._name, at >> 1, named, *found)
        raise WhyGoneError(
            f"the row cannot be derived again from what is kept of {self._name}: the stored graph, or what endpoints"
            " answer, may have changed since"
        )

    def _evaluation(self, moment: int) -> _Evaluation:
        """That of a moment; rows of one report have the same."""
        if self._last is None or self._last.moment != moment:
            self._last = _Evaluation(self._engine, self._stored, self._held, self._windows, moment)
        return self._last


def check_explained(query: Query, file: str | None = None) -> None:
    """Refuse a query whose answers are not explained."""
    if query.form in (QueryForm.ASK, QueryForm.DESCRIBE):
        raise UnsupportedError(f"answers of {query.form.value.upper()} are not explained", file=file)
    if has_graphs_in_windows(query):
        raise UnsupportedError("answers of GRAPH in a window are not explained", file=file)
    if (function := volatile_function(query.root)) is not None:
        raise UnsupportedError(f"answers with values that {function} draws are not explained", file=file)


def _moments(query: Query, windows: WindowsAt, moment: int) -> Iterator[int]:
    """The evaluations that may have had the row: that of the report, or, of DSTREAM, those before it."""
    if query.output is not StreamOperator.DSTREAM:
        yield moment
        return
    for _ in range(_MOST_BEFORE):
        before = windows.before(moment)
        if before is None:
            return
        yield (moment := before)


class _Evaluation:
    """One evaluation of a query, at a moment, over the contents of its windows then."""

    def __init__(
        self, engine: Engine, stored: StoredDataset, held: HeldForQuery, windows: WindowsAt, moment: int
    ) -> None:
        self.moment = moment
        self._dictionary = engine.dictionary
        self._services = engine.services or NO_SERVICES
        self._held = held
        self._query = held.query
        contents = {each.name: windows.content(each.window, moment) for each in held.query.windows}
        self._contents = {
            name: each.where(np.flatnonzero(standing(each.subjects, each.predicates, each.objects).additions))
            for name, each in contents.items()
        }
        self._readers: dict[Iri, GraphReader] = {
            name: TripleIndex(Triples(content.subjects, content.predicates, content.objects))
            for name, content in self._contents.items()
        }
        self._now = _EPOCH + timedelta(milliseconds=moment >> 1)
        self._end_ms = end_of(moment)
        self._stored = SeenDataset(stored, self._end_ms)
        self._dataset: Dataset = query_dataset(held.query, self._stored, self._dictionary, self._readers)

    def derive(
        self, row: Mapping[str, int], graph: Sequence[Row], most: int
    ) -> tuple[int, tuple[Derivation, ...]] | None:
        """In how many ways the row is derived, and some of them; None where it is not."""
        root = simplify(self._query.root)
        for pattern, compared in _attempts(root):
            total, found = 0, []
            for wanted in self._wanted_values(row, graph):
                trace = Trace()
                table = self._evaluate(trace_pattern(pattern, trace), wanted)
                derivations = Derivations(trace, self._dictionary, most)
                rows = _rows_with(table, {name: each for name, each in wanted.items() if name not in compared})
                if len(rows):
                    count, traces = derivations.of_rows(table, rows)
                    total += count
                    found += [self._derivation(each) for each in traces]
            if total:
                return total, tuple(found[:most])
        return None

    def _evaluate(self, node: nodes.Node, wanted: Mapping[str, int]) -> Table:
        known = {name: np.array([each], np.int64) for name, each in wanted.items() if each}
        scope = Scope(
            dataset=self._dataset,
            graph=self._dataset.graph(DEFAULT_GRAPH),
            dictionary=self._dictionary,
            context=Context(self._now, self._query.base),
            services=self._services,
            hint=Table(known, 1) if known else None,
        )
        return evaluate(node, scope)

    def _wanted_values(self, row: Mapping[str, int], graph: Sequence[Row]) -> Iterator[dict[str, int]]:
        """The values that solutions must have: those of the row, or those with which the template gives the triple."""
        if self._query.form is not QueryForm.CONSTRUCT:
            yield dict(row)
            return
        for pattern in self._query.template:
            yield from self._fill_template(pattern, tuple(row.values()), set(graph))

    def _fill_template(
        self, pattern: TriplePattern | QuadPattern, triple: Row, graph: set[Row]
    ) -> Iterator[dict[str, int]]:
        first = self._unify(pattern, triple, {}, {})
        if first is None:
            return
        values, blank = first
        # Other triples of the same solution have the same blank node, and say more of its values.
        for other in self._query.template:
            if other is not pattern and _blank_labels(other) & blank.keys():
                fitting = (self._unify(other, each, values, blank) for each in graph)
                found = [each for each in fitting if each is not None]
                if len(found) == 1:
                    values, blank = found[0]
        yield values

    def _unify(
        self,
        pattern: TriplePattern | QuadPattern,
        triple: Row,
        values: Mapping[str, int],
        blank: Mapping[str, int],
    ) -> tuple[dict[str, int], dict[str, int]] | None:
        """The values of variables and blank nodes with which a pattern is a triple."""
        new, nodes_ = dict(values), dict(blank)
        for term, each in zip(_template_terms(pattern), triple, strict=False):
            if isinstance(term, Variable):
                if new.setdefault(term.name, each) != each:
                    return None
            elif isinstance(term, BlankNode):
                if nodes_.setdefault(term.label, each) != each:
                    return None
            elif (DEFAULT_GRAPH if term is None else known_id(term, self._dictionary)) != each:
                return None
        return new, nodes_

    # ---- from triples to elements and stored triples

    def _derivation(self, traces: Traces) -> Derivation:
        elements: dict[WindowElement, None] = {}
        stored: dict[StoredTriple, None] = {}
        for traced in traces.triples:
            elements |= dict.fromkeys(self._elements(traced))
            stored |= dict.fromkeys(self._stored_triples(traced))
        return Derivation(
            tuple(elements),
            tuple(stored),
            tuple(traces.branches),
            tuple(traces.unmatched),
            tuple(traces.absent),
            tuple(traces.slices),
            tuple(Members(each.kind, each.total, tuple(map(self._derivation, each.members))) for each in traces.sets),
            tuple(map(self._remote, traces.remote)),
        )

    def _remote(self, traced: TracedRemote) -> RemoteRow:
        named = traced.endpoint
        values = {name: self._dictionary.decode(each) for name, each in traced.values.items() if each}
        endpoint = values.pop(named.name) if isinstance(named, Variable) else named
        assert isinstance(endpoint, Iri)
        return RemoteRow(endpoint.value, tuple(sorted(values.items(), key=lambda item: item[0])))

    def _elements(self, traced: TracedTriple) -> Iterator[WindowElement]:
        """The elements of the window in which a triple was found; of several, where windows are merged."""
        is_merged = self._query.merged and traced.graph is self._dataset.graph(DEFAULT_GRAPH)
        for name, reader in self._readers.items():
            if reader is traced.graph or is_merged:
                content = self._contents[name]
                for at in _places(content, traced.triple).tolist():
                    yield self._element(name, content, at, traced.triple)

    def _element(self, window: Iri, content: HeldElements, at: int, triple: Triple) -> WindowElement:
        stream = next(each.window.stream for each in self._query.windows if each.name == window)
        assert isinstance(stream, Iri)
        query = stream.value if stream.value in self._held.constructed else None
        record = None if query is not None else record_of(content, at)
        if content.stream != stream.value:  # derived: the record is that of the base stream's element
            record = self._record_of_base(stream.value, triple)
        return WindowElement(stream.value, window.value, int(content.times[at]), self._terms(triple), record, query)

    def _record_of_base(self, stream: str, triple: Triple) -> str | None:
        base = self._held.bases.get(stream)
        if base is None or not len(places := _places(base, triple)):
            return None
        return record_of(base, int(places[-1]))

    def _stored_triples(self, traced: TracedTriple) -> Iterator[StoredTriple]:
        if any(reader is traced.graph for reader in self._readers.values()):
            return
        names = self._stored.names().tolist()
        if traced.graph is self._dataset.graph(DEFAULT_GRAPH):
            given = [known_id(name, self._dictionary) for name in self._query.default_graphs]
            candidates = [name for name in given if name in names] if given else [DEFAULT_GRAPH]
        else:
            candidates = [name for name in names if self._dataset.graph(name) is traced.graph]
        for name in candidates:
            if is_in(self._stored, name, traced.triple):
                graph = None if name == DEFAULT_GRAPH else self._dictionary.decode(name)
                records = self._absorbed_records(traced.triple) if graph is None else ()
                yield StoredTriple(self._terms(traced.triple), getattr(graph, "value", None), records)

    def _absorbed_records(self, triple: Triple) -> tuple[str, ...]:
        """The records of elements that left a triple in the stored graph before the moment."""
        found = []
        for held in self._held.absorbed.values():
            places = _places(held, triple)
            found += [record_of(held, at) for at in places[held.times[places] < self._end_ms].tolist()]
        return tuple(dict.fromkeys(found))

    def _terms(self, triple: Triple) -> tuple[Term, Term, Term]:
        subject, predicate, object_ = (self._dictionary.decode(each) for each in triple)
        return subject, predicate, object_


def record_of(held: HeldElements, at: int) -> str:
    """The record that an element came from."""
    batch, row = int(held.batches[at]), int(held.rows[at])
    return held.origins.get(batch, PUSHED).record(batch, row)


def _places(held: HeldElements, triple: Triple) -> Ids:
    subject, predicate, object_ = triple
    same = (held.subjects == subject) & (held.predicates == predicate) & (held.objects == object_)
    return np.flatnonzero(same)


def _rows_with(table: Table, wanted: Mapping[str, int]) -> Rows:
    same = np.ones(table.count, np.bool_)
    for name, each in wanted.items():
        same &= table.column(name) == each
    return np.flatnonzero(same)


def _attempts(root: nodes.Node) -> Iterator[tuple[nodes.Node, frozenset[str]]]:
    """The pattern as it is; then without its LIMIT, which may have chosen others of equal rank, and without regard to
    variables whose values depend on the order of solutions."""
    yield root, frozenset()
    unstable = frozenset(_unstable(root))
    without = _without_slices(root)
    if unstable or without != root:
        yield without, unstable


def _unstable(node: Any) -> set[str]:
    if isinstance(node, tuple):
        return set().union(*map(_unstable, node))
    if not isinstance(node, nodes.Node):
        return set()
    found = set().union(*(_unstable(getattr(node, place.name)) for place in fields(node)))
    if isinstance(node, nodes.Group):
        found |= {variable.name for variable, each in node.aggregates if each.function in _UNSTABLE}
    if isinstance(node, nodes.Extend) and variables_of(node.expression) & found:
        found.add(node.variable.name)
    return found


def _without_slices(node: Any) -> Any:
    if isinstance(node, nodes.Slice):
        return _without_slices(node.child)
    if not isinstance(node, nodes.Node) or not is_dataclass(node):
        return node
    parts = {place.name: _without_slices(getattr(node, place.name)) for place in fields(node)}
    return replace(node, **parts)


def _template_terms(pattern: TriplePattern | QuadPattern) -> tuple[nodes.PatternTerm | None, ...]:
    """The terms of a triple or quad; None for the default graph."""
    graph, triple = (None, pattern) if isinstance(pattern, TriplePattern) else (pattern.graph, pattern.triple)
    return *triple_terms(triple), graph


def _blank_labels(pattern: TriplePattern | QuadPattern) -> set[str]:
    return {term.label for term in _template_terms(pattern) if isinstance(term, BlankNode)}
