"""What an expression may ask about the query that it stands in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from freshet.algebra.expressions import Exists
from freshet.expressions.solutions import Solutions
from freshet.rdf.values import Ids

Matches = Callable[[Exists, Mapping[str, Ids], int], NDArray[np.bool_]]


def go_on() -> None:
    """The check of a query that nothing stops."""


@dataclass(frozen=True, slots=True)
class Context:
    """What an expression may ask about the query that it stands in.

    `now` is what NOW() gives: timezone-aware, one moment for the whole query. IRI() resolves against `base`.
    `exists` says for each row whether the pattern of EXISTS matches; NOT is not its business.
    `check` raises where the query has to stop; what may take long calls it.
    """

    now: datetime
    base: str | None = None
    exists: Matches | None = None
    check: Callable[[], None] = go_on
    solutions: Solutions = field(default_factory=Solutions, compare=False, repr=False)
