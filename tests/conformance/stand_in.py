"""pyoxigraph, which stands in until Freshet's one-shot evaluation is there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyoxigraph as ox

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.oxigraph import parsed_key
from freshet.rdf.reading import rdf_format
from freshet.rdf.terms import term_from_key
from freshet.results.report import Answer, BooleanAnswer, GraphAnswer, Solutions


def answer_from_files(
    text: str, base: str, default_files: Iterable[Path], named_files: Iterable[Path]
) -> tuple[Answer, Dictionary]:
    """The answer of pyoxigraph, whose store changes the lexical forms of numbers and dates."""
    if "SERVICE" in text:
        raise UnsupportedError("a test asks no endpoint")
    dictionary = Dictionary()
    store = ox.Store()
    for path, name in [(path, ox.DefaultGraph()) for path in default_files] + [
        (path, ox.NamedNode(path.as_uri())) for path in named_files
    ]:
        parsed = ox.parse(path.read_bytes(), rdf_format(path), base_iri=path.as_uri(), rename_blank_nodes=True)
        store.extend(ox.Quad(*quad.triple, name) for quad in parsed)
        if isinstance(name, ox.NamedNode):
            store.add_graph(name)
    found = store.query(text, base_iri=base)

    def encode(term: ox.NamedNode | ox.BlankNode | ox.Literal | None) -> int:
        return 0 if term is None else dictionary.encode(term_from_key(parsed_key(term, "")))

    if isinstance(found, ox.QueryBoolean):
        return BooleanAnswer(bool(found)), dictionary
    if isinstance(found, ox.QueryTriples):
        ids = np.array([[encode(term) for term in triple] for triple in found], np.int64).reshape(-1, 3)
        return GraphAnswer(*np.unique(ids, axis=0).T), dictionary
    variables = tuple(variable.value for variable in found.variables)
    rows = [[encode(term) for term in solution] for solution in found]
    return Solutions(variables, np.array(rows, np.int64).reshape(len(rows), len(variables))), dictionary
