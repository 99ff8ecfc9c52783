"""Columns of generated terms, which are text for files and ids for the engine.

Most terms of a network are a number in a frame, or one of some words. Ids of such are looked up in a table that is
filled once, so that a hundred million triples need not be written out to be encoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.kernels import layout
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import XSD, Iri
from freshet.rdf.triples import Ids

Ints = NDArray[np.int64]

_FIRST_ROOM = 1024
_DEGREE_DIGITS = 6


class Column(Protocol):
    """Terms, one a row."""

    def keys(self) -> pa.Array:
        """As N-Triples has them."""
        ...

    def ids(self, encoder: Encoder) -> Ids:
        """As a dictionary has them."""
        ...


class Statements(NamedTuple):
    """One statement a row, all with one predicate; `about` numbers the thing that a row is about, so that what is said
    of one thing can be put together."""

    subjects: Column
    predicate: str
    objects: Column
    about: Ints


class Words:
    """Terms that are chosen from again and again."""

    def __init__(self, keys: pa.Array) -> None:
        self.keys = keys


class Encoder:
    """Gives terms their ids, and remembers those of numbers and words."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self._numbered: dict[tuple[str, str], _Table] = {}
        self._words: dict[int, tuple[Words, Ids]] = {}

    def numbered(self, before: str, after: str, numbers: Ints) -> Ids:
        """Ids of numbers in a frame; all numbers up to the greatest are terms, or will be."""
        if not numbers.size:
            return numbers
        table = self._numbered.setdefault((before, after), _Table(self.dictionary, before, after))
        return table.ids(numbers)

    def iri(self, iri: str) -> int:
        """The id of an IRI."""
        return self.dictionary.encode(Iri(iri))

    def words(self, words: Words) -> Ids:
        """Ids of all words."""
        known = self._words.get(id(words))
        if known is None:
            known = words, self.dictionary.intern_arrow(words.keys)
            self._words[id(words)] = known
        return known[1]


class _Table:
    """The ids of numbers from the least that was asked for on."""

    def __init__(self, dictionary: Dictionary, before: str, after: str) -> None:
        self._dictionary = dictionary
        self._frame = before, after
        self._first = self._end = -1
        self._ids = np.empty(_FIRST_ROOM, np.int64)

    def ids(self, numbers: Ints) -> Ids:
        least, end = int(numbers.min()), int(numbers.max()) + 1
        if self._first < 0:
            self._first = self._end = least
        if least < self._first:
            self._ids = np.concatenate([self._interned(least, self._first), self._ids[: self._end - self._first]])
            self._first = least
        if end > self._end:
            known, room = self._end - self._first, end - self._first
            if room > self._ids.size:
                larger = np.empty(max(room, 2 * self._ids.size), np.int64)
                larger[:known] = self._ids[:known]
                self._ids = larger
            self._ids[known:room] = self._interned(self._end, end)
            self._end = end
        return self._ids[numbers - self._first]

    def _interned(self, first: int, end: int) -> Ids:
        return self._dictionary.intern_texts(pa.chunked_array([text(np.arange(first, end))]), *self._frame)


@dataclass(frozen=True, eq=False, slots=True)
class Numbered:
    """Numbers in a frame: `<http://…/u` 7 `>`."""

    before: str
    numbers: Ints
    after: str = ">"

    def keys(self) -> pa.Array:
        return joined(self.before, text(self.numbers), self.after)

    def ids(self, encoder: Encoder) -> Ids:
        return encoder.numbered(self.before, self.after, self.numbers)


@dataclass(frozen=True, eq=False, slots=True)
class Chosen:
    """Words, by their places."""

    words: Words
    places: Ints

    def keys(self) -> pa.Array:
        return self.words.keys.take(pa.array(self.places))

    def ids(self, encoder: Encoder) -> Ids:
        return encoder.words(self.words)[self.places]


@dataclass(frozen=True, eq=False, slots=True)
class Same:
    """One term in all rows."""

    key: str
    count: int

    def keys(self) -> pa.Array:
        return pa.repeat(self.key, self.count)

    def ids(self, encoder: Encoder) -> Ids:
        return np.repeat(encoder.dictionary.intern_arrow(pa.array([self.key])), self.count)


@dataclass(frozen=True, eq=False, slots=True)
class Texts:
    """Terms that come once, more or less."""

    texts: pa.Array

    def keys(self) -> pa.Array:
        return self.texts

    def ids(self, encoder: Encoder) -> Ids:
        return encoder.dictionary.intern_arrow(self.texts)


@dataclass(frozen=True, eq=False, slots=True)
class Moments:
    """xsd:dateTime, from seconds since 1970. Such ids are computed, and take no room in the dictionary."""

    seconds: Ints

    def keys(self) -> pa.Array:
        moments = pc.strftime(pa.array(self.seconds).cast(pa.timestamp("s")), "%Y-%m-%dT%H:%M:%SZ")
        return typed(moments, XSD + "dateTime")

    def ids(self, encoder: Encoder) -> Ids:
        return _inline(layout.DATETIME_Z, self.seconds * 1000 << 1)


@dataclass(frozen=True, eq=False, slots=True)
class Degrees:
    """xsd:double with six digits after the point, from millionths. Their ids are computed too."""

    millionths: Ints

    def keys(self) -> pa.Array:
        size = np.abs(self.millionths)
        signs = pa.array(["", "-"]).take(pa.array((self.millionths < 0).astype(np.int64)))
        fraction = pc.utf8_lpad(text(size % 10**_DEGREE_DIGITS), _DEGREE_DIGITS, "0")
        return typed(joined(signs, text(size // 10**_DEGREE_DIGITS), ".", fraction), XSD + "double")

    def ids(self, encoder: Encoder) -> Ids:
        return _inline(layout.DOUBLE, self.millionths << layout.SCALE_BITS | _DEGREE_DIGITS)


def _inline(kind: int, values: Ints) -> Ids:
    ids: Ids = layout.INLINE_FLAG | np.int64(kind << layout.TYPE_SHIFT) | (values & np.int64(layout.VALUE_MASK))
    return ids


def joined(*parts: pa.Array | str) -> pa.Array:
    """Texts put together row by row."""
    return pc.binary_join_element_wise(*parts, "")


def text(numbers: Ints) -> pa.Array:
    """Numbers as texts."""
    return pa.array(numbers).cast(pa.string())


def string_literals(texts: pa.Array) -> pa.Array:
    """Strings."""
    return joined('"', texts, '"')


def typed(texts: pa.Array, datatype: str) -> pa.Array:
    """Literals of a datatype."""
    return joined('"', texts, f'"^^<{datatype}>')


def lines(statements: list[Statements], times: Ints | None = None, *, at_once: int) -> Iterator[pa.Buffer]:
    """Statements as N-Triples, what is about one thing together; timed where each thing has a time.

    The text of this many lines lies in one piece.
    """
    parts = []
    for subjects, predicate, objects, about in statements:
        before = [] if times is None else [text(times[about]), "\t"]
        parts.append(joined(*before, subjects.keys(), f" <{predicate}> ", objects.keys(), " .\n"))
    order = order_of(statements)
    every = pa.chunked_array([part.cast(pa.large_string()) for part in parts], pa.large_string())
    for start in range(0, order.size, at_once):
        yield every.take(pa.array(order[start : start + at_once])).combine_chunks().buffers()[2]


def order_of(statements: list[Statements]) -> Ints:
    """The rows of all statements, what is about one thing together."""
    return np.argsort(np.concatenate([each.about for each in statements]), kind="stable")
