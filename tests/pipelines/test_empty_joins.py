"""A pipeline whose join finds nothing reports that, and what became of the records, though no record is wrong."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from freshet.runtime.metrics import Metrics
from freshet.runtime.pipeline_file import read_pipeline
from freshet.runtime.progress import QuietProgress, summary
from freshet.runtime.run import PipelineRun

MAPPING = """
@prefix rml: <http://w3id.org/rml/> . @prefix : <http://e/> .
:C rml:logicalSource [ rml:source "c" ; rml:referenceFormulation rml:FORM ] ;
  rml:subjectMap [ rml:template "http://e/c/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate :met ; rml:objectMap [ rml:parentTriplesMap :P ;
    rml:joinCondition [ rml:child "id" ; rml:parent "KEY" ] ] ] .
:P rml:logicalSource [ rml:source "p" ; rml:referenceFormulation rml:FORM ] ;
  rml:subjectMap [ rml:template "http://e/p/{id}" ; rml:class :Parent ] .
"""
PIPELINE = """
streams:
  s:
    iri: http://e/s
    mapping: m.ttl
    sources: {C: {folder: c, format: FORM}, P: {folder: p, format: FORM}}
    time: {reference: at, as: epoch_ms}
    join: {on: PLACE}
queries:
  q:
    text: |
      PREFIX : <http://e/>
      REGISTER RSTREAM <q> AS SELECT ?c ?p FROM NAMED WINDOW <w> ON :s [RANGE PT10S STEP PT10S]
      WHERE { WINDOW <w> { ?c :met ?p } }
    sinks: [{files: out}]
"""
COUNT = 12


class Notes(QuietProgress):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def write_world(folder: Path, form: str, key: str, place: str) -> None:
    mapping = MAPPING.replace("FORM", "CSV" if form == "csv" else "JSONPath").replace("KEY", key)
    (folder / "m.ttl").write_text(mapping, encoding="utf-8")
    (folder / "pipeline.yaml").write_text(PIPELINE.replace("FORM", form).replace("PLACE", place), encoding="utf-8")
    records = [{"id": n, "at": 100 * n} for n in range(COUNT)]
    lines = [json.dumps(each) for each in records]
    if form == "csv":
        lines = ["id,at", *(f"{each['id']},{each['at']}" for each in records)]
    for side in ("c", "p"):
        (folder / side).mkdir()
        (folder / side / "a").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize(("place", "named"), [("driver", "on the driver"), ("spark", "in Spark's state store")])
@pytest.mark.parametrize(
    ("form", "key", "shown"),
    [
        ("json", "id", f"by id (s.3, PLACE): {COUNT} pairs of {COUNT} and {COUNT} records"),
        ("json", "ident", f"by id = ident (s.3, PLACE): 0 pairs of {COUNT} and 0 records, {COUNT} without a key"),
        (
            "csv",
            "ident",
            f"by id = ident (s.3, PLACE): 0 pairs of {COUNT} and 0 records, {COUNT} that could not be read",
        ),
    ],
)
def test_what_a_join_found_is_reported(
    spark: SparkSession, tmp_path: Path, form: str, key: str, shown: str, place: str, named: str
) -> None:
    write_world(tmp_path, form, key, place)
    pipeline = read_pipeline(tmp_path / "pipeline.yaml")
    metrics, view = Metrics(pipeline.streams), Notes()
    with PipelineRun(pipeline, metrics, view) as run:
        run.start(spark, until_done=True)
        run.wait(threading.Event())
    assert metrics.snapshot().rejected == 0
    assert f"join of c with p {shown.replace('PLACE', named)}" in summary(metrics)
    assert bool([note for note in view.notes if "nothing was joined yet" in note]) == (key != "id")
