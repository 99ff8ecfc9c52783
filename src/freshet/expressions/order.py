"""The order of ORDER BY (SPARQL 1.1, 15.1), which MIN and MAX follow too.

Every distinct term gets a rank, and rows are sorted by ranks: unbound, blank nodes, IRIs, literals, triple terms. Among
literals: numbers by value, dates and times by the moment (as if UTC where there is no time zone), booleans, then all
others by their text and by what follows it. Triple terms go by their subjects, then predicates, then objects. Numbers
of one value share a rank, so that the next condition decides.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.expressions.distinct import encode
from freshet.expressions.triple_terms import part_columns
from freshet.kernels import values as kinds
from freshet.kernels.values import Values
from freshet.rdf.deadline import current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.values import Ids, as_kernel_ids, values

_EXACT = 2.0**53  # below, a float64 is exact for all integers
_FEW_ROWS = 1 << 16
_NUMBERS = 3
_MOMENTS = 4
_BOOLEANS = 5

# What comes before what, by kind of term.
_CLASSES = np.full(kinds.KINDS, 6, np.uint8)
_CLASSES[kinds.NOTHING] = 0
_CLASSES[kinds.BLANK_NODE] = 1
_CLASSES[kinds.IRI] = 2
_CLASSES[kinds.INTEGER : kinds.DOUBLE + 1] = _NUMBERS
_CLASSES[kinds.DATE_TIME : kinds.TIME_LOCAL + 1] = _MOMENTS
_CLASSES[kinds.BOOLEAN] = _BOOLEANS
_CLASSES[kinds.TRIPLE_TERM] = 7


def order(columns: list[tuple[Ids, bool]], dictionary: Dictionary) -> Ids:
    """The rows in order, each condition as its ids and whether it is descending; equal rows stay as they are."""
    conditions = []
    for ids, descending in columns:
        current().reserve(32 * ids.size)
        distinct, places = encode(as_kernel_ids(ids))
        ranks = term_ranks(distinct, dictionary)
        conditions.append((-ranks if descending else ranks)[places])
    if not conditions:
        raise ValueError("an order needs a condition")
    if conditions[0].size > _FEW_ROWS:
        return _by_digits(conditions)
    if len(conditions) == 1:
        return np.argsort(conditions[0], kind="stable")
    return np.lexsort(conditions[::-1])


def _by_digits(conditions: list[Ids]) -> Ids:
    """The order of many rows, by sixteen bits at a time from the last on, which NumPy sorts in linear time."""
    rows = np.arange(conditions[0].size)
    for ranks in reversed(conditions):
        numbers = ranks - ranks.min()
        for shift in range(0, max(1, int(numbers.max()).bit_length()), 16):
            current().check()
            digits = (numbers >> shift).astype(np.uint16)
            rows = rows[np.argsort(digits[rows], kind="stable")]
    return rows


def term_ranks(ids: Ids, dictionary: Dictionary) -> Ids:
    """The rank of each of some distinct ids; terms of equal value have the same."""
    found = values(dictionary, ids)
    classes = _CLASSES[found.kinds]
    by_value = (classes >= _NUMBERS) & (classes <= _BOOLEANS)
    triples = found.kinds == kinds.TRIPLE_TERM
    texts = _text_ranks(ids, found, ~by_value & ~triples & (found.kinds != kinds.NOTHING), dictionary)
    if triples.any():
        texts[triples] = _triple_ranks(ids[triples], dictionary)
    nan = np.isnan(found.reals)
    if (found.kinds == kinds.INTEGER).all() and np.abs(found.reals).max(initial=0.0) < _EXACT:
        found = found._replace(high=np.zeros_like(found.high), low=np.zeros_like(found.low))
    # NaN behind all other numbers, and the text's rank in place of a value where there is none
    reals = np.where(by_value, np.where(nan, np.inf, found.reals), texts)
    places = _sorted(found.low, found.high, nan & by_value, reals, classes)
    ranks = np.empty(ids.size, np.int64)
    ranks[places] = np.cumsum(_steps(found, classes, reals, nan, places))
    return ranks


def _sorted(*keys: NDArray[np.generic]) -> Ids:
    """The order by several keys, the last first; keys that do not differ cost nothing."""
    differing = [key for key in keys if key.size and (key != key[0]).any()]
    return np.argsort(differing[0], kind="stable") if len(differing) == 1 else np.lexsort(differing or keys)


def _steps(
    found: Values, classes: NDArray[np.uint8], reals: NDArray[np.float64], nan: NDArray[np.bool_], places: Ids
) -> NDArray[np.bool_]:
    """Where, in order, a term is greater than the one before it."""
    exact = (found.kinds <= kinds.DECIMAL) | (classes == _MOMENTS)
    steps = np.zeros(places.size, np.bool_)
    for array in (classes, reals, nan):
        steps[1:] |= array[places[1:]] != array[places[:-1]]
    # doubles have no exact number that distinguishes them
    both = exact[places[1:]] & exact[places[:-1]]
    for array in (found.high, found.low):
        steps[1:] |= both & (array[places[1:]] != array[places[:-1]])
    return steps


def _triple_ranks(ids: Ids, dictionary: Dictionary) -> Ids:
    """The places of triple terms in their order."""
    columns = []
    for column in part_columns(dictionary, ids):
        distinct, places = encode(column)
        columns.append(term_ranks(distinct, dictionary)[places])
    ranks, places = np.empty(ids.size, np.int64), np.lexsort(columns[::-1])
    rows = np.stack(columns, axis=1)[places]
    steps = (rows[1:] != rows[:-1]).any(axis=1)
    ranks[places] = np.concatenate([[0], np.cumsum(steps)])
    return ranks


def _text_ranks(ids: Ids, found: Values, chosen: NDArray[np.bool_], dictionary: Dictionary) -> NDArray[np.float64]:
    """The places of some terms in the order of their texts, 0 for all others."""
    ranks = np.zeros(ids.size)
    rows = np.flatnonzero(chosen)
    if rows.size:
        keys = dictionary.keys(ids[rows])
        lexical, rest = _split(keys, found.kinds[rows])
        if rest is None:
            ordered = pc.sort_indices(lexical)
        else:
            table = pa.table({"lexical": lexical, "rest": rest})
            ordered = pc.sort_indices(table, sort_keys=[("lexical", "ascending"), ("rest", "ascending")])
        ranks[rows[ordered.to_numpy()]] = np.arange(rows.size)
    return ranks


def _split(keys: pa.Array, key_kinds: NDArray[np.uint8]) -> tuple[pa.Array, pa.Array | None]:
    """The texts of keys without their marks, and what follows the texts of literals where anything does."""
    tagged = ~np.isin(key_kinds, (kinds.IRI, kinds.BLANK_NODE, kinds.STRING))
    plain_keys = keys.cast(pa.large_binary())
    texts = pc.binary_slice(plain_keys, 1, -1)
    blank = key_kinds == kinds.BLANK_NODE
    if blank.any():
        texts = pc.if_else(pa.array(blank), plain_keys, texts)
    if not tagged.any():
        return texts, None
    lexical, rest = texts.to_pylist(), [b""] * len(keys)
    for row, key in zip(np.flatnonzero(tagged).tolist(), plain_keys.filter(pa.array(tagged)).to_pylist(), strict=True):
        end = key.rindex(b'"')
        lexical[row], rest[row] = key[1:end], key[end + 1 :]
    return pa.array(lexical, pa.large_binary()), pa.array(rest, pa.large_binary())
