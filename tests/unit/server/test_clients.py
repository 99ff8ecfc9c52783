"""Clients that people use, unchanged."""

import json
import shutil
import subprocess

import pytest
import rdflib
from rdflib.plugins.stores.sparqlstore import SPARQLStore
from SPARQLWrapper import CSV, JSON, TURTLE, XML, SPARQLWrapper
from SPARQLWrapper.SPARQLExceptions import QueryBadFormed

from freshet import Session
from http_server import server
from required import lacking

_QUERY = "SELECT ?s ?n { ?s <http://e/n> ?n FILTER (?n > 1) } ORDER BY ?n"


@pytest.fixture(scope="module")
def http():
    session = Session()
    session.stream("http://e/s", absorb=True)
    triples = "".join(f"<http://e/{n}> <http://e/n> {n} . <http://e/{n}> <http://e/l> 'é{n}'@fr .\n" for n in range(4))
    session.push("http://e/s", triples, time_ms=1)
    with server(session) as running:
        yield running


@pytest.mark.parametrize("method", ["GET", "POST", "POST_FORM"])
def test_rdflib(http, method):
    graph = rdflib.Graph(SPARQLStore(f"{http.url}/sparql", method=method))
    found = [(str(s), n.toPython()) for s, n in graph.query(_QUERY)]
    assert found == [("http://e/2", 2), ("http://e/3", 3)]
    assert len(graph) == 8
    assert (rdflib.URIRef("http://e/1"), rdflib.URIRef("http://e/l"), rdflib.Literal("é1", lang="fr")) in graph
    assert bool(graph.query("ASK { ?s ?p 3 }"))
    assert len(graph.query("CONSTRUCT WHERE { ?s <http://e/n> ?n }").graph) == 4
    assert sorted(graph.objects(rdflib.URIRef("http://e/1")))[0].toPython() in (1, "é1")


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_sparqlwrapper(http, method):
    client = SPARQLWrapper(f"{http.url}/sparql")
    client.setMethod(method)
    client.setQuery(_QUERY)
    client.setReturnFormat(JSON)
    rows = client.query().convert()["results"]["bindings"]
    assert [row["n"]["value"] for row in rows] == ["2", "3"]
    client.setReturnFormat(XML)
    assert len(client.query().convert().getElementsByTagName("result")) == 2
    client.setReturnFormat(CSV)
    assert client.query().convert().decode().splitlines() == ["s,n", "http://e/2,2", "http://e/3,3"]
    client.setQuery("CONSTRUCT WHERE { ?s <http://e/n> ?n }")
    client.setReturnFormat(XML)
    assert len(client.query().convert()) == 4
    client.setReturnFormat(TURTLE)
    assert len(rdflib.Graph().parse(data=client.query().convert(), format="turtle")) == 4
    client.setQuery("ASK { ?s ?p 77 }")
    client.setReturnFormat(JSON)
    assert client.query().convert()["boolean"] is False
    client.setQuery("SELECT * { ?s }")
    with pytest.raises(QueryBadFormed, match="line 1:15"):
        client.query()


@pytest.mark.slow
def test_comunica(http, tmp_path_factory):
    if shutil.which("npx") is None:
        lacking("comunica", "npx, which comes with Node.js, is not installed")
    folder = tmp_path_factory.mktemp("comunica")
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "@comunica/query-sparql@4"]
    done = subprocess.run(install, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        lacking("comunica", f"npm cannot install it: {done.stderr[-200:]}")
    for source in (f"sparql@{http.url}/sparql", f"{http.url}/sparql"):  # in the second form it finds out what is there
        command = ["node_modules/.bin/comunica-sparql", source, "-q", _QUERY, "-t", "application/sparql-results+json"]
        asked = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=120)
        rows = json.loads(asked.stdout)["results"]["bindings"]
        assert [(row["s"]["value"], row["n"]["value"]) for row in rows] == [("http://e/2", "2"), ("http://e/3", "3")]
