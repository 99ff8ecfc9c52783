"""The translation to algebra, judged by another engine: text -> algebra -> other text, and both give the same answers.

So does the algebra after the rewrite rules.

The queries and data are those of the W3C's evaluation tests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pyoxigraph
import pytest
from pyoxigraph import NamedNode, RdfFormat

from freshet.algebra.nodes import QueryForm
from freshet.algebra.rewrite.rules import rewrite
from freshet.algebra.sparql import query_text
from freshet.syntax.parser import parse_query
from shared_data import shared

MANIFEST = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QUERY = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
RDF_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
FORMATS = {".ttl": RdfFormat.TURTLE, ".rdf": RdfFormat.RDF_XML, ".nt": RdfFormat.N_TRIPLES}

COMPARED = {"sparql10": 271, "sparql11": 294}

# FROM would have to be loaded, SERVICE asks a server, and some functions give something else every time.
NOT_COMPARED = re.compile(r"\b(FROM|SERVICE|DESCRIBE|BNODE|UUID|STRUUID|RAND|NOW)\b", re.IGNORECASE)


class Evaluation(NamedTuple):
    """A query with the data it is put to."""

    path: Path
    data: list[tuple[Path, bool]]
    """Files, and whether each is a named graph."""


def evaluations(suite: Path) -> Iterator[Evaluation]:
    for manifest in sorted(suite.rglob("manifest.ttl")):
        store = pyoxigraph.Store()
        store.load(path=str(manifest), format=RdfFormat.TURTLE, base_iri=manifest.as_uri())
        for test in store.quads_for_pattern(None, RDF_TYPE, NamedNode(MANIFEST + "QueryEvaluationTest")):
            [action] = _objects(store, test.subject, MANIFEST + "action")
            [query] = _objects(store, action, QUERY + "query")
            data = [(_path(each), False) for each in _objects(store, action, QUERY + "data")]
            for graph in _objects(store, action, QUERY + "graphData"):
                names = [graph] if isinstance(graph, NamedNode) else _objects(store, graph, QUERY + "graph")
                data += [(_path(name), True) for name in names]
            yield Evaluation(_path(query), data)


def _objects(store, subject, predicate):
    return [quad.object for quad in store.quads_for_pattern(subject, NamedNode(predicate), None)]


def _path(node) -> Path:
    return Path(unquote(urlsplit(node.value).path))


def answers(store: pyoxigraph.Store, text: str, base: str):
    """A bag of solutions, a truth value, or how many triples there are (their blank nodes are new every time)."""
    found = store.query(text, base_iri=base)
    if isinstance(found, pyoxigraph.QuerySolutions):
        names = sorted(variable.value for variable in found.variables if not variable.value.startswith("own_nothing"))
        rows = Counter(tuple(str(row[name]) for name in names) for row in found)
        return names, rows
    return bool(found) if isinstance(found, pyoxigraph.QueryBoolean) else len(set(map(str, found)))


@pytest.mark.parametrize("suite", COMPARED)
def test_answers_survive_the_algebra(suite):
    root = shared("data/w3c-sparql-tests")
    compared, wrong = 0, []
    for test in evaluations(root / suite):
        text = test.path.read_bytes().decode()
        query = parse_query(text)
        if NOT_COMPARED.search(re.sub(r"(?m)#[^<>\n]*$", "", text)) or query.form is QueryForm.DESCRIBE:
            continue
        store = pyoxigraph.Store()
        for path, named in test.data:
            graph = NamedNode(path.as_uri()) if named else None
            store.load(path=str(path), format=FORMATS[path.suffix], base_iri=path.as_uri(), to_graph=graph)
        base = test.path.as_uri()
        try:
            expected = answers(store, text, base)
        except SyntaxError:
            continue
        compared += 1
        name = test.path.relative_to(root).as_posix()
        wrong += [
            (name, how)
            for how, algebra in (("as parsed", query), ("rewritten", rewrite(query)))
            if answers(store, query_text(algebra), base) != expected
        ]
    assert wrong == []
    assert compared == COMPARED[suite]
