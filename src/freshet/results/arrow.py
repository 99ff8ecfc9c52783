"""Solutions as Arrow: a column a variable, every term a struct in the words of SPARQL JSON.

`type` is uri, literal, bnode or triple; `datatype` is null for plain strings and for literals with a language, and an
unbound variable is a null struct. A base direction stands behind the language, `ar--rtl`, and the value of a triple
term is its N-Triples form.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.rdf.dictionary import Dictionary
from freshet.results.keys import split_keys, term_types
from freshet.results.report import Answer, BooleanAnswer, Report, Solutions

TERM = pa.struct([(name, pa.large_string()) for name in ("type", "value", "datatype", "language")])


def record_batch(answer: Answer | Report, dictionary: Dictionary) -> pa.RecordBatch:
    """The answer as one batch. A report's query, time and stream operator are in the schema's metadata.

    A graph has the columns subject, predicate and object; the answer to ASK is one row of the column `boolean`.
    """
    if isinstance(answer, BooleanAnswer):
        return pa.record_batch({"boolean": pa.array([answer.value])})
    shown = answer if isinstance(answer, Solutions) else answer.shown
    batch = _batch(shown.variables, shown.rows, dictionary)
    return batch.replace_schema_metadata(report_metadata(answer)) if isinstance(answer, Report) else batch


def report_metadata(report: Report) -> dict[str, str]:
    """What a schema says of a report."""
    return {"query": report.query, "time": str(report.time_ms), "stream": report.stream.name.lower()}


def _batch(names: tuple[str, ...], rows: NDArray[np.int64], dictionary: Dictionary) -> pa.RecordBatch:
    if not names:  # Arrow takes the number of rows from columns, or from structs that have none
        return pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), len(rows), [None]))
    distinct, places = np.unique(rows, return_inverse=True)
    terms = term_structs(dictionary.keys(distinct))
    columns = [terms.take(pa.array(column)) for column in places.reshape(rows.shape).T]
    return pa.record_batch(columns, schema=pa.schema([(name, TERM) for name in names]))


def term_structs(keys: pa.Array) -> pa.Array:
    """Structs of terms by their keys in the dictionary."""
    kinds, values, suffixes = split_keys(keys)
    fields = [term_types(kinds), values, _after(suffixes, "^^<", -1), _after(suffixes, "@", None)]
    return pa.StructArray.from_arrays(fields, fields=list(TERM), mask=keys.is_null())


def _after(suffixes: pa.Array, start: str, stop: int | None) -> pa.Array:
    """What follows `start` in the suffixes that begin so; null for others."""
    texts = pc.utf8_slice_codeunits(suffixes, len(start), stop)
    return pc.if_else(pc.starts_with(suffixes, start), texts, pa.scalar(None, texts.type))
