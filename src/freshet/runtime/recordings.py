"""Recorded streams: the elements of files, each by the format that its name says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pyarrow as pa

from freshet.native.streams.stream import merge_in_order
from freshet.rdf.batch import Layout, elements_with_rows
from freshet.rdf.compression import open_input, plain_suffix
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.rdf.formats import format_name
from freshet.rdf.messages import JSON_LINES
from freshet.rdf.ntriples import scan_timed
from freshet.rdf.patches import PATCH
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


@dataclass(slots=True)
class Recordings:
    """The files of streams, and how times are found in those without: by a predicate, or by a stream's mapping.

    `rejected` counts the records of a stream that could not be mapped, `reasons` has the first reason of each stream.
    """

    files: Mapping[str, list[Path]]
    time_predicate: str | None = None
    mappings: Mapping[str, StreamMapping] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, str] = field(default_factory=dict)

    def batches(self, session: Session, stream: str) -> Iterator[Elements]:
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
    ) -> Iterator[Elements]:
        """Records in the order of the file; in that of time, where a mapping cuts the file in several ways."""
        parts: list[Elements] = []
        several = mapper.sources_of(formulation) > 1
        for mapped in mapper.map_file(file, formulation):
            if mapped.rejected:
                self.rejected[stream] += len(mapped.rejected)
                self.reasons.setdefault(stream, f"{file}: {mapped.rejected[0].reason}")
            made = [_in_order(table, layout, session.dictionary) for table, layout in mapped.tables if len(table)]
            if several:
                parts += made
            else:
                yield from made
        if parts:
            yield merge_in_order(parts)

    def _read(self, session: Session, stream: str, file: Path) -> Iterator[Elements]:
        suffix = plain_suffix(file)
        form = _MESSAGES.get(suffix) or format_name(file)
        pushing = Pushing(session.dictionary, session.blank_scope(stream), str(file))
        with open_input(file) as source:
            if form is None and suffix in _RECORDS:
                raise InputError("records become RDF by a mapping: add -m MAPPING.ttl", file=str(file))
            first = b"" if form not in (None, "nt", "nq") else source.read(_CHUNK_BYTES)
            if form is None or _TIMED_LINE.match(first):
                yield from _timed(first, source, pushing)
            elif self.time_predicate is None:
                raise InputError(
                    "its statements have no times: --time-predicate IRI says which predicate has them", file=str(file)
                )
            else:
                yield pushing.elements(first + source.read(), None, form, self.time_predicate)


def _timed(first: bytes, source: BinaryIO, pushing: Pushing) -> Iterator[Elements]:
    """Timed N-Triples, in chunks that end where lines do."""
    line = 1
    while first:
        chunk = first if first.endswith(b"\n") else first + source.readline()
        elements, errors = scan_timed(
            chunk, pushing.dictionary, pushing.file, blank_scope=pushing.blank_scope, first_line=line
        )
        if errors:
            raise errors[0]
        line += chunk.count(b"\n")
        yield elements
        first = source.read(_CHUNK_BYTES)


def _in_order(table: pa.Table, layout: Layout, dictionary: Dictionary) -> Elements:
    """The triples of records, those of each together; a layout makes them one kind after the other."""
    elements, rows = elements_with_rows(table, layout, dictionary)
    order = np.argsort(rows, kind="stable")
    return Elements(*(column[order] for column in elements))


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
