"""Kernels that readers call are compiled here before Spark's workers start, so that not each of them does it."""

from __future__ import annotations

from freshet.sources.csv_text import CsvReader
from freshet.sources.json_documents import document_batches
from freshet.sources.json_text import JsonReader


def warm_csv(reader: CsvReader) -> int:
    """Read a record as the reader will. Gives the number of records."""
    names = list(reader.shape.references) or ["a"]
    text = reader.dialect.delimiter.join("x" for _ in names).encode()
    return sum(len(batch) for batch in reader.batches("", iter([text]), names))


def warm_json(reader: JsonReader) -> int:
    """Read lines and a document as the reader will. Gives the number of records."""
    lines = list(reader.line_batches("", iter([b"{}\n{}\n"])))
    return sum(len(batch) for batch in [*lines, *document_batches(reader, "", iter([b"{}"]))])
