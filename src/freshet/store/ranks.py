"""Triples as ranks of their terms: small numbers that sort as the ids do, and pack into one word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.sorted_triples import find_ranges
from freshet.rdf.triples import Ids, Triples
from freshet.store.directory import make_directory

Ranks = NDArray[np.int32]
Places = tuple[int, int, int]

_WORD_BITS = 63


class RankedTriples:
    """A set of triples: for each place the ids that stand there, in order, and for each triple their ranks.

    Sorting goes over one packed word a triple, which NumPy does many times faster than over three columns.
    """

    def __init__(self, triples: Triples) -> None:
        self._terms = tuple(_sorted_terms(column) for column in triples)
        ranks = [_ranks(terms, column) for terms, column in zip(self._terms, triples, strict=True)]
        self._bits = tuple(max(1, (terms.size - 1).bit_length()) for terms in self._terms)
        self._ranks = self._sorted_ranks(ranks, (1, 0, 2), dedupe=True)

    def __len__(self) -> int:
        return int(self._ranks[0].size)

    def different(self, place: int) -> int:
        """How many different terms stand at a place."""
        return int(self._terms[place].size)

    def sorted_by(self, first: int, second: int, third: int) -> Triples:
        """The triples in the order of the ids at a first place, then a second, then the third."""
        places = (first, second, third)
        ranks = self._ranks if places == (1, 0, 2) else self._sorted_ranks(self._ranks, places)
        return Triples(*(terms[column] for terms, column in zip(self._terms, ranks, strict=True)))

    def _sorted_ranks(self, ranks: Sequence[Ranks], places: Places, *, dedupe: bool = False) -> tuple[Ranks, ...]:
        if sum(self._bits) > _WORD_BITS:
            return _sorted_columns(ranks, places, dedupe=dedupe)
        words = np.zeros(ranks[0].size, np.int64)
        for place in places:
            words <<= self._bits[place]
            words |= ranks[place]
        words.sort()
        if dedupe:
            words = words[_firsts(words)]
        unpacked = list(ranks)
        for place in reversed(places):
            unpacked[place] = (words & ((1 << self._bits[place]) - 1)).astype(np.int32)
            words >>= self._bits[place]
        return tuple(unpacked)


def _sorted_terms(column: Ids) -> Ids:
    """The different ids of a column, in order. (np.unique hashes, which takes far longer than sorting.)"""
    ordered = np.sort(column)
    return ordered[_firsts(ordered)]


def _firsts(ordered: Ids | Ranks) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which values of an ordered column are not the same as the one before."""
    first = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def _ranks(terms: Ids, column: Ids) -> Ranks:
    directory = make_directory(terms, np.array([0, terms.size]))
    ranges, _ = find_ranges(directory.slots, directory.firsts[0], directory.shifts[0], np.ascontiguousarray(column))
    ranks: Ranks = (ranges >> 32).astype(np.int32)
    return ranks


def _sorted_columns(ranks: Sequence[Ranks], places: Places, *, dedupe: bool) -> tuple[Ranks, ...]:
    """The same for so many different terms that the ranks of three do not fit one word."""
    order = np.lexsort([ranks[place] for place in reversed(places)])
    columns = [column[order] for column in ranks]
    if dedupe:
        first = np.zeros(order.size, np.bool_)
        for column in columns:
            first |= _firsts(column)
        columns = [column[first] for column in columns]
    return tuple(columns)
