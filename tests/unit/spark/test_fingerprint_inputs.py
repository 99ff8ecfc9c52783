"""What a checkpoint depends on: whatever changes the batches or what Spark keeps, and nothing else."""

from dataclasses import replace

import pytest

from freshet.rml.mapping_slices import JoinSlice, slice_mapping
from freshet.rml.reader import read_mapping
from freshet.rml.sources import KafkaSource
from freshet.rml.stream_inputs import StreamInput
from freshet.rml.user_functions import load_functions
from freshet.rml.windows import JoinWindow
from freshet.spark.stream import EncodedStream, StreamSpec

MAPPING = """
@prefix rml: <http://w3id.org/rml/> . @prefix : <http://example.org/> .
<#C> rml:logicalSource [ rml:source "c" ; rml:referenceFormulation rml:JSONPath ; rml:null "-", "?", "x" ] ;
  rml:subjectMap [ rml:template "http://example.org/c/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate :met ; rml:objectMap [
    rml:parentTriplesMap <#P> ; rml:joinCondition [ rml:child "town" ; rml:parent "place" ] ] ] .
<#P> rml:logicalSource [ rml:source "p" ; rml:referenceFormulation rml:JSONPath ] ;
  rml:subjectMap [ rml:template "http://example.org/p/{id}" ] .
"""


@pytest.fixture
def spec(tmp_path):
    def spec(text=MAPPING):
        (tmp_path / "m.ttl").write_text(text)
        (mapping_slice,) = (
            mapping_slice
            for mapping_slice in slice_mapping(read_mapping(tmp_path / "m.ttl"))
            if isinstance(mapping_slice, JoinSlice)
        )
        inputs = [
            StreamInput(KafkaSource("a:1", topic), cut, "at")
            for topic, cut in zip("cp", mapping_slice[:2], strict=True)
        ]
        return StreamSpec("s", tuple(inputs), mapping_slice)

    return spec


def with_child(spec, **changes):
    child, parent = spec.inputs
    return replace(spec, inputs=(replace(child, **changes), parent))


def test_what_a_checkpoint_depends_on(spec):
    def fingerprint_inputs(spec):
        return EncodedStream(spec).fingerprint_inputs

    before = fingerprint_inputs(spec())
    assert fingerprint_inputs(spec()) == before
    assert fingerprint_inputs(replace(spec(), window=JoinWindow())) == before, "it is the usual one"
    assert fingerprint_inputs(with_child(spec(), source=KafkaSource("other:1", "c"))) == before, (
        "the brokers have moved"
    )
    assert fingerprint_inputs(with_child(spec(), records_per_batch=7)) == before
    assert fingerprint_inputs(replace(spec(), window=JoinWindow(most_waiting=7))) == before
    others = [
        replace(spec(), window=JoinWindow(upper=7_000)),
        with_child(spec(), source=KafkaSource("a:1", "z")),
        with_child(spec(), time_reference="when"),
        with_child(spec(), time_form="epoch_ms"),
        spec(MAPPING.replace('"town"', '"city"')),
        spec(MAPPING.replace("{id}", "{number}")),
        spec(MAPPING.replace(', "x"', "")),
    ]
    assert len({before, *map(fingerprint_inputs, others)}) == len(others) + 1


FUNCTIONS_FILE = """
from freshet.rml.user_functions import mapping_function


@mapping_function("http://example.org/fn#shout", ["http://example.org/fn#text"], "http://example.org/fn#out")
def shout(text):
    return text


@mapping_function("http://example.org/fn#other", ["http://example.org/fn#text"], "http://example.org/fn#out")
def other(text):
    return text
"""
CALLED = """[ rml:predicate :met ; rml:objectMap [ rml:functionExecution [ rml:function <http://example.org/fn#shout> ;
  rml:input [ rml:parameter <http://example.org/fn#text> ; rml:inputValueMap [ rml:reference "town" ] ] ] ] ]"""
PLAIN = '[ rml:predicate :met ; rml:objectMap [ rml:reference "town" ] ]'
SINGLE = """
@prefix rml: <http://w3id.org/rml/> . @prefix : <http://example.org/> .
<#C> rml:logicalSource [ rml:source "c" ; rml:referenceFormulation rml:JSONPath ] ;
  rml:subjectMap [ rml:template "http://example.org/c/{id}" ] ;
  rml:predicateObjectMap PAIR .
"""
IN_VIEW = """
@prefix rml: <http://w3id.org/rml/> . @prefix : <http://example.org/> .
<#V> rml:viewOn [ rml:source "c" ; rml:referenceFormulation rml:JSONPath ] ; rml:field
  [ rml:fieldName "id" ; rml:reference "$.id" ] , [ rml:fieldName "loud" ; rml:functionExecution [
    rml:function <http://example.org/fn#shout> ; rml:input [
      rml:parameter <http://example.org/fn#text> ; rml:inputValueMap [ rml:reference "$.town" ] ] ] ] .
<#C> rml:logicalSource <#V> ; rml:subjectMap [ rml:template "http://example.org/c/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate :met ; rml:objectMap [ rml:reference "loud" ] ] .
"""


def test_a_checkpoint_depends_on_the_code_of_functions_that_are_called(tmp_path):
    def fingerprint_inputs(mapping, code):
        (tmp_path / "m.ttl").write_text(mapping)
        (tmp_path / "functions.py").write_text(code)
        functions = load_functions(tmp_path / "functions.py")
        declared = {iri: function.declared for iri, function in functions.items()}
        (mapping_slice,) = slice_mapping(read_mapping(tmp_path / "m.ttl", functions=declared))
        given = StreamInput(KafkaSource("a:1", "c"), mapping_slice.source, "at")
        return EncodedStream(StreamSpec("s", (given,), mapping_slice, functions=functions)).fingerprint_inputs

    called, plain = SINGLE.replace("PAIR", CALLED), SINGLE.replace("PAIR", PLAIN)
    changed = FUNCTIONS_FILE.replace("return text", "return text.drop_null()")
    for mapping in (called, IN_VIEW):
        assert fingerprint_inputs(mapping, FUNCTIONS_FILE) == fingerprint_inputs(mapping, FUNCTIONS_FILE)
        assert fingerprint_inputs(mapping, FUNCTIONS_FILE) != fingerprint_inputs(mapping, changed)
    assert fingerprint_inputs(plain, FUNCTIONS_FILE) == fingerprint_inputs(plain, changed), "they are not called"
