"""SERVICE: solutions of a pattern at a remote endpoint, whole or for bindings in bulk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakSet

import numpy as np

from freshet.federation.candidates import Ids
from freshet.federation.endpoint import Endpoint
from freshet.federation.errors import RejectedError, ServiceError
from freshet.federation.service_query import Row, ServiceQuery
from freshet.federation.settings import ServiceSettings, show_url
from freshet.rdf.dictionary import Dictionary
from freshet.results.table import Table

if TYPE_CHECKING:
    from freshet.federation.http import Requests

_MOST_ENDPOINTS = 1000  # that are remembered
_LOOK_SECONDS = 0.05  # how often a waiting thread checks whether to go on


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Solutions as columns of ids, 0 where a variable is unbound."""

    ids: dict[str, Ids]
    count: int


class Bindings(NamedTuple):
    """Rows of ids, all bound and different, and what their columns are."""

    names: tuple[str, ...]
    rows: Ids


class ServiceClient:
    """Asks endpoints within one allow-list. Endpoints share nothing but their connections."""

    def __init__(self, settings: ServiceSettings | None = None) -> None:
        self.settings = settings or ServiceSettings()
        self._lock = Lock()
        self._closed = False
        self.endpoints: dict[str, Endpoint] = {}  # the one that was asked for last is at the end
        self._others: WeakSet[Endpoint] = WeakSet()  # that are still in use

    @cached_property
    def _requests(self) -> Requests:
        """Brings urllib3 along, which only queries with SERVICE need."""
        from freshet.federation.http import Requests
        from freshet.federation.timed_pool import TimedPool

        return Requests(TimedPool(self.settings.requests_at_once), self.settings)

    def endpoint(self, iri: str) -> Endpoint:
        """The endpoint of an IRI; RefusedError where it may not be asked."""
        url = self.settings.url(iri)
        with self._lock:
            if self._closed:
                raise ServiceError("the session is closed, so no endpoint is asked")
            found = self.endpoints.pop(url, None) or Endpoint(url, self._requests)
            self.endpoints[url] = found
            if len(self.endpoints) > _MOST_ENDPOINTS:  # data name them, and may name ever new ones
                self._others.add(self.endpoints.pop(next(iter(self.endpoints))))
            return found

    def fetch(self, iri: str, accept: str) -> tuple[bytes, str]:
        """A document and its media type; RefusedError where its host may not be asked."""
        return self._requests.fetch(self.settings.url(iri), accept)

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
        """The solutions of a pattern at an endpoint, those that fit the bindings where there are some.

        `check` is called while waiting and may raise; no request takes longer than `seconds`. ServiceError where the
        endpoint does not answer, also where that is to be ignored (`silent`).
        """
        asking = _Asking(self.endpoint(iri), self.settings, dictionary, check, seconds)
        return asking.solutions(query, bindings)

    def close(self) -> None:
        """Close all endpoints; none is asked any more."""
        with self._lock:
            self._closed = True
            endpoints = [*self.endpoints.values(), *self._others]
        for endpoint in endpoints:
            endpoint.close()
        if endpoints:
            self._requests.pool.clear()


@dataclass(frozen=True, slots=True)
class _Asking:
    """One pattern asked of one endpoint."""

    endpoint: Endpoint
    settings: ServiceSettings
    dictionary: Dictionary
    check: Callable[[], None]
    seconds: float | None

    def solutions(self, query: ServiceQuery, bindings: Bindings | None) -> Columns:
        if bindings is None or len(bindings.rows) > self.settings.most_bindings or not bindings.names:
            return columns(self._gather_answers([query.whole_query()]), query.variables, self.dictionary)
        if not self.endpoint.knows_values:
            return self._singly(query, bindings)
        texts = list(query.batches(bindings.names, rows_of_terms(bindings.rows, self.dictionary), self.settings.batch))
        try:
            return columns(self._gather_answers(texts), query.variables, self.dictionary)
        except RejectedError as error:
            if not error.may_be_for_values:
                raise
            found = self._singly(query, bindings)
            self.endpoint.refuses_values()
            return found

    def _singly(self, query: ServiceQuery, bindings: Bindings) -> Columns:
        """A request for each binding, which is filled in."""
        texts = [query.single_query(bindings.names, row) for row in rows_of_terms(bindings.rows, self.dictionary)]
        asked = [(text, row) for text, row in zip(texts, bindings.rows, strict=True) if text is not None]
        tables = self._gather_answers([text for text, _ in asked])
        parts = [columns([table], query.variables, self.dictionary) for table in tables]
        for part, (_, row) in zip(parts, asked, strict=True):
            for name, term_id in zip(bindings.names, row.tolist(), strict=True):
                part.ids[name] = np.full(part.count, term_id)
        return stack_columns(parts, query.variables)

    def _gather_answers(self, texts: Sequence[str]) -> list[Table]:
        """The answers to some queries, in their order. Where one fails, what has not begun of the rest is not asked."""
        futures = [self.endpoint.submit(text, self.dictionary.fresh_scope(), self.seconds) for text in texts]
        try:
            rounds = -(-len(futures) // self.settings.requests_at_once)
            self._wait(futures, monotonic() + self.settings.timeout_seconds * rounds + 1)
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()

    def _wait(self, futures: Sequence[Future[Table]], end: float) -> None:
        """Until all are done or one has failed. A thread that hangs is not waited for."""
        while True:
            done, waiting = wait(futures, _LOOK_SECONDS, FIRST_EXCEPTION)
            if not waiting or any(not each.cancelled() and each.exception() for each in done):
                break
            self.check()
            if monotonic() > end:
                raise ServiceError(f"{show_url(self.endpoint.url)} took too long")
        for each in done:
            each.result()


def columns(tables: Sequence[Table], names: Sequence[str], dictionary: Dictionary) -> Columns:
    """Answers as columns; variables that an answer does not have are unbound."""
    return stack_columns([_columns(table, names, dictionary) for table in tables], names)


def _columns(table: Table, names: Sequence[str], dictionary: Dictionary) -> Columns:
    found = table.intern(dictionary)
    places = {name: at for at, name in enumerate(found.variables)}
    unbound = np.zeros(table.count, np.int64)
    ids = {name: found.rows[:, places[name]].copy() if name in places else unbound for name in names}
    return Columns(ids, table.count)


def stack_columns(parts: Sequence[Columns], names: Sequence[str]) -> Columns:
    """Some solutions after others."""
    nothing = np.empty(0, np.int64)
    ids = {name: np.concatenate([nothing, *(part.ids[name] for part in parts)]) for name in names}
    return Columns(ids, sum(part.count for part in parts))


def rows_of_terms(rows: Ids, dictionary: Dictionary) -> list[Row]:
    """Rows of ids as rows of terms."""
    flat = [term for term in dictionary.decode_many(rows.reshape(-1)) if term is not None]
    width = rows.shape[1]
    return [tuple(flat[first : first + width]) for first in range(0, len(flat), width)]
