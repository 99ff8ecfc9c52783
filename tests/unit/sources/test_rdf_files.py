"""RDF files asked by SPARQL."""

import gzip

import pytest

from freshet.rdf.errors import InputError
from freshet.rml.sources import Compression, FileSource, Formulation, LogicalSource
from source_rows import rows

DATA = """@prefix : <http://example.org/> .
:a :name "Zoë"@nl ; :age 8 ; :tall true . :b :name "Ann" ; :weight 2.5e0 ."""
QUERY = """PREFIX : <http://example.org/>
SELECT ?who ?name ?age ?weight WHERE { ?who :name ?name OPTIONAL { ?who :age ?age } OPTIONAL { ?who :weight ?weight } }
ORDER BY ?who"""


def source(path, query=QUERY, **options):
    return LogicalSource(FileSource(path, **options), Formulation.SPARQL, query)


def test_solutions_are_records(tmp_path):
    (tmp_path / "a.ttl").write_text(DATA)
    expected = [("http://example.org/a", "Zoë", "8", None), ("http://example.org/b", "Ann", None, "2.5")]
    assert rows(source(tmp_path / "a.ttl"), ["who", "name", "age", "weight"]) == (expected, [])
    (tmp_path / "a.ttl.gz").write_bytes(gzip.compress(DATA.encode()))
    packed = source(tmp_path / "a.ttl.gz", compression=Compression.GZIP)
    assert rows(packed, ["who", "name", "age", "weight"]) == (expected, [])


def test_what_is_wrong_is_told(tmp_path):
    (tmp_path / "a.ttl").write_text(DATA)
    (tmp_path / "b.ttl").write_text("@prefix : <")
    (tmp_path / "c.dat").write_text(DATA)
    with pytest.raises(InputError, match="no SPARQL"):
        rows(source(tmp_path / "a.ttl", "SELECT"), [])
    with pytest.raises(InputError, match="must be a SELECT query"):
        rows(source(tmp_path / "a.ttl", "ASK {}"), [])
    with pytest.raises(InputError, match="there is no column nobody among who, name"):
        rows(source(tmp_path / "a.ttl"), ["nobody"])
    with pytest.raises(InputError, match="does not say which RDF format"):
        rows(source(tmp_path / "c.dat"), ["who"])
    _, bad = rows(source(tmp_path / "b.ttl"), ["who"])
    assert len(bad) == 1
    assert bad[0][0].startswith("cannot be read: ")
