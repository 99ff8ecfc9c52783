"""What a checkpoint depends on: whatever changes the batches or what Spark keeps, and nothing else."""

from dataclasses import replace

import pytest

from freshet.rml.parts import JoinPart, parts_of
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
        (part,) = (part for part in parts_of(read_mapping(tmp_path / "m.ttl")) if isinstance(part, JoinPart))
        inputs = [StreamInput(KafkaSource("a:1", topic), cut, "at") for topic, cut in zip("cp", part[:2], strict=True)]
        return StreamSpec("s", tuple(inputs), part)

    return spec


def with_child(spec, **changes):
    child, parent = spec.inputs
    return replace(spec, inputs=(replace(child, **changes), parent))


def test_what_a_checkpoint_depends_on(spec):
    def made_from(spec):
        return EncodedStream(spec).made_from

    before = made_from(spec())
    assert made_from(spec()) == before
    assert made_from(replace(spec(), window=JoinWindow())) == before, "it is the usual one"
    assert made_from(with_child(spec(), source=KafkaSource("other:1", "c"))) == before, "the brokers have moved"
    assert made_from(with_child(spec(), records_per_batch=7)) == before
    assert made_from(replace(spec(), window=JoinWindow(most_waiting=7))) == before
    others = [
        replace(spec(), window=JoinWindow(upper=7_000)),
        with_child(spec(), source=KafkaSource("a:1", "z")),
        with_child(spec(), time_reference="when"),
        with_child(spec(), time_form="epoch_ms"),
        spec(MAPPING.replace('"town"', '"city"')),
        spec(MAPPING.replace("{id}", "{number}")),
        spec(MAPPING.replace(', "x"', "")),
    ]
    assert len({before, *map(made_from, others)}) == len(others) + 1


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


def test_a_checkpoint_depends_on_the_code_of_functions_that_are_called(tmp_path):
    def made_from(pair, code):
        (tmp_path / "m.ttl").write_text(SINGLE.replace("PAIR", pair))
        (tmp_path / "functions.py").write_text(code)
        functions = load_functions(tmp_path / "functions.py")
        declared = {iri: function.declared for iri, function in functions.items()}
        (part,) = parts_of(read_mapping(tmp_path / "m.ttl", functions=declared))
        given = StreamInput(KafkaSource("a:1", "c"), part.source, "at")
        return EncodedStream(StreamSpec("s", (given,), part, functions=functions)).made_from

    changed = FUNCTIONS_FILE.replace("return text", "return text.drop_null()")
    assert made_from(CALLED, FUNCTIONS_FILE) == made_from(CALLED, FUNCTIONS_FILE)
    assert made_from(CALLED, FUNCTIONS_FILE) != made_from(CALLED, changed)
    assert made_from(PLAIN, FUNCTIONS_FILE) == made_from(PLAIN, changed), "nobody calls them"
