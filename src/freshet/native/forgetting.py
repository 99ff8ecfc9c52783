"""Terms that nothing holds any more leave the dictionary.

A long stream brings ever new terms. Each is of use while a window, a group, the stored data or a report has its id; so
when the dictionary has doubled, whoever holds ids names them, and the rest is dropped. Each term is thus looked at a
few times, whatever the length of the stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from freshet.rdf.dictionary import Dictionary
from freshet.results.report import GraphAnswer, Report, Solutions

Ids = NDArray[np.int64]

LEAST_TERMS = 100_000  # fewer are not worth a sweep


class HoldsIds(Protocol):
    """Whoever keeps ids from one batch to the next."""

    def held_ids(self) -> Iterable[Ids]: ...


class Forgetting:
    """Says when to sweep a dictionary, and does."""

    def __init__(self, dictionary: Dictionary, least: int = LEAST_TERMS) -> None:
        self._dictionary = dictionary
        self._least = least
        self._limit = least
        self._answers: WeakSet[Report | Solutions | GraphAnswer] = WeakSet()

    def keep(self, answer: Report | Solutions | GraphAnswer) -> None:
        """Keep the terms of an answer as long as somebody has it."""
        self._answers.add(answer)

    def is_due(self) -> bool:
        return len(self._dictionary) >= self._limit and not self._dictionary.pins.count

    def sweep(self, holders: Iterable[HoldsIds]) -> int:
        """Drop what neither the holders nor living answers have; says how many terms that were."""
        held = [ids for holder in holders for ids in holder.held_ids()]
        dropped = self._dictionary.sweep([*held, *self._answer_ids()])
        self._limit = max(self._least, 2 * len(self._dictionary))
        return dropped

    def _answer_ids(self) -> Iterator[Ids]:
        for answer in list(self._answers):
            if isinstance(answer, GraphAnswer):
                yield from (answer.subjects, answer.predicates, answer.objects)
            else:
                yield answer.rows
