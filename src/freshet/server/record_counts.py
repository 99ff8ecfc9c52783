"""How many records came to each stream: those that clients post, and those that a pipeline reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping


class RecordCounts:
    """Records before mapping since the start, those included that could not be read. Of RDF, each statement is one.

    `of_pipeline` gives what a pipeline has counted, by the IRI of the stream.
    """

    def __init__(self) -> None:
        self.of_pipeline: Callable[[], Mapping[str, int]] = dict
        self._posted: Counter[str] = Counter()

    def add(self, stream: str, records: int) -> None:
        """Count what was posted."""
        self._posted[stream] += records

    def counts(self) -> Counter[str]:
        """How many there were, by the IRI of the stream."""
        return self._posted.copy() + Counter(self.of_pipeline())  # others may add meanwhile
