"""Windows and conditions of joins, as mappings describe them."""

import pytest

from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rml.mapping_slices import JoinSlice, MappingSlice, slice_mapping
from freshet.rml.model import Reference
from freshet.rml.reader import read_mapping
from freshet.rml.windows import JoinWindow, WindowKind

WAITS = "freshet.rml.sizing:waits"
MAPPING = """
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix rmls: <http://semweb.mmlab.be/ns/rmls#> . @prefix ql: <http://semweb.mmlab.be/ns/ql#> .
<#J> a rmls:JoinConfigMap ; CONFIG .
<#Speed> rml:logicalSource [ rml:source "speed.json" ; rml:referenceFormulation ql:JSONPath ] ;
  rr:subjectMap [ rr:template "http://example.com/{id}" ] ;
  rr:predicateObjectMap [ rr:predicate <http://example.com/flow> ; rr:objectMap [ rr:parentTriplesMap <#Flow> ;
    rmls:joinConfig <#J> ; WINDOW
    rr:joinCondition [ rr:child "id , $.lat" ; rr:parent "id,lat" ] ] ] .
<#Flow> rml:logicalSource [ rml:source "flow.json" ; rml:referenceFormulation ql:JSONPath ] ;
  rr:subjectMap [ rr:template "http://example.com/{id}/{flow}" ] .
"""


def slices(tmp_path, config="rmls:joinType rmls:DynamicWindowJoin", window=""):
    file = tmp_path / "mapping.ttl"
    file.write_text(MAPPING.replace("CONFIG", config).replace("WINDOW", window), encoding="utf-8")
    return slice_mapping(read_mapping(file))


def test_a_windowed_join_is_a_part_of_its_own(tmp_path):
    (join,) = slices(tmp_path, window="rmls:windowType rmls:DynamicWindow ;")
    assert isinstance(join, JoinSlice)
    assert join.child_key == ("text of id", "text of lat")
    assert join.parent_key == ("text of id", "text of lat")
    assert join.window == JoinWindow(WindowKind.DYNAMIC)
    (statement,) = join.triples
    assert statement.subject.expression.parts[1] == Reference("id", "child")
    assert statement.object.expression.parts[1:] == (Reference("id", "parent"), "/", Reference("flow", "parent"))


@pytest.mark.parametrize(
    ("config", "window"),
    [
        ("rmls:joinType rmls:TumblingJoin", JoinWindow(WindowKind.TUMBLING, size=2_000)),
        ("rmls:windowType rmls:Sliding ; rmls:windowSize 'PT3S'", JoinWindow(WindowKind.SLIDING, size=3_000)),
        (
            "rmls:windowType rmls:LosslessWindow ; rmls:lowerLimit 20 ; rmls:upperLimit '1s' ; rmls:shrinkAbove 2.5 ;"
            f" rmls:growBelow 0.25 ; rmls:listSize 8 ; rmls:sizingPolicy '{WAITS}'",
            JoinWindow(WindowKind.LOSSLESS, 1_000, 20, 1_000, 2.5, 0.25, 8, policy=WAITS),
        ),
        (
            "rmls:windowType rmls:DynamicCountWindow ; rmls:lowerLimit 2 ; rmls:upperLimit 64",
            JoinWindow(WindowKind.DYNAMIC_COUNT, size=2, lower=2, upper=64, idle_ms=5_000),
        ),
        (
            "rmls:windowType rmls:DynamicWindow ; rmls:upperLimit '300ms' ; rmls:idleTime '2s' ; rmls:silentTime '1m' ;"
            " rmls:mostWaiting 9",
            JoinWindow(WindowKind.DYNAMIC, size=300, upper=300, idle_ms=2_000, silent_ms=60_000, most_waiting=9),
        ),
    ],
)
def test_parameters(tmp_path, config, window):
    (join,) = slices(tmp_path, config)
    assert join.window == window


@pytest.mark.parametrize(
    ("config", "word"),
    [
        ("rmls:joinType rmls:PigeonJoin", "PigeonJoin"),
        ("rmls:windowType rmls:Pigeon", "Pigeon"),
        ("rmls:windowSize 'soon'", "soon"),
        ("rmls:lowerLimit 10 ; rmls:upperLimit 5", "ascend"),
        ("rmls:pigeon 5", "pigeon"),
        ("rmls:mostWaiting 0", "the most records that wait are at least 1, not 0"),
        ("rmls:silentTime 0", "silent is at least 1 ms"),
        ("rmls:shrinkAbove 1 ; rmls:growBelow 2", "grows"),
        ("rmls:windowSize '²'", "has ² as windowSize"),
        ("rmls:listSize '٣'", "has ٣ as listSize"),
        ("rmls:sizingPolicy 'no.such.module:waits'", "no.such.module:waits cannot be imported"),
        ("rmls:sizingPolicy 'freshet.rml.sizing:pigeon'", "no function pigeon"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, config, word):
    with pytest.raises((InputError, UnsupportedError), match=word) as wrong:
        slices(tmp_path, config)
    assert "#Speed" in str(wrong.value)


def test_a_parent_without_a_condition_is_of_the_same_record(tmp_path):
    file = tmp_path / "mapping.ttl"
    text = MAPPING.replace("CONFIG", "rmls:windowSize 1000").replace("WINDOW", "")
    start, end = text.index("rr:joinCondition"), text.index("] ] ] .")
    without = text[:start] + text[end + 1 :]
    file.write_text(without, encoding="utf-8")
    crossed = [each for each in slice_mapping(read_mapping(file)) if isinstance(each, JoinSlice)]
    assert [each.conditions for each in crossed] == [()], "of another source it is every record"
    file.write_text(without.replace("flow.json", "speed.json"), encoding="utf-8")
    (mapping_slice,) = slice_mapping(read_mapping(file))
    assert isinstance(mapping_slice, MappingSlice)
    assert mapping_slice.triples[0].object.expression.parts[1] == Reference("id")
