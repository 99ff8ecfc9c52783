"""SPARQL 1.1 Update: an update and a dataset in, what changes out. Nothing is changed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from freshet.algebra.nodes import BGP, Query, QueryForm
from freshet.algebra.rewrite.rules import rewrite
from freshet.algebra.updates import (
    Clear,
    Create,
    GraphKind,
    Load,
    Modify,
    Operation,
    Transfer,
    TransferKind,
    Update,
)
from freshet.oneshot.answer import scope_of
from freshet.oneshot.construct import construct_quads
from freshet.oneshot.dataset import ANY, DEFAULT_GRAPH, Dataset
from freshet.oneshot.evaluate import evaluate
from freshet.oneshot.scope import Services
from freshet.oneshot.table import Table
from freshet.oneshot.view import DatasetView
from freshet.rdf.deadline import QueryStoppedError, current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.reading import Quads
from freshet.rdf.terms import Iri
from freshet.store.changed_dataset import ChangedDataset, Graphs
from freshet.store.changes import ChangeLog, StoreChanges, quads_of

ReadDocument = Callable[[Load], Quads]
NO_PATTERN = BGP(())


def changes_of(
    update: Update, dataset: Graphs, dictionary: Dictionary, services: Services | None, read_document: ReadDocument
) -> StoreChanges:
    """What the operations of an update change in a dataset, each after those before it.

    An operation that cannot be done is an InputError, so that nothing of the update is. The caller holds a pin on the
    dictionary.
    """
    return _Evaluation(dataset, dictionary, services, read_document, update.base).changes(update.operations)


class _Evaluation:
    """Does the operations of one update, in a log of changes."""

    def __init__(
        self,
        dataset: Graphs,
        dictionary: Dictionary,
        services: Services | None,
        read_document: ReadDocument,
        base: str | None,
    ) -> None:
        self._dataset = dataset
        self._dictionary = dictionary
        self._services = services
        self._read_document = read_document
        self._base = base
        self._log = ChangeLog()

    def changes(self, operations: Sequence[Operation]) -> StoreChanges:
        for number, operation in enumerate(operations, 1):
            current().check()
            try:
                self._evaluate(operation)
            except InputError as error:
                if len(operations) > 1:
                    error.message = f"operation {number} of the update: {error.message}"
                raise
        found = self._log.net()
        current().check()
        return found

    def _evaluate(self, operation: Operation) -> None:
        match operation:
            case Modify():
                self._modify(operation)
            case Load(_, into, silent):
                try:
                    quads = self._read_document(operation)
                except QueryStoppedError:
                    raise
                except FreshetError:
                    if not silent:
                        raise
                    return
                name = self._name(into)
                self._insert(quads._replace(graphs=np.full(len(quads.graphs), name)))
                self._log.create(name)
            case Create(graph, silent):
                name = self._name(graph)
                if self._is_there(name):
                    self._raise_unless_silent(f"there is a graph <{graph.value}> already", silent)
                self._log.create(name)
            case Clear(target, silent, drop):
                for name in self._targets(target, silent):
                    self._clear(name)
                    if drop:
                        self._log.drop(name)
            case Transfer():
                self._transfer(operation)
            case _:
                raise TypeError(f"no evaluation is defined for {type(operation).__name__}")

    def _modify(self, operation: Modify) -> None:
        written = self._name(operation.written)
        table = self._solutions(operation)
        deleted, inserted = (
            construct_quads(template, written, table, self._dictionary)
            for template in (operation.deleted, operation.inserted)
        )
        self._log.delete(deleted)
        self._insert(inserted)

    def _solutions(self, operation: Modify) -> Table:
        if operation.pattern == NO_PATTERN:  # data: nothing is read
            return Table({}, 1)
        query = Query(
            QueryForm.SELECT,
            operation.pattern,
            default_graphs=operation.using,
            named_graphs=operation.using_named,
            base=self._base,
        )
        dataset: Dataset = self._current_dataset()
        if operation.written is not None and not operation.using and not operation.using_named:
            own = np.array([self._name(operation.written)], np.int64)
            dataset = DatasetView(dataset, own, dataset.names())
        return evaluate(rewrite(query).root, scope_of(query, dataset, self._dictionary, self._services))

    def _transfer(self, operation: Transfer) -> None:
        if operation.source == operation.destination:
            return
        source, destination = self._name(operation.source), self._name(operation.destination)
        if operation.source is not None and not self._is_there(source):
            self._raise_unless_silent(f"there is no graph <{operation.source.value}>", operation.silent)
            return
        triples = self._current_dataset().graph(source).match(ANY, ANY, ANY)
        if operation.kind is not TransferKind.ADD:
            self._clear(destination)
        self._insert(quads_of(triples, destination))
        self._log.create(destination)
        if operation.kind is TransferKind.MOVE:
            self._clear(source)
            self._log.drop(source)

    def _targets(self, target: Iri | GraphKind, silent: bool) -> Iterable[int]:
        if isinstance(target, Iri):
            name = self._name(target)
            if self._is_there(name):
                return [name]
            self._raise_unless_silent(f"there is no graph <{target.value}>", silent)
            return []
        names = [] if target is GraphKind.DEFAULT else self._current_dataset().names().tolist()
        return names if target is GraphKind.NAMED else [DEFAULT_GRAPH, *names]

    def _clear(self, graph: int) -> None:
        self._log.delete(quads_of(self._current_dataset().graph(graph).match(ANY, ANY, ANY), graph))

    def _insert(self, quads: Quads) -> None:
        current().reserve(4 * quads.graphs.nbytes)
        self._log.insert(quads)

    def _current_dataset(self) -> Graphs | ChangedDataset:
        """The dataset after the operations so far."""
        changes = self._log.net()
        return ChangedDataset(self._dataset, changes) if changes else self._dataset

    def _is_there(self, name: int) -> bool:
        return bool(np.isin(name, self._current_dataset().names()))

    def _name(self, graph: Iri | None) -> int:
        return DEFAULT_GRAPH if graph is None else self._dictionary.encode(graph)

    def _raise_unless_silent(self, message: str, silent: bool) -> None:
        if not silent:
            raise InputError(message)
