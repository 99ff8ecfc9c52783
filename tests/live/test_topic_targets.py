"""Kafka topics as targets of mappings: each statement once, in order; what may not be reached, or is not there."""

from __future__ import annotations

import pytest

from freshet.federation.errors import RefusedError, ServiceError
from freshet.federation.settings import ServiceSettings
from freshet.federation.uploads import Uploads
from freshet.mapper.map_options import MapOptions
from freshet.rdf.errors import UnsupportedError
from freshet.rml.reader import read_mapping
from freshet.runtime.mapping_run import run_mapping

MAPPING = """
@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/> .
@prefix td: <https://www.w3.org/2019/wot/td#> . @prefix hctl: <https://www.w3.org/2019/wot/hypermedia#> .
@prefix formats: <http://www.w3.org/ns/formats/> .
<#M> rml:logicalSource [ rml:source "data.csv" ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://example.org/{id}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:n ; rml:objectMap [ rml:reference "n" ; rml:logicalTarget <#T> ] ] ,
    [ rml:predicate ex:id ; rml:objectMap [ rml:reference "id" ] ] .
<#T> a rml:LogicalTarget ; rml:serialization formats:FORMAT ; rml:target
  [ a td:Thing ; td:hasPropertyAffordance [ td:hasForm [ hctl:hasTarget "kafka://ADDRESS/TOPIC" ] ] ] .
"""


def written(tmp_path, address: str, topic: str = "t", form: str = "N-Quads"):
    file = tmp_path / "mapping.ttl"
    text = MAPPING.replace("ADDRESS", address).replace("TOPIC", topic).replace("FORMAT", form)
    file.write_text(text, encoding="utf-8")
    return file


def test_each_statement_is_a_message(kafka, tmp_path):
    topic = kafka.topic("statements")
    (tmp_path / "data.csv").write_text("id,n\n" + "".join(f"{at},é{at}\n" for at in range(3000)), encoding="utf-8")
    options = MapOptions(output=tmp_path / "out.nq", rejects=tmp_path / "rejects")
    run_mapping(written(tmp_path, kafka.address, topic), options, "process", ["127.0.0.1"], lambda line: None)
    found = [value.decode() for _, value, _ in kafka.messages(topic)]
    assert found == [f'<http://example.org/{at}> <http://example.org/n> "é{at}" .' for at in range(3000)]
    assert len((tmp_path / "out.nq").read_text().splitlines()) == 3000


def test_a_broker_that_may_not_be_reached(tmp_path):
    (tmp_path / "data.csv").write_text("id,n\n1,1\n", encoding="utf-8")
    options = MapOptions(output=tmp_path / "out.nq", rejects=tmp_path / "rejects")
    with pytest.raises(RefusedError, match=r"--service 127\.0\.0\.1"):
        run_mapping(written(tmp_path, "127.0.0.1:9"), options, "process", ["example.org"], lambda line: None)
    assert not (tmp_path / "out.nq").exists()


def test_a_broker_that_does_not_answer(tmp_path):
    (tmp_path / "lines.nq").write_text("<urn:a> <urn:b> <urn:c> .\n", encoding="utf-8")
    uploads = Uploads(ServiceSettings(("127.0.0.1",), timeout_seconds=1))
    with pytest.raises(ServiceError, match=r"kafka://127.0.0.1:9/t cannot be written: .*; 0 statements were sent"):
        uploads.send("kafka://127.0.0.1:9/t", [tmp_path / "lines.nq"])
    with pytest.raises(ServiceError, match="no address of a topic"):
        uploads.send("kafka://127.0.0.1:9", [])


def test_messages_are_lines(tmp_path):
    with pytest.raises(UnsupportedError, match="the serialization Turtle of statements that are messages"):
        read_mapping(written(tmp_path, "h", form="Turtle"))
