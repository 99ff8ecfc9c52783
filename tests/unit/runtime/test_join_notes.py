"""A join in which nothing meets says so, and what became of its records."""

from pathlib import Path

from freshet.rml.join_counts import JoinCounts
from freshet.rml.mapping_slices import JoinSlice, join_name, slice_mapping
from freshet.rml.reader import read_mapping
from freshet.runtime.join_notes import JoinNotes
from freshet.runtime.metrics import Metrics

MAPPING = """
@prefix rml: <http://w3id.org/rml/> . @prefix rmls: <http://semweb.mmlab.be/ns/rmls#> . @prefix : <http://e/> .
<#Speed> rml:logicalSource [ rml:source [ a rmls:KafkaStream ; rmls:broker "b:1" ; rmls:topic "speed" ] ;
    rml:referenceFormulation rml:JSONPath ] ;
  rml:subjectMap [ rml:template "http://e/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate :flow ; rml:objectMap [ rml:parentTriplesMap <#Flow> ; rml:joinCondition
    [ rml:child "id,lane" ; rml:parent "id,lanes.name" ] , [ rml:childMap [ rml:template "{a}-{b}" ] ; rml:parent "c" ]
  ] ] .
<#Flow> rml:logicalSource [ rml:source "flow.json" ; rml:referenceFormulation rml:JSONPath ] ;
  rml:subjectMap [ rml:template "http://e/{id}" ] .
"""


def test_a_join_is_called_by_its_sources_and_what_it_compares(tmp_path: Path) -> None:
    (tmp_path / "m.ttl").write_text(MAPPING)
    (mapping_slice,) = (
        mapping_slice
        for mapping_slice in slice_mapping(read_mapping(tmp_path / "m.ttl"))
        if isinstance(mapping_slice, JoinSlice)
    )
    assert join_name(mapping_slice) == "speed with flow.json by id, lane = lanes.name, an expression = c"


def test_nothing_is_told_while_records_wait_or_meet() -> None:
    notes = JoinNotes(Metrics())
    assert notes.add_counts("j", JoinCounts(children=500, parents=500, waiting=1000)) == ""
    assert notes.add_counts("other", JoinCounts(children=500, parents=500, pairs=1)) == ""


def test_a_join_that_finds_nothing_says_so_at_ten_times_as_many_records_each_time() -> None:
    notes = JoinNotes(Metrics())
    assert notes.add_counts("j", JoinCounts(children=9, keyless=0)) == ""
    assert notes.add_counts("j", JoinCounts(children=2, keyless=3)) == (
        "join of j: nothing was joined yet: 0 pairs of 11 and 0 records, 3 without a key"
    )
    assert notes.add_counts("j", JoinCounts(children=80)) == ""
    assert notes.add_counts("j", JoinCounts(parents=5000, late=4000, waiting=2)) == (
        "join of j: nothing was joined yet: 0 pairs of 91 and 5,000 records, 3 without a key, 4,000 too late, 2 waiting"
    )
    assert notes.add_counts("j", JoinCounts(parents=10)) == ""
    assert notes.add_counts("j", JoinCounts(parents=5000, pairs=1)) == "", "something was joined"
