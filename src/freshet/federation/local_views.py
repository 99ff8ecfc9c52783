"""The local views of a session: queries that ask one endpoint for the same pattern on the same keys share one, whatever
they call their variables."""

from __future__ import annotations

from threading import Lock
from weakref import WeakValueDictionary

from freshet.algebra.nodes import Node
from freshet.federation.client import ServiceClient
from freshet.federation.endpoint_views import EndpointViews, Pattern
from freshet.federation.learnt import LearntBefore
from freshet.federation.local_view import LocalView
from freshet.federation.named_view import AnyView, NamedView, number_endpoints
from freshet.federation.service_query import ServiceQuery
from freshet.federation.view_entries import ViewEntry
from freshet.rdf.dictionary import Dictionary

_Key = tuple[str, Node, tuple[int, ...]]


class LocalViews:
    """Makes local views, and forgets those that no query has any more, but not all that was learnt in them."""

    def __init__(self, client: ServiceClient, dictionary: Dictionary) -> None:
        self._client = client
        self._dictionary = dictionary
        self._lock = Lock()
        self._views: WeakValueDictionary[_Key, LocalView] = WeakValueDictionary()
        self._learnt: LearntBefore[tuple[_Key, int]] = LearntBefore(client.settings.most_entries)

    def view(self, iri: str, query: ServiceQuery, keys: tuple[str, ...], slide_ms: int) -> AnyView:
        """The view of a pattern at an endpoint; RefusedError where that may not be asked."""
        pattern, names = number_endpoints(query.pattern)
        key = (self._client.settings.url(iri), pattern, tuple(names.index(name) for name in keys))
        with self._lock:
            found = self._views.get(key)
            if found is None:
                before = self._learnt.take((key, slide_ms))
                found = LocalView(self._client, iri, query, keys, self._dictionary, slide_ms, before)
                self._views[key] = found
                self._learnt.keep((key, slide_ms), found.learnt, lambda each: each[0] in self._views)
        _, known_as = number_endpoints(found.query.pattern)
        return found if known_as == names else NamedView(found, dict(zip(known_as, names, strict=True)))

    def entries(self) -> list[ViewEntry]:
        """What all views that queries have hold by now."""
        with self._lock:
            views = list(self._views.values())
        return [entry for view in views for entry in view.entries()]

    @property
    def most_endpoints(self) -> int:
        return self._client.settings.most_endpoints

    def check(self, iri: str) -> None:
        """RefusedError where an endpoint may not be asked."""
        self._client.settings.url(iri)

    def endpoint_views(self, pattern: Pattern) -> EndpointViews:
        """The views of a pattern at the endpoints that a variable is bound to."""
        return EndpointViews(self, pattern, self._dictionary, self.most_endpoints)
