"""Joins of two sources in a pipeline on Spark: of records that wait for each other there are no more than allowed."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline_runs import run_to_the_end

EX = "http://example.org/"
MAPPING = f"""
@prefix rml: <http://w3id.org/rml/> . @prefix : <{EX}> . @base <{EX}> .
<Speed> rml:logicalSource [ rml:source "speed" ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$" ] ;
  rml:subjectMap [ rml:template "{EX}speed/{{n}}" ] ;
  rml:predicateObjectMap [ rml:predicate :flow ; rml:objectMap [
    rml:parentTriplesMap <Flow> ; rml:joinCondition [ rml:child "lane" ; rml:parent "lane" ] ] ] .
<Flow> rml:logicalSource [ rml:source "flow" ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$" ] ;
  rml:subjectMap [ rml:template "{EX}flow/{{n}}" ] .
"""
PIPELINE = f"""
streams:
  traffic:
    iri: {EX}traffic
    mapping: traffic.ttl
    time: {{reference: at, as: epoch_ms}}
    sources:
      speed: {{folder: speed, format: json, files_per_batch: 1}}
      flow: {{folder: flow, format: json, files_per_batch: 1}}
    join: {{window: sliding, size: 10s, JOIN}}
queries:
  pairs:
    text: |
      PREFIX : <{EX}>
      REGISTER RSTREAM <pairs> AS SELECT ?speed ?flow
      FROM NAMED WINDOW <w> ON :traffic [RANGE PT10S STEP PT10S]
      WHERE {{ WINDOW <w> {{ ?speed :flow ?flow }} }}
    sinks: [{{files: out}}]
rejects: rejects
"""


def write_records(file: Path, *records: tuple[int, int]) -> None:
    """Records of one lane, each with a number and a time."""
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(json.dumps({"lane": "a", "n": n, "at": at}) + "\n" for n, at in records))
    # Spark reads the oldest file first; files of one instant would come in any order.
    os.utime(file, (int(file.stem),) * 2)


@pytest.mark.parametrize("join", ["most_waiting: 2", "on: spark, most_waiting: 4"])
def test_records_beyond_those_that_may_wait_are_given_up_and_told(
    spark: SparkSession, tmp_path: Path, join: str
) -> None:
    """Of one key two may wait: in Spark, the share of one partition of two. The first flow meets all speeds, and is
    given up with the oldest three of them; so the second meets two, of which the older is given up then."""
    (tmp_path / "traffic.ttl").write_text(MAPPING)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE.replace("JOIN", join))
    write_records(tmp_path / "speed" / "1.json", *((n, 1000 * n) for n in range(1, 6)))
    write_records(tmp_path / "flow" / "1.json", (1, 3500))
    write_records(tmp_path / "flow" / "2.json", (2, 6000))
    said = run_to_the_end(tmp_path / "pipeline.yaml", spark)
    reports = [json.loads(line) for part in (tmp_path / "out").iterdir() for line in part.read_text().splitlines()]
    pairs = [(row["speed"]["value"], row["flow"]["value"]) for report in reports for row in report["bindings"]]
    met = [(speed, 1) for speed in range(1, 6)] + [(speed, 2) for speed in (4, 5)]
    assert sorted(pairs) == sorted((f"{EX}speed/{speed}", f"{EX}flow/{flow}") for speed, flow in met)
    given_up = re.findall(r"stream traffic\S*: gave up (\d+) records? that waited .*'most_waiting'", said)
    assert sum(map(int, given_up)) == 5
