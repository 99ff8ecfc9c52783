"""Micro-batches as Spark hands them over, a triple for each record."""

import pyarrow as pa

from freshet.rdf.batch import Layout

LAYOUT = Layout(((0, 1, 2),), (("", ""),) * 3)
SCHEMA = pa.schema([("time", pa.int64()), ("arrived", pa.int64()), *((f"text_{k}", pa.string()) for k in range(3))])


def batch(*times: int) -> pa.Table:
    """A batch whose triples are `:T :p :T`, for each time T."""
    texts = [f"<http://e/{time}>" for time in times]
    columns = {"time": times, "arrived": times, "text_0": texts, "text_1": ["<http://e/p>"] * len(times)}
    return pa.table({**columns, "text_2": texts}, schema=SCHEMA)
