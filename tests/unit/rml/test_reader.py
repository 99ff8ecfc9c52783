"""Mappings in both vocabularies are read to one model; what cannot be mapped is refused by name."""

import pytest

from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import RDF_TYPE, XSD, Iri, Literal
from freshet.rml.model import Formulation, Reference, TermType
from freshet.rml.reader import read_mapping, reference

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
    assert made.formulation is Formulation.JSON
    assert made.subject.encoded
    assert made.subject.parts == ("http://example.org/", Reference(("a", "b")), "/{", Reference(("c",)))
    constants = [(predicate.constant, made_object.constant) for predicate, made_object in made.pairs]
    assert (RDF_TYPE, Iri("http://example.org/ns#Thing")) in constants
    assert (Iri("http://example.org/ns#q"), Literal("constant")) in constants
    objects = {predicate.constant.value[-1]: made_object for predicate, made_object in made.pairs}
    assert objects["p"].datatype == Iri(XSD + "integer")
    assert objects["p"].parts == (Reference(("v",)),)
    assert objects["r"].language == "en"
    assert objects["s"].type is TermType.IRI
    assert not objects["s"].encoded


REFUSED = {
    "joins": ('rr:object "constant"', "rr:objectMap [ rr:parentTriplesMap <#Other> ]", "parentTriplesMap"),
    "graphs": ("rr:class ex:Thing", "rr:graph ex:g", "graph"),
    "XML": ("ql:JSONPath", "ql:XPath", "XPath"),
    "iterator": ('rml:iterator "$"', 'rml:iterator "$.things[*]"', "$.things[*]"),
    "array step": ('rml:reference "$.v"', 'rml:reference "$.v[0]"', "$.v[0]"),
    "functions": ('rr:object "constant"', "rr:objectMap [ <http://w3id.org/rml/functionExecution> [] ]", "function"),
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
    ("text", "path"),
    [("a", ("a",)), ("$.a.b", ("a", "b")), ("a b.c", ("a b", "c")), ("$['a.b'].c", ("a.b", "c"))],
)
def test_references_into_json(text, path):
    assert reference(text, Formulation.JSON) == Reference(path)


def test_a_csv_column_may_have_any_name():
    assert reference("$.a[0]", Formulation.CSV) == Reference(("$.a[0]",))
