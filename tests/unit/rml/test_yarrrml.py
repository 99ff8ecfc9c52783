"""YARRRML against the RML that it stands for, and errors with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from freshet.rdf.errors import FreshetError
from freshet.rml.reader import read_mapping

PREFIXES = """
prefixes:
  ex: http://example.org/ns#
  grel: http://users.ugent.be/~bjdmeest/function/grel.ttl#
  idlab-fn: https://w3id.org/imec/idlab/function#
"""
HEAD = """
@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/ns#> .
      @prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix grel: <http://users.ugent.be/~bjdmeest/function/grel.ttl#> . @prefix csvw: <http://www.w3.org/ns/csvw#> .
@prefix idlab-fn: <https://w3id.org/imec/idlab/function#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix formats: <http://www.w3.org/ns/formats/> .
@prefix d2rq: <http://www.wiwiss.fu-berlin.de/suhl/bizer/D2RQ/0.1#> .
@prefix sd: <http://www.w3.org/ns/sparql-service-description#> .
"""
CSV = '[ rml:source "a.csv" ; rml:referenceFormulation rml:CSV ]'
CASES = {
    "a class, a reference, a datatype and a language": (
        """
mappings:
  person:
    sources: [[a.csv~csv]]
    s: http://example.org/$(id)
    po:
      - [a, foaf:Person]
      - [foaf:name, $(name), en~lang]
      - [ex:age, $(age), xsd:integer]
      - [[ex:p, ex:q], [$(a), b]]
""",
        f"""<person> rml:logicalSource {CSV} ; rml:subjectMap [ rml:template "http://example.org/{{id}}" ] ;
  rml:predicateObjectMap [ rml:predicate rdf:type ; rml:object foaf:Person ] ,
    [ rml:predicate foaf:name ; rml:objectMap [ rml:reference "name" ; rml:language "en" ] ] ,
    [ rml:predicate ex:age ; rml:objectMap [ rml:reference "age" ; rml:datatype xsd:integer ] ] ,
    [ rml:predicate ex:p , ex:q ; rml:objectMap [ rml:reference "a" ] , [ rml:constant "b" ] ] .""",
    ),
    "keys in full, IRIs, blank nodes and templates": (
        r"""
sources:
  people: {access: people.json, referenceFormulation: jsonpath, iterator: "$.people[*]"}
mappings:
  person:
    sources: people
    subjects: {value: "$(id)", type: blank}
    graphs: [ex:g, "http://example.org/g/$(team)"]
    predicateobjects:
      - predicates: ex:$(key)
        objects:
          - value: $(page)
            type: iri
          - $(home)~iri
          - {value: "$(n)", type: blank}
          - value: "{$(first)} \\(né $(last)\\)"
            datatype: xsd:string
          - value: $(text)
            language: $(lang)
        graphs: ex:other
""",
        r"""<person> rml:logicalSource [ rml:source "people.json" ; rml:referenceFormulation rml:JSONPath ;
    rml:iterator "$.people[*]" ] ;
  rml:subjectMap [ rml:reference "id" ; rml:termType rml:BlankNode ; rml:graph ex:g ;
    rml:graphMap [ rml:template "http://example.org/g/{team}" ] ] ;
  rml:predicateObjectMap [ rml:predicateMap [ rml:template "http://example.org/ns#{key}" ] ; rml:graph ex:other ;
    rml:objectMap [ rml:reference "page" ; rml:termType rml:IRI ] , [ rml:reference "home" ; rml:termType rml:IRI ] ,
      [ rml:reference "n" ; rml:termType rml:BlankNode ] ,
      [ rml:template "\\{{first}\\} (né {last})" ; rml:datatype xsd:string ] ,
      [ rml:reference "text" ; rml:languageMap [ rml:reference "lang" ] ] ] .""",
    ),
    "a blank node for each record": (
        """
mapping:
  person:
    source: {access: a.csv, referenceFormulation: csv, delimiter: ";", encoding: latin-1}
    po: [[ex:p, 1.50]]
""",
        """<person> rml:logicalSource [ rml:referenceFormulation rml:CSV ; rml:source [ a csvw:Table ;
      csvw:url "a.csv" ;
    csvw:dialect [ csvw:delimiter ";" ; csvw:encoding "latin-1" ] ] ] ;
  rml:subjectMap [ rml:termType rml:BlankNode ] ; rml:predicateObjectMap [ rml:predicate ex:p ;
      rml:object "1.50" ] .""",
    ),
    "functions in full, in one line, and nested": (
        """
mappings:
  person:
    sources: [[a.csv~csv]]
    s: http://example.org/$(id)
    po:
      - predicates: ex:a
        objects:
          - function: grel:toUpperCase
            parameters: [[grel:valueParameter, $(name)]]
            language: en
          - fn: grel:string_replace(grel:valueParameter = $(name), find = "a, b", replace = x)
            type: iri
          - function: grel:toLowerCase
            parameters:
              - parameter: grel:valueParameter
                value: {f: grel:string_trim, pms: [[grel:valueParameter, "$(name) x"]]}
""",
        f"""<person> rml:logicalSource {CSV} ; rml:subjectMap [ rml:template "http://example.org/{{id}}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:a ; rml:objectMap
    [ rml:functionExecution [ rml:function grel:toUpperCase ;
        rml:input [ rml:parameter grel:valueParameter ; rml:inputValueMap [ rml:reference "name" ] ] ] ;
      rml:language "en" ;
      rml:termType rml:Literal ] ,
    [ rml:functionExecution [ rml:function grel:string_replace ;
        rml:input [ rml:parameter grel:valueParameter ; rml:inputValueMap [ rml:reference "name" ] ] ,
          [ rml:parameter grel:find ; rml:inputValue "a, b" ] , [ rml:parameter grel:replace ; rml:inputValue "x" ] ] ;
      rml:termType rml:IRI ] ,
    [ rml:functionExecution [ rml:function grel:toLowerCase ;
        rml:input [ rml:parameter grel:valueParameter ; rml:inputValueMap [
          rml:functionExecution [ rml:function grel:string_trim ; rml:input [ rml:parameter grel:valueParameter ;
            rml:inputValueMap [ rml:template "{{name}} x" ; rml:termType rml:Literal ] ] ] ;
      rml:termType rml:Literal ] ] ] ;
      rml:termType rml:Literal ] ] .""",
    ),
    "conditions": (
        """
mappings:
  person:
    sources: [[a.csv~csv]]
    s: http://example.org/$(id)
    condition: {function: idlab-fn:isNotNull, parameters: [[idlab-fn:str, $(id)]]}
    po:
      - p: ex:a
        o: $(a)
        condition:
          function: idlab-fn:equal
          parameters: [[grel:valueParameter, $(a)], [grel:valueParameter2, "1"]]
      - p: ex:b
        o:
          value: $(b)
          condition: {function: equal, parameters: [[str1, $(b)], [str2, "2"]]}
""",
        f"""<person> rml:logicalSource {CSV} ;
  rml:subjectMap [ rml:template "http://example.org/{{id}}" ; rml:condition [ rml:functionExecution [
    rml:function idlab-fn:isNotNull ;
    rml:input [ rml:parameter idlab-fn:str ; rml:inputValueMap [ rml:reference "id" ] ] ] ] ] ;
  rml:predicateObjectMap [ rml:predicateMap [ rml:constant ex:a ; rml:condition [ rml:functionExecution [
      rml:function idlab-fn:equal ;
      rml:input [ rml:parameter grel:valueParameter ; rml:inputValueMap [ rml:reference "a" ] ] ,
        [ rml:parameter grel:valueParameter2 ; rml:inputValue "1" ] ] ] ] ; rml:objectMap [ rml:reference "a" ] ] ,
    [ rml:predicate ex:b ; rml:objectMap [ rml:reference "b" ; rml:condition [ rml:functionExecution [
      rml:function idlab-fn:equal ;
      rml:input [ rml:parameter grel:valueParameter ; rml:inputValueMap [ rml:reference "b" ] ] ,
        [ rml:parameter grel:valueParameter2 ; rml:inputValue "2" ] ] ] ] ] .""",
    ),
    "joins": (
        """
mappings:
  person:
    sources: [[a.csv~csv]]
    s: http://example.org/$(id)
    po:
      - p: ex:works
        o:
          - mapping: project
            condition:
              function: equal
              parameters: [[str1, $(project)], [str2, $(ID)]]
          - {mapping: project, condition: {function: equal, parameters: [[str2, $(x), s], [str1, "$(y) z", o]]}}
  project:
    sources: [[b.csv~csv]]
    s: http://example.org/project/$(ID)
""",
        f"""<person> rml:logicalSource {CSV} ; rml:subjectMap [ rml:template "http://example.org/{{id}}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:works ; rml:objectMap
    [ rml:parentTriplesMap <project> ; rml:joinCondition [ rml:child "project" ; rml:parent "ID" ] ] ,
    [ rml:parentTriplesMap <project> ; rml:joinCondition [ rml:child "x" ; rml:parentMap [
      rml:template "{{y}} z" ] ] ] ] .
<project> rml:logicalSource [ rml:source "b.csv" ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://example.org/project/{{ID}}" ] .""",
    ),
    "several sources and subjects": (
        """
sources:
  a: [a.csv~csv]
mappings:
  person:
    sources: [a, [b.csv~csv]]
    s: [http://example.org/$(id), ex:$(id)]
    po: [[ex:p, o]]
""",
        "".join(
            f"""<person{name}> rml:logicalSource [ rml:source "{file}.csv" ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://example.org/{place}{{id}}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:p ; rml:object "o" ] .\n"""
            for name, file, place in (("", "a", ""), ("-2", "a", "ns#"), ("-3", "b", ""), ("-4", "b", "ns#"))
        ),
    ),
    "databases and endpoints": (
        """
sources:
  db:
    access: http://localhost:5432/house
    type: postgresql
    credentials: {username: reader, password: secret}
    queryFormulation: sql2008
    query: SELECT * FROM rooms
    referenceFormulation: csv
  graph:
    access: http://localhost/sparql
    queryFormulation: sparql11
    query: SELECT * { ?a ?b ?c }
    referenceFormulation: csv
mappings:
  one: {sources: db, s: ex:$(room)}
  two: {sources: graph, s: $(a)}
""",
        """<one> rml:logicalSource [ rml:source [ a d2rq:Database ;
      d2rq:jdbcDSN "jdbc:postgresql://localhost:5432/house" ;
    d2rq:username "reader" ; d2rq:password "secret" ] ; rml:referenceFormulation rml:SQL2008Query ;
    rml:iterator "SELECT * FROM rooms" ] ; rml:subjectMap [ rml:template "http://example.org/ns#{room}" ] .
<two> rml:logicalSource [ rml:source [ sd:endpoint <http://localhost/sparql> ] ; rml:referenceFormulation rml:CSV ;
    rml:query "SELECT * { ?a ?b ?c }" ] ; rml:subjectMap [ rml:reference "a" ; rml:termType rml:IRI ] .""",
    ),
    "targets": (
        """
targets:
  dump: {access: dump.nt.gz, type: void, serialization: ntriples, compression: gzip}
mappings:
  person:
    sources: [[a.csv~csv]]
    s: {value: "http://example.org/$(id)", targets: dump}
    po:
      - p: ex:p
        o: {value: $(a), targets: [dump, [b.ttl~void, turtle]]}
""",
        f"""<person> rml:logicalSource {CSV} ; rml:subjectMap [ rml:template "http://example.org/{{id}}" ;
      rml:logicalTarget <d> ] ;
  rml:predicateObjectMap [ rml:predicate ex:p ; rml:objectMap [ rml:reference "a" ; rml:logicalTarget <d> , <b> ] ] .
<d> rml:target [ rml:path "dump.nt.gz" ] ; rml:serialization formats:N-Triples ; rml:compression rml:gzip .
<b> rml:target [ rml:path "b.ttl" ] ; rml:serialization formats:Turtle .""",
    ),
    "values from outside": (
        r"""
external: {city: Ghent, n: 5}
mappings:
  person:
    sources: [[a.csv~csv]]
    s: http://example.org/$(_city)/$(id)
    po: [[ex:p, $(_city)], [ex:q, "$(_n) of $(_city)"], [ex:r, "\\$(x\\)"]]
""",
        f"""<person> rml:logicalSource {CSV} ; rml:subjectMap [ rml:template "http://example.org/Ghent/{{id}}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:p ; rml:object "Ghent" ] ,
    [ rml:predicate ex:q ; rml:object "5 of Ghent" ] , [ rml:predicate ex:r ; rml:object "$(x)" ] .""",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_rml_that_it_stands_for(tmp_path: Path, name: str) -> None:
    yarrrml, turtle = CASES[name]
    (tmp_path / "m.yml").write_text(PREFIXES + yarrrml, encoding="utf-8")
    (tmp_path / "m.ttl").write_text(HEAD + turtle, encoding="utf-8")
    found, expected = read_mapping(tmp_path / "m.yml"), read_mapping(tmp_path / "m.ttl")
    assert {each.name: each for each in found.triples_maps} == {each.name: each for each in expected.triples_maps}


GOOD = """prefixes:
  ex: http://example.org/ns#
mappings:
  person:
    sources: [[a.csv~csv]]
    s: ex:$(id)
    po:
      - [ex:p, $(a)]
"""
WRONG = {
    "no YAML": ("      - [ex:p, $(a)]", "      - [ex:p, $(a)", 9, "not YAML"),
    "a key twice": ("    s: ex:$(id)", "    s: ex:$(id)\n    s: ex:b", 7, "the key 's' comes twice"),
    "a key under two names": ("    s: ex:$(id)", "    s: ex:$(id)\n    subject: ex:b", 7, "stands for 'subjects'"),
    "an unknown key": ("    po:", "    pos:", 7, "there is no key 'pos' here"),
    "inverse predicates": (
        "- [ex:p, $(a)]",
        "- p: ex:p\n        inversepredicates: ex:q\n        o: $(a)",
        9,
        "no key 'inversepredicates'",
    ),
    "no source": ("    sources: [[a.csv~csv]]\n", "", 4, "the mapping person has no sources"),
    "an unknown source": ("[[a.csv~csv]]", "people", 5, "there is no source people"),
    "an unknown formulation": ("a.csv~csv", "a.csv~xquery", 5, "no reference formulation xquery"),
    "a pair without an object": ("[ex:p, $(a)]", "[ex:p]", 8, "predicates and objects are wanted"),
    "an unknown mapping": ("- [ex:p, $(a)]", "- {p: ex:p, o: {mapping: none}}", 8, "there is no mapping none"),
    "an unknown prefix with a space": ("[ex:p, $(a)]", "[x y, $(a)]", 8, "x y is no IRI"),
    "an unknown type": ("$(a)]", "{value: $(a), type: thing}]", 8, "there is no type thing"),
    "an unknown function": (
        "$(a)]",
        "{function: ex:f, parameters: [[ex:x, $(a)]]}]",
        4,
        "the triples map person uses the function <http://example.org/ns#f>",
    ),
    "a parameter without a value": ("$(a)]", "{function: ex:f(ex:x)}]", 8, "ex:x gives a parameter no value"),
    "a value from outside that is missing": ("$(a)]", "$(_a)]", 8, "there is no external value a"),
    "a language that is none": ("$(a)]", "$(a), x y~lang]", 4, "x y as language, which is no language tag"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_have_their_lines(tmp_path: Path, name: str) -> None:
    old, new, line, message = WRONG[name]
    assert old in GOOD
    (tmp_path / "m.yml").write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(FreshetError) as wrong:
        read_mapping(tmp_path / "m.yml")
    assert message in wrong.value.message
    assert (wrong.value.file, wrong.value.line) == (str(tmp_path / "m.yml"), line)


def test_a_document_without_mappings(tmp_path: Path) -> None:
    (tmp_path / "m.yml").write_text("a", encoding="utf-8")
    with pytest.raises(FreshetError, match="there are no mappings in it"):
        read_mapping(tmp_path / "m.yml")
    with pytest.raises(FreshetError, match="cannot be read"):
        read_mapping(tmp_path / "none.yml")


def test_it_is_mapped(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "a.csv").write_text("id,a\n1,x\n2,y\n", encoding="utf-8")
    run_map_here(tmp_path / "m.yaml", MapOptions(tmp_path / "out.nq", rejects=tmp_path / "rejects"))
    assert (tmp_path / "out.nq").read_text().splitlines() == [
        '<http://example.org/ns#1> <http://example.org/ns#p> "x" .',
        '<http://example.org/ns#2> <http://example.org/ns#p> "y" .',
    ]
