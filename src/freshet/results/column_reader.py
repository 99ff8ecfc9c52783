"""Columns of ids as typed Arrow columns: a column whose terms all have one datatype has the type of its values.

Inline values are read from the bits of their ids, decimals from the bytes of their keys, doubles from what the terms of
the dictionary are known to be. Every other distinct term of a column is read once; texts are dictionary-encoded,
and those of the columns before are found again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.kernels import layout
from freshet.kernels.direct_call import DirectCall
from freshet.kernels.typed_columns import (
    DOUBLES,
    NO_DECIMALS,
    NOT_ALIKE,
    NOT_KNOWN,
    classes_among,
    find_texts,
    number_terms,
    read_decimals,
    read_doubles,
    read_integers,
    write_texts,
)
from freshet.kernels.values import DOUBLE, Values
from freshet.rdf.arrow import AnyNumber, large_strings, numbers, read_only, validity, whole_numbers, wide_decimals
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import XSD
from freshet.rdf.values import as_kernel_ids, value_table
from freshet.rdf.values import values as values_of
from freshet.results.inline_columns import inline_column
from freshet.results.keys import common_tail
from freshet.results.typed_keys import Column, about_terms, term_classes, typed_keys, written_field, written_terms

Ids = NDArray[np.int64]
Numbers = NDArray[np.int32]

_NUMBER_TERMS, _READ_DOUBLES = DirectCall(number_terms), DirectCall(read_doubles)
_FIND_TEXTS, _WRITE_TEXTS = DirectCall(find_texts), DirectCall(write_texts)
_READ_DECIMALS, _READ_INTEGERS = DirectCall(read_decimals), DirectCall(read_integers)

_Reading = Callable[[Ids, Dictionary], Column | None]

EMPTY = pa.field("", pa.null())
TEXT = pa.dictionary(pa.int32(), pa.large_string())
_FIRST_TERMS = 256
_FEW_TERMS = 2048  # are kept however few rows there are
_DECIMAL_TAIL = f'"^^<{XSD}decimal>'
_IRI, _LITERAL = ord("<"), ord('"')
_DOUBLES = pa.field("", pa.float64(), metadata={"type": "literal", "datatype": XSD + "double"})
_INTEGERS = pa.field("", pa.int64(), metadata={"type": "literal", "datatype": XSD + "integer"})


class ColumnReader:
    """Reads the columns of one variable, one after another. What it remembers is of one dictionary."""

    def __init__(self) -> None:
        self._texts = _Texts()
        self._written = _WrittenTerms()
        # How a column is read that is like none before, and how those like it after that.
        self._ways: tuple[tuple[_Reading, _Reading | None], ...] = (
            (_doubles, _doubles_again),
            (self._texts.begin, None),
            (self._written.column, self._written.column),
        )
        self._read_last: _Reading | None = None
        self._decimals: dict[int, pa.Field] = {}  # by digits after the point
        # What has been read of a log: integers, doubles or numbers of texts, from a row on up to another.
        self._log: Ids | None = None
        self._other_log: Ids | None = None  # one that has other terms
        self._integers: Ids | None = None
        self._doubles: NDArray[np.float64] | None = None
        self._numbers = np.empty(0, np.int32)
        self._texts_then = 0
        self._first = self._end = 0
        self._last = slice(0, 0)  # the rows of it that were read last

    def read(self, ids: Ids, dictionary: Dictionary) -> Column:
        """The field and the values of a column, which is `read_only`; null where an id is 0."""
        if not len(ids):
            return EMPTY, pa.nulls(0)
        first = ids.item(0) or int(ids[(ids != 0).argmax()])
        if not first:
            return EMPTY, pa.nulls(len(ids))
        if self._read_last is not None and (found := self._read_last(ids, dictionary)):
            return found
        if first < 0:
            found = self._inline(ids, layout.inline_type(first), dictionary)
        else:
            found = self._texts.again(ids, dictionary) or self._decimal(ids, dictionary)
        self._read_last = None
        for read, again in () if found else self._ways:
            if found := read(ids, dictionary):
                self._read_last = again
                break
        return found or _any_column(ids, dictionary)

    def read_log(self, log: Ids, at: int, rows: slice, dictionary: Dictionary) -> Column:
        """The same of some rows of a log, which has this column and others; what has been read of it is not read again.

        Rows of it that have been read do not change.
        """
        column = read_only(log[at])
        are_good = self._integers is not None or self._doubles is not None
        if not are_good:
            are_good = self._texts.are_good(rows, dictionary) and self._texts.version == self._texts_then
        if log is not self._other_log:
            if log is not self._log and are_good and self._log is not None:
                self._move(log, self._log[at], column, rows)
            if log is not self._log or not self._first <= rows.start <= self._end or not are_good:
                self._begin_log(log, column, rows, dictionary)
            if self._log is not None:
                first, self._end = max(rows.start, self._end), max(rows.stop, self._end)
                if found := self._go_on(column, first, rows, dictionary):
                    self._last = rows
                    return found
            self._log, self._other_log = None, log
        return self.read(column[rows], dictionary)

    def _move(self, log: Ids, before: Ids, column: Ids, rows: slice) -> None:
        """Go on with another log if it begins with the rows that were read last: a log that has no room moves."""
        last = self._last
        count = last.stop - last.start
        if not rows.start <= count <= rows.stop or not np.array_equal(column[:count], before[last]):
            return
        if self._integers is not None:
            self._integers = _moved(self._integers, last, len(column))
        elif self._doubles is not None:
            self._doubles = _moved(self._doubles, last, len(column))
        else:
            self._numbers = _moved(self._numbers, last, len(column))
        self._log, self._first, self._end = log, 0, count

    def _begin_log(self, log: Ids, column: Ids, rows: slice, dictionary: Dictionary) -> None:
        self._log, self._first, self._end = None, rows.start, rows.start
        self._integers = self._doubles = None
        if rows.start < rows.stop and (first := column.item(rows.start)):
            if layout.inline_type(first) == layout.INTEGER:
                self._log, self._integers = log, np.empty(len(column), np.int64)
            elif _are_doubles(values_of(dictionary, column[rows.start : rows.start + 1])):
                self._log, self._doubles = log, np.empty(len(column))
            elif first > 0 and self._texts.start(first, dictionary):
                self._log, self._numbers = log, np.empty(len(column), np.int32)
                self._texts_then = self._texts.version

    def _go_on(self, column: Ids, first: int, rows: slice, dictionary: Dictionary) -> Column | None:
        """Read the column of a log from a row on; None where there is anything else than before."""
        if self._integers is not None:
            are_alike = _READ_INTEGERS.run(column, first, rows.stop, self._integers)
            return (_INTEGERS, numbers(self._integers[rows])) if are_alike else None
        if self._doubles is not None:
            ids, reals = column[first : rows.stop], self._doubles[first : rows.stop]
            are_doubles = _read_doubles(ids, reals, dictionary) and np.count_nonzero(ids) == len(ids)
            return (_DOUBLES, numbers(self._doubles[rows])) if are_doubles else None
        if not self._texts.number(column, first, rows.stop, self._numbers, dictionary):
            return None
        if (self._numbers[first : rows.stop] < 0).any():
            return None
        return self._texts.column(self._numbers[rows], None)

    def _inline(self, ids: Ids, kind: int, dictionary: Dictionary) -> Column | None:
        if kind == layout.INTEGER:
            values = np.empty(len(ids), np.int64)
            if _READ_INTEGERS.run(ids, 0, len(ids), values):
                return _INTEGERS, numbers(values)
        if kind == layout.DECIMAL:
            return self._decimal(ids, dictionary)
        return inline_column(ids) if ids.max() <= 0 else None

    def _decimal(self, ids: Ids, dictionary: Dictionary) -> Column | None:
        words = np.empty((len(ids), 2), np.int64)
        digits = _READ_DECIMALS.run(dictionary.arrays, ids, words)
        if digits == NO_DECIMALS:
            return None
        values = wide_decimals(words, digits, _bound(ids))
        field = self._decimals.get(digits)
        if field is None:
            field = self._decimals[digits] = pa.field("", values.type, metadata=about_terms(_DECIMAL_TAIL))
        return field, values


class _NumberedTerms:
    """The distinct terms of the columns so far, numbered, and their texts."""

    def __init__(self) -> None:
        self.version = 0  # of the numbers that terms have
        self._generation = -1
        self._forget_all()

    def _forget_all(self) -> None:
        self.version += 1
        self._table = np.zeros(4 * _FIRST_TERMS, np.int64)
        self._sizes = np.zeros(1, np.int64)
        self._distinct = np.empty(_FIRST_TERMS, np.int64)
        self._texts = pa.nulls(0, pa.large_string())

    def _forget_terms(self) -> None:
        """Begin anew with terms like those before, which take as much room."""
        self.version += 1
        self._table.fill(0)
        self._sizes[0] = 0

    def _forget_most(self, rows: int) -> None:
        """Where most terms would be of other rows, they are let go of."""
        known = self._sizes.item(0)
        if known > _FEW_TERMS and known > 2 * rows:  # most are of columns that were taken long ago
            self._forget_terms()

    def _number(self, ids: Ids, first: int, end: int, places: Numbers) -> int:
        """The numbers of terms from a row on up to another; gives how many were known before."""
        known: int = self._sizes.item(0)
        while (first := _NUMBER_TERMS.run(self._table, self._sizes, ids, first, end, places, self._distinct)) < end:
            self._make_room()
        return known

    def _make_room(self) -> None:
        count = self._sizes.item(0)
        distinct, self._distinct = self._distinct, np.empty(2 * len(self._distinct), np.int64)
        self._table, self._sizes = np.zeros(2 * len(self._table), np.int64), np.zeros(1, np.int64)
        number_terms(self._table, self._sizes, read_only(distinct), 0, count, np.empty(count, np.int32), self._distinct)


class _WrittenTerms(_NumberedTerms):
    """Terms as N-Triples writes them, for columns whose terms have no type in common."""

    _classes = np.empty(0, np.int32)

    def column(self, ids: Ids, dictionary: Dictionary) -> Column | None:
        """A column of such terms; None where they have a type in common."""
        if self._generation != dictionary.generation:
            self._generation = dictionary.generation
            self._forget_all()
        self._forget_most(len(ids))
        places = np.empty(len(ids), np.int32)
        known = self._number(ids, 0, len(ids), places)
        if self._sizes.item(0) > known:
            keys = dictionary.keys(self._distinct[known : self._sizes.item(0)])
            self._classes = np.concatenate((self._classes[:known], term_classes(keys, self._suffixes)))
            texts = written_terms(keys)
            self._texts = pa.concat_arrays([self._texts, texts]) if known else texts
        field = written_field(*classes_among(self._classes, places))
        if field is None:
            return None
        return field, pa.DictionaryArray.from_arrays(numbers(places, _bound(ids)), self._texts, safe=False)

    def _forget_all(self) -> None:
        super()._forget_all()
        self._suffixes: dict[str, int] = {}  # what follows lexical forms, numbered


class _Texts(_NumberedTerms):
    """The texts of terms by their ids: of IRIs, or of literals whose values are texts, in one language if any."""

    def __init__(self) -> None:
        super().__init__()
        self._forget("")

    def _forget(self, tail: str, generation: int = -1) -> None:
        """Begin with terms that have this behind their texts; with none where it is empty."""
        self._forget_all()
        self._data, self._offsets = np.empty(0, np.uint8), np.zeros(1, np.int64)
        self._tail = tail
        self._tail_bytes = read_only(np.frombuffer(tail.encode(), np.uint8))
        self._generation = generation
        self._field = pa.field("", TEXT, metadata=about_terms(tail))

    def begin(self, ids: Ids, dictionary: Dictionary) -> Column | None:
        """A column with texts like that of one of its terms; None where not all are like it, or it has no text."""
        if found := self.again(ids, dictionary):  # else the texts of other terms have to be looked at for the form
            return found
        first = ids.item(0) or int(ids[(ids != 0).argmax()])
        return self.again(ids, dictionary) if first > 0 and self.start(first, dictionary) else None

    def start(self, first: int, dictionary: Dictionary) -> bool:
        """Begin with texts like that of a term, unless they are; False where it has none."""
        tail = common_tail(dictionary.keys(np.array([first])))
        if tail is None or tail.startswith('"^^'):
            return False
        if tail != self._tail or self._generation != dictionary.generation:
            self._forget(tail, dictionary.generation)
        return True

    def again(self, ids: Ids, dictionary: Dictionary) -> Column | None:
        """A column with texts like those before; None where not all are."""
        if not self._tail or not self.are_good(slice(0, len(ids)), dictionary):
            return None
        count = len(ids)
        places = np.empty(count, np.int32)
        if not self.number(ids, 0, count, places, dictionary):
            return None
        return self.column(places, _bound(ids))

    def are_good(self, rows: slice, dictionary: Dictionary) -> bool:
        """Whether what is known is of this dictionary; where most of it would be of other rows it is let go of."""
        if self._generation != dictionary.generation:
            return not self._tail
        self._forget_most(rows.stop - rows.start)
        return True

    def number(self, ids: Ids, first: int, end: int, places: Numbers, dictionary: Dictionary) -> bool:
        """The numbers of the texts from a row on up to another; False where not all are like those before."""
        known = self._number(ids, first, end, places)
        if self._sizes.item(0) > known and not self._read(known, dictionary):
            self._forget("")
            return False
        return True

    def column(self, places: Numbers, valid: NDArray[np.bool_] | None) -> Column:
        """The texts with these numbers; null where they are not valid."""
        buffers = [None if valid is None else validity(valid), pa.py_buffer(places)]
        return self._field, pa.DictionaryArray.from_buffers(TEXT, len(places), buffers, self._texts)

    def _read(self, known: int, dictionary: Dictionary) -> bool:
        """Read the texts of terms from a number on; False where they are not like those before.

        They are written behind those that are there, which Arrow arrays that were given out go on reading.
        """
        arrays, ids, tail = dictionary.arrays, self._distinct[known : self._sizes.item(0)], self._tail_bytes
        records, count = np.empty(len(ids), np.int64), known + len(ids)
        size = _FIND_TEXTS.run(arrays, ids, _IRI if self._tail == ">" else _LITERAL, tail, records)
        if size == NOT_ALIKE:
            return False
        if not known:
            self._data, self._offsets = np.empty(2 * size, np.uint8), np.zeros(2 * count + _FIRST_TERMS, np.int64)
        end: int = self._offsets.item(known)
        if end + size > len(self._data):
            self._data = _longer(self._data[:end], 2 * (end + size))
        if count >= len(self._offsets):
            self._offsets = _longer(self._offsets[: known + 1], 2 * count)
        _WRITE_TEXTS.run(arrays.heap, records, len(tail), self._data, self._offsets, known)
        self._texts = large_strings(self._data[: end + size], self._offsets[: count + 1])
        return True


def _moved(array: NDArray[AnyNumber], rows: slice, size: int) -> NDArray[AnyNumber]:
    """Some rows of an array at the beginning of another."""
    moved = np.empty(size, array.dtype)
    moved[: rows.stop - rows.start] = array[rows]
    return moved


def _longer(array: NDArray[AnyNumber], size: int) -> NDArray[AnyNumber]:
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer


def _doubles(ids: Ids, dictionary: Dictionary) -> Column | None:
    """Doubles in whatever form they are written; their values are known where an expression or a report had them."""
    if not _are_doubles(values_of(dictionary, ids[ids.argmax() :][:1])):  # one of the dictionary, if there is any
        return None
    return _doubles_again(ids, dictionary)


def _doubles_again(ids: Ids, dictionary: Dictionary) -> Column | None:
    """The same where they probably are doubles."""
    reals = np.empty(len(ids))
    return (_DOUBLES, numbers(reals, _bound(ids))) if _read_doubles(ids, reals, dictionary) else None


def _read_doubles(ids: Ids, reals: NDArray[np.float64], dictionary: Dictionary) -> bool:
    """Whether all are doubles, whose values are put into `reals`; 0 for the id 0."""
    table = value_table(dictionary)
    found: int = _READ_DOUBLES.run(table.known, ids, reals)
    if found == NOT_KNOWN:
        table.values(dictionary, as_kernel_ids(ids))
        found = _READ_DOUBLES.run(table.known, ids, reals)
    return found == DOUBLES


def _are_doubles(found: Values) -> bool:
    return not np.count_nonzero(found.kinds != DOUBLE)


def _bound(ids: Ids) -> NDArray[np.bool_] | None:
    """Where ids are not 0; None where none is."""
    if len(ids) == 1:
        return None if ids.item() else ids != 0
    return None if np.count_nonzero(ids) == len(ids) else ids != 0


def decoded(column: Column) -> Column:
    """The column with texts as they are, where it is dictionary-encoded."""
    field, values = column
    if not pa.types.is_dictionary(field.type):
        return column
    return field.with_type(field.type.value_type), values.dictionary_decode()


def _any_column(ids: Ids, dictionary: Dictionary) -> Column:
    encoded = numbers(ids, ids != 0).dictionary_encode()
    field, values = typed_keys(dictionary.keys(whole_numbers(encoded.dictionary)))
    if field.type == pa.large_string():
        return field.with_type(TEXT), pa.DictionaryArray.from_arrays(encoded.indices, values, safe=False)
    return field, values.take(encoded.indices)
