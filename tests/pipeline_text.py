"""A pipeline file that is right, to be changed by tests, and the messages for a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from freshet.runtime.pipeline_file import PipelineErrors, read_pipeline

PIPELINE = """\
graph: [town.ttl]
streams:
  traffic:
    iri: http://example.org/traffic
    source: {folder: in/traffic, format: json}
    mapping: traffic.rml.ttl
    time: {reference: $.at, as: iso}
    lateness: 2s
    absorb: none
  parking:
    iri: http://example.org/parking
    source: {folder: in/parking, format: timed-ntriples, pattern: "*.tnt", files_per_batch: 4}
queries:
  slow: {file: slow.rq, sinks: [console, {files: out/slow}]}
  full:
    text: |
      SELECT ?place
      FROM NAMED WINDOW <w> ON <http://example.org/parking> [RANGE PT10S STEP PT5S]
      WHERE { WINDOW <w> { ?place <http://example.org/free> 0 } }
checkpoint: checkpoint
rejects: rejects
spark: {master: "local[2]", config: {spark.driver.memory: 2g, spark.ui.enabled: false, spark.task.cpus: 1}}
"""
QUERY = """\
PREFIX ex: <http://example.org/>
# ON <http://example.org/comment> [
REGISTER RSTREAM <slow> AS
SELECT ?road
FROM NAMED WINDOW <w> ON ex:traffic [RANGE PT10S STEP PT5S]
WHERE { WINDOW <w> { ?road ex:speed ?speed } FILTER (?speed < 20) }
"""
MAPPING = """\
@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix rml: <http://semweb.mmlab.be/ns/rml#> .
@prefix ql: <http://semweb.mmlab.be/ns/ql#> .
<#Map> rml:logicalSource [ rml:source "traffic" ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "http://example.org/road/{road}" ] ;
  rr:predicateObjectMap [ rr:predicate <http://example.org/speed> ; rr:objectMap [ rml:reference "speed" ] ] .
"""


def problems(text: str, folder: Path) -> list[str]:
    """The lines that a user would see."""
    (folder / "pipeline.yaml").write_text(text)
    with pytest.raises(PipelineErrors) as raised:
        read_pipeline("pipeline.yaml")
    assert str(raised.value).splitlines() == [str(error) for error in raised.value.errors]
    return str(raised.value).splitlines()


def replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"{old!r} must stand in the text once"
    return text.replace(old, new)
