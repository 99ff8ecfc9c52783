"""What streams are still to change in the stored default graph."""

from __future__ import annotations

from typing import NamedTuple

from freshet.rdf.elements import Elements


class PendingChanges(NamedTuple):
    """Elements by streams, as they came: those that wait to change the stored graph, and those that have and leave it
    again at an age. Of the latter only what no entry has that is replayed."""

    waiting: list[tuple[str, Elements]]
    arrived: list[tuple[str, Elements]]
