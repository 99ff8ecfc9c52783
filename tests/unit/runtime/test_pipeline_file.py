"""What a pipeline file says, as it is read."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import ClassVar

import pytest

from freshet.federation.settings import ServiceSettings
from freshet.rdf.errors import FreshetError, InputError
from freshet.rml.sources import LdesSource, WebSocketSource
from freshet.runtime.metrics import Metrics
from freshet.runtime.pipeline_file import PipelineErrors, read_pipeline
from freshet.runtime.pipeline_model import (
    SECTIONS,
    AbsorbSection,
    ConsoleSinkSection,
    FileSinkSection,
    GraphFile,
    known_keys,
)
from freshet.runtime.progress import QuietProgress
from freshet.runtime.run import PipelineRun
from pipeline_text import PIPELINE, QUERY, problems, replaced


def test_a_good_file(folder: Path) -> None:
    (folder / "pipeline.yaml").write_text(PIPELINE)
    pipeline = read_pipeline(folder / "pipeline.yaml")
    traffic, parking = pipeline.streams["traffic"], pipeline.streams["parking"]
    assert pipeline.graph == (GraphFile(file=folder / "town.ttl"),)
    assert traffic.source.folder == folder / "in/traffic"
    assert traffic.mapping == folder / "traffic.rml.ttl"
    assert traffic.time is not None
    assert (traffic.time.reference, traffic.time.form) == ("$.at", "iso")
    assert (traffic.lateness_ms, traffic.absorb) == (2000, ())
    assert (parking.source.pattern, parking.source.files_per_batch, parking.lateness_ms) == ("*.tnt", 4, 0)
    assert pipeline.queries["slow"].text == QUERY
    assert pipeline.queries["slow"].sinks == (ConsoleSinkSection(), FileSinkSection(files=folder / "out/slow"))
    assert pipeline.queries["full"].sinks == (ConsoleSinkSection(),)
    assert pipeline.checkpoint is not None
    assert (pipeline.checkpoint.folder, pipeline.checkpoint.every_ms) == (folder / "checkpoint", 10_000)
    assert pipeline.rejects == folder / "rejects"
    assert pipeline.spark.master == "local[2]"
    assert pipeline.spark.config == {
        "spark.driver.memory": "2g",
        "spark.ui.enabled": "false",
        "spark.task.cpus": "1",
    }


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("town.ttl", [(None, "town.ttl")]),
        (
            "{http://e/g: town.ttl, http://e/h: [town.ttl, more.ttl]}",
            [("http://e/g", "town.ttl"), ("http://e/h", "town.ttl"), ("http://e/h", "more.ttl")],
        ),
        ("[town.ttl, {http://e/g: more.ttl}]", [(None, "town.ttl"), ("http://e/g", "more.ttl")]),
    ],
)
def test_stored_graphs(folder: Path, written: str, meant: list[tuple[str | None, str]]) -> None:
    (folder / "more.ttl").write_text("")
    (folder / "pipeline.yaml").write_text(PIPELINE.replace("graph: [town.ttl]", f"graph: {written}"))
    graphs = read_pipeline(folder / "pipeline.yaml").graph
    assert [(graph.iri, graph.file) for graph in graphs] == [(iri, folder / file) for iri, file in meant]


def test_a_graph_that_a_query_names_is_loaded(folder: Path) -> None:
    (folder / "slow.rq").write_text(QUERY.replace("WHERE", "FROM <http://e/town.ttl>\nWHERE", 1))
    text = PIPELINE.replace("graph: [town.ttl]", "graph: {http://e/g: town.ttl}")
    (folder / "pipeline.yaml").write_text(text)
    with pytest.raises(InputError, match=r"graph <http://e/town.ttl> is not loaded: loaded graphs are <http://e/g>"):
        PipelineRun(read_pipeline(folder / "pipeline.yaml"), QuietProgress(), Metrics())
    gc.collect()  # what failed to start lets go of the checkpoint's folder: in a command, the process ends
    (folder / "pipeline.yaml").write_text(text.replace("http://e/g:", "http://e/town.ttl:"))
    PipelineRun(read_pipeline(folder / "pipeline.yaml"), QuietProgress(), Metrics())


@pytest.mark.parametrize(("written", "meant"), [("512m", 512 << 20), ("2G", 2 << 30), ("64 kb", 64 << 10)])
def test_memory_for_windows(folder: Path, written: str, meant: int) -> None:
    (folder / "pipeline.yaml").write_text(f"{PIPELINE}\nwindow_memory: {written}\n")
    assert read_pipeline(folder / "pipeline.yaml").window_bytes == meant


def test_how_often_a_checkpoint_is_made(folder: Path) -> None:
    text = PIPELINE.replace("checkpoint: checkpoint", "checkpoint: {folder: kept, every: 250ms}")
    (folder / "pipeline.yaml").write_text(text)
    pipeline = read_pipeline(folder / "pipeline.yaml")
    assert pipeline.checkpoint is not None
    assert (pipeline.checkpoint.folder, pipeline.checkpoint.every_ms) == (folder / "kept", 250)


def test_what_is_left_out_has_a_default(folder: Path) -> None:
    text = PIPELINE[: PIPELINE.index("checkpoint:")].replace("graph: [town.ttl]\n", "")
    (folder / "pipeline.yaml").write_text(text)
    pipeline = read_pipeline(folder / "pipeline.yaml")
    assert (pipeline.graph, pipeline.checkpoint, pipeline.rejects) == ((), None, folder / "rejects")
    assert (pipeline.spark.master, pipeline.spark.config) == ("local[*]", {})


@pytest.mark.parametrize(
    ("old", "new", "absorb"),
    [
        ("absorb: none", "absorb: all", "all"),
        ("absorb: none", "absorb: latest", "latest"),
        (
            "absorb: none",
            "absorb: {latest: [http://example.org/speed]}",
            AbsorbSection(latest=("http://example.org/speed",)),
        ),
        ("absorb: none", "absorb: [http://example.org/speed]", ("http://example.org/speed",)),
        ("absorb: none", "absorb: {keep: 7d}", AbsorbSection.model_validate({"keep": "7d"})),
        (
            "absorb: none",
            "absorb: {latest: true, keep: 2h}",
            AbsorbSection.model_validate({"latest": True, "keep": "2h"}),
        ),
    ],
)
def test_what_is_absorbed(folder: Path, old: str, new: str, absorb: object) -> None:
    (folder / "pipeline.yaml").write_text(replaced(PIPELINE, old, new))
    assert read_pipeline(folder / "pipeline.yaml").streams["traffic"].absorb == absorb


@pytest.mark.parametrize(
    ("keys", "report", "every_ms"),
    [
        ("", (), None),
        ("report: change, ", ("change",), None),
        ("report: [change, non-empty], every: 10s, ", ("change", "non-empty"), 10_000),
    ],
)
def test_when_a_query_reports(folder: Path, keys: str, report: tuple[str, ...], every_ms: int | None) -> None:
    (folder / "pipeline.yaml").write_text(replaced(PIPELINE, "slow: {file", f"slow: {{{keys}file"))
    query = read_pipeline(folder / "pipeline.yaml").queries["slow"]
    assert (query.report, query.every_ms) == (report, every_ms)


def test_an_event_stream_needs_no_format_and_no_mapping(folder: Path) -> None:
    section = "source: {ldes: {url: 'http://e/index', every: 2s}}"
    text = PIPELINE.replace(
        'source: {folder: in/parking, format: timed-ntriples, pattern: "*.tnt", files_per_batch: 4}', section
    )
    text = text.replace("      SELECT ?place\n", "      CONSTRUCT { GRAPH ?place { ?place a 1 } }\n")
    text = text.replace(
        "checkpoint: ", "    sinks: [{ldes: out/one}, {ldes: {folder: out/two, members: 5}}]\ncheckpoint: "
    )
    (folder / "pipeline.yaml").write_text(text)
    pipeline = read_pipeline(folder / "pipeline.yaml")
    source = pipeline.streams["parking"].source
    assert source is not None
    assert source.stream_source(None) == LdesSource("http://e/index", None, 2_000)
    assert [sink.ldes.members for sink in pipeline.queries["full"].sinks] == [1_000, 5]
    (folder / "pipeline.yaml").write_text(text.replace("CONSTRUCT { GRAPH ?place { ?place a 1 } }", "SELECT ?place"))
    with pytest.raises(PipelineErrors, match="reports solutions: an event stream takes CONSTRUCT, DESCRIBE"):
        read_pipeline(folder / "pipeline.yaml")
    (folder / "pipeline.yaml").write_text(text.replace(section, section[:-1] + ", format: json}"))
    with pytest.raises(PipelineErrors, match="members of an event stream are RDF: no 'format' is needed"):
        read_pipeline(folder / "pipeline.yaml")


def test_messages_of_a_web_socket_subscription(folder: Path) -> None:
    section = "source: {websocket: {url: 'wss://e/feed', send: [hello, {topic: [a, b]}], protocols: v1}, format: json}"
    (folder / "pipeline.yaml").write_text(PIPELINE.replace("source: {folder: in/traffic, format: json}", section))
    source = read_pipeline(folder / "pipeline.yaml").streams["traffic"].source
    assert source is not None
    assert source.stream_source(None) == WebSocketSource("wss://e/feed", ("hello", '{"topic":["a","b"]}'), (), ("v1",))


def test_queries_with_one_name_get_numbers(folder: Path) -> None:
    text = replaced(PIPELINE, "      SELECT ?place", "      REGISTER RSTREAM <slow> AS SELECT ?place")
    (folder / "pipeline.yaml").write_text(replaced(text, "checkpoint: checkpoint\n", ""))
    pipeline = read_pipeline(folder / "pipeline.yaml")
    assert [query.name for query in pipeline.queries.values()] == ["slow", "slow-2"]

    class Notes(QuietProgress):
        notes: ClassVar[list[str]] = []

        def note(self, text: str) -> None:
            self.notes.append(text)

    with PipelineRun(pipeline, Metrics(pipeline.streams), Notes()) as run:
        assert [query.name for query in run.session.queries()] == ["slow", "slow-2"]
    assert Notes.notes == ["the query 'full' reports as slow-2, because another has the name slow"]


def test_a_query_has_the_name_that_the_file_gives_it(folder: Path) -> None:
    (folder / "pipeline.yaml").write_text(replaced(PIPELINE, "slow: {file", "slow: {name: other, file"))
    assert [query.name for query in read_pipeline(folder / "pipeline.yaml").queries.values()] == ["other", "full"]


@pytest.mark.parametrize(("written", "lateness_ms"), [("500ms", 500), ("5m", 300_000), ("1h", 3_600_000), ("0", 0)])
def test_lateness(folder: Path, written: str, lateness_ms: int) -> None:
    (folder / "pipeline.yaml").write_text(replaced(PIPELINE, "lateness: 2s", f"lateness: {written}"))
    assert read_pipeline(folder / "pipeline.yaml").streams["traffic"].lateness_ms == lateness_ms


def test_services_and_what_is_asked_of_answers(folder: Path) -> None:
    changed = replaced(PIPELINE, "slow: {file: slow.rq,", "slow: {file: slow.rq, accuracy: 0.75, latency: 200ms,")
    (folder / "pipeline.yaml").write_text(changed + "services: [data.example.org, 'localhost:3030']\n")
    pipeline = read_pipeline(folder / "pipeline.yaml")
    assert pipeline.services.settings() == ServiceSettings(("data.example.org", "localhost:3030"))
    assert (pipeline.queries["slow"].accuracy, pipeline.queries["slow"].latency_ms) == (0.75, 200)
    assert pipeline.queries["full"].latency_ms is None
    [problem] = problems(replaced(changed, "0.75", "1.5"), folder)
    assert "accuracy" in problem


def test_how_local_views_are_kept_fresh(folder: Path) -> None:
    section = """services:
  hosts: data.example.org
  proposer: gnr
  ranker: lru
  change_interval: {data.example.org: 5m, "*": 1h}
"""
    (folder / "pipeline.yaml").write_text(PIPELINE + section)
    settings = read_pipeline(folder / "pipeline.yaml").services.settings()
    assert settings == ServiceSettings(
        ("data.example.org",), proposer="gnr", ranker="lru", change_seconds={"data.example.org": 300, "*": 3600}
    )
    for_all = PIPELINE + "services: {hosts: [a.example, b.example], change_interval: 90s}\n"
    (folder / "pipeline.yaml").write_text(for_all)
    settings = read_pipeline(folder / "pipeline.yaml").services.settings()
    assert settings == ServiceSettings(("a.example", "b.example"), change_seconds={"*": 90})


def test_how_endpoints_are_asked(folder: Path) -> None:
    section = """services:
  hosts: data.example.org
  timeout: 2s
  connect: 250ms
  most_bytes: 8m
  requests_at_once: 2
  attempts: 5
  backoff: 50ms
  failures_to_open: 7
  open: 1m
  batch: 20
  load_whole: true
  most_entries: 1000
  most_endpoints: 3
  most_behind: 5000
  single_bindings: [old.example.org]
  values_again: 1h
  aliases: {http://example.org/sparql: http://localhost:3030/query}
"""
    (folder / "pipeline.yaml").write_text(PIPELINE + section)
    assert read_pipeline(folder / "pipeline.yaml").services.settings() == ServiceSettings(
        ("data.example.org",),
        timeout_seconds=2,
        connect_seconds=0.25,
        most_bytes=8 << 20,
        requests_at_once=2,
        attempts=5,
        backoff_seconds=0.05,
        failures_to_open=7,
        open_seconds=60,
        batch=20,
        load_whole=True,
        most_entries=1000,
        most_endpoints=3,
        most_behind=5000,
        single_bindings=("old.example.org",),
        values_again_seconds=3600,
        aliases={"http://example.org/sparql": "http://localhost:3030/query"},
    )


def test_a_run_asks_services_as_the_file_says(folder: Path) -> None:
    services = "services: {hosts: a.example, ranker: lru, change_interval: 90s}\n"
    (folder / "pipeline.yaml").write_text(replaced(PIPELINE, "checkpoint: checkpoint\n", "") + services)
    pipeline = read_pipeline(folder / "pipeline.yaml")
    with PipelineRun(pipeline, Metrics(pipeline.streams), QuietProgress()) as run:
        assert run.session.services.settings == pipeline.services.settings()
        assert run.session.services.settings.ranker == "lru"


def test_files_of_the_graphs_that_queries_name(folder: Path) -> None:
    files = folder / "files"
    files.mkdir()
    (files / "map.ttl").write_text("<http://e/a> <http://e/b> 1 .")
    (folder / "slow.rq").write_text(replaced(QUERY, "FROM", "FROM <http://e/data/map.ttl> FROM <http://e/x.ttl>\nFROM"))
    (folder / "pipeline.yaml").write_text(f"from_files: files\n{PIPELINE}")
    found = GraphFile(file=files / "map.ttl", iri="http://e/data/map.ttl")
    assert read_pipeline(folder / "pipeline.yaml").graph == (GraphFile(file=folder / "town.ttl"), found)
    found = problems(f"from_files: nowhere\n{PIPELINE}", folder)
    assert found == ["pipeline.yaml:1:13: there is no folder nowhere"]


def test_every_section_is_in_the_table() -> None:
    """A section that is not in the table would not say what keys it knows."""
    assert sorted(known_keys(SECTIONS[()])) == sorted(
        [
            "graph",
            "from_files",
            "streams",
            "queries",
            "checkpoint",
            "rejects",
            "history",
            "services",
            "window_memory",
            "spark",
            "server",
        ]
    )
    assert all(known_keys(section) for section in SECTIONS.values())


def test_errors_are_freshets() -> None:
    assert issubclass(PipelineErrors, FreshetError)


def test_streams_that_clients_post_to(folder: Path) -> None:
    source = "source: {folder: in/traffic, format: json}"
    (folder / "pipeline.yaml").write_text(replaced(PIPELINE, source, "post: true"))
    traffic = read_pipeline(folder / "pipeline.yaml", is_served=True).streams["traffic"]
    assert (traffic.post, traffic.source, traffic.lateness_ms) == (True, None, 2000)
    (folder / "traffic.rml.ttl").write_text("<a> <b> .")
    with pytest.raises(PipelineErrors, match=r"traffic\.rml\.ttl:1:9: "):
        read_pipeline(folder / "pipeline.yaml", is_served=True)
