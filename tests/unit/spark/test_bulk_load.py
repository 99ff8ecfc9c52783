"""Bulk load: what a graph directory has is what a session reads from the same files."""

from __future__ import annotations

import bz2
import gzip
import multiprocessing
import os
import shutil
import signal
import time
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyoxigraph as ox
import pytest

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.runtime.session import Session
from freshet.spark.bulk_load import LoadOptions, load_files, warm
from freshet.store.graph_commit import LoadFolder
from freshet.store.graph_directory import GraphDirectory
from tasks_here import TasksHere

TURTLE = """@prefix : <http://example.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a :name "Ann"@EN ; :age 31 ; :knows _:b , [ :name "nobody" ] ; :weight 1.50 .
_:b :name "Bob, \\"the\\" builder" ; :knows :a ; :at "2020-01-01T00:00:00Z"^^xsd:dateTime .
<relative> :age 4 , "04"^^<http://www.w3.org/2001/XMLSchema#integer> .
"""
TRIG = """@prefix : <http://example.org/> .
:a :knows :b . GRAPH :g { :a :name "in g" . _:b :name "blank in g" } GRAPH _:h { :x :y _:b }
"""
NQUADS = """<http://example.org/a> <http://example.org/name> "x" <http://example.org/g> .
<http://example.org/a> <http://example.org/name> "x" <http://example.org/g> .
_:b <http://example.org/name> "y\\u00e9" <http://example.org/other> .
<http://example.org/a> <http://example.org/name> "x" .
"""
XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/">
<rdf:Description rdf:about="http://example.org/a"><e:name>Xml</e:name></rdf:Description></rdf:RDF>
"""
ALL = "SELECT ?g ?s ?p ?o WHERE { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    warm()


def lines(count, subjects=100):
    """N-Triples with blank nodes far from each other, comments and empty lines."""
    yield "# a comment\n\n"
    for number in range(count):
        yield f"<http://example.org/s{number % subjects}> <http://example.org/p{number % 7}> <urn:o{number}> .\n"
        yield f'_:n{number % 50} <http://example.org/label> "l{number}" .\n'
        yield f'_:n{number % 50} <http://example.org/value> "{number}"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'


def compressed_zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(data)
    return sink.getvalue().to_pybytes()


def quads(*paths):
    """All statements of a session that has loaded the paths, whatever the labels of blank nodes."""
    session = Session()
    session.load(*paths)
    return canonical(session)


def canonical(session):
    found = session.query(ALL)
    dataset = ox.Dataset()
    for row in session.bindings(found):
        terms = [row.get(name) for name in "spog"]
        dataset.add(ox.Quad(*(oxigraph(term) for term in terms)))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return Counter(map(str, dataset)), len(found.rows)


def oxigraph(term):
    if term is None:
        return ox.DefaultGraph()
    return next(iter(ox.parse(f"<urn:s> <urn:p> {term} .".encode(), ox.RdfFormat.N_TRIPLES))).object


def write_all(folder):
    """A file of each format, and of each compression."""
    text = "".join(lines(300)).encode()
    contents = {
        "a.ttl": TURTLE.encode(),
        "b.trig": TRIG.encode(),
        "c.nq": NQUADS.encode(),
        "d.rdf": XML.encode(),
        "e.nt": text,
        "f.nt.gz": gzip.compress(text[: len(text) // 2]) + gzip.compress(text[len(text) // 2 :]),
        "g.nq.bz2": bz2.compress(NQUADS.encode()),
        "h.ttl.zst": compressed_zstd(TURTLE.replace("relative", "http://example.org/r").encode()),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in contents]


def test_every_format_gives_what_a_session_reads(spark, tmp_path):
    files = write_all(tmp_path)
    summary = load_files(spark, files, tmp_path / "graph", LoadOptions(stretch_bytes=2_000, rows_a_range=300))
    found, rows = quads(tmp_path / "graph")
    expected, count = quads(*files)
    assert found == expected
    assert rows == count == summary.counts.triples
    assert summary.statements == sum(len(list(lines_of(file))) for file in files)
    assert [path.name for path in (tmp_path / "graph").iterdir() if path.name.startswith(".loading")] == []


def lines_of(file):
    session = Session()
    return range(session.load(file))


def test_spark_reads_the_tables(spark, tmp_path):
    (tmp_path / "a.nq").write_text(NQUADS + "".join(lines(20)), encoding="utf-8")
    load_files(spark, [tmp_path / "a.nq"], tmp_path / "graph")
    directory = GraphDirectory(tmp_path / "graph")
    triples = spark.read.parquet(str(directory.triples_folder))
    terms = spark.read.parquet(str(directory.terms_folder))
    assert triples.columns == ["graph", "subject", "predicate", "object"]
    assert triples.count() == directory.counts.triples == triples.distinct().count()
    assert terms.count() == directory.counts.terms
    assert terms.where("id != abs(xxhash64(key)) and id != xxhash64(key) & 9223372036854775807").count() == 0
    named = triples.join(terms, triples.predicate == terms.id).where("key = '<http://example.org/label>'")
    assert named.count() == 20
    directory.check()


@pytest.mark.parametrize("stretch_bytes", [50, 700, 1 << 20])
def test_a_bad_line_is_named_and_nothing_is_written(tmp_path, stretch_bytes):
    good = list(lines(40))
    good[57] = "<http://example.org/a> <http://example.org/b> nonsense .\n"
    good[80] = "also bad\n"
    (tmp_path / "first.nt").write_text("".join(lines(5)), encoding="utf-8")
    (tmp_path / "bad.nt").write_text("".join(good), encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_files(
            TasksHere(),
            [tmp_path / "first.nt", tmp_path / "bad.nt"],
            tmp_path / "graph",
            LoadOptions(stretch_bytes=stretch_bytes),
        )
    wrong = error.value
    assert (wrong.file, wrong.line, wrong.column) == (str(tmp_path / "bad.nt"), 59, 47)
    assert not (tmp_path / "graph").exists()


@pytest.mark.parametrize("hash_bits", [3, 7])
def test_terms_with_one_hash_stay_apart(tmp_path, hash_bits):
    """With so few bits most terms clash: within a block, between blocks, and with what was there before."""
    files = [tmp_path / "a.nt", tmp_path / "b.nt"]
    for number, file in enumerate(files):
        file.write_text("".join(lines(30 + 10 * number)), encoding="utf-8")
    narrow = LoadOptions(stretch_bytes=1_500, rows_a_range=50, hash_bits=hash_bits)
    for number, file in enumerate(files):
        load_files(TasksHere(), [file], tmp_path / "graph", narrow)
        directory = GraphDirectory(tmp_path / "graph")
        terms = pq.read_table(directory.terms_folder)
        ids, keys = (terms.column(name).to_pylist() for name in ("id", "key"))
        assert len(set(ids)) == len(set(keys)) == directory.counts.terms > 1 << hash_bits
        dictionary = Dictionary(hash_bits)
        assert dictionary.start_from(directory.dictionary_arrays)
        # every key is found under the id that it has, so that it never gets a second
        assert dictionary.intern_arrow(pa.array(keys)).tolist() == ids
        assert len(dictionary) == len(ids)
        session = Session()
        session.load(tmp_path / "graph")  # its dictionary has another hash: terms are entered one by one
        assert canonical(session) == quads(*files[: number + 1])


def test_loading_again_adds(tmp_path):
    first, second = tmp_path / "a.nt", tmp_path / "b.trig"
    first.write_text("".join(lines(50)), encoding="utf-8")
    second.write_text(TRIG + "<http://example.org/s1> <http://example.org/p1> <urn:o1> .", encoding="utf-8")
    load_files(TasksHere(), [first], tmp_path / "graph")
    reader = Session()
    reader.load(tmp_path / "graph")
    before = canonical(reader)
    summary = load_files(TasksHere(), [second], tmp_path / "graph")
    assert quads(tmp_path / "graph") == quads(first, second)
    assert summary.counts.triples == quads(first, second)[1]
    assert canonical(reader) == before  # who has the graph open keeps what it was
    assert len(list((tmp_path / "graph").glob("data-*"))) == 1


def test_nothing_to_load_is_an_empty_graph(tmp_path):
    (tmp_path / "a.nt").write_text("# nothing\n", encoding="utf-8")
    assert load_files(TasksHere(), [tmp_path / "a.nt"], tmp_path / "graph").counts.triples == 0
    assert quads(tmp_path / "graph")[1] == 0
    (tmp_path / "b.nt").write_text("".join(lines(3)), encoding="utf-8")
    assert load_files(TasksHere(), [tmp_path / "b.nt"], tmp_path / "graph").counts.triples == 9
    assert quads(tmp_path / "graph") == quads(tmp_path / "b.nt")


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "a.nt").write_text("".join(lines(3)), encoding="utf-8")
    with pytest.raises(InputError, match=r"has other files, such as a\.nt"):
        load_files(TasksHere(), [tmp_path / "a.nt"], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.nt"]
    with LoadFolder(tmp_path / "graph"), pytest.raises(InputError, match="another load is writing"):
        load_files(TasksHere(), [tmp_path / "a.nt"], tmp_path / "graph")


@pytest.mark.parametrize("content", ["<rdf:RDF", "not turtle"])
def test_documents_that_cannot_be_read(tmp_path, content):
    file = tmp_path / ("a.rdf" if "rdf" in content else "a.ttl")
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_files(TasksHere(), [file], tmp_path / "graph")
    assert (error.value.file, error.value.line) == (str(file), 1)
    assert error.value.column is not None


def test_a_load_that_is_killed_leaves_no_graph_or_a_whole_one(tmp_path):
    """Whenever it is killed, what was there before is there, or what was to be; and the next load goes through."""
    old, new, graph = tmp_path / "old.nt", tmp_path / "new.nt", tmp_path / "graph"
    old.write_text("".join(lines(20)), encoding="utf-8")
    new.write_text("".join(lines(2_000)), encoding="utf-8")
    load_files(TasksHere(), [old], graph)
    began = time.monotonic()
    load_files(TasksHere(), [new], tmp_path / "undisturbed")
    whole = time.monotonic() - began
    before, after = quads(old), quads(old, new)
    random = np.random.default_rng(5)
    cut_short = 0
    for number, delay in enumerate(random.uniform(0, 1.2 * whole, 12)):
        killed = multiprocessing.get_context("fork").Process(
            target=load_files, args=(TasksHere(), [new], graph, LoadOptions(stretch_bytes=20_000, rows_a_range=1_000))
        )
        killed.start()
        if number % 4 == 3:  # as soon as it writes, whatever else the machine does
            while killed.is_alive() and not list(graph.glob(".loading-*")):
                time.sleep(0.001)
        else:
            time.sleep(delay)
        os.kill(killed.pid, signal.SIGKILL)
        killed.join()
        found = quads(graph)
        assert found in (before, after)
        GraphDirectory(graph).check()
        cut_short += bool(list(graph.glob(".loading-*")))
        if found == after:  # else blank nodes of the next would be others
            shutil.rmtree(graph)
            load_files(TasksHere(), [old], graph)
    assert cut_short, "no load was killed before its end"
    load_files(TasksHere(), [new], graph)
    assert quads(graph) == after
    assert not list(graph.glob(".loading-*"))


def test_a_first_load_that_is_killed_opens_as_nothing(tmp_path):
    (tmp_path / "a.nt").write_text("".join(lines(20)), encoding="utf-8")
    with pytest.raises(InputError, match="not a graph directory"), LoadFolder(tmp_path / "graph"):
        Session().load(tmp_path / "graph")
