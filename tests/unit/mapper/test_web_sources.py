"""Mappings of what is on the Web: documents, things with a form, SPARQL endpoints; in this process and on Spark."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pyoxigraph as ox
import pytest

from command_line import CommandLine
from freshet.federation.downloads import Downloads
from freshet.federation.errors import RefusedError
from freshet.federation.settings import ServiceSettings
from freshet.federation.uploads import Uploads
from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from freshet.rdf.errors import InputError, UnsupportedError
from web_documents import Document, web_server

HEAD = """
@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/> . @prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix csvw: <http://www.w3.org/ns/csvw#> . @prefix td: <https://www.w3.org/2019/wot/td#> .
@prefix hctl: <https://www.w3.org/2019/wot/hypermedia#> . @prefix htv: <http://www.w3.org/2011/http#> .
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> . @prefix formats: <http://www.w3.org/ns/formats/> .
@prefix orml: <http://semweb.mmlab.be/ns/rml#> . @prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
"""
MAPPING = (
    HEAD
    + """
<#P> rml:logicalSource [ rml:source SOURCE ; rml:referenceFormulation FORM ] ;
  rml:subjectMap [ rml:template "http://example.org/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:name ; rml:objectMap [ rml:reference "name" ] ] .
"""
)
EXPECTED = [
    '<http://example.org/1> <http://example.org/name> "Zoë" .',
    '<http://example.org/2> <http://example.org/name> "Ann" .',
]
CSV = "id,name\n1,Zoë\n2,Ann\n".encode()
DATA = """@prefix : <http://example.org/> . :a :id 1 ; :name "Zoë" . :b :id 2 ; :name "Ann" ."""
QUERY = "PREFIX : <http://example.org/> SELECT ?id ?name { ?x :id ?id ; :name ?name }"


@pytest.fixture
def web():
    """A server with documents and an endpoint."""
    store = ox.Store()
    store.load(DATA, format=ox.RdfFormat.TURTLE)

    def endpoint(request):
        form = "xml" if "xml" in request.headers["accept"] else "json"
        written = ox.QueryResultsFormat.XML if form == "xml" else ox.QueryResultsFormat.JSON
        body = store.query(request.query).serialize(format=written)
        return Document(body, {"Content-Type": f"application/sparql-results+{form}"})

    def guarded(request):
        return Document(b'{"id": 1, "name": "Zo\xc3\xab"}\n{"id": 2, "name": "Ann"}', {}, 200) if (
            request.headers.get("x-key"), request.headers["accept"]
        ) == ("k1", "application/json") else Document(b"", {}, 403)  # fmt: skip

    with web_server() as server:
        server.documents = {
            "/people.csv": Document(CSV),
            "/people.csv.gz": Document(gzip.compress(CSV)),
            "/semicolons": Document(CSV.replace(b",", b";"), {"Content-Type": "text/csv"}),
            "/1.csv": Document(b"id,name\n1,Zo\xc3\xab\n", {"Link": '</2.csv>; rel="next"'}),
            "/2.csv": Document(b"id,name\n2,Ann\n"),
            "/people": guarded,
            "/sparql": endpoint,
        }
        yield server


SOURCES = {
    "an address": ('"HERE/people.csv"', "rml:CSV"),
    "a compressed document": ('"HERE/people.csv.gz"', "rml:CSV"),
    "a distribution": ("[ a dcat:Distribution ; dcat:downloadURL <HERE/people.csv> ]", "rml:CSV"),
    "a dataset": ("[ a dcat:Dataset ; dcat:distribution [ dcat:accessURL <HERE/people.csv> ] ]", "rml:CSV"),
    "a table in a dialect": (
        '[ a csvw:Table ; csvw:url "HERE/semicolons" ; csvw:dialect [ csvw:delimiter ";" ] ]',
        "rml:CSV",
    ),
    "pages": ('"HERE/1.csv"', "rml:CSV"),
    "a thing": (
        """[ a td:Thing ; td:hasPropertyAffordance [ td:hasForm [ hctl:hasTarget "HERE/people" ;
           hctl:forContentType "application/json" ;
           htv:headers ( [ htv:fieldName "X-Key" ; htv:fieldValue "k1" ] ) ] ] ]""",
        "rml:JSONPath",
    ),
    "an endpoint": (
        "[ a sd:Service ; sd:endpoint <HERE/sparql> ]",
        f'formats:SPARQL_Results_CSV ; rml:iterator "{QUERY}"',
    ),
}


@pytest.fixture
def cli(monkeypatch, capfd):
    return CommandLine(monkeypatch, capfd)


@pytest.fixture(params=["process", pytest.param("spark", marks=pytest.mark.spark)])
def mapped(request, web, tmp_path):
    """What a mapping makes, sorted."""

    def lines(mapping: str, hosts: tuple[str, ...] = ()) -> list[str]:
        (tmp_path / "m.ttl").write_text(mapping.replace("HERE", web.url), encoding="utf-8")
        fetch = Downloads(ServiceSettings(hosts or (web.host,)), tmp_path / "fetched").fetch
        options = MapOptions(tmp_path / "out.nq", rejects=tmp_path / "rejects", fetch=fetch)
        if request.param == "process":
            run_map_here(tmp_path / "m.ttl", options)
        else:
            from freshet.spark.map_run import run_map

            run_map(request.getfixturevalue("spark"), tmp_path / "m.ttl", options)
        return sorted((tmp_path / "out.nq").read_text(encoding="utf-8").splitlines())

    return lines


@pytest.mark.parametrize("name", SOURCES)
def test_sources(mapped, name):
    source, form = SOURCES[name]
    assert mapped(MAPPING.replace("SOURCE", source).replace("FORM", form)) == EXPECTED


OLD = (
    HEAD
    + """
<#P> orml:logicalSource [
    orml:source [ a sd:Service ; sd:endpoint <HERE/sparql> ; sd:resultFormat formats:SPARQL_Results_JSON ] ;
    orml:referenceFormulation ql:JSONPath ; orml:iterator "$.results.bindings[*]" ; orml:query "QUERY" ] ;
  rr:subjectMap [ rr:template "http://example.org/{id.value}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:name ; rr:objectMap [ orml:reference "name.value" ] ] .
"""
)


def test_the_document_of_an_answer_may_be_cut(mapped):
    """In the older vocabulary the query is beside the iterator."""
    assert mapped(OLD.replace("QUERY", QUERY)) == EXPECTED


def test_a_host_must_be_allowed(mapped):
    source, form = SOURCES["an address"]
    with pytest.raises(RefusedError, match="may not ask"):
        mapped(MAPPING.replace("SOURCE", source).replace("FORM", form), hosts=("other.example",))


def test_without_a_fetch_it_is_an_error_by_name(web, tmp_path):
    source, form = SOURCES["an address"]
    (tmp_path / "m.ttl").write_text(MAPPING.replace("SOURCE", source).replace("FORM", form).replace("HERE", web.url))
    with pytest.raises((UnsupportedError, InputError), match="was not fetched"):
        run_map_here(tmp_path / "m.ttl", MapOptions(tmp_path / "out.nq", rejects=tmp_path / "rejects"))
    assert not web.requests


def test_the_command_line(web, tmp_path, cli: CommandLine):
    source, form = SOURCES["pages"]
    (tmp_path / "m.ttl").write_text(MAPPING.replace("SOURCE", source).replace("FORM", form).replace("HERE", web.url))
    refused = cli("map", "-m", tmp_path / "m.ttl", "-o", tmp_path / "out.nq")
    assert refused.status == 2
    assert "--service" in refused.err
    done = cli("map", "-m", tmp_path / "m.ttl", "-o", tmp_path / "out.nq", "--service", web.host)
    assert done.status == 0
    assert sorted((tmp_path / "out.nq").read_text(encoding="utf-8").splitlines()) == EXPECTED


TARGETS = (
    HEAD
    + """
<#P> rml:logicalSource [ rml:source "people.csv" ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://example.org/{id}" ; rml:logicalTarget <#E> ] ;
  rml:predicateObjectMap [ rml:predicate ex:name ; rml:objectMap [ rml:reference "name" ; rml:logicalTarget <#J> ] ] .
<#E> a rml:LogicalTarget ; rml:target [ a rml:Target, sd:Service ; sd:endpoint <HERE/update> ;
    sd:supportedLanguage sd:SPARQL11Update ] ; rml:serialization formats:N-Triples .
<#J> rml:target [ rml:path "out.rj" ] ; rml:serialization formats:RDF_JSON .
"""
)


@pytest.mark.parametrize("target", ["process", pytest.param("spark", marks=pytest.mark.spark)])
def test_an_endpoint_and_rdf_json_as_targets(web, tmp_path, target, request, monkeypatch):
    store = ox.Store()

    def update(asked):
        store.update(asked.query)
        return Document(b"", {}, 204)

    web.documents["/update"] = update
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_bytes(CSV)
    (tmp_path / "m.ttl").write_text(TARGETS.replace("HERE", web.url), encoding="utf-8")
    options = MapOptions(tmp_path / "out.nq", rejects=tmp_path / "rejects")
    if target == "process":
        with pytest.raises(UnsupportedError, match="as a target here"):
            run_map_here(tmp_path / "m.ttl", options)
        with pytest.raises(RefusedError):
            run_map_here(tmp_path / "m.ttl", replace(options, send=Uploads(ServiceSettings()).send))
        assert not (tmp_path / "out.nq").exists()
    options = replace(options, send=Uploads(ServiceSettings((web.host,))).send)
    if target == "process":
        run_map_here(tmp_path / "m.ttl", options)
    else:
        from freshet.spark.map_run import run_map

        run_map(request.getfixturevalue("spark"), tmp_path / "m.ttl", options)
    assert sorted(f"{quad.triple} ." for quad in store) == EXPECTED
    assert json.loads((tmp_path / "out.rj").read_text(encoding="utf-8")) == {
        f"http://example.org/{number}": {"http://example.org/name": [{"type": "literal", "value": name}]}
        for number, name in ((1, "Zoë"), (2, "Ann"))
    }
