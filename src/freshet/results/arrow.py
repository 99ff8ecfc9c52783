"""Solutions as Arrow: a column a variable, every term a struct in the words of SPARQL 1.1 JSON.

`type` is uri, literal or bnode; `datatype` is null for plain strings and for literals with a language, and an unbound
variable is a null struct.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.rdf.dictionary import Dictionary
from freshet.results.report import Answer, BooleanAnswer, Report, Solutions

TERM = pa.struct([(name, pa.large_string()) for name in ("type", "value", "datatype", "language")])

# What follows the last quotation mark is the suffix: it can hold none.
_LITERAL = r'(?s)^"(?P<value>.*)"(?:@(?P<language>[^"]*)|\^\^<(?P<datatype>[^"]*)>)?$'


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
    literals = pc.extract_regex(keys, _LITERAL)
    is_iri = pc.starts_with(keys, "<")
    is_literal = pc.starts_with(keys, '"')
    name = pc.if_else(is_iri, pc.utf8_slice_codeunits(keys, 1, -1), pc.utf8_slice_codeunits(keys, 2))
    kind = pc.if_else(is_iri, "uri", pc.if_else(is_literal, "literal", "bnode"))
    fields = [
        kind.cast(pa.large_string()),
        pc.if_else(is_literal, pc.struct_field(literals, "value"), name),
        _empty_to_null(pc.struct_field(literals, "datatype")),
        _empty_to_null(pc.struct_field(literals, "language")),
    ]
    return pa.StructArray.from_arrays(fields, fields=list(TERM), mask=keys.is_null())


def _empty_to_null(column: pa.Array) -> pa.Array:
    """A part that did not match is empty; that is none."""
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, column.type), column)
