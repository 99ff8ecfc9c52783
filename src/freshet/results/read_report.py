"""A report again, from the line of JSON that it was written as."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyoxigraph
from numpy.typing import NDArray

from freshet.algebra.nodes import StreamOperator
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.oxigraph import parsed_key
from freshet.rdf.terms import triple_key
from freshet.results.report import GraphAnswer, Report


def read_report(line: bytes, variables: tuple[str, ...], moment: int, dictionary: Dictionary) -> Report:
    """The report of a moment that `report_json` has written. The caller holds a pin on the dictionary."""
    fields = orjson.loads(line)
    output = StreamOperator(fields["stream"])
    nothing = np.empty((0, len(variables)), np.int64)
    report = Report(fields["query"], fields["time"], output, variables, nothing, dictionary=dictionary, moment=moment)
    if (text := fields.get("triples", fields.get("quads"))) is not None:
        width = 3 if "triples" in fields else 4
        rows = _rows([key for quad in _quads(text) for key in quad[:width]], width, dictionary)
        report.graph = GraphAnswer.of_rows(rows, dictionary)
        return report
    bound = [binding.get(name) for binding in fields["bindings"] for name in variables]
    keys = [None if term is None else _key(term) for term in bound]
    report.rows = _rows(keys, len(variables), dictionary, len(fields["bindings"]))
    return report


def _rows(keys: list[str | None], width: int, dictionary: Dictionary, count: int = -1) -> NDArray[np.int64]:
    found: NDArray[np.int64] = dictionary.intern_arrow(pa.array(keys, pa.large_string())).reshape(count, width)
    return found


def _quads(text: str) -> Iterator[list[str | None]]:
    for quad in pyoxigraph.parse(text, pyoxigraph.RdfFormat.N_QUADS):
        triple = [parsed_key(term, "") for term in (quad.subject, quad.predicate, quad.object)]
        graph = quad.graph_name
        yield [*triple, None if isinstance(graph, pyoxigraph.DefaultGraph) else parsed_key(graph, "")]


def _key(binding: dict[str, Any]) -> str:
    """The dictionary's key of a term of SPARQL's JSON."""
    value = binding["value"]
    match binding["type"]:
        case "uri":
            return f"<{value}>"
        case "bnode":
            return f"_:{value}"
        case "triple":
            return triple_key(_key(value["subject"]), _key(value["predicate"]), _key(value["object"]))
    if language := binding.get("xml:lang"):
        direction = binding.get("its:dir")
        return f'"{value}"@{language}--{direction}' if direction else f'"{value}"@{language}'
    return f'"{value}"^^<{datatype}>' if (datatype := binding.get("datatype")) else f'"{value}"'
