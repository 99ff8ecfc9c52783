"""Service: a local view of remote data, joined like any other input (WSJ of the approximate-answers paper).

    rows = solutions of the view's entries that the other side of the join needs now

| other side (?user, ?post) | view (?user, ?n)           | rows          |
| ------------------------- | -------------------------- | ------------- |
| (a, 1), (a, 2), (b, 3)    | a: (a, 10)   b: -   c: ... | (a, 10)       |

At each step the view gets the keys that are needed, by how many rows and for how long, and refreshes what matters most
in the time that the evaluation has. Where nothing is joined, or no variable is shared, the view has one entry: all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Service
from freshet.algebra.windows import SlidingWindow, WindowOperator
from freshet.federation.client import Columns
from freshet.federation.endpoint_views import Pattern
from freshet.federation.evaluation import Evaluation
from freshet.federation.local_view import Needed, Refreshed
from freshet.federation.service_query import ServiceQuery
from freshet.native.buffers.inputs import Input
from freshet.native.change import Operator
from freshet.native.operators.service_needs import WindowExtent, all_needed, needed_by
from freshet.native.operators.service_reevaluation import ViewServices
from freshet.native.operators.service_rows import Allowed, ServiceRows
from freshet.native.operators.service_variable import VariableServiceOp
from freshet.native.operators.service_views import View, ViewSource
from freshet.native.plan.plan import PlanService
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri


def extent_of(windows: Iterable[WindowOperator]) -> WindowExtent:
    """Of windows that do not slide only the present is certain."""
    sliding = [window for window in windows if isinstance(window, SlidingWindow)]
    if not sliding:
        return WindowExtent(1000, 1)
    return WindowExtent(
        min(window.slide_ms for window in sliding),
        max(-(-window.width_ms // window.slide_ms) for window in sliding),
    )


@dataclass(frozen=True, slots=True)
class Remote:
    """What the SERVICE patterns of one query share."""

    views: ViewSource
    extent: WindowExtent
    evaluation: Evaluation

    def operator(self, node: PlanService, other: Input | None) -> Operator:
        """The operator of a pattern that is joined with another input, or with nothing."""
        query = ServiceQuery(node.pattern)
        keys = () if other is None else tuple(sorted(query.certain & other.certain & set(other.names)))
        if isinstance(node.endpoint, Variable):
            if other is None or node.endpoint.name not in other.names:
                raise unbound(node.endpoint)
            pattern = Pattern(node.endpoint.name, query, keys, self.extent.slide_ms)
            views = self.views.endpoint_views(pattern)
            return VariableServiceOp(views, pattern, other, self.extent, self.evaluation, silent=node.silent)
        view = self.views.view(node.endpoint.value, query, keys, self.extent.slide_ms)
        return ServiceOp(view, query, keys, other, self.extent, self.evaluation, silent=node.silent)

    def services(self, asked: Iterable[Service]) -> ViewServices:
        """Local views for what is evaluated anew. Endpoints that may not be asked are refused now."""
        made = ViewServices(self.views, self.extent, self.evaluation)
        for each in asked:
            if isinstance(each.endpoint, Iri):
                self.views.check(each.endpoint.value)
        return made


def unbound(endpoint: Variable) -> InputError:
    """What is wrong with SERVICE ?endpoint where nothing can bind it."""
    rule = "what it is joined with must bind it in every solution"
    return InputError(f"nothing binds {endpoint}, the endpoint of SERVICE", hint=rule)


class ServiceOp(ServiceRows):
    """The remote solutions that fit the rows of another input."""

    def __init__(
        self,
        view: View,
        query: ServiceQuery,
        keys: tuple[str, ...],
        other: Input | None,
        extent: WindowExtent,
        evaluation: Evaluation,
        *,
        silent: bool,
    ) -> None:
        super().__init__(query.variables, evaluation, silent=silent)
        self._view = view
        self._other = other
        self._columns: Sequence[int] = [] if other is None else [other.names.index(name) for name in keys]
        self._extent = extent
        view.load()

    def _join(self, moment: int, allowed: Allowed) -> tuple[Refreshed, Columns]:
        return self._view.join(self._needed(moment), **allowed)

    def _needed(self, moment: int) -> Needed:
        """What the other side needs."""
        if self._other is None or not self._columns:
            return all_needed(self._extent)
        return needed_by(self._other.buffer, self._other.buffer.live_rows(), self._columns, self._extent, moment)
