"""A pipeline whose stream keeps the graphs of its messages: GRAPH in windows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from freshet.runtime.pipeline_file import PipelineErrors, read_pipeline
from pipeline_runs import run_to_the_end

PIPELINE = """
streams:
  s:
    iri: http://e/s
    graphs: true
    lateness: 10s
    source: {folder: in, format: FORM, files_per_batch: 1}
    time: {predicate: "http://e/at"}
    origins: ORIGINS
queries:
  q:
    text: |
      PREFIX : <http://e/>
      REGISTER RSTREAM <q> AS SELECT ?g ?from ?s ?v FROM NAMED WINDOW <w> ON :s [RANGE PT4S STEP PT2S]
      WHERE { WINDOW <w> { ?g :from ?from . GRAPH ?g { ?s :v ?v } } }
    sinks: [{files: out}]
checkpoint: state
"""
# The message of b has its value in another graph than the one that is said to be from somewhere.
MESSAGES = {
    "1.trig": ":m1 :at 1000 ; :from :north . :m1 { :a :v 1 , 2 . :a :w 3 }",
    "2.trig": ":m2 :at 2500 ; :from :south . :other { :b :v 9 } :b :v 8 . :m2 { :c :v 1 }",
    "3.trig": ":m3 :at 7000 ; :from :north . :m3 { :a :v 4 }",
}
EXPECTED = {
    2000: {("m1", "a", "1"), ("m1", "a", "2")},
    4000: {("m1", "a", "1"), ("m1", "a", "2"), ("m2", "c", "1")},
    6000: {("m2", "c", "1")},
    8000: {("m3", "a", "4")},
    10000: {("m3", "a", "4")},
}


def write_messages(folder: Path, names: list[str]) -> None:
    (folder / "in").mkdir(exist_ok=True)
    for name in names:
        (folder / "in" / name).write_text(f"PREFIX : <http://e/>\n{MESSAGES[name]}\n", encoding="utf-8")


def reports(folder: Path) -> dict[int, set[tuple[str, ...]]]:
    found: dict[int, set[tuple[str, ...]]] = {}
    for file in sorted((folder / "out").glob("**/*.ndjson")):
        for line in file.read_text(encoding="utf-8").splitlines():
            report = json.loads(line)
            rows = [[row[name]["value"].removeprefix("http://e/") for name in "gsv"] for row in report["bindings"]]
            found.setdefault(report["time"], set()).update(map(tuple, rows))
    return found


@pytest.mark.parametrize("origins", ["true", "false"])
def test_graphs_of_messages(tmp_path: Path, spark: SparkSession, origins: str) -> None:
    file = tmp_path / "pipeline.yaml"
    file.write_text(PIPELINE.replace("FORM", "trig").replace("ORIGINS", origins), encoding="utf-8")
    write_messages(tmp_path, ["1.trig", "2.trig", "3.trig"])
    run_to_the_end(file, spark)
    assert reports(tmp_path) == EXPECTED


def test_mapped_records_have_no_graphs_to_keep(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.yaml"
    file.write_text(PIPELINE.replace("FORM", "csv").replace("ORIGINS", "true"), encoding="utf-8")
    with pytest.raises(PipelineErrors, match="'graphs' is for streams of RDF"):
        read_pipeline(file)
