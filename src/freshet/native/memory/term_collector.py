"""Terms that nothing holds any more leave the dictionary.

A long stream brings ever new terms. Each is of use while a window, a group, the stored data or a report has its id; so
when the dictionary has doubled, all that the engine holds is gone through, and the rest is dropped. Each term is thus
looked at a few times, whatever the length of the stream. Large windows are gone through more seldom, so that a new term
costs a look at some ten of their numbers: all terms together may take half as much memory as what is gone through.
Every whole number that is found counts as an id, so that no operator has to say what it keeps; one that is none keeps a
term too long at worst.
"""

from __future__ import annotations

import gc
import threading
from collections import deque
from collections.abc import Iterator, Set
from itertools import chain
from typing import Generic, TypeVar
from weakref import ReferenceType, WeakValueDictionary, ref

import numpy as np
from numpy.typing import NDArray

from freshet.rdf.dictionary import Dictionary
from freshet.results.answers import AnswerBatch
from freshet.results.report import GraphAnswer, Report, Solutions
from freshet.store.appended import Appended
from freshet.store.appended_view import AppendedView
from freshet.store.mapped_files import is_mapped

Ids = NDArray[np.int64]

LEAST_TERMS = 100_000  # fewer are not worth a sweep
_LOOKS = 32  # at numbers for each term that there may be; a term takes some 100 bytes, and a number 8
_FEW = 1_000  # before those that are gone are let go of

Held = TypeVar("Held")


class _References(Generic[Held]):
    """Objects as long as others refer to them. Adding one is cheap: there is no callback when it goes."""

    def __init__(self) -> None:
        self._references: list[ReferenceType[Held]] = []
        self._most = _FEW

    def add(self, held: Held) -> None:
        if len(self._references) >= self._most:
            self._references = [reference for reference in self._references if reference() is not None]
            self._most = max(_FEW, 2 * len(self._references))
        self._references.append(ref(held))

    def living(self) -> list[Held]:
        return [held for reference in self._references if (held := reference()) is not None]


class TermCollector:
    """Says when to sweep a dictionary, and does."""

    def __init__(self, dictionary: Dictionary, least: int = LEAST_TERMS) -> None:
        self._dictionary = dictionary
        self._least = least
        self._limit = least
        self._lock = threading.Lock()
        self._answers = _References[Report | Solutions | GraphAnswer]()
        self._rows = _References[Ids]()

    def keep(self, answer: Report | Solutions | GraphAnswer) -> None:
        """Keep the terms of an answer as long as it is in use."""
        with self._lock:
            self._answers.add(answer)

    def keep_batch(self, batch: AnswerBatch) -> None:
        """Keep the terms of a batch as long as it, a part of it or one of its reports is in use."""
        self.keep_rows(batch.rows)
        if batch.triples is not None:
            self.keep_rows(batch.triples)

    def keep_rows(self, rows: Ids) -> None:
        """Keep the terms of an array as long as it, or a part of it, is in use."""
        base = rows.base  # parts refer to the array that has the memory, not to the part that they are cut from
        owner = base if isinstance(base, np.ndarray) and base.dtype == rows.dtype else rows
        with self._lock:
            self._rows.add(owner)

    def is_due(self) -> bool:
        """Whether the dictionary has doubled, or a sweep that has begun can end."""
        dictionary = self._dictionary
        return dictionary.can_sweep() if dictionary.is_sweeping else len(dictionary) >= self._limit

    def sweep(self, *holders: object) -> int:
        """Drop what neither the holders nor living answers have; returns how many terms that were.

        Where there are pins, it only begins: the call after their end drops terms.
        """
        looks = 0

        def held() -> Iterator[Ids]:
            nonlocal looks
            for ids in chain(reachable_ids(*holders), self._answer_ids()):
                looks += ids.size
                yield ids

        dropped = self._dictionary.sweep(held())
        if not self._dictionary.is_sweeping:
            self._limit = max(self._least, 2 * len(self._dictionary), looks // _LOOKS)
        return dropped

    def _answer_ids(self) -> Iterator[Ids]:
        with self._lock:  # others add while they take reports
            answers, arrays = self._answers.living(), self._rows.living()
        for rows in arrays:
            yield rows.reshape(-1)
        for answer in answers:
            graph = answer.graph if isinstance(answer, Report) else answer
            if isinstance(graph, GraphAnswer):
                yield from (graph.subjects, graph.predicates, graph.objects)
                if graph.graphs is not None:
                    yield graph.graphs
            if not isinstance(answer, GraphAnswer):
                yield answer.rows


def reachable_ids(*holders: object) -> Iterator[Ids]:
    """All arrays of whole numbers within objects of ours, and the whole numbers that stand alone."""
    seen: set[int] = set()
    alone: list[int] = []
    waiting: list[object] = list(holders)
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, int):
            if 0 < holder < 1 << 63:
                alone.append(int(holder))
            continue
        if id(holder) in seen:
            continue
        seen.add(id(holder))
        if isinstance(holder, np.ndarray):
            if holder.dtype == np.int64 and not is_mapped(holder):  # terms of a graph directory stay anyway
                yield holder.reshape(-1)
        elif isinstance(holder, Appended | AppendedView):  # most of what they have is room
            yield from (array.reshape(-1) for array in holder.held())
        else:
            waiting += parts_of(holder)
    yield np.array(alone, np.int64)


def parts_of(holder: object) -> Iterator[object]:
    """What is within a collection, or an object of ours."""
    if isinstance(holder, dict | WeakValueDictionary):  # those of other libraries may refuse
        yield from [*holder.keys(), *holder.values()]
    elif isinstance(holder, list | tuple | Set | deque):
        yield from [*holder]  # others may change it meanwhile
    elif _is_ours(holder):
        # Not by its `__dict__`: an object that was asked for that once is slower at every attribute from then on.
        yield from gc.get_referents(holder)


def _is_ours(holder: object) -> bool:
    return type(holder).__module__.startswith("freshet.") and not isinstance(holder, Dictionary | type)
