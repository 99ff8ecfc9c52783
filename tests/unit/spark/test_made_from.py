"""What a checkpoint depends on: whatever changes the batches or what Spark keeps, and nothing else."""

from dataclasses import replace

import pytest

from freshet.rml.parts import JoinPart, parts_of
from freshet.rml.reader import read_mapping
from freshet.rml.sources import KafkaSource
from freshet.rml.stream_inputs import StreamInput
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
