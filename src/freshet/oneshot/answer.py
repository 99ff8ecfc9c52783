"""One-shot answers: a query and a dataset in, solutions, a truth value or a graph out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from freshet.algebra.nodes import Distinct, Node, OrderBy, Project, Query, QueryForm, Reduced, Slice
from freshet.algebra.scope import visible_variables
from freshet.expressions.context import Context
from freshet.oneshot import operators as operators  # evaluate knows the operators once they are imported
from freshet.oneshot.constants import known_id
from freshet.oneshot.construct import construct
from freshet.oneshot.dataset import ANY, DEFAULT_GRAPH, Dataset, GraphReader, Ids
from freshet.oneshot.describe import describe
from freshet.oneshot.evaluate import evaluate
from freshet.oneshot.operators.slice import first_solutions
from freshet.oneshot.scope import NO_SERVICES, Scope, Services
from freshet.oneshot.table import Table, empty
from freshet.oneshot.view import DatasetView, WindowedDataset
from freshet.rdf.deadline import current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import Iri
from freshet.results.report import Answer, BooleanAnswer, Solutions


def answer(
    query: Query,
    dataset: Dataset,
    dictionary: Dictionary,
    *,
    services: Services | None = None,
    windows: Mapping[Iri, GraphReader] | None = None,
) -> Answer:
    """The answer to a query over a dataset as it is now, and over the endpoints that `services` may ask: none if None.

    `windows` have what the query's windows hold.
    What is not evaluated is an UnsupportedError; a QueryStoppedError where the current deadline says so.
    """
    if query.windows and windows is None:
        raise UnsupportedError("the query has windows: register it, or replay recorded streams")
    scope = scope_of(query, dataset, dictionary, services, windows or {})
    current().check()
    # Where all windows are empty so is the answer, independently of the stored graph.
    is_empty = bool(windows) and not any(content.count(ANY, ANY, ANY) for content in (windows or {}).values())
    if query.form is QueryForm.ASK:
        return BooleanAnswer(not is_empty and first_solutions(query.root, scope, 1).count > 0)
    table = evaluate(query.root, scope)
    if is_empty:
        table = empty(table.columns)
    if query.form is QueryForm.CONSTRUCT:
        return construct(query.template, table, dictionary)
    if query.form is QueryForm.DESCRIBE:
        return describe(query.resources, table, scope)
    return _solutions(_selected_names(query.root), table, dictionary)


def scope_of(
    query: Query,
    dataset: Dataset,
    dictionary: Dictionary,
    services: Services | None,
    windows: Mapping[Iri, GraphReader] | None = None,
) -> Scope:
    """What the pattern of a query is evaluated in."""
    dataset = query_dataset(query, dataset, dictionary, windows or {})
    return Scope(
        dataset=dataset,
        graph=dataset.graph(DEFAULT_GRAPH),
        dictionary=dictionary,
        context=Context(datetime.now(UTC), query.base),
        services=services or NO_SERVICES,
    )


def query_dataset(
    query: Query, dataset: Dataset, dictionary: Dictionary, windows: Mapping[Iri, GraphReader]
) -> Dataset:
    """What a query sees of a dataset, and of the contents of its windows."""
    stored = dataset
    if query.default_graphs or query.named_graphs:
        dataset = DatasetView(dataset, _ids(query.default_graphs, dictionary), _ids(query.named_graphs, dictionary))
    if not windows:
        return dataset
    # As in continuous queries, patterns outside of windows match the stored graph where FROM names no other.
    outside = (dataset if query.default_graphs else stored).graph(DEFAULT_GRAPH)
    contents = {dictionary.encode(name): content for name, content in windows.items()}
    return WindowedDataset(dataset, contents, outside, merged=query.merged)


def _ids(names: tuple[Iri, ...], dictionary: Dictionary) -> Ids:
    return np.array([known_id(name, dictionary) for name in names], np.int64)


def _selected_names(root: Node) -> tuple[str, ...]:
    node = root
    while isinstance(node, Slice | Distinct | Reduced | OrderBy):
        node = node.child
    variables = node.variables if isinstance(node, Project) else visible_variables(root)
    return tuple(variable.name for variable in variables)


def _solutions(names: tuple[str, ...], table: Table, dictionary: Dictionary) -> Solutions:
    current().reserve(8 * table.count * len(names))
    rows = np.empty((table.count, len(names)), np.int64)
    for at, name in enumerate(names):
        rows[:, at] = table.column(name)
    return Solutions(names, rows, dictionary)
