"""Mappings of files with typed columns: the same statements of every form, in this process and on Spark."""

from __future__ import annotations

import pytest

from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from table_writers import WRITERS

MAPPING = """
@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/> .
<#P> rml:logicalSource [ rml:source "a.FORM" ; rml:referenceFormulation rml:CSV ITERATOR ] ;
  rml:subjectMap [ rml:template "http://example.org/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:name ; rml:objectMap [ rml:reference "name" ] ] ,
    [ rml:predicate ex:weight ; rml:objectMap [ rml:reference "weight" ] ] ,
    [ rml:predicate ex:paid ; rml:objectMap [ rml:reference "paid" ] ] ,
    [ rml:predicate ex:born ; rml:objectMap [ rml:reference "born" ] ] .
"""
XSD = "http://www.w3.org/2001/XMLSchema#"
EXPECTED = [
    f'<http://example.org/1> <http://example.org/born> "1981-10-10"^^<{XSD}date> .',
    '<http://example.org/1> <http://example.org/name> "Zoë & Co" .',
    f'<http://example.org/1> <http://example.org/paid> "false"^^<{XSD}boolean> .',
    f'<http://example.org/1> <http://example.org/weight> "80.25"^^<{XSD}double> .',
    f'<http://example.org/2> <http://example.org/paid> "true"^^<{XSD}boolean> .',
    f'<http://example.org/2> <http://example.org/weight> "3.5"^^<{XSD}double> .',
]


@pytest.fixture(params=["process", pytest.param("spark", marks=pytest.mark.spark)])
def mapper(request):
    """Runs a mapping."""
    if request.param == "process":
        return run_map_here
    from freshet.spark.map_run import run_map

    spark = request.getfixturevalue("spark")
    return lambda file, options: run_map(spark, file, options)


@pytest.mark.parametrize("form", WRITERS)
def test_every_form(mapper, tmp_path, form):
    WRITERS[form](tmp_path / f"a.{form}")
    iterator = '; rml:iterator "People"' if form in ("xlsx", "ods") else ""
    (tmp_path / "m.ttl").write_text(MAPPING.replace("FORM", form).replace("ITERATOR", iterator), encoding="utf-8")
    done = mapper(tmp_path / "m.ttl", MapOptions(tmp_path / "out.nq", rejects=tmp_path / "rejects"))
    assert (done.records, done.rejected) == (2, 0)
    assert sorted((tmp_path / "out.nq").read_text(encoding="utf-8").splitlines()) == EXPECTED


VIEW = """
@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/> .
<#V> a rml:LogicalView ; rml:viewOn [ rml:source "FOLDER" ; rml:referenceFormulation rml:CSV ] ;
  rml:field [ rml:fieldName "who" ; rml:reference "id" ] , [ rml:fieldName "kg" ; rml:reference "weight" ] .
<#P> rml:logicalSource <#V> ; rml:subjectMap [ rml:template "http://example.org/{who}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:kg ; rml:objectMap [ rml:reference "kg" ] ] .
"""


def test_a_view_on_a_folder_of_them(tmp_path):
    (tmp_path / "all").mkdir()
    WRITERS["parquet"](tmp_path / "all" / "part-0.parquet")
    (tmp_path / "m.ttl").write_text(VIEW.replace("FOLDER", "all"), encoding="utf-8")
    run_map_here(tmp_path / "m.ttl", MapOptions(tmp_path / "out.nq", rejects=tmp_path / "rejects"))
    assert sorted((tmp_path / "out.nq").read_text(encoding="utf-8").splitlines()) == [
        f'<http://example.org/{who}> <http://example.org/kg> "{kg}"^^<{XSD}double> .'
        for who, kg in ((1, "80.25"), (2, "3.5"))
    ]
