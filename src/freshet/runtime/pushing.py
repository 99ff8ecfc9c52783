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
from numpy.typing import NDArray

from freshet.kernels.dictionary import is_known
from freshet.kernels.direct_call import DirectCall
from freshet.kernels.pushed_columns import BLANK_NODE, IRI, LITERAL, TRIPLE_TERM, first_misplaced
from freshet.native.streams.stream import is_in_order
from freshet.rdf.arrow import key_ranges, numbers, read_only, texts, whole_numbers
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements, ElementsInGraphs
from freshet.rdf.errors import InputError
from freshet.rdf.messages import MESSAGE_FORMATS, MessageReader, Messages
from freshet.rdf.ntriples import scan_statements, scan_timed_quads
from freshet.rdf.oxigraph import scoped_label
from freshet.rdf.terms import BlankNode, Iri, Literal, Term, TripleTerm
from freshet.runtime.message_times import message_times
from freshet.runtime.pushed_terms import problem_of
from freshet.runtime.session_checks import check_time, check_times

Element = tuple[int, Term, Term, Term]
Arrow = Any  # pa.Table or pa.RecordBatch: pyarrow has no types
Pushed = Elements | Element | Iterable[Element] | str | bytes | bytearray | memoryview | Arrow

Ids = NDArray[np.int64]

_ROLES = ("subject", "predicate", "object")
_FIRST_MISPLACED = DirectCall(first_misplaced)
_FEW_VALUES = 8  # for each row: of a dictionary with more than that, the rows' values are found by sorting
_TAKES = (
    "timed N-Triples, RDF text with time_ms, elements (time_ms, subject, predicate, object), or an Arrow table with "
    "the columns time, subject, predicate and object"
)
# What the strings of a column are put into, to be read as one term each and nothing more.
_BEFORE, _AFTER, _NOTHING = texts(["<urn:freshet:s> <urn:freshet:p> ", " <urn:freshet:end> .\n", ""])
_END = Iri("urn:freshet:end")
_KINDS = {"subject": IRI | BLANK_NODE, "predicate": IRI, "object": IRI | BLANK_NODE | LITERAL | TRIPLE_TERM}


class Pushing(NamedTuple):
    """Where pushed data go: the dictionary, the scope of the stream's blank nodes, and what errors call the data."""

    dictionary: Dictionary
    blank_scope: str
    file: str
    deletions: bool = False  # whether statements of text may say that they are deleted
    keeps_graphs: bool = False  # whether it counts what graph a statement is in

    def elements(
        self, pushed: Pushed, time_ms: int | None, form: str | None = None, time_predicate: str | None = None
    ) -> ElementsInGraphs:
        """The elements, encoded. Text has times, unless one is given, or a predicate that has them."""
        if isinstance(pushed, str):
            pushed = self._bytes(pushed)
        elif isinstance(pushed, bytearray | memoryview):
            pushed = bytes(pushed)
        if form is not None and form not in MESSAGE_FORMATS:
            raise InputError(f"{form} is no format of RDF text; known are {', '.join(MESSAGE_FORMATS)}")
        if time_ms is not None:
            if not isinstance(pushed, bytes):
                raise InputError("time_ms goes with RDF text; other elements have times of their own")
            if isinstance(time_ms, bool) or not isinstance(time_ms, int | np.integer):
                raise InputError(f"time_ms is a whole number of milliseconds, not {time_ms!r}")
            check_time(int(time_ms))
            quads = self._messages(pushed, form).quads
            return self._in_graphs(Elements(np.full(len(quads.graphs), time_ms, np.int64), *quads[:3]), quads.graphs)
        if isinstance(pushed, Elements):
            return ElementsInGraphs(pushed)
        if isinstance(pushed, bytes):
            if time_predicate is not None:
                return self._message_elements(pushed, form, time_predicate)
            if form is not None:
                raise InputError("RDF has no times here: time_ms or time_predicate says when it happened")
            return self.timed(pushed)
        if isinstance(pushed, tuple):
            return ElementsInGraphs(self._single(pushed))
        if isinstance(pushed, pa.Table | pa.RecordBatch):
            return ElementsInGraphs(self._table(pushed))
        if isinstance(pushed, Iterable):
            return ElementsInGraphs(self._several(list(cast("Iterable[Element]", pushed))))
        raise InputError(f"a {type(pushed).__name__} cannot be pushed; push takes {_TAKES}")

    def deleted(self, elements: Elements) -> Elements:
        """Elements that delete their triples."""
        if not self.deletions:
            raise InputError("only a stream that was declared with retracts=True takes deletions", file=self.file)
        return elements._replace(predicates=-np.abs(elements.predicates))

    def _bytes(self, text: str) -> bytes:
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise InputError(f"{self.file}: character {error.start + 1} is half of one") from None

    def timed(self, text: bytes, first_line: int = 1) -> ElementsInGraphs:
        """The elements of timed N-Triples or N-Quads."""
        elements, graphs, errors = scan_timed_quads(
            text,
            self.dictionary,
            self.file,
            blank_scope=self.blank_scope,
            first_line=first_line,
            deletions=self.deletions,
        )
        if errors:
            raise errors[0]
        return self._in_graphs(elements, graphs)

    def _in_graphs(self, elements: Elements, graphs: Ids) -> ElementsInGraphs:
        return ElementsInGraphs(elements, graphs if self.keeps_graphs else None)

    def _message_elements(self, text: bytes, form: str | None, time_predicate: str) -> ElementsInGraphs:
        """Messages with times of their own. The order inside a document means nothing: time decides."""
        messages = self._messages(text, form)
        times = message_times(messages, time_predicate, self.dictionary, self.file)
        check_times(times)
        elements, graphs = Elements(times, *messages.quads[:3]), messages.quads.graphs
        if not messages.ordered and not is_in_order(times):
            order = np.argsort(times, kind="stable")
            elements, graphs = Elements(*(column[order] for column in elements)), graphs[order]
        return self._in_graphs(elements, graphs)

    def _messages(self, text: bytes, form: str | None) -> Messages:
        return MessageReader(self.dictionary, self.blank_scope, self.file, self.deletions).read(text, form)

    def _single(self, element: Element) -> Elements:
        time_ms, subject, predicate, object_ = self._check_element(element)
        encode = self.dictionary.encode
        row = np.array([time_ms, encode(subject), encode(predicate), encode(object_)], np.int64)
        return Elements(row[:1], row[1:2], row[2:3], row[3:])

    def _several(self, elements: list[Element]) -> Elements:
        rows = [self._check_element(element, number) for number, element in enumerate(elements, 1)]
        columns: list[tuple[Term, ...]] = list(zip(*(row[1:] for row in rows), strict=True)) or [(), (), ()]
        distinct = list(set().union(*columns))
        numbers = {term: number for number, term in enumerate(distinct)}
        ids = self.dictionary.encode_many(distinct)
        times = np.fromiter((row[0] for row in rows), np.int64, len(rows))
        subjects, predicates, objects = (
            ids[[numbers[term] for term in column]] if column else _NONE for column in columns
        )
        return Elements(times, subjects, predicates, objects)

    def _check_element(self, element: Element, number: int = 1) -> Element:
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
        if type(object_) not in (Iri, BlankNode, Literal, TripleTerm):
            message = "its object is not an Iri, a BlankNode, a Literal or a TripleTerm"
            raise InputError(f"element {number} of {self.file}: {message}")
        if problem := problem_of(subject) or problem_of(predicate) or problem_of(object_):
            raise InputError(f"element {number} of {self.file}: {problem}")
        return time_ms, self._scoped(subject), predicate, self._scoped(object_)

    def _scoped(self, term: Term) -> Any:
        """The term with its blank nodes in their scope, and languages in lower case."""
        if type(term) is BlankNode:
            return BlankNode(scoped_label(term.label, self.blank_scope))
        if type(term) is Literal and term.language is not None:
            return replace(term, language=term.language.lower())
        if type(term) is TripleTerm:
            return TripleTerm(self._scoped(term.subject), term.predicate, self._scoped(term.object))
        return term

    def _table(self, table: pa.Table | pa.RecordBatch) -> Elements:
        names = ("time", *_ROLES)
        places = [table.schema.get_field_index(name) for name in names]
        if min(places) < 0:
            missing = names[next(at for at, place in enumerate(places) if place < 0)]
            raise InputError(f"{self.file}: the table has no single column {missing!r}; push takes {_TAKES}")
        columns = [table.column(place) for place in places]
        for name, column in zip(names, columns, strict=True):
            if column.null_count:
                raise InputError(f"{self.file}: the column {name!r} has nulls")
        if not pa.types.is_int64(columns[0].type):
            raise InputError(f"{self.file}: the column 'time' is {columns[0].type}, not int64")
        times = columns[0].to_numpy()
        check_times(times)
        subjects, predicates, objects = map(self._column, columns[1:], _ROLES)
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
        row: int = _FIRST_MISPLACED.run(arrays.slots, arrays.heap, ids, _KINDS[role])
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
