"""Functions of terms over columns: once for every distinct term, or distinct combination of terms.

An argument is read into what the function takes (a lexical form, an IRI, a number) once for each of its distinct terms.
A reader gives None for a term that the function does not take, which makes the result an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.expressions.columns import Column, ColumnBatch, Keys, Truths
from freshet.kernels import layout
from freshet.kernels.comparison import ERROR, FALSE, TRUE
from freshet.rdf.deadline import current
from freshet.rdf.values import Ids

Reader = Callable[[str], Any]
Places = NDArray[np.integer]

_CODES = {None: ERROR, False: FALSE, True: TRUE}
_ONE_PLACE = np.zeros(1, np.int64)
_MOST_CODES = 1 << 62


class Argument(NamedTuple):
    """What a column's distinct terms were read into, None for an error, and which of these each row has."""

    items: Sequence[Any]
    places: Places


def encode(ids: Ids) -> tuple[Ids, Places]:
    """The distinct ids, and the place of each row's among them."""
    if ids.size == 1:
        return ids, _ONE_PLACE
    encoded = pa.array(ids).dictionary_encode()
    return encoded.dictionary.to_numpy(), encoded.indices.to_numpy()


def first_rows(codes: Ids) -> tuple[Ids, Places]:
    """The rows where each distinct code stands first, and which of these codes each row has."""
    _, places = encode(codes)
    # Arrow numbers what is distinct in the order in which it appears
    before = np.concatenate([[-1], np.maximum.accumulate(places)[:-1]])
    return np.flatnonzero(places > before), places


def distinct_keys(batch: ColumnBatch, column: Column) -> Keys:
    """A column by its distinct keys."""
    if isinstance(column, Keys):
        return column
    ids, places = encode(batch.ids(column))
    return Keys(batch.dictionary.keys(ids).to_pylist(), places)


def read(batch: ColumnBatch, column: Column, reader: Reader) -> Argument:
    """An argument as a function takes it."""
    keys, places = distinct_keys(batch, column)
    current().reserve(sum(0 if key is None else len(key) for key in keys))
    return Argument([None if key is None else reader(key) for key in keys], places)


def apply(function: Callable[..., Any], *arguments: Argument) -> Argument:
    """A function once for every combination of its arguments that there is; an error in one is an error."""
    chosen, places = _combinations(arguments)
    columns = [[argument.items[at] for at in rows] for argument, rows in zip(arguments, chosen, strict=True)]
    deadline = current()
    items: list[Any] = []
    for row in zip(*columns, strict=True):
        item = None if None in row else function(*row)
        deadline.reserve(len(item) if item.__class__ is str else 0)
        items.append(item)
    return Argument(items, places)


def _combinations(arguments: Sequence[Argument]) -> tuple[list[list[int]], Places]:
    """Places in each argument's items for every combination, and which of these each row has."""
    several = [at for at, argument in enumerate(arguments) if argument.places.size > 1 and len(argument.items) > 1]
    rows = max(argument.places.size for argument in arguments)
    if len(several) <= 1:
        places = arguments[several[0]].places if several else np.zeros(rows, np.int64)
        count = len(arguments[several[0]].items) if several else 1
        chosen = [
            list(range(count)) if several and at == several[0] else [int(argument.places[0])] * count
            for at, argument in enumerate(arguments)
        ]
        return chosen, places
    codes: Ids = np.zeros(rows, np.int64)
    size = 1
    for at in several:
        length = len(arguments[at].items)
        if size * length > _MOST_CODES:  # more combinations than can occur
            distinct, codes = np.unique(codes, return_inverse=True)
            size = distinct.size
        codes = codes * length + arguments[at].places
        size *= length
    first, places = first_rows(codes)
    return [argument.places[np.minimum(first, argument.places.size - 1)].tolist() for argument in arguments], places


def keys_of(result: Argument) -> Keys:
    """The result of a function that gives keys."""
    return Keys(*result)


def truths_of(result: Argument) -> Truths:
    """The result of a function that gives True or False."""
    return Truths(np.array([_CODES[item] for item in result.items], np.uint8)[result.places])


def integers_of(result: Argument) -> Ids:
    """The result of a function that gives small whole numbers."""
    ids = [0 if item is None else integer_id(item) for item in result.items]
    return np.array(ids, np.int64)[result.places]


@cache
def _integer() -> int:
    return int(layout.pack(layout.INTEGER, 0))


def integer_id(number: int) -> int:
    """The inline id of a whole number of at most 57 bits."""
    return _integer() | (number & layout.VALUE_MASK)
