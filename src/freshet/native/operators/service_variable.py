"""Service with a variable for its endpoint: each row of the other side says which endpoint it is joined with.

    rows = for each endpoint e that the other side has now: { ?e = e } joined with what e has for the rows that name it

| other side (?user, ?where) | view of A   | view of B | rows (?user, ?where, ?n) |
| -------------------------- | ----------- | --------- | ------------------------ |
| (a, A), (b, B), (c, A)     | a: 1   c: 3 | b: -      | (a, A, 1), (c, A, 3)     |

All endpoints are waited for at once, for as long as the evaluation has. A row that names none is an error of the query;
where SILENT passes over such rows they do not come here.
"""

from __future__ import annotations

import numpy as np

from freshet.federation.client import Columns
from freshet.federation.endpoint_views import EndpointViews, LeftOut, Pattern
from freshet.federation.evaluation import Evaluation
from freshet.federation.local_view import Needed, Refreshed
from freshet.native.buffers.inputs import Input
from freshet.native.operators.service_needs import WindowExtent, needed_by
from freshet.native.operators.service_rows import Allowed, ServiceRows
from freshet.rdf.errors import InputError


class VariableServiceOp(ServiceRows):
    """The remote solutions that fit the rows of another input, at the endpoint that each row names."""

    def __init__(
        self,
        views: EndpointViews,
        pattern: Pattern,
        other: Input,
        extent: WindowExtent,
        evaluation: Evaluation,
        *,
        silent: bool,
    ) -> None:
        super().__init__({*pattern.query.variables, pattern.variable}, evaluation, silent=silent)
        self._views = views
        self._variable = pattern.variable
        self._other = other
        self._columns = [other.names.index(name) for name in pattern.keys]
        self._place = other.names.index(pattern.variable)
        self._extent = extent

    def _join(self, moment: int, allowed: Allowed) -> tuple[Refreshed, Columns]:
        return self._views.join(*self._needed(moment), **allowed)

    def _needed(self, moment: int) -> tuple[dict[int, Needed], LeftOut]:
        """What is needed of each endpoint, of those that most rows name; the rest is left out."""
        buffer = self._other.buffer
        rows = buffer.live_rows()
        endpoints = np.asarray(buffer.values[rows, self._place])
        if not endpoints.all():
            hint = "SERVICE SILENT passes over them"
            raise InputError(f"some solutions leave ?{self._variable}, the endpoint of SERVICE, unbound", hint=hint)
        order = np.argsort(endpoints, kind="stable")
        named, firsts, counts = np.unique(endpoints[order], return_index=True, return_counts=True)
        most_used = np.argsort(-counts, kind="stable")
        asked, others = most_used[: self._views.most], most_used[self._views.most :]
        needed = {
            int(named[at]): needed_by(
                buffer, rows[order[firsts[at] : firsts[at] + counts[at]]], self._columns, self._extent, moment
            )
            for at in asked
        }
        return needed, LeftOut(named[others], int(counts[others].sum()))
