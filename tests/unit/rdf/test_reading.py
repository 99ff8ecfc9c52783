import gzip
from pathlib import Path

import pytest

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.reading import Quads, read_rdf
from freshet.rdf.terms import XSD, BlankNode, Iri, Literal, Term

SUBJECT, PREDICATE, OBJECT = (Iri(f"http://example.org/{name}") for name in "spo")
GRAPH = Iri("http://example.org/g")

N_TRIPLES = "<http://example.org/s> <http://example.org/p> <http://example.org/o> .\n"
RDF_XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/">
  <rdf:Description rdf:about="http://example.org/s"><e:p rdf:resource="http://example.org/o"/></rdf:Description>
</rdf:RDF>"""
SAMPLES = {
    "a.nt": N_TRIPLES,
    "a.nq": N_TRIPLES,
    "a.ttl": "@prefix e: <http://example.org/> . e:s e:p e:o .",
    "a.trig": "@prefix e: <http://example.org/> . e:s e:p e:o .",
    "a.rdf": RDF_XML,
    "A.XML": RDF_XML,
    "a.owl": RDF_XML,
}


def rows(quads: Quads, dictionary: Dictionary) -> list[tuple[Term | None, ...]]:
    return list(zip(*(dictionary.decode_many(column) for column in quads), strict=True))


def read(file: Path) -> list[tuple[Term | None, ...]]:
    dictionary = Dictionary()
    return rows(read_rdf(file, dictionary), dictionary)


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("packed", [False, True])
def test_formats_by_suffix(name: str, packed: bool, tmp_path: Path) -> None:
    file = tmp_path / (f"{name}.gz" if packed else name)
    data = SAMPLES[name].encode()
    file.write_bytes(gzip.compress(data, mtime=0) if packed else data)
    assert read(file) == [(SUBJECT, PREDICATE, OBJECT, None)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.nq", "<http://example.org/s> <http://example.org/p> <http://example.org/o> <http://example.org/g> ."),
        ("a.trig", "@prefix e: <http://example.org/> . e:g { e:s e:p e:o }"),
    ],
)
def test_named_graphs(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text + "\n" + N_TRIPLES)
    assert read(file) == [(SUBJECT, PREDICATE, OBJECT, GRAPH), (SUBJECT, PREDICATE, OBJECT, None)]


def test_literals_of_turtle(tmp_path: Path) -> None:
    file = tmp_path / "a.ttl"
    file.write_text('<http://example.org/s> <http://example.org/p> 1, 2.50, true, "a\\nb", "x"@en-GB, """q"q""" .')
    assert {object_ for _, _, object_, _ in read(file)} == {
        Literal("1", Iri(XSD + "integer")),
        Literal("2.50", Iri(XSD + "decimal")),
        Literal("true", Iri(XSD + "boolean")),
        Literal("a\nb"),
        Literal("x", Iri("http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"), "en-gb"),
        Literal('q"q'),
    }


@pytest.mark.parametrize("name", ["a.ttl", "a.nt"])
def test_blank_nodes_belong_to_their_file(name: str, tmp_path: Path) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("_:b <http://example.org/p> _:b .\n")
    dictionary = Dictionary()
    one, other = (rows(read_rdf(tmp_path / folder / name, dictionary), dictionary)[0] for folder in ("one", "other"))
    assert one[0] == one[2]
    assert isinstance(one[0], BlankNode)
    assert one[0] != other[0]


def test_a_scope_can_be_given(tmp_path: Path) -> None:
    (tmp_path / "a.nt").write_text("_:b <http://example.org/p> <http://example.org/o> .")
    dictionary = Dictionary()
    quads = read_rdf(tmp_path / "a.nt", dictionary, blank_scope="mine")
    assert dictionary.decode(int(quads.subjects[0])) == BlankNode("mine.b")


def test_relative_iris_are_resolved_against_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("<#s> <http://example.org/p> <b.ttl> .")
    assert read(tmp_path / "a.ttl") == [
        (Iri((tmp_path / "a.ttl").as_uri() + "#s"), PREDICATE, Iri((tmp_path / "b.ttl").as_uri()), None)
    ]


def test_more_statements_than_a_block(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("".join(f"<http://s/{n}> <http://p> {n} .\n" for n in range(45_000)))
    dictionary = Dictionary()
    quads = read_rdf(tmp_path / "a.ttl", dictionary)
    assert quads.subjects.size == 45_000
    assert dictionary.decode(int(quads.objects[-1])) == Literal("44999", Iri(XSD + "integer"))


@pytest.mark.parametrize("name", SAMPLES)
def test_empty_files(name: str, tmp_path: Path) -> None:
    text = RDF_XML.replace(RDF_XML.splitlines()[2], "") if SAMPLES[name] is RDF_XML else ""
    (tmp_path / name).write_text(text)
    assert read(tmp_path / name) == []


@pytest.mark.parametrize(
    ("name", "data", "place"),
    [
        ("a.ttl", b"@prefix e: <http://example.org/> .\ne:s e:p .", ":2:9: "),
        ("a.ttl", b"e:s e:p e:o .", ":1:1: "),
        ("a.ttl", b'<http://s> <http://p> "\xff" .', ":1:24: "),
        ("a.nt", N_TRIPLES.encode() + b"<http://s> <http://p> .", ":2:23: "),
        ("a.nt", b"<http://s> <http://p> <http://o> <http://g> .", ":1:34: "),
        ("a.nq", b"\n\nx", ":3:"),
        ("a.rdf", RDF_XML.replace("</rdf:RDF>", "</rdf:RFD>").encode(), ":4:3: "),
        ("a.rdf", RDF_XML.replace("/s", "/ s").encode(), ": "),
        ("a.ttl", b"<http://s> <http://p> %b 1 %b ." % (b"<<( <http://s> <http://p> " * 101, b" )>>" * 101), ": "),
        ("a.ttl.gz", b"<http://s> <http://p> 1 .", ": "),
        ("a.ttl.gz", gzip.compress(b"<http://s> <http://p> 1 .", mtime=0)[:-9], ": "),
        ("a.csv", b"", ": "),
        ("a", b"", ": "),
    ],
)
def test_errors_name_the_place(name: str, data: bytes, place: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read(file)
    assert str(caught.value).startswith(f"{file}{place}")
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.ttl: there is no such file"):
        read(tmp_path / "none.ttl")
    with pytest.raises(InputError, match="graph: there is no such file"):  # whatever it was meant to be
        read(tmp_path / "graph")
    (tmp_path / "folder.ttl").mkdir()
    with pytest.raises(InputError, match=r"folder\.ttl: cannot be read: Is a directory"):
        read(tmp_path / "folder.ttl")
