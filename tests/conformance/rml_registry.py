"""RML's registry of sources: cases that read files in dialects, databases, and what is on the Web."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from conformance.rml_run import check, mapped, prepare
from conformance.rml_suite import RmlCase, cases_in
from freshet.federation.downloads import Downloads
from freshet.federation.settings import ServiceSettings
from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from shared_data import ROOT
from web_documents import Document, Request, WebServer, web_server

_RESOURCES = "http://w3id.org/rml/resources/"
_ENDPOINT = "http://dbpedia.org/sparql/"
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SUITE = "data/rml-tests/rml-io-registry"
_SERVERS = {"0004": "mysql", "0005": "postgresql"}
# What the cases of a number need that no test can have.
OUT_OF_REACH = {
    "0006": "SQL Server is not free to start here",
    "0009": "a stream, which `freshet map` refuses by name",
    "0010": "a stream, which `freshet map` refuses by name",
}


def registry_cases(shared: Path = ROOT.parent / "shared") -> list[RmlCase]:
    """Every case that can be run; none where the suite is not there."""
    root = shared / SUITE
    return [case for case in cases_in(root) if number_of(case) not in OUT_OF_REACH] if root.exists() else []


def number_of(case: RmlCase) -> str:
    """
    >>> number_of(RmlCase("rml-io-registry/RMLIOREGTC0004a", Path(), None, (), False, None))
    '0004'
    """
    return case.name[-5:-1]


def server_of(case: RmlCase) -> str | None:
    """The server that a case reads, by the name of its fixture."""
    return _SERVERS.get(number_of(case))


def check_registry(case: RmlCase, folder: Path, server: Callable[[str], Any]) -> None:
    """Run a case in a folder, which is the current one; `server` gives a database server by its name."""
    prepare(case, folder)
    if (name := server_of(case)) is not None:
        fill(case, server(name), folder)
    options = MapOptions(folder / "found.nq", rejects=folder / "rejects", base=case.base)
    with web_server() if is_on_the_web(case) else nullcontext() as web:
        if web is not None:
            publish(case, web, folder)
            fetch = Downloads(ServiceSettings((web.host,)), folder / "fetched").fetch
            options = replace(options, fetch=fetch)
        check(case, mapped(lambda: run_map_here(folder / "mapping.ttl", options)), folder)


def is_on_the_web(case: RmlCase) -> bool:
    """Whether a case reads documents or endpoints of the Web."""
    text = (case.folder / "mapping.ttl").read_text(encoding="utf-8")
    return _RESOURCES in text or _ENDPOINT in text


def publish(case: RmlCase, web: WebServer, folder: Path) -> None:
    """Put the documents of a case on a server of this machine, with an endpoint that has what it is asked for."""
    mapping = folder / "mapping.ttl"
    text = mapping.read_text(encoding="utf-8").replace(_ENDPOINT, f"{web.url}/sparql")
    for address in re.findall(rf"{_RESOURCES}[^>\"]*", text):
        path = "/" + address.rpartition("/")[2]
        web.documents[path] = Document((case.folder / path[1:]).read_bytes())
        text = text.replace(address, web.url + path)
    mapping.write_text(text, encoding="utf-8")
    web.documents["/sparql"] = lambda request: _answer(case, request)


def _answer(case: RmlCase, request: Request) -> Document:
    """What DBpedia would answer, which declares prefixes by itself."""
    assert case.output is not None
    store = ox.Store()
    store.load(path=str(case.output), format=ox.RdfFormat.N_QUADS)
    show = ox.NamedNode("http://dbpedia.org/resource/The_Big_Bang_Theory")
    actors = {quad.subject for quad in store}
    ontology = "http://dbpedia.org/ontology/"
    store.add(ox.Quad(show, ox.NamedNode(f"{_RDF}type"), ox.NamedNode(f"{ontology}TelevisionShow")))
    store.add(ox.Quad(show, ox.NamedNode(f"{_RDFS}label"), ox.Literal("The Big Bang Theory", language="en")))
    store.extend(ox.Quad(show, ox.NamedNode(f"{ontology}starring"), actor) for actor in actors)
    solutions = store.query(f"PREFIX foaf: <http://xmlns.com/foaf/0.1/> {request.query}")
    body = solutions.serialize(format=ox.QueryResultsFormat.JSON)
    return Document(body, {"Content-Type": "application/sparql-results+json"})


def fill(case: RmlCase, server: Any, folder: Path) -> None:
    """Make the tables of a case, and say in its mapping where they are."""
    text = (case.folder / "resource.sql").read_text(encoding="utf-8")
    statements = [each.strip() for each in re.split(r";\s*(?:\n|$)", text)]
    server.renew([each for each in statements if each and not each.upper().startswith(("DROP", "USE"))])
    mapping = folder / "mapping.ttl"
    mapping.write_text(mapping.read_text(encoding="utf-8").replace("CONNECTIONDSN", server.url), encoding="utf-8")
