"""SERVICE in a part that is evaluated anew: the one-shot evaluator asks, and local views answer.

Which bindings it asks for says which entries are needed. For how long they will be it does not say, so only this
evaluation is certain.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from freshet.federation.client import Bindings, Columns
from freshet.federation.endpoint_views import too_many
from freshet.federation.errors import ServiceError
from freshet.federation.evaluation import Evaluation
from freshet.federation.local_view import Needed
from freshet.federation.service_query import ServiceQuery
from freshet.native.operators.service_needs import WindowExtent, all_needed
from freshet.native.operators.service_views import View, ViewSource
from freshet.rdf.dictionary import Dictionary

_MOST_VIEWS = 100  # that are kept beside those of this evaluation; a variable may name ever new endpoints

_Key = tuple[str, ServiceQuery, tuple[str, ...]]


class ViewServices:
    """Answers like a client, from views that are refreshed in the time that the evaluation has."""

    def __init__(self, views: ViewSource, extent: WindowExtent, evaluation: Evaluation) -> None:
        self._views = views
        self._extent = extent
        self._evaluation = evaluation
        self._known: dict[_Key, View] = {}  # the one needed last is at the end
        self._began = 0.0  # the evaluation
        self._endpoints: set[str] = set()  # that it has named

    def solutions(
        self,
        iri: str,
        query: ServiceQuery,
        dictionary: Dictionary,
        bindings: Bindings | None = None,
        check: Callable[[], None] = lambda: None,
        seconds: float | None = None,
        silent: bool = False,
    ) -> Columns:
        """What the view has. An endpoint that may not be asked counts as one that fails."""
        needed = self._needed(bindings)
        try:
            view = self._view(iri, query, () if bindings is None else bindings.names)
        except ServiceError as error:
            self._evaluation.spent(0.0, int(needed.uses.sum()), 0, 0, error.message)
            if silent:
                raise
            return Columns({name: np.empty(0, np.int64) for name in query.variables}, 0)
        done, found = view.join(
            needed,
            seconds=self._evaluation.seconds_left(),
            accuracy=self._evaluation.constraints.accuracy,
            silent=silent,
        )
        self._evaluation.spent(*done)
        return found

    def _needed(self, bindings: Bindings | None) -> Needed:
        if bindings is None:
            return all_needed(self._extent)
        ones = np.ones(len(bindings.rows), np.int64)
        return Needed(np.ascontiguousarray(bindings.rows), ones, ones, self._extent.slide_ms)

    def _view(self, iri: str, query: ServiceQuery, names: tuple[str, ...]) -> View:
        self._count(iri)
        key = (iri, query, names)
        view = self._known.pop(key, None)
        if view is None:
            view = self._views.view(iri, query, names, self._extent.slide_ms)
            view.load()
        self._known[key] = view
        if len(self._known) > _MOST_VIEWS + self._views.most_endpoints:
            del self._known[next(iter(self._known))]
        return view

    def _count(self, iri: str) -> None:
        """ServiceError where one evaluation names too many endpoints."""
        if self._began != self._evaluation.began:
            self._began, self._endpoints = self._evaluation.began, set()
        self._endpoints.add(iri)
        if len(self._endpoints) > self._views.most_endpoints:
            raise ServiceError(too_many(self._views.most_endpoints))
