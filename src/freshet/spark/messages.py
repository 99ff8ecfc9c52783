"""Documents of RDF as the columns of encoded records: each is a message, whose statements happened at one time.

The time is that of arrival, or that of a predicate: where a message has several, a statement has that of its graph, or
else of its subject.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyoxigraph as ox
from pyspark.sql import DataFrame

from freshet.rdf.formats import FORMATS
from freshet.rdf.oxigraph import term_time_ms
from freshet.spark.timed_lines import SCHEMA, timed_columns

_BASE = "urn:freshet:message"


def message_records(documents: DataFrame, form: str, time_predicate: str | None, blank_scope: str) -> DataFrame:
    """Each statement of each document, or the document with the reason why it is no message.

    Without a predicate the times are those of arrival.
    """

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield _read_batch(batch, form, time_predicate, blank_scope)

    return documents.mapInArrow(read, SCHEMA)


def _read_batch(batch: pa.RecordBatch, form: str, time_predicate: str | None, scope: str) -> pa.RecordBatch:
    lines: list[str] = []
    of_line: list[int] = []
    reasons: dict[int, str] = {}
    for number, (text, arrived) in enumerate(zip(batch.column("line"), batch.column("arrived"), strict=True)):
        try:
            made = timed_statements(text.as_py() or "", form, time_predicate, arrived.as_py())
        except (SyntaxError, ValueError) as error:
            reasons[number] = str(error)
            continue
        lines += made
        of_line += [number] * len(made)
    places = pa.array(of_line, pa.int64())
    good = timed_columns(
        pa.record_batch(
            {
                "line": pa.array(lines, pa.string()),
                "file": batch.column("file").take(places),
                "arrived": batch.column("arrived").take(places),
            }
        ),
        scope,
    )
    bad = batch.select(["line", "file", "arrived"]).take(pa.array(list(reasons), pa.int64()))
    nothing = [pa.nulls(len(bad), field.type) for field in good.schema][3:-1]
    rejected = pa.RecordBatch.from_arrays(
        [*bad.columns, *nothing, pa.array(list(reasons.values()), pa.string())], schema=good.schema
    )
    return pa.concat_batches([good, rejected])


def timed_statements(text: str, form: str, time_predicate: str | None, arrived_ms: int) -> list[str]:
    """The lines of timed N-Quads that a message stands for.

    Raises:
        ValueError: It cannot be read, or says no time.
    """
    if not text.strip():
        return []
    parsed = ox.parse(text, FORMATS[form].parsed_as, base_iri=None, rename_blank_nodes=True)
    if time_predicate is None:
        quads = (ox.serialize(parsed, format=ox.RdfFormat.N_QUADS) or b"").decode()
        return [f"{arrived_ms}\t{line}" for line in quads.splitlines()]
    found = list(parsed)
    given = [(quad.subject, quad.object) for quad in found if quad.predicate.value == time_predicate]
    times = {subject: term_time_ms(value) for subject, value in given}
    if found and not given:
        raise ValueError(f"the message has no <{time_predicate}>")
    if wrong := [value for _, value in given if term_time_ms(value) is None]:
        raise ValueError(f"{wrong[0]} is no date and no whole number of milliseconds")
    if len(set(times.values())) == 1:
        [time_ms] = set(times.values())
        return [f"{time_ms}\t{quad} ." for quad in found]
    lines = []
    for quad in found:
        at = times.get(quad.graph_name, times.get(quad.subject))
        if at is None:
            raise ValueError(f"{quad.subject} has no <{time_predicate}>, and the message has several")
        lines.append(f"{at}\t{quad} .")
    return lines
