"""VoCaLS descriptions: addresses and formats of streams, in pipelines and for replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import CommandLine
from freshet.rdf.errors import InputError
from freshet.runtime.pipeline_file import PipelineErrors, read_pipeline
from freshet.sources.stream_descriptions import Endpoint, read_endpoints, source_section

TURTLE = """@prefix vocals: <http://w3id.org/rsp/vocals#> .
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix frmt: <http://www.w3.org/ns/formats/> .
<http://e/sgraph> a vocals:StreamDescriptor ; dcat:dataset <http://e/milan> .
<http://e/milan> a vocals:RDFStream ; dcat:title "Milan" ;
  vocals:hasEndpoint [ a vocals:StreamEndpoint ; dcat:format frmt:JSON-LD ; dcat:accessURL "ws://e/milan" ] .
<http://e/file> vocals:hasEndpoint [ dcat:accessURL <milan.tnt> ] .
<http://e/odd> vocals:hasEndpoint [ dcat:accessURL "gopher://e/x" ] .
"""
JSON_LD = """{
  "@context": {"vocals": "http://w3id.org/rsp/vocals#", "dcat": "http://www.w3.org/ns/dcat#"},
  "@id": "http://e/milan", "@type": "vocals:RDFStream",
  "vocals:hasEndpoint": {
    "@type": "vocals:StreamEndpoint", "dcat:mediaType": "text/turtle", "dcat:accessURL": "mqtts://e:8883/a/b"
  }
}"""


def described(folder: Path, text: str = TURTLE, name: str = "streams.ttl") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_endpoints_of_each_stream(tmp_path: Path) -> None:
    assert read_endpoints(described(tmp_path)) == {
        "http://e/milan": [Endpoint("ws://e/milan", "jsonld")],
        "http://e/file": [Endpoint("milan.tnt")],
        "http://e/odd": [Endpoint("gopher://e/x")],
    }


def test_json_ld_and_media_types(tmp_path: Path) -> None:
    found = read_endpoints(described(tmp_path, JSON_LD, "streams.jsonld"))
    section = source_section("http://e/milan", found["http://e/milan"], tmp_path)
    assert section == {"mqtt": {"host": "e", "topic": "a/b", "tls": True, "port": 8883}, "format": "ttl"}


@pytest.mark.parametrize(
    ("address", "section"),
    [
        ("wss://e/a?b=1", {"websocket": {"url": "wss://e/a?b=1"}}),
        ("https://e/events", {"sse": {"url": "https://e/events"}}),
        ("mqtt://e/t", {"mqtt": {"host": "e", "topic": "t", "tls": False}}),
        ("kafka://e/t", {"kafka": {"brokers": "e:9092", "topic": "t"}}),
        ("tcp://e:9999", {"socket": {"host": "e", "port": 9999}}),
        ("file:///data/a%20b.nt", {"folder": "/data", "pattern": "a b.nt"}),
        ("in/a.nt", {"folder": "/here/in", "pattern": "a.nt"}),
    ],
)
def test_sources_by_address(address: str, section: dict[str, object]) -> None:
    assert source_section("http://e/s", [Endpoint("gopher://e/x"), Endpoint(address)], Path("/here")) == section


def test_no_endpoint_that_can_be_read() -> None:
    with pytest.raises(InputError, match="<http://e/s> has no endpoint that can be read: gopher://e/x"):
        source_section("http://e/s", [Endpoint("gopher://e/x")], Path("/here"))


def test_a_file_that_describes_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="describes no stream"):
        read_endpoints(described(tmp_path, "<http://e/a> a <http://e/b> ."))
    with pytest.raises(InputError) as failed:
        read_endpoints(described(tmp_path, "<http://e/a> a <http://e/b> ,,"))
    assert failed.value.line == 1


PIPELINE = """streams:
  milan:
    iri: http://e/milan
    description: streams.ttl
    source: {records_per_batch: 10}
    time: {predicate: "http://e/at"}
    absorb: all
"""


def test_the_source_of_a_pipeline(tmp_path: Path) -> None:
    described(tmp_path)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE)
    source = read_pipeline(tmp_path / "pipeline.yaml").streams["milan"].source
    assert source is not None
    assert source.websocket is not None
    assert (source.websocket.url, source.format, source.records_per_batch) == ("ws://e/milan", "jsonld", 10)


def test_a_stream_that_is_not_described(tmp_path: Path) -> None:
    described(tmp_path)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE.replace("http://e/milan", "http://e/rome"))
    with pytest.raises(PipelineErrors, match=r"streams.ttl describes no stream <http://e/rome>, but <http://e/milan>"):
        read_pipeline(tmp_path / "pipeline.yaml")


def test_replay_of_the_files_that_are_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    cli = CommandLine(monkeypatch, capfd)
    (tmp_path / "milan.tnt").write_text("500\t<http://e/a> <http://e/p> <http://e/b> .\n")
    query = "SELECT ?s FROM NAMED WINDOW <w> ON <http://e/file> [RANGE 1s STEP 1s] { WINDOW <w> { ?s ?p ?o } }"
    (tmp_path / "q.rq").write_text(query)
    given = ("-q", tmp_path / "q.rq", "--format", "ndjson")
    done = cli("replay", "-s", described(tmp_path), *given)
    assert [json.loads(line)["time"] for line in done.out.splitlines()] == [1000]
    (tmp_path / "milan.tnt").unlink()
    assert "there is no such file" in cli("replay", "-s", described(tmp_path), *given).err
    other = described(tmp_path, JSON_LD, "streams.jsonld")
    assert "no stream that it describes is a file: mqtts://e:8883/a/b" in cli("replay", "-s", other, *given).err
    assert "not 'nothing'" in cli("replay", "-s", "nothing", *given).err
