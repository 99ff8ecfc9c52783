"""Recorded streams: the elements of files, each by the format that its name says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.native.streams.element_log import Ids, Origin
from freshet.native.streams.stream import concatenate_elements, merge_in_order
from freshet.rdf.batch import Layout, elements_with_rows
from freshet.rdf.compression import open_input, plain_suffix
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.rdf.formats import format_name
from freshet.rdf.messages import JSON_LINES
from freshet.rdf.patches import PATCH
from freshet.runtime.origins import BatchOrigin, TextOrigin, line_shifts
from freshet.runtime.pushing import Pushing
from freshet.runtime.session import Session

if TYPE_CHECKING:
    from freshet.mapper.record_mapper import RecordMapper, StreamMapping
    from freshet.rml.sources import Formulation

# Large enough that a call a chunk costs nothing, small enough that memory does not follow the input.
_CHUNK_BYTES = 8 << 20
_TIMED_LINE = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s|#[^\n]*\n)*-?[0-9]+\t")
_MESSAGES = {
    ".ndjsonld": JSON_LINES,
    ".jsonlds": JSON_LINES,
    ".rdfp": PATCH,
    ".rdfpatch": PATCH,
}
_RECORDS = {".csv": "CSV", ".json": "JSONPath", ".ndjson": "JSONPath", ".jsonl": "JSONPath", ".xml": "XPath"}


class RecordedBatch(NamedTuple):
    """Elements, and what they came from where that is asked for."""

    elements: Elements
    origin: Origin | None = None
    graphs: Ids | None = None  # where the stream keeps them


@dataclass(slots=True)
class Recordings:
    """The files of streams, and how times are found in those without: by a predicate, or by a stream's mapping.

    `rejected` counts the records of a stream that could not be mapped, `reasons` has the first reason of each stream.
    `with_origins`: whether elements come with the file and the line that each is of.
    """

    files: Mapping[str, list[Path]]
    time_predicate: str | None = None
    mappings: Mapping[str, StreamMapping] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)
    with_origins: bool = False

    def batches(self, session: Session, stream: str) -> Iterator[RecordedBatch]:
        """The elements of a stream."""
        mapper = self._mapper(session, stream)
        for file in self.files[stream]:
            formulation = _formulation(file, mapper)
            if mapper is not None and formulation is not None:
                yield from self._mapped(session, stream, file, mapper, formulation)
            else:
                yield from self._read(session, stream, file)

    def _mapper(self, session: Session, stream: str) -> RecordMapper | None:
        declared = self.mappings.get(stream)
        if declared is None:
            return None
        from freshet.mapper.record_mapper import RecordMapper

        return RecordMapper(declared, session.blank_scope(stream))

    def _mapped(
        self, session: Session, stream: str, file: Path, mapper: RecordMapper, formulation: Formulation
    ) -> Iterator[RecordedBatch]:
        """Records in the order of the file; in that of time, where a mapping cuts the file in several ways."""
        parts: list[_Made] = []
        several = mapper.sources_of(formulation) > 1
        for mapped in mapper.map_file(file, formulation, numbered=self.with_origins):
            if mapped.rejected:
                self.rejected[stream] += len(mapped.rejected)
                self.reasons.setdefault(stream, f"{file}: {mapped.rejected[0].reason}")
            made = [_in_order(table, layout, session.dictionary) for table, layout in mapped.tables if len(table)]
            if several:
                parts += made
            else:
                yield from (self._batch(stream, file, [each]) for each in made)
        if parts:
            yield self._batch(stream, file, parts)

    def _batch(self, stream: str, file: Path, parts: list[_Made]) -> RecordedBatch:
        if not self.with_origins:
            return RecordedBatch(merge_in_order([each.elements for each in parts]) if len(parts) > 1 else parts[0][0])
        firsts = np.cumsum([0, *(len(each.files) for each in parts)])
        rows = np.concatenate([each.rows + first for each, first in zip(parts, firsts[:-1], strict=True)])
        elements = concatenate_elements([each.elements for each in parts])
        if len(parts) > 1:
            order = np.argsort(elements.times, kind="stable")
            elements, rows = Elements(*(column[order] for column in elements)), rows[order]
        files = pa.chunked_array([chunk for each in parts for chunk in each.files.chunks], pa.string())
        named = pc.replace_substring(files, file.absolute().as_uri(), f"file:{file}", max_replacements=1)
        return RecordedBatch(elements, BatchOrigin(stream, 0, named, rows))

    def _read(self, session: Session, stream: str, file: Path) -> Iterator[RecordedBatch]:
        suffix = plain_suffix(file)
        form = _MESSAGES.get(suffix) or format_name(file)
        pushing = session.pushing(stream, str(file))
        with open_input(file) as source:
            if form is None and suffix in _RECORDS:
                raise InputError("records become RDF by a mapping: add -m MAPPING.ttl", file=str(file))
            first = b"" if form not in (None, "nt", "nq") else source.read(_CHUNK_BYTES)
            if form is None or _TIMED_LINE.match(first):
                yield from self._timed(first, source, pushing)
            elif self.time_predicate is None:
                raise InputError(
                    "its statements have no times: --time-predicate IRI says which predicate has them", file=str(file)
                )
            else:
                elements, graphs = pushing.elements(first + source.read(), None, form, self.time_predicate)
                origin = TextOrigin("file", str(file), None) if self.with_origins else None
                yield RecordedBatch(elements, origin, graphs)

    def _timed(self, first: bytes, source: BinaryIO, pushing: Pushing) -> Iterator[RecordedBatch]:
        """Timed N-Triples, in chunks that end where lines do."""
        line = 1
        while first:
            chunk = first if first.endswith(b"\n") else first + source.readline()
            elements, graphs = pushing.timed(chunk, line)
            origin = None
            if self.with_origins:
                shifts = line_shifts(chunk, len(elements.times))
                if shifts is not None and line > 1:
                    shifts = ((0, line - 1), *((row, shift + line - 1) for row, shift in shifts))
                origin = TextOrigin("file", pushing.file, shifts)
            line += chunk.count(b"\n")
            yield RecordedBatch(elements, origin, graphs)
            first = source.read(_CHUNK_BYTES)


class _Made(NamedTuple):
    """What some records make: elements, of which row of the table each is, and the file and line of each row."""

    elements: Elements
    rows: Ids
    files: pa.ChunkedArray


def _in_order(table: pa.Table, layout: Layout, dictionary: Dictionary) -> _Made:
    """The triples of records, those of each together; a layout makes them one kind after the other."""
    from freshet.sources.columns import FILE

    elements, rows = elements_with_rows(table, layout, dictionary)
    order = np.argsort(rows, kind="stable")
    return _Made(Elements(*(column[order] for column in elements)), rows[order], table.column(FILE))


def _formulation(file: Path, mapper: RecordMapper | None) -> Formulation | None:
    """How the records of a file are cut; None for RDF."""
    suffix = plain_suffix(file)
    if mapper is None or suffix not in _RECORDS:
        return None
    from freshet.rml.sources import Formulation

    formulation = Formulation(_RECORDS[suffix])
    if formulation not in mapper.formulations:
        known = ", ".join(each.value for each in mapper.formulations)
        raise InputError(f"the mapping of its stream takes {known}", file=str(file))
    return formulation
