"""Aggregates over groups of rows, all at once (SPARQL 1.1, 18.5.1).

A row whose operand is an error (or unbound) is skipped by COUNT and SAMPLE; for all others it makes the whole
aggregate an error. Of no rows at all, COUNT, SUM and AVG are 0, GROUP_CONCAT is empty, the rest are errors.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.algebra.expressions import Aggregate
from freshet.expressions.distinct import encode, first_rows, integer_id
from freshet.expressions.lexical import make_room
from freshet.expressions.order import term_ranks
from freshet.kernels import term_text
from freshet.kernels.groups import ROWS_WIDTH, SumArrays, add_numbers, totals
from freshet.rdf.arrow import key_ranges, large_strings
from freshet.rdf.deadline import current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.values import Ids, as_kernel_ids, number_ids, values

Groups = NDArray[np.int64]

_ROWS_AT_ONCE = 1 << 20  # between two looks at the deadline
_BYTES_AT_ONCE = 1 << 26


def aggregate(function: Aggregate, ids: Ids | None, groups: Groups, group_count: int, dictionary: Dictionary) -> Ids:
    """The aggregate of each group, 0 where it is an error; `ids` are its operand's, None for COUNT(*).

    `groups` has the number of each row's group, from 0 up to `group_count`.
    """
    if ids is None:
        if function.function != "COUNT" or function.distinct:
            raise ValueError(f"{function.function} of whole rows is not done here")
        return _integers(np.bincount(groups, minlength=group_count))
    if function.distinct:
        ids, groups = _distinct(ids, groups)
    match function.function:
        case "COUNT":
            return _integers(np.bincount(groups[ids != 0], minlength=group_count))
        case "SUM" | "AVG":
            return _sums(function.function == "AVG", ids, groups, group_count, dictionary)
        case "SAMPLE":
            return _samples(ids, groups, group_count)
        case "MIN" | "MAX":
            ends = _ends(function.function == "MAX", ids, groups, group_count, dictionary)
        case "GROUP_CONCAT":
            ends = _concatenated(function.separator, ids, groups, group_count, dictionary)
        case other:
            raise ValueError(f"there is no aggregate {other}")
    ends[groups[ids == 0]] = 0
    return ends


def _integers(counts: NDArray[np.int64]) -> Ids:
    return np.int64(integer_id(0)) | counts.astype(np.int64)


def _distinct(ids: Ids, groups: Groups) -> tuple[Ids, Groups]:
    """Each term once in its group, where it stands first."""
    _, places = encode(ids)
    pairs = groups * (int(places.max(initial=0)) + 1) + places
    if not pairs.size:
        return ids, groups
    rows, _ = first_rows(pairs)
    return ids[rows], groups[rows]


def _sums(mean: bool, ids: Ids, groups: Groups, group_count: int, dictionary: Dictionary) -> Ids:
    arrays = SumArrays(
        np.zeros((group_count, ROWS_WIDTH), np.int64),
        np.zeros((group_count, 3), np.uint64),
        np.zeros((group_count, 4), np.float64),
        np.zeros((group_count, 3), np.int64),
    )
    for first in range(0, ids.size, _ROWS_AT_ONCE):
        current().check()
        some = slice(first, first + _ROWS_AT_ONCE)
        # int32, as the native engine numbers its groups: the kernels are compiled once
        add_numbers(arrays, groups[some].astype(np.int32), values(dictionary, ids[some]), 1)
    return number_ids(dictionary, totals(arrays, np.arange(group_count, dtype=np.int32), mean))


def _samples(ids: Ids, groups: Groups, group_count: int) -> Ids:
    """The first term of each group."""
    result = np.zeros(group_count, np.int64)
    bound = np.flatnonzero(ids)[::-1]  # of several rows of a group, the last that is written stays
    result[groups[bound]] = ids[bound]
    return result


def _ends(greatest: bool, ids: Ids, groups: Groups, group_count: int, dictionary: Dictionary) -> Ids:
    """The least or greatest term of each group; numbers of equal value go by type and then by id."""
    distinct, places = encode(as_kernel_ids(ids))
    ranks = term_ranks(distinct, dictionary)
    if ranks.max(initial=-1) + 1 < distinct.size:
        ascending = np.lexsort((distinct, values(dictionary, distinct).kinds, ranks))
        ranks[ascending] = np.arange(distinct.size)
    else:
        ascending = np.empty(distinct.size, np.int64)
        ascending[ranks] = np.arange(distinct.size)
    best = np.full(group_count, -1 if greatest else distinct.size, np.int64)
    (np.maximum if greatest else np.minimum).at(best, groups, ranks[places])
    found = (best >= 0) & (best < distinct.size)
    result = np.zeros(group_count, np.int64)
    result[found] = distinct[ascending[best[found]]]
    return result


def _concatenated(separator: str, ids: Ids, groups: Groups, group_count: int, dictionary: Dictionary) -> Ids:
    """The lexical forms and IRIs of each group in the order of its rows; a blank node makes it an error."""
    distinct, places = encode(as_kernel_ids(ids))
    rows = np.argsort(groups, kind="stable")
    texts, ordered = _texts(distinct, dictionary), places[rows]
    bounds = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=group_count))])
    lengths = pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False)
    sizes = np.concatenate([[0], np.cumsum(lengths[ordered] + len(separator.encode()))])[bounds]
    make_room(int(np.diff(sizes).max(initial=0)))
    current().reserve(int(sizes[-1]))
    result = np.empty(group_count, np.int64)
    first = 0
    while first < group_count:
        current().check()
        end = max(first + 1, int(np.searchsorted(sizes, sizes[first] + _BYTES_AT_ONCE, side="right")) - 1)
        some = texts.take(pa.array(ordered[bounds[first] : bounds[end]]))
        lists = pa.LargeListArray.from_arrays(pa.array(bounds[first : end + 1] - bounds[first], pa.int64()), some)
        joined = pc.binary_join(lists, pa.scalar(separator, pa.large_string()))
        quote, nothing = (pa.scalar(text, pa.large_string()) for text in ('"', ""))
        result[first:end] = dictionary.intern_arrow(pc.binary_join_element_wise(quote, joined, quote, nothing))
        first = end
    return result


def _texts(ids: Ids, dictionary: Dictionary) -> pa.Array:
    """What STR makes of terms, without quotation marks; null for an error."""
    data, starts, ends = term_text.rewrite_keys(term_text.STR, *key_ranges(dictionary.keys(ids)))
    known = starts >= 0
    offsets = np.concatenate([[0], np.maximum.accumulate(ends)]) if ids.size else np.zeros(1, np.int64)
    quoted = large_strings(data, offsets.astype(np.int64), known)
    return pc.binary_slice(quoted.cast(pa.large_binary()), 1, -1).cast(pa.large_string())
