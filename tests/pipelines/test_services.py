"""A pipeline on Spark whose query joins a window with a real endpoint."""

from __future__ import annotations

import json
from pathlib import Path

from pyspark.sql import SparkSession

from pipeline_runs import run_to_the_end
from sparql_endpoint import EndpointProcess

EX = "http://example.org/"
REMOTE = " ".join(f"<{EX}u{user}> <{EX}followers> {user} ." for user in range(20))
PIPELINE = """
services: 127.0.0.1
streams:
  mentions:
    iri: http://example.org/mentions
    source: {{folder: in, format: timed-ntriples}}
queries:
  famous:
    accuracy: 0.5
    latency: 600s
    sinks: [{{files: out}}]
    text: |
      PREFIX : <http://example.org/>
      REGISTER RSTREAM <famous> AS SELECT ?user ?n
      FROM NAMED WINDOW <w> ON :mentions [RANGE PT10S STEP PT10S]
      WHERE {{ WINDOW <w> {{ ?user :isMentionedIn ?post }} SERVICE <{url}> {{ ?user :followers ?n }} }}
"""


def test_windows_of_a_pipeline_are_joined_with_remote_data(
    spark: SparkSession, tmp_path: Path, endpoint: EndpointProcess
) -> None:
    (tmp_path / "in").mkdir()
    lines = [f"{at * 1000}\t<{EX}u{at % 25}> <{EX}isMentionedIn> <{EX}p{at}> ." for at in range(60)]
    (tmp_path / "in" / "first.tnt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE.format(url=endpoint.url), encoding="utf-8")
    said = run_to_the_end(tmp_path / "pipeline.yaml", spark)
    reports = [
        json.loads(line) for file in sorted((tmp_path / "out").rglob("*")) if file.is_file() for line in file.open()
    ]
    assert [report["time"] for report in reports] == [10_000, 20_000, 30_000, 40_000, 50_000, 60_000]
    for number, report in enumerate(reports):
        users = [at % 25 for at in range(number * 10, number * 10 + 10) if at % 25 < 20]
        assert sorted(int(row["n"]["value"]) for row in report["bindings"]) == sorted(users)
        assert report["service"]["missed"] == []
    assert "accuracy about" in said
