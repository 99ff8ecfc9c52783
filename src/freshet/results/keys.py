"""Keys of the dictionary, a column at a time, split into the parts of their terms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.kernels.pieces import join_pieces
from freshet.rdf.arrow import key_ranges, large_strings, numbers, read_only, texts
from freshet.rdf.terms import TRIPLE_START

Ids = NDArray[np.int64]

IRI, LITERAL, BLANK_NODE = ord("<"), ord('"'), ord("_")
TRIPLE_TERM = ord("(")  # the kind of keys that begin with `<<(`


_TYPES = texts(["uri", "literal", "bnode", "triple"])


class KeyParts(NamedTuple):
    """One row a key; all parts of a null are null.

    `kinds` are the keys' first bytes: IRI, LITERAL, BLANK_NODE, or else TRIPLE_TERM, 0 for a null. `values` are IRIs,
    lexical forms, labels, and the whole of triple terms. `suffixes` are what follows a lexical form: nothing,
    `@language` or `^^<datatype>`.
    """

    kinds: NDArray[np.uint8]
    values: pa.Array
    suffixes: pa.Array


def common_tail(keys: pa.Array) -> str | None:
    """What follows the value in the keys of literals of one datatype or language, or of IRIs; None where they differ.

    It begins with the quotation mark that ends a lexical form. There are keys, and none is null.

    >>> common_tail(pa.array(['"a"@en', '"b"@en'])), common_tail(pa.array(['"a"@en', '"b"']))
    ('"@en', None)
    """
    first = keys[0].as_py()
    if first.startswith(("_", TRIPLE_START)):
        return None
    tail: str = first[first.rindex('"' if first.startswith('"') else ">") :]
    if len(keys) == 1:
        return tail
    alike = pc.and_(pc.starts_with(keys, first[0]), pc.ends_with(keys, tail))
    if tail == ">":
        alike = pc.and_not(alike, pc.starts_with(keys, TRIPLE_START))
    return tail if pc.all(alike).as_py() else None


def term_types(kinds: NDArray[np.uint8]) -> pa.Array:
    """The types that SPARQL JSON gives terms, by the kinds of their keys; that of a null is any."""
    numbered = np.where(kinds == IRI, 0, np.where(kinds == LITERAL, 1, np.where(kinds == TRIPLE_TERM, 3, 2)))
    return _TYPES.take(numbers(numbered))


def split_keys(keys: pa.Array) -> KeyParts:
    """The parts of terms by their keys.

    >>> parts = split_keys(pa.array(["<http://a>", '"say "x""@en', None], pa.large_string()))
    >>> parts.values.to_pylist(), parts.suffixes.to_pylist()
    (['http://a', 'say "x"', None], ['', '@en', None])
    """
    data, starts, ends = key_ranges(keys)
    valid = starts >= 0
    starts = np.where(valid, starts, ends)
    kinds = np.zeros(starts.size, np.uint8)
    kinds[valid] = data[starts[valid]]
    named = np.flatnonzero(kinds == IRI)
    kinds[named[data[starts[named] + 1] == IRI]] = TRIPLE_TERM
    literal = kinds == LITERAL
    value_ends = ends - (kinds == IRI)
    if literal.any():  # what follows the last quotation mark is the suffix: it can hold none
        quotes = np.flatnonzero(data == LITERAL)
        value_ends[literal] = quotes[np.searchsorted(quotes, ends[literal]) - 1]
    value_starts = starts + (valid & (kinds != TRIPLE_TERM)) + (kinds == BLANK_NODE)
    suffix_starts = np.where(literal, value_ends + 1, ends)
    bounds = np.stack([value_starts, value_ends, suffix_starts, ends], axis=1)
    return KeyParts(kinds, _texts(data, bounds, 0, valid), _texts(data, bounds, 2, valid))


def _texts(data: NDArray[np.uint8], bounds: Ids, first: int, valid: NDArray[np.bool_]) -> pa.Array:
    """For each row the bytes between two of its bounds, which are in order in all rows together."""
    count, width = bounds.shape
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(bounds[:, first + 1] - bounds[:, first], out=offsets[1:])
    wanted = np.arange(first, first + count * width, width)
    return large_strings(join_pieces(read_only(data), bounds.ravel(), wanted), offsets, valid)
