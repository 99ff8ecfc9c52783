"""Logical sources as mappings describe them, and that mistakes are reported with triples map and property."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshet.rdf.errors import FreshetError, InputError, UnsupportedError
from freshet.rml.reader import read_mapping
from freshet.rml.sources import CsvDialect, DatabaseSource, FileSource, LogicalSource

MAPPING = """
@prefix rml: <http://w3id.org/rml/> . @prefix rmls: <http://semweb.mmlab.be/ns/rmls#> .
@prefix csvw: <http://www.w3.org/ns/csvw#> . @prefix : <http://e/> .
@prefix d2rq: <http://www.wiwiss.fu-berlin.de/suhl/bizer/D2RQ/0.1#> .
:M rml:logicalSource [ rml:source SOURCE ; rml:referenceFormulation rml:FORM ; rml:iterator "ITERATOR" ] ;
  rml:subjectMap [ rml:template "http://e/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate :p ; rml:objectMap [ OBJECT ] ] .
"""
TABLE = '[ a csvw:Table ; csvw:url "a.csv" ; csvw:null "-", "NULL" ; csvw:dialect [ a csvw:Dialect ; DIALECT ] ]'


def read(
    folder: Path, source: str = '"a"', form: str = "JSONPath", iterator: str = "$", made: str = 'rml:reference "x"'
) -> LogicalSource:
    text = MAPPING.replace("SOURCE", source).replace("FORM", form).replace("ITERATOR", iterator).replace("OBJECT", made)
    (folder / "m.ttl").write_text(text, encoding="utf-8")
    (triples_map,) = read_mapping(folder / "m.ttl").triples_maps
    return triples_map.source


def test_a_table_of_csvw(tmp_path: Path) -> None:
    dialect = (
        'csvw:delimiter ";" ; csvw:quoteChar "%" ; csvw:commentPrefix "#" ; csvw:trim true ; csvw:encoding "UTF-16"'
    )
    made = read(tmp_path, TABLE.replace("DIALECT", dialect), "CSV")
    assert made.nulls == {"-", "NULL"}
    assert made.source == FileSource(tmp_path / "a.csv", "UTF-16", dialect=CsvDialect(";", "%", "#", trim="both"))


def test_every_part_of_a_dialect(tmp_path: Path) -> None:
    dialect = (
        'csvw:header true ; csvw:headerRowCount 1 ; csvw:skipRows 2 ; csvw:skipColumns "1" ; csvw:trim "start" ;'
        ' csvw:doubleQuote true ; csvw:skipBlankRows true ; csvw:skipInitialSpace false ; csvw:quoteChar "" ;'
        ' csvw:lineTerminators "\\r\\n" , "\\n"'
    )
    made = read(tmp_path, TABLE.replace("DIALECT", dialect), "CSV").source
    assert isinstance(made, FileSource)
    assert made.dialect == CsvDialect(quote="", trim="start", skip_rows=2, skip_columns=1)
    made = read(tmp_path, TABLE.replace("DIALECT", "csvw:headerRowCount 0"), "CSV").source
    assert isinstance(made, FileSource)
    assert not made.dialect.header
    with pytest.raises(InputError, match="csvw:skipRows -1, which is no count"):
        read(tmp_path, TABLE.replace("DIALECT", "csvw:skipRows -1"), "CSV")


@pytest.mark.parametrize(
    "given", ["csvw:trim 'left'", "csvw:doubleQuote false", "csvw:headerRowCount 2", "csvw:lineTerminators '|'"]
)
def test_what_a_dialect_says_is_not_passed_over(tmp_path: Path, given: str) -> None:
    with pytest.raises(UnsupportedError) as refused:
        read(tmp_path, TABLE.replace("DIALECT", given), "CSV")
    assert given.replace("'", "").split()[0] in str(refused.value)
    assert "the triples map http://e/M" in str(refused.value)


def test_a_file_of_sqlite_is_beside_the_mapping(tmp_path: Path) -> None:
    database = '[ a d2rq:Database ; d2rq:jdbcDSN "jdbc:sqlite:a.db" ]'
    assert read(tmp_path, database, "SQL2008Table", "t").source == DatabaseSource(f"jdbc:sqlite:{tmp_path / 'a.db'}")
    other = '[ a d2rq:Database ; d2rq:jdbcDSN "jdbc:postgresql://h/a.db" ]'
    assert read(tmp_path, other, "SQL2008Table", "t").source == DatabaseSource("jdbc:postgresql://h/a.db")


JOIN = 'rml:parentTriplesMap :M ; rml:joinCondition [ rml:child "a[?(" ; rml:parent "b" ]'
WRONG_PATHS = {
    "a JSONPath": (
        "JSONPath", "$", 'rml:reference "$.a[?("',
        "the triples map http://e/M has a reference that cannot be followed: $.a[?( is no JSONPath",
    ),
    "a JSONPath in a template": (
        "JSONPath", "$", r'rml:template "x{a[}"',
        "the triples map http://e/M has a template that cannot be followed: a[ is no JSONPath",
    ),
    "a JSONPath in a join": (
        "JSONPath", "$", JOIN,
        "the triples map http://e/M has a join condition that cannot be followed: a[?( is no JSONPath",
    ),
    "attributes of a join that are more on one side": (
        "JSONPath", "$", 'rml:parentTriplesMap :M ; rml:joinCondition [ rml:child "a,b" ; rml:parent "c" ]',
        "the triples map http://e/M has a join condition that cannot be followed: a,b is no JSONPath",
    ),
    "an iterator of JSON": (
        "JSONPath", "$.a[", 'rml:reference "b"',
        "the triples map http://e/M has an iterator that cannot be followed: $.a[ is no JSONPath",
    ),
    "an XPath": (
        "XPath", "/a/b", 'rml:reference "b["',
        "the triples map http://e/M has a reference that cannot be followed: b[ is no XPath",
    ),
    "a prefix of XML that is not declared": (
        "XPath", "/a/b", 'rml:reference "n:b"',
        "the triples map http://e/M has a reference that cannot be followed: n:b is no XPath: the prefix n",
    ),
    "an iterator of XML": (
        "XPath", "/a/b[", 'rml:reference "b"',
        "the triples map http://e/M has an iterator that cannot be followed: /a/b[ is no XPath",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_PATHS)
def test_paths_are_looked_at_when_the_mapping_is_read(tmp_path: Path, name: str) -> None:
    form, iterator, made, expected = WRONG_PATHS[name]
    with pytest.raises(FreshetError) as wrong:
        read(tmp_path, form=form, iterator=iterator, made=made)
    assert expected in str(wrong.value)
    assert str(wrong.value).startswith(str(tmp_path / "m.ttl"))


def test_a_stream_that_lacks_something_is_told_by_its_triples_map(tmp_path: Path) -> None:
    with pytest.raises(FreshetError, match=r"the triples map http://e/M cannot be mapped: .* lacks rmls:topic"):
        read(tmp_path, '[ a rmls:KafkaStream ; rmls:broker "b" ]')
