"""The local views of `SERVICE ?variable`: one for each endpoint that the variable is bound to, asked side by side.

What a variable is bound to comes from data, so each endpoint is held to the allow-list when it turns up. One that may
not be asked, or is none, is reported like one that fails; it does not stop the query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext
from time import monotonic
from typing import NamedTuple, Protocol

import numpy as np

from freshet.federation.candidates import Ids
from freshet.federation.client import Columns, stack_columns
from freshet.federation.errors import ServiceError
from freshet.federation.local_view import Needed, Refreshed, Resting, wait_until
from freshet.federation.named_view import AnyView
from freshet.federation.service_query import ServiceQuery
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import BlankNode, Iri

_MOST_SHOWN = 3  # failing endpoints that a report names
_LONGEST = 300  # characters of what is reported of each, as an endpoint's name may be of any length


class Views(Protocol):
    """Where local views come from; RefusedError where an endpoint may not be asked."""

    def view(self, iri: str, query: ServiceQuery, keys: tuple[str, ...], slide_ms: int) -> AnyView: ...


class Pattern(NamedTuple):
    """What is asked of every endpoint: the variable that stands for it, the pattern, and what it is joined on."""

    variable: str
    query: ServiceQuery
    keys: tuple[str, ...]
    slide_ms: int


class LeftOut(NamedTuple):
    """Endpoints that are needed too, but are more than may be asked at once, and how many rows name them."""

    endpoints: Ids
    uses: int


NONE_LEFT_OUT = LeftOut(np.empty(0, np.int64), 0)


class EndpointViews:
    """Views by the id of their endpoint. Those that were not needed for longest go where there are too many."""

    def __init__(self, views: Views, pattern: Pattern, dictionary: Dictionary, most: int) -> None:
        self._views = views
        self._pattern = pattern
        self._dictionary = dictionary
        self.most = most  # that are to be asked at once
        self._names = tuple(dict.fromkeys([*pattern.query.variables, pattern.variable]))
        self._known: dict[int, AnyView | str] = {}  # or why there is none; the one needed last is at the end

    def join(
        self,
        needed: Mapping[int, Needed],
        left_out: LeftOut = NONE_LEFT_OUT,
        *,
        seconds: float | None,
        accuracy: float | None,
        silent: bool,
        resting: Resting = nullcontext,
    ) -> tuple[Refreshed, Columns]:
        """The solutions of all endpoints, each for the keys that are needed of it. They share the time there is, and
        it is waited for all of them within `resting`.

        With `silent` an endpoint that cannot be asked, or is left out, has one solution, of the variable only.
        """
        end = None if seconds is None else monotonic() + seconds
        parts: list[Columns] = []
        done: list[Refreshed] = []
        with ExitStack() as asking:
            views = {endpoint: self._view(endpoint) for endpoint in needed}
            asked = {
                endpoint: asking.enter_context(view.asking(needed[endpoint], seconds=seconds, accuracy=accuracy))
                for endpoint, view in views.items()
                if not isinstance(view, str)
            }
            with resting():
                wait_until([future for each in asked.values() for future in each.waiting], end)
            for endpoint, view in views.items():
                if not isinstance(view, str):
                    refreshed, found = view.answer(asked[endpoint], silent=silent)
                    done.append(refreshed)
                    parts.append(self._with_endpoint(found, endpoint))
                else:
                    done.append(Refreshed(0.0, int(needed[endpoint].uses.sum()), 0, 0, view))
                    parts += [self._alone(np.array([endpoint]))] if silent else []
        if len(left_out.endpoints):
            message = f"{too_many(self.most)} ({len(left_out.endpoints):,} are left out)"
            done.append(Refreshed(0.0, left_out.uses, 0, 0, message))
            parts += [self._alone(left_out.endpoints)] if silent else []
        self._forget()
        return _together(done), stack_columns(parts, self._names)

    def _view(self, endpoint: int) -> AnyView | str:
        """The view of an endpoint, or why there is none."""
        known = self._known.pop(endpoint, None)
        if known is None:
            known = self._make_view(endpoint)
        self._known[endpoint] = known
        return known

    def _make_view(self, endpoint: int) -> AnyView | str:
        term = self._dictionary.decode(endpoint)
        pattern = self._pattern
        if not isinstance(term, Iri):
            kind = "a blank node" if isinstance(term, BlankNode) else "no IRI"  # whose text may be private
            return f"SERVICE ?{pattern.variable} is {kind}, which is no endpoint"
        try:
            view = self._views.view(term.value, pattern.query, pattern.keys, pattern.slide_ms)
        except ServiceError as error:
            return error.message
        view.load()
        return view

    def _forget(self) -> None:
        """Keep those that were needed last."""
        for endpoint in list(self._known)[: max(0, len(self._known) - self.most)]:
            del self._known[endpoint]

    def _with_endpoint(self, found: Columns, endpoint: int) -> Columns:
        """The solutions at an endpoint that agree with its being the variable's value."""
        name, ids, count = self._pattern.variable, found.ids, found.count
        if name in ids:
            fits = np.flatnonzero((ids[name] == 0) | (ids[name] == endpoint))
            ids, count = {each: column[fits] for each, column in ids.items()}, len(fits)
        return Columns({**ids, name: np.full(count, endpoint, np.int64)}, count)

    def _alone(self, endpoints: Ids) -> Columns:
        unbound = np.zeros(len(endpoints), np.int64)
        return Columns(dict.fromkeys(self._names, unbound) | {self._pattern.variable: endpoints}, len(endpoints))


def too_many(most: int) -> str:
    """The message where an evaluation names more endpoints than it may."""
    return f"more than {most} endpoints are needed at once, and no more are asked"


def _together(done: Sequence[Refreshed]) -> Refreshed:
    """What all views got."""
    failing = sorted({each.failing for each in done if each.failing is not None})
    shown = "; ".join(each[:_LONGEST] for each in failing[:_MOST_SHOWN])
    if len(failing) > _MOST_SHOWN:
        shown += f"; and {len(failing) - _MOST_SHOWN} more"
    return Refreshed(
        sum(each.right for each in done),
        sum(each.used for each in done),
        sum(each.refreshes for each in done),
        max((each.oldest_ms for each in done), default=0),
        shown or None,
    )
