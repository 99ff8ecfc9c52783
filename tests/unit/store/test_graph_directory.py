"""Graph directories: what is damaged is found and named, and what is opened can be added to."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri
from freshet.runtime.session import Session
from freshet.spark.bulk_load import load_files
from freshet.store.graph_directory import GraphDirectory
from freshet.store.mapped_files import is_mapped, map_file
from tasks_here import TasksHere

DATA = """<http://example.org/a> <http://example.org/knows> <http://example.org/b> .
<http://example.org/b> <http://example.org/knows> <http://example.org/c> .
<http://example.org/b> <http://example.org/age> "27"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://example.org/c> <http://example.org/name> "Cee" <http://example.org/g> .
"""
KNOWS = "SELECT ?a ?b WHERE { ?a <http://example.org/knows> ?b }"


@pytest.fixture
def graph(tmp_path):
    (tmp_path / "data.nq").write_text(DATA, encoding="utf-8")
    load_files(TasksHere(), [tmp_path / "data.nq"], tmp_path / "graph")
    return tmp_path / "graph"


def rows(session, query=KNOWS):
    return sorted(tuple(map(str, row.values())) for row in session.bindings(session.query(query)))


def file_names(graph):
    return list(json.loads((graph / "manifest.json").read_text())["files"])


def test_every_damaged_file_is_named(graph):
    names = file_names(graph)
    assert {name.rpartition("/")[0] for name in names} == {"", "triples", "terms"}
    data = graph / json.loads((graph / "manifest.json").read_text())["data"]
    GraphDirectory(graph).check()
    for name in names:
        path = data / name
        content = path.read_bytes()
        if not content:
            continue
        damaged = bytearray(content)
        damaged[len(damaged) // 2] ^= 4
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="damaged: its checksum") as error:
            GraphDirectory(graph).check()
        assert error.value.file == str(path)
        path.write_bytes(content[:-1])
        with pytest.raises(InputError, match=f"it has {len(content) - 1} bytes") as error:
            Session().load(graph)
        assert error.value.file == str(path)
        path.unlink()
        with pytest.raises(InputError, match="missing") as error:
            Session().load(graph)
        assert error.value.file == str(path)
        path.write_bytes(content)
    GraphDirectory(graph).check()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[: len(text) // 2], "not JSON"),
        (lambda text: text.replace('"triples": 4', '"triples": 5'), "checksum is wrong"),
        (lambda text: text.replace('"version": 1', '"version": 3'), "format version 3; this program reads 2"),
        (lambda text: "[]", "not the manifest"),
    ],
)
def test_a_manifest_that_cannot_be_used(graph, change, message):
    manifest = graph / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(change(text))
    assert manifest.read_text() != text
    with pytest.raises(InputError, match=message) as error:
        GraphDirectory(graph)
    assert error.value.file == str(manifest)


def test_a_folder_without_a_manifest_is_no_graph(tmp_path):
    with pytest.raises(InputError, match="not a graph directory"):
        Session().load(tmp_path)


def test_a_session_maps_the_graph_and_adds_to_it(graph, tmp_path):
    (tmp_path / "more.ttl").write_text("<http://example.org/c> <http://example.org/knows> <http://example.org/new> .")
    session = Session()
    assert session.load(graph) == 4
    assert is_mapped(session.stored.base().order(0).arrays.keys)
    before = {path: path.read_bytes() for path in graph.rglob("*") if path.is_file()}
    session.load(tmp_path / "more.ttl")
    assert len(rows(session)) == 3
    assert {path: path.read_bytes() for path in graph.rglob("*") if path.is_file()} == before


def test_terms_that_were_there_before_keep_their_ids(graph, tmp_path):
    (tmp_path / "more.ttl").write_text("<http://example.org/z> <http://example.org/knows> <http://example.org/a> .")
    session = Session()
    session.load(tmp_path / "more.ttl")
    known = session.dictionary.encode(Iri("http://example.org/z"))
    session.load(graph)
    assert session.dictionary.lookup(Iri("http://example.org/z")) == known
    assert len(rows(session)) == 3


def test_two_directories_in_one_session(graph, tmp_path):
    (tmp_path / "more.ttl").write_text("<http://example.org/z> <http://example.org/knows> _:a . _:a <urn:p> _:a .")
    load_files(TasksHere(), [tmp_path / "more.ttl"], tmp_path / "second")
    session = Session()
    session.load(graph, tmp_path / "second")
    assert len(rows(session)) == 3
    named = Session()
    named.load(graph, graph=None)
    named.load(tmp_path / "second", graph="http://example.org/g")
    found = "SELECT ?s ?o WHERE { GRAPH <http://example.org/g> { ?s ?p ?o } }"
    assert len(rows(named, found)) == 3
    assert len(rows(named)) == 2


def test_queries_that_are_registered_see_a_graph_that_is_opened_later(graph):
    session = Session()
    session.stream("http://example.org/s")
    query = session.register(
        """REGISTER RSTREAM <q> AS SELECT ?a ?b FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT1S STEP PT1S]
        WHERE { WINDOW <w> { ?x <urn:is> ?a } ?a <http://example.org/knows> ?b }"""
    )
    session.load(graph)
    session.push("http://example.org/s", "1\t<urn:x> <urn:is> <http://example.org/b> .")
    session.finish()
    (report,) = query.take()
    assert [str(row["b"]) for row in session.bindings(report)] == ["<http://example.org/c>"]


def test_sweeping_keeps_the_terms_of_the_directory(graph):
    directory = GraphDirectory(graph)
    dictionary = Dictionary()
    dictionary.start_from(directory.dictionary_arrays)
    kept = dictionary.encode_many([Iri(f"http://example.org/kept{number}") for number in range(3_000)])
    dropped = dictionary.encode_many([Iri(f"http://example.org/dropped{number}") for number in range(3_000)])
    shutil.rmtree(graph)  # as a load that adds to the graph does with the files from before
    assert dictionary.sweep([kept]) == 3_000
    assert len(dictionary) == directory.counts.terms + 3_000
    assert dictionary.lookup(Iri("http://example.org/knows"))
    assert dictionary.decode(int(kept[7])) == Iri("http://example.org/kept7")
    with pytest.raises(KeyError):
        dictionary.decode(int(dropped[7]))


def test_what_is_written_to_a_map_stays_in_it(tmp_path):
    path = tmp_path / "numbers"
    np.arange(1_000).tofile(path)
    array = map_file(path, np.int64, room=8_000)
    assert array.size == 2_000
    array[0] = array[-1] = 7
    assert np.fromfile(path, np.int64).tolist() == list(range(1_000))
    assert is_mapped(array[5:])
    assert not is_mapped(array.copy())
    (tmp_path / "empty").touch()
    assert map_file(tmp_path / "empty", np.int64).size == 0
