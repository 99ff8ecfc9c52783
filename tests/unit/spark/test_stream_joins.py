"""Live streams that join: what their conditions compare, and what each side's references are."""

from __future__ import annotations

import pytest

from freshet.rdf.batch import elements_of
from freshet.rdf.dictionary import Dictionary
from freshet.rml.functions import FUNCTIONS
from freshet.rml.mapping_slices import JoinSlice, slice_mapping
from freshet.rml.reader import read_mapping
from freshet.rml.sources import FolderSource
from freshet.rml.stream_inputs import StreamInput
from freshet.rml.windows import JoinWindow
from freshet.spark.stream import EncodedStream, StreamSpec

EX = "http://example.org/"
MAPPING = f"""
@prefix rml: <http://w3id.org/rml/> . @prefix : <{EX}> .
@prefix grel: <http://users.ugent.be/~bjdmeest/function/grel.ttl#> .
<#C> rml:logicalSource [ rml:source "c" ; rml:referenceFormulation rml:CHILD ] ;
  rml:subjectMap [ rml:template "{EX}c/{{id}}" ] ;
  rml:predicateObjectMap [ rml:predicate :met ; rml:objectMap [
    rml:parentTriplesMap <#P> ; rml:joinCondition CONDITION ] ] .
<#P> rml:logicalSource [ rml:source "p" ; rml:referenceFormulation rml:JSONPath ] ;
  rml:subjectMap [ rml:template "{EX}p/{{id}}" ] .
"""
TEMPLATE = '[ rml:childMap [ rml:template "{town}-{id}" ] ; rml:parent "place" ] , [ rml:child "id" ; rml:parent "id" ]'
FUNCTION = """[ rml:childMap [ rml:functionExecution [ rml:function grel:toUpperCase ;
  rml:input [ rml:parameter grel:valueParameter ; rml:inputValueMap [ rml:reference "town" ] ] ] ] ;
  rml:parent "place" ]"""


@pytest.fixture(params=[True, False], ids=["here", "in Spark"])
def pairs(spark, tmp_path, request):
    """The pairs that a join of these files makes, in this process or in Spark, each as the ends of its two IRIs."""

    def pairs(condition, child, parent, *, form="JSONPath", time="at", cut="$"):
        for name, content in (("c", child), ("p", parent)):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a").write_text(content)
        text = MAPPING.replace("CONDITION", condition).replace("rml:CHILD", f'rml:{form} ; rml:iterator "{cut}"')
        (tmp_path / "m.ttl").write_text(text)
        mapping = read_mapping(tmp_path / "m.ttl", functions=FUNCTIONS)
        (mapping_slice,) = (
            mapping_slice for mapping_slice in slice_mapping(mapping) if isinstance(mapping_slice, JoinSlice)
        )
        inputs = (
            StreamInput(FolderSource(tmp_path / "c"), mapping_slice.child, time, "epoch_ms"),
            StreamInput(FolderSource(tmp_path / "p"), mapping_slice.parent, "at", "epoch_ms"),
        )
        stream = EncodedStream(StreamSpec("s", inputs, mapping_slice, window=JoinWindow(), join_here=request.param))
        dictionary, found = Dictionary(), []

        def on_batch(name, number, table, **counts):
            for _, subject, _, object_ in zip(*elements_of(table, stream.layout, dictionary), strict=True):
                ends = dictionary.decode_many([subject, object_])
                found.append(tuple(end.value.removeprefix(EX) for end in ends))

        running = stream.start(
            spark, on_batch, checkpoint=tmp_path / "k" / "spark" / "s", rejects=tmp_path / "rejects", until_done=True
        )
        running.drain()
        running.stop()
        return sorted(found)

    return pairs


def test_a_condition_that_is_a_template(pairs):
    child = '{"at": 1, "id": 1, "town": "a"}\n{"at": 1, "id": 2, "town": "b"}\n'
    parent = (
        '{"at": 1, "id": 1, "place": "a-1"}\n{"at": 1, "id": 2, "place": "b"}\n{"at": 2, "id": 2, "place": "b-2"}\n'
    )
    assert pairs(TEMPLATE, child, parent) == [("c/1", "p/1"), ("c/2", "p/2")]


def test_a_condition_that_is_a_function(pairs):
    child = '{"at": 1, "id": 1, "town": "a"}\n{"at": 1, "id": 2, "town": "b"}\n'
    parent = '{"at": 1, "id": 7, "place": "A"}\n{"at": 1, "id": 8, "place": "b"}\n'
    assert pairs(FUNCTION, child, parent) == [("c/1", "p/7")]


def test_a_reference_has_arrays_on_one_side_only(pairs):
    child = "<r><e><at>1</at><id>1</id><id>3</id><town>a</town><town>b</town></e></r>"
    parent = '{"at": 1, "id": 5, "town": "b"}\n{"at": 1, "id": 6, "town": "z"}\n'
    found = pairs('[ rml:child "town" ; rml:parent "town" ]', child, parent, form="XPath", cut="/r/e")
    assert found == [("c/1", "p/5"), ("c/3", "p/5")]
