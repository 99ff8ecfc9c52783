"""Local views and where they come from, as operators need them."""

from __future__ import annotations

from typing import Protocol

from freshet.federation.client import Columns
from freshet.federation.endpoint_views import EndpointViews, Pattern
from freshet.federation.local_view import Needed, Refreshed, Resting
from freshet.federation.service_query import ServiceQuery


class View(Protocol):
    """A local view, as this operator needs it."""

    def join(
        self,
        needed: Needed,
        *,
        seconds: float | None,
        accuracy: float | None,
        silent: bool = False,
        resting: Resting = ...,
    ) -> tuple[Refreshed, Columns]: ...
    def load(self) -> None: ...


class ViewSource(Protocol):
    """Where local views come from."""

    @property
    def most_endpoints(self) -> int:
        """How many endpoints an evaluation may name by one variable."""

    def view(self, iri: str, query: ServiceQuery, keys: tuple[str, ...], slide_ms: int) -> View: ...
    def endpoint_views(self, pattern: Pattern) -> EndpointViews: ...
    def check(self, iri: str) -> None: ...
