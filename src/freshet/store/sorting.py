"""Sorts triples into an order: grouped by predicate, then by key (subject or object), then by the place that remains.

Groups are sorted one after another, small ones together, so that beside the columns that come out there is never more
than one large group in the works. Sorting goes over one word a triple, packed of the ranks of its terms: NumPy does
that many times faster than sorting by several columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from freshet.kernels.sorted_triples import find_ranges, merge_groups, scatter_groups
from freshet.rdf.triples import Ids
from freshet.store.directory import make_directory
from freshet.store.order_arrays import OrderArrays

# Groups are sorted together up to this number of rows: three ranks then fit a word. Those of one group always do.
_ROWS_TOGETHER = 1 << 20


def sort_order(keys: Ids, predicates: Ids, seconds: Ids) -> OrderArrays:
    """Triples in the order of predicate, key, second place. A triple that stands twice in the columns counts once."""
    return _with_directory(*sort_columns(keys, predicates, seconds))


def sort_columns(keys: Ids, predicates: Ids, seconds: Ids) -> tuple[Ids, Ids, Ids, Ids]:
    """The same without the directory: predicates, bounds, keys, seconds."""
    groups = _sorted_terms(predicates)
    numbers = _ranks(groups, predicates)
    bounds = np.zeros(groups.size + 1, np.int64)
    np.cumsum(np.bincount(numbers, minlength=groups.size), out=bounds[1:])
    keys, seconds = scatter_groups(numbers, bounds[:-1], np.ascontiguousarray(keys), np.ascontiguousarray(seconds))
    return _sorted(groups, bounds, keys, seconds)


def other_order(order: OrderArrays) -> OrderArrays:
    """The same triples with the key and the second place changed about."""
    return _with_directory(*_sorted(order.predicates, order.bounds, order.seconds, order.keys))


def merge_orders(order: OrderArrays, keys: Ids, predicates: Ids, seconds: Ids) -> OrderArrays:
    """An order with more triples, none of which is in it, nor stands twice."""
    more = sort_columns(keys, predicates, seconds)
    groups = np.union1d(order.predicates, more[0])
    bounds, more_bounds = (_bounds_of(groups, *each) for each in ((order.predicates, order.bounds), more[:2]))
    columns = merge_groups(bounds, order.keys, order.seconds, more_bounds, *more[2:])
    return _with_directory(groups, bounds + more_bounds, *columns)


def keep_rows(order: OrderArrays, kept: NDArray[np.bool_]) -> OrderArrays:
    """An order of some of its rows."""
    before = np.zeros(kept.size + 1, np.int64)
    np.cumsum(kept, out=before[1:])
    bounds = before[order.bounds]
    filled = np.diff(bounds) > 0
    bounds = np.append(bounds[:-1][filled], bounds[-1:])
    return _with_directory(order.predicates[filled], bounds, order.keys[kept], order.seconds[kept])


def _bounds_of(groups: Ids, predicates: Ids, bounds: Ids) -> Ids:
    """The bounds of some groups among others that include them."""
    return np.append(bounds[np.searchsorted(predicates, groups)], bounds[-1])


def _with_directory(predicates: Ids, bounds: Ids, keys: Ids, seconds: Ids) -> OrderArrays:
    return OrderArrays(predicates, bounds, keys, seconds, *make_directory(keys, bounds))


def _sorted(predicates: Ids, bounds: Ids, keys: Ids, seconds: Ids) -> tuple[Ids, Ids, Ids, Ids]:
    sorted_keys, sorted_seconds = np.empty(keys.size, np.int64), np.empty(keys.size, np.int64)
    sorted_bounds = np.zeros(bounds.size, np.int64)
    for first, stop in _chunks(bounds):
        rows = slice(bounds[first], bounds[stop])
        ends, some_keys, some_seconds = _sorted_chunk(
            bounds[first : stop + 1] - bounds[first], keys[rows], seconds[rows]
        )
        begin = sorted_bounds[first]
        end = begin + some_keys.size
        sorted_keys[begin:end], sorted_seconds[begin:end] = some_keys, some_seconds
        sorted_bounds[first + 1 : stop + 1] = begin + ends
    if sorted_bounds[-1] < keys.size:  # triples that stood twice: give their room back
        sorted_keys.resize(sorted_bounds[-1], refcheck=False)
        sorted_seconds.resize(sorted_bounds[-1], refcheck=False)
    return predicates, sorted_bounds, sorted_keys, sorted_seconds


def _chunks(bounds: Ids) -> Iterator[tuple[int, int]]:
    """Runs of groups to be sorted together."""
    first = 0
    while first < bounds.size - 1:
        stop = int(np.searchsorted(bounds, bounds[first] + _ROWS_TOGETHER, side="right")) - 1
        stop = max(stop, first + 1)
        yield first, stop
        first = stop


def _sorted_chunk(bounds: Ids, keys: Ids, seconds: Ids) -> tuple[Ids, Ids, Ids]:
    """Where the groups end, and their columns, sorted, each triple once."""
    key_terms, second_terms = _sorted_terms(keys), _sorted_terms(seconds)
    second_bits = second_terms.size.bit_length()
    group_at = second_bits + key_terms.size.bit_length()
    words = _ranks(key_terms, keys)
    words <<= second_bits
    words |= _ranks(second_terms, seconds)
    if bounds.size > 2:
        words |= np.repeat(np.arange(bounds.size - 1) << group_at, np.diff(bounds))
    words.sort()
    words = words[_firsts(words)]
    ends = np.searchsorted(words, np.arange(1, bounds.size) << group_at)
    sorted_seconds = second_terms[words & ((1 << second_bits) - 1)]
    words >>= second_bits
    words &= (1 << (group_at - second_bits)) - 1
    return ends, key_terms[words], sorted_seconds


def _sorted_terms(column: Ids) -> Ids:
    """The different ids of a column, in order. (np.unique hashes, which takes far longer than sorting.)"""
    ordered = np.sort(column)
    return ordered[_firsts(ordered)]


def _firsts(ordered: Ids) -> NDArray[np.bool_]:
    """Which values of an ordered column are not the same as the one before."""
    first = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def _ranks(terms: Ids, column: Ids) -> Ids:
    """The places of a column's ids in a list that has them all."""
    directory = make_directory(terms, np.array([0, terms.size]))
    ranks: Ids
    ranks, _ = find_ranges(directory.slots, directory.firsts[0], directory.shifts[0], np.ascontiguousarray(column))
    ranks >>= 32
    return ranks
