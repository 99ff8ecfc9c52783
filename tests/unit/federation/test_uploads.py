"""Statements inserted at endpoints: whole batches, blank nodes that stay the same, what may not be asked."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshet.federation.errors import RefusedError, ServiceError
from freshet.federation.settings import ServiceSettings
from freshet.federation.uploads import Uploads, blank_nodes, insertion, together
from freshet.rdf.errors import UnsupportedError
from http_server import server
from web_documents import Document, web_server

LINES = """<urn:a> <urn:p> "x \\" \\u00e9\\n" .
<urn:a> <urn:p> "de"@de <urn:g> .
_:one <urn:p> _:two .
_:two <urn:p> <urn:b> <urn:g> .
_:three <urn:q> <<( _:one <urn:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> )>> .
_:four <urn:q> <urn:c> .
"""


@pytest.fixture
def endpoint():
    """An endpoint with a store of its own."""
    store = ox.Store()

    def update(request):
        store.update(request.query)
        return Document(b"", {}, 204)

    with web_server() as web:
        web.documents["/update"] = update
        web.store = store
        yield web


def uploads(web, **options):
    return Uploads(ServiceSettings((web.host,), backoff_seconds=0.001), **options)


def canonical(quads):
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return set(dataset)


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_everything_arrives_once(endpoint, tmp_path: Path, batch: int) -> None:
    lines = LINES.splitlines(keepends=True)
    (tmp_path / "a").write_text("".join(lines[:3]), encoding="utf-8")
    (tmp_path / "b").write_text("".join(lines[3:]), encoding="utf-8")
    uploads(endpoint, batch=batch).send(f"{endpoint.url}/update", [tmp_path / "a", tmp_path / "b"])
    assert canonical(endpoint.store) == canonical(ox.parse(LINES, format=ox.RdfFormat.N_QUADS))
    assert len(endpoint.requests) == {1: 4, 2: 3, 100: 2}[batch]
    assert {each.headers["content-type"] for each in endpoint.requests} == {"application/sparql-update"}


def test_freshet_is_such_an_endpoint(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(LINES.splitlines(keepends=True)[:4]), encoding="utf-8")
    with server() as running:
        host = running.url.removeprefix("http://")
        Uploads(ServiceSettings((host,))).send(f"{running.url}/sparql", [tmp_path / "a"])
        answer = running.ask("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", Accept="text/csv")
        assert answer.data.split() == [b"n", b"2"]
        linked = running.ask("ASK { ?s <urn:p> ?two . GRAPH <urn:g> { ?two <urn:p> <urn:b> } }")
        assert json.loads(linked.data)["boolean"]


def test_hosts_that_are_not_allowed(endpoint, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="may not ask"):
        Uploads(ServiceSettings()).send(f"{endpoint.url}/update", [])
    uploads(endpoint).send(f"{endpoint.url}/update", [])
    assert not endpoint.requests


def test_failures_say_how_much_was_done(endpoint, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"<urn:{n}> <urn:p> 'x' .\n".replace("'", '"') for n in range(5)))
    answers = iter([204, 503, 204, 400])
    endpoint.documents["/update"] = lambda request: Document(b"", {}, next(answers))
    with pytest.raises(ServiceError, match="answers with status 400; 4 statements were inserted before"):
        uploads(endpoint, batch=2).send(f"{endpoint.url}/update", [tmp_path / "a"])


def test_an_update_with_blank_nodes_is_not_repeated(endpoint, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("_:a <urn:p> _:b .\n")
    endpoint.documents["/update"] = Document(b"", {}, 503)
    with pytest.raises(ServiceError, match="answers with status 503; 0 statements"):
        uploads(endpoint).send(f"{endpoint.url}/update", [tmp_path / "a"])
    assert len(endpoint.requests) == 1


def test_a_graph_that_is_a_blank_node_is_refused() -> None:
    quads = list(ox.parse("<urn:a> <urn:p> <urn:b> _:g .", format=ox.RdfFormat.N_QUADS))
    with pytest.raises(UnsupportedError, match="a blank node as the name of a graph"):
        insertion(quads)


NODES = st.sampled_from([ox.BlankNode(f"b{number}") for number in range(8)])
QUADS = st.builds(lambda subject, value: ox.Quad(subject, ox.NamedNode("urn:p"), value), NODES, NODES)


@given(st.lists(QUADS, max_size=20), st.integers(1, 6))
def test_what_blank_nodes_connect_is_in_one_update(quads: list[ox.Quad], size: int) -> None:
    batches = list(together(quads, size))
    assert Counter(each for batch in batches for each in batch) == Counter(quads)
    nodes = [{node for each in batch for node in blank_nodes(each)} for batch in batches]
    assert sum(map(len, nodes)) == len(set().union(*nodes))
