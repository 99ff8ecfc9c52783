"""What `Session.push` takes, as elements: tuples of terms, Arrow tables, timed N-Triples, RDF text with one time.

Blank nodes, wherever they come from, belong to the stream: equal labels in one stream are one node.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph
from numpy.typing import NDArray

from freshet.kernels.dictionary import is_known
from freshet.kernels.pushed_columns import BLANK_NODE, IRI, LITERAL, first_misplaced
from freshet.native.streams.derived_stream import times_of_terms
from freshet.rdf.arrow import key_ranges, numbers, read_only, texts, whole_numbers
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import FURTHEST_MS, Elements
from freshet.rdf.errors import InputError
from freshet.rdf.ntriples import scan_statements, scan_timed
from freshet.rdf.oxigraph import scoped_label
from freshet.rdf.reading import parse_rdf
from freshet.rdf.terms import BlankNode, Iri, Literal, Term
from freshet.runtime.pushed_terms import problem_of
from freshet.runtime.session_checks import check_time, check_times

Element = tuple[int, Term, Term, Term]
Arrow = Any  # pa.Table or pa.RecordBatch: pyarrow has no types
Pushed = Elements | Element | Iterable[Element] | str | bytes | bytearray | memoryview | Arrow

Ids = NDArray[np.int64]

_ROLES = ("subject", "predicate", "object")
_FORMATS = {
    "ttl": pyoxigraph.RdfFormat.TURTLE,
    "trig": pyoxigraph.RdfFormat.TRIG,
    "jsonld": pyoxigraph.RdfFormat.JSON_LD,
}
_UNTIMED = -FURTHEST_MS
_FEW_VALUES = 8  # for each row: of a dictionary with more than that, the rows' values are found by sorting
_TAKES = (
    "timed N-Triples, RDF text with time_ms, elements (time_ms, subject, predicate, object), or an Arrow table with "
    "the columns time, subject, predicate and object"
)
# What the strings of a column are put into, to be read as one term each and nothing more.
_BEFORE, _AFTER, _NOTHING = texts(["<urn:freshet:s> <urn:freshet:p> ", " <urn:freshet:end> .\n", ""])
_END = Iri("urn:freshet:end")
_KINDS = {"subject": IRI | BLANK_NODE, "predicate": IRI, "object": IRI | BLANK_NODE | LITERAL}


class Pushing(NamedTuple):
    """Where pushed data go: the dictionary, the scope of the stream's blank nodes, and what errors call the data."""

    dictionary: Dictionary
    blank_scope: str
    file: str

    def elements(self, pushed: Pushed, time_ms: int | None, form: str | None = None) -> Elements:
        """The elements, encoded."""
        if isinstance(pushed, str):
            pushed = self._bytes(pushed)
        elif isinstance(pushed, bytearray | memoryview):
            pushed = bytes(pushed)
        if time_ms is not None:
            if not isinstance(pushed, bytes):
                raise InputError("time_ms goes with RDF text; other elements have times of their own")
            if isinstance(time_ms, bool) or not isinstance(time_ms, int | np.integer):
                raise InputError(f"time_ms is a whole number of milliseconds, not {time_ms!r}")
            check_time(int(time_ms))
            return self._at(time_ms, self._document(pushed, form))
        if isinstance(pushed, Elements):
            return pushed
        if isinstance(pushed, bytes):
            return self._timed(pushed)
        if isinstance(pushed, tuple):
            return self._single(pushed)
        if isinstance(pushed, pa.Table | pa.RecordBatch):
            return self._table(pushed)
        if isinstance(pushed, Iterable):
            return self._several(list(cast("Iterable[Element]", pushed)))
        raise InputError(f"a {type(pushed).__name__} cannot be pushed; push takes {_TAKES}")

    def _bytes(self, text: str) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{self.file}: character {error.start + 1} is half of one") from None

    def _timed(self, text: bytes) -> Elements:
        elements, errors = scan_timed(text, self.dictionary, self.file, blank_scope=self.blank_scope)
        if errors:
            raise errors[0]
        return elements

    def timed_document(self, text: bytes, form: str | None, predicate: str) -> Elements:
        """RDF in which each subject has its time, by a predicate; or one subject has it for all."""
        subjects, predicates, objects = self._document(text, form)
        rows = np.flatnonzero(predicates == self.dictionary.encode(Iri(predicate)))
        given = times_of_terms(self.dictionary, objects[rows], _UNTIMED)
        if not len(rows) or (given == _UNTIMED).any():
            raise InputError(f"{self.file}: <{predicate}> has no date or whole number of milliseconds as its object")
        if (given == given[0]).all():
            return self._at(int(given[0]), (subjects, predicates, objects))
        order = np.lexsort((given, subjects[rows]))
        timed, times = subjects[rows][order], given[order]
        places = np.searchsorted(timed, subjects, side="right") - 1  # the latest, where there are several
        missing = np.flatnonzero((places < 0) | (timed[places] != subjects))
        if len(missing):
            [term] = self.dictionary.decode_many(subjects[missing[:1]])
            raise InputError(f"{self.file}: {term} has no <{predicate}>, and others have different ones")
        return Elements(times[places], subjects, predicates, objects)

    def _at(self, time_ms: int, columns: tuple[Ids, Ids, Ids]) -> Elements:
        return Elements(np.full(len(columns[0]), time_ms, np.int64), *columns)

    def _document(self, text: bytes, form: str | None) -> tuple[Ids, Ids, Ids]:
        """RDF in a format, or in N-Triples, N-Quads or Turtle. Graph names are set aside."""
        if form is not None and form not in ("nt", "nq"):
            quads = parse_rdf(text, _FORMATS[form], self.dictionary, self.file, blank_scope=self.blank_scope)
            return quads[:3]
        columns, errors = scan_statements(text, self.dictionary, self.file, quads=True, blank_scope=self.blank_scope)
        if errors and form is not None:
            raise errors[0]
        if errors:
            try:
                turtle = pyoxigraph.RdfFormat.TURTLE
                columns = parse_rdf(text, turtle, self.dictionary, self.file, blank_scope=self.blank_scope)
            except InputError as error:  # of two readings the one that came further is what was meant
                raise max(errors[0], error, key=lambda one: (one.line or 0, one.column or 0)) from None
        return columns[0], columns[1], columns[2]

    def _single(self, element: Element) -> Elements:
        time_ms, subject, predicate, object_ = self._checked(element)
        encode = self.dictionary.encode
        row = np.array([time_ms, encode(subject), encode(predicate), encode(object_)], np.int64)
        return Elements(row[:1], row[1:2], row[2:3], row[3:])

    def _several(self, elements: list[Element]) -> Elements:
        rows = [self._checked(element, number) for number, element in enumerate(elements, 1)]
        columns: list[tuple[Term, ...]] = list(zip(*(row[1:] for row in rows), strict=True)) or [(), (), ()]
        distinct = list(set().union(*columns))
        numbers = {term: number for number, term in enumerate(distinct)}
        ids = self.dictionary.encode_many(distinct)
        times = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        subjects, predicates, objects = (
            ids[[numbers[term] for term in column]] if column else _NONE for column in columns
        )
        return Elements(times, subjects, predicates, objects)

    def _checked(self, element: Element, number: int = 1) -> Element:
        """The element, its blank nodes in their scope, if it is one."""
        try:
            time_ms, subject, predicate, object_ = element
        except (TypeError, ValueError):
            raise InputError(f"element {number} of {self.file} is not (time_ms, subject, predicate, object)") from None
        if type(time_ms) is not int:
            if not isinstance(time_ms, int | np.integer) or isinstance(time_ms, bool):
                raise InputError(f"element {number} of {self.file}: its time is not in whole milliseconds")
            time_ms = int(time_ms)
        check_time(time_ms)
        if type(predicate) is not Iri:
            raise InputError(f"element {number} of {self.file}: its predicate is not an Iri")
        if type(subject) is not Iri and type(subject) is not BlankNode:
            raise InputError(f"element {number} of {self.file}: its subject is neither an Iri nor a BlankNode")
        if type(object_) not in (Iri, BlankNode, Literal):
            raise InputError(f"element {number} of {self.file}: its object is not an Iri, a BlankNode or a Literal")
        if problem := problem_of(subject) or problem_of(predicate) or problem_of(object_):
            raise InputError(f"element {number} of {self.file}: {problem}")
        if type(subject) is BlankNode:
            subject = BlankNode(scoped_label(subject.label, self.blank_scope))
        if type(object_) is BlankNode:
            object_ = BlankNode(scoped_label(object_.label, self.blank_scope))
        elif type(object_) is Literal and object_.language is not None:
            object_ = replace(object_, language=object_.language.lower())
        return time_ms, subject, predicate, object_

    def _table(self, table: pa.Table | pa.RecordBatch) -> Elements:
        missing = [name for name in ("time", *_ROLES) if table.schema.get_field_index(name) < 0]
        if missing:
            raise InputError(f"{self.file}: the table has no single column {missing[0]!r}; push takes {_TAKES}")
        for name in ("time", *_ROLES):
            if table.column(name).null_count:
                raise InputError(f"{self.file}: the column {name!r} has nulls")
        if not pa.types.is_int64(table.column("time").type):
            raise InputError(f"{self.file}: the column 'time' is {table.column('time').type}, not int64")
        times = table.column("time").to_numpy()
        check_times(times)
        subjects, predicates, objects = (self._column(table.column(name), name) for name in _ROLES)
        return Elements(times, subjects, predicates, objects)

    def _column(self, column: pa.Array | pa.ChunkedArray, role: str) -> NDArray[np.int64]:
        """The ids of a column of ids, or of terms as N-Triples writes them."""
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        places: NDArray[np.int64] | None = None
        if pa.types.is_dictionary(column.type):
            column, places = self._distinct(column)
        if pa.types.is_int64(column.type):
            ids = whole_numbers(column).copy()
        elif pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            if column.null_count:
                raise InputError(f"{self.file}: the column {role!r} has nulls")
            ids = self._read_terms(column, places, role)
        else:
            kinds = "int64 ids or strings of N-Triples terms"
            raise InputError(f"{self.file}: the column {role!r} is {column.type}, not {kinds}")
        self._check_kinds(ids, places, role)
        return ids if places is None else ids[places]

    @staticmethod
    def _distinct(column: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
        """The values of a dictionary-encoded column that it has, and for each row which of them."""
        places, values = column.indices.to_numpy(), column.dictionary
        if len(values) > _FEW_VALUES * len(places):
            used, places = np.unique(places, return_inverse=True)
            return values.take(numbers(used.astype(np.int64))), places
        is_used = np.zeros(len(values), np.bool_)
        is_used[places] = True
        if is_used.all():
            return values, places.astype(np.int64)
        return values.filter(pa.array(is_used)), (np.cumsum(is_used) - 1)[places]

    def _read_terms(self, texts: pa.Array, places: NDArray[np.int64] | None, role: str) -> NDArray[np.int64]:
        """Terms that are known by these very bytes are not read again."""
        ids = np.empty(len(texts), np.int64)
        data, starts, ends = key_ranges(texts)
        others = self.dictionary.find_known(read_only(data), read_only(starts), read_only(ends), ids)
        if others:
            rows = np.flatnonzero(ids == 0)
            encoded = (texts if others == len(texts) else texts.take(numbers(rows))).dictionary_encode()
            found, bad = self._scan_terms(encoded.dictionary.cast(pa.large_string()))
            which = encoded.indices.to_numpy()
            if bad >= 0:
                row = int(rows[np.argmax(which == bad)])
                text = encoded.dictionary[bad].as_py()
                message = f"row {_row_of(row, places)} of the column {role!r} is not one term of N-Triples: {text!r}"
                raise InputError(f"{self.file}: {message}")
            ids[rows] = found[which]
        return ids

    def _scan_terms(self, texts: pa.Array) -> tuple[NDArray[np.int64], int]:
        """The ids of texts, each of one term, and the first that is none, or -1.

        Every text is the object of a statement with a graph: what is more or less than a term shows by that.
        """
        # A text with a line feed would be several lines; no term has one.
        bad = np.flatnonzero(pc.match_substring(texts, "\n").to_numpy(zero_copy_only=False))
        objects = _NONE
        if not bad.size:
            lines = pc.binary_join_element_wise(_BEFORE, texts, _AFTER, _NOTHING)
            data, _, ends = key_ranges(lines)
            (_, _, objects, graphs), errors = scan_statements(
                data[: ends[-1]].tobytes(), self.dictionary, self.file, quads=True, blank_scope=self.blank_scope
            )
            bad = np.flatnonzero(graphs != self.dictionary.encode(_END))
            if errors:
                bad = np.array([error.line - 1 for error in errors if error.line is not None])
        return objects, int(bad[0]) if bad.size else -1

    def _check_kinds(self, ids: NDArray[np.int64], places: NDArray[np.int64] | None, role: str) -> None:
        """An error where an id has no term, or a term cannot stand in this role."""
        arrays = self.dictionary.arrays
        row = int(first_misplaced(arrays.slots, arrays.heap, ids, _KINDS[role]))
        if row < 0:
            return
        wrong = int(ids[row])
        if not is_known(arrays.slots, wrong):
            raise InputError(f"{self.file}: the column {role!r} has the id {wrong}, which no term has")
        key = self.dictionary.keys(ids[row : row + 1])[0].as_py()
        raise InputError(f"{self.file}: row {_row_of(row, places)} of the column {role!r} cannot be {key}")


def _row_of(row: int, places: NDArray[np.int64] | None) -> int:
    """The first row of a column that has a value, counted from 1."""
    return 1 + (row if places is None else int(np.argmax(places == row)))


_NONE = np.empty(0, np.int64)
