"""Mappings in both vocabularies are read to one model; what cannot be mapped is refused by name."""

import pytest

from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import XSD, Iri, Literal
from freshet.rml.model import Reference, Template, TermType
from freshet.rml.reader import read_mapping
from freshet.rml.references import json_path, names_of, reference
from freshet.rml.sources import FileSource, Formulation

OLD = """
@prefix rml: <http://semweb.mmlab.be/ns/rml#> . @prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix ex: <http://example.org/ns#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<#M> a rr:TriplesMap ;
  rml:logicalSource [ rml:source "x" ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://example.org/{a.b}/\\\\{{c}" ; rr:class ex:Thing ] ;
  rr:predicateObjectMap [ rr:predicate ex:p ; rr:objectMap [ rml:reference "$.v" ; rr:datatype xsd:integer ] ] ,
    [ rr:predicate ex:q ; rr:object "constant" ] ,
    [ rr:predicate ex:r ; rr:objectMap [ rml:reference "w" ; rr:language "EN" ] ] ,
    [ rr:predicate ex:s ; rr:objectMap [ rml:reference "u" ; rr:termType rr:IRI ] ] .
"""

NEW = (
    OLD.replace("@prefix rml: <http://semweb.mmlab.be/ns/rml#> .", "@prefix rml: <http://w3id.org/rml/> .")
    .replace("ql:JSONPath", "rml:JSONPath")
    .replace("rr:", "rml:")
    .replace("@prefix rml: <http://www.w3.org/ns/r2rml#> .", "")
)


def read(tmp_path, text):
    file = tmp_path / "mapping.ttl"
    file.write_text(text, encoding="utf-8")
    return read_mapping(file)


@pytest.mark.parametrize("text", [OLD, NEW], ids=["old", "new"])
def test_a_mapping(tmp_path, text):
    (made,) = read(tmp_path, text).triples_maps
    assert made.source.formulation is Formulation.JSON
    assert made.source.source == FileSource(tmp_path / "x")
    parts = ("http://example.org/", Reference("a.b"), "/{", Reference("c"))
    assert made.subject.expression == Template(parts)
    assert made.classes == (Iri("http://example.org/ns#Thing"),)
    objects = {pair.predicates[0].expression.value[-1]: pair.objects[0] for pair in made.pairs}
    assert objects["q"].expression == Literal("constant")
    assert objects["p"].datatype == Iri(XSD + "integer")
    assert objects["p"].expression == Reference("v")
    assert objects["r"].language == "EN"
    assert objects["s"].type is TermType.IRI


def test_a_constant_iri_may_be_written_as_a_text(tmp_path):
    given = 'rr:objectMap [ rr:constant "http://example.org/é" ; rr:termType rr:IRI ]'
    (made,) = read(tmp_path, OLD.replace('rr:object "constant"', given)).triples_maps
    assert Iri("http://example.org/é") in [pair.objects[0].expression for pair in made.pairs]


REFUSED = {
    "formulation": ("ql:JSONPath", "ql:Pigeon", "Pigeon"),
    "source": ('rml:source "x"', "rml:source [ a ex:Pigeon ]", "Pigeon"),
    "functions": (
        'rr:object "constant"',
        "rr:objectMap [ <http://w3id.org/rml/functionExecution> [ <http://w3id.org/rml/function> ex:fly ] ]",
        "ns#fly",
    ),
    "term type": ("rr:termType rr:IRI", "rr:termType rr:Pigeon", "Pigeon"),
    "property": ("rr:class ex:Thing", "rr:pigeon ex:Thing", "pigeon"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(tmp_path, name):
    before, after, word = REFUSED[name]
    assert before in OLD
    with pytest.raises(UnsupportedError) as refused:
        read(tmp_path, OLD.replace(before, after))
    assert word in str(refused.value)
    assert "#M" in str(refused.value)
    assert "mapping.ttl" in str(refused.value)


WRONG = {
    "no subject": ("rr:subjectMap [", "<http://example.org/ignored> [", "needs one subject map"),
    "open brace": ("{a.b}", "{a.b", "brace"),
    "empty term map": ('rml:reference "w" ; ', "", "constant, reference and template"),
    "language": ('"EN"', '"english"', "no language tag"),
    "literal as subject": ("rr:class ex:Thing", "rr:termType rr:Literal", "makes literals"),
    "constant of another type": (
        'rr:object "constant"',
        'rr:objectMap [ rr:constant "c" ; rr:termType rr:IRI ]',
        "no IRI",
    ),
    "constant that is no IRI": (
        'rr:object "constant"',
        'rr:objectMap [ rr:constant "http://example.org/a b" ; rr:termType rr:IRI ]',
        "no IRI",
    ),
    "no such parent": ('rr:object "constant"', "rr:objectMap [ rr:parentTriplesMap <#Other> ]", "#Other"),
    "two ways": ('rml:reference "w"', 'rml:reference "w" ; rr:template "{w}"', "both reference and template"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong(tmp_path, name):
    before, after, word = WRONG[name]
    assert before in OLD
    with pytest.raises((InputError, UnsupportedError)) as wrong:
        read(tmp_path, OLD.replace(before, after))
    assert word in str(wrong.value)


def test_broken_turtle_has_a_place(tmp_path):
    with pytest.raises(InputError) as wrong:
        read(tmp_path, OLD.replace("rr:class ex:Thing ]", "rr:class ex:Thing"))
    assert wrong.value.line is not None
    assert wrong.value.column is not None


@pytest.mark.parametrize(
    ("text", "names"),
    [("a", ("a",)), ("$.a.b", ("a", "b")), ("a b.c", ("a b", "c")), ("$['a.b'].c", ("a.b", "c"))],
)
def test_equal_references_into_json_have_one_spelling(text, names):
    assert names_of(text) == names
    assert reference(text, Formulation.JSON) == Reference(json_path(names))
    assert names_of(json_path(names)) == names


@pytest.mark.parametrize("text", ["$.a[*]", "$.a[0].b", "$..a", "$.a[?(@.b)]", "$"])
def test_other_json_paths_stay_as_they_are(text):
    assert names_of(text) is None
    assert reference(text, Formulation.JSON) == Reference(text)


def test_a_csv_column_may_have_any_name():
    assert reference("$.a[0]", Formulation.CSV) == Reference("$.a[0]")
