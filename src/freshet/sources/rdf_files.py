"""RDF files as sources: the solutions of a SELECT query are records, and references name its variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyoxigraph as ox

from freshet.rdf.errors import InputError
from freshet.rdf.formats import rdf_format
from freshet.rdf.terms import XSD
from freshet.rml.kinds import DATATYPES, INTEGER, NOTHING, REAL, STRING
from freshet.rml.sources import Compression, FileSource, LogicalSource
from freshet.sources.columns import ROWS, Limits, Plan, RecordShape
from freshet.sources.files import DAMAGED, contents, files_of
from freshet.sources.typed import Typed, batch_of, places_of

_INTEGERS = ("int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "unsignedInt", "unsignedLong")
_KINDS = {XSD + name: kind for kind, name in DATATYPES.items()}
_KINDS |= {XSD + name: INTEGER for name in _INTEGERS} | {XSD + "float": REAL}
RESULTS = {".srj": ox.QueryResultsFormat.JSON, ".srx": ox.QueryResultsFormat.XML}


@dataclass(frozen=True, slots=True)
class RdfTask:
    """Loads a file and asks it a query; the whole file is in memory."""

    shape: RecordShape
    source: FileSource
    file: Path
    query: str
    limits: Limits
    nulls: frozenset[str]
    keep: bool

    def __call__(self) -> Iterator[pa.RecordBatch]:
        name = self.file.absolute().as_uri()
        try:
            solutions = self._solutions()
            names = [variable.value for variable in solutions.variables]
            places = places_of(self.shape.references, names, name)
            while rows := [[_typed(value) for value in row] for row in islice(solutions, ROWS)]:
                yield batch_of(self.shape, rows, places, self.nulls, name if self.keep else None)
        except (*DAMAGED, SyntaxError, ValueError, InputError) as error:
            yield self.shape.reject(f"cannot be read: {error}", None, name)

    def _solutions(self) -> ox.QuerySolutions:
        if self.file.suffix in RESULTS:
            return read_results(self.file)
        solutions = _load_store(self.file, self.source, self.limits).query(self.query)
        assert isinstance(solutions, ox.QuerySolutions)
        return solutions


def rdf_tasks(source: LogicalSource, given: FileSource, plan: Plan) -> tuple[RecordShape, list[RdfTask]]:
    """The columns and the tasks, one a file: the query is asked of each for itself."""
    query = source.iterator or ""
    shape = RecordShape(plan.references, kinds=True)
    if given.path.suffix in RESULTS:
        (file,) = files_of(given)
        try:
            answered = [variable.value for variable in read_results(file).variables]
        except (SyntaxError, ValueError, OSError) as error:
            raise InputError(f"cannot be read: {error}", file=str(file)) from None
        places_of(plan.references, answered, str(file))
        return shape, [RdfTask(shape, given, file, query, plan.limits, source.nulls, plan.keep)]
    try:
        found = ox.Store().query(query)
    except SyntaxError as error:
        raise InputError(f"the query of a logical source is no SPARQL: {error}") from None
    if not isinstance(found, ox.QuerySolutions):
        raise InputError("the query of a logical source must be a SELECT query")
    files = files_of(given)
    places_of(plan.references, [variable.value for variable in found.variables], str(given.path))
    if given.compression in (Compression.NONE, Compression.GZIP):  # files in archives have names of their own
        for file in files:
            rdf_format(file)
    return shape, [RdfTask(shape, given, file, query, plan.limits, source.nulls, plan.keep) for file in files]


def read_results(file: Path) -> ox.QuerySolutions:
    """The solutions that an endpoint has given."""
    found = ox.parse_query_results(path=str(file), format=RESULTS[file.suffix])
    if not isinstance(found, ox.QuerySolutions):
        raise InputError("the query of a logical source must be a SELECT query")
    return found


def _load_store(file: Path, source: FileSource, limits: Limits) -> ox.Store:
    store = ox.Store()
    for name, blocks in contents(file, source):
        text = bytearray()
        for block in blocks:
            text += block
            if len(text) > limits.document_bytes:
                raise InputError(f"longer than {limits.document_bytes} bytes")
        store.bulk_load(input=bytes(text), format=rdf_format(name), base_iri=file.absolute().as_uri())
    return store


def _typed(value: Any) -> Typed:
    match value:
        case None:
            return Typed(None, NOTHING)
        case ox.Literal():
            return Typed(value.value, _KINDS.get(value.datatype.value, STRING))
        case ox.BlankNode():
            return Typed(f"_:{value.value}", STRING)
        case ox.NamedNode():
            return Typed(value.value, STRING)
        case _:
            return Typed(str(value), STRING)
