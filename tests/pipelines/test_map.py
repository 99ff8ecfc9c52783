"""`freshet map` as the shell calls it."""

from __future__ import annotations

import json

import pytest

from command_line import in_another_process

MAPPING = """
@prefix rml: <http://w3id.org/rml/> .
@prefix : <http://example.org/> .
<#Room> rml:logicalSource [ rml:source [ a rml:RelativePathSource ; rml:root rml:MappingDirectory ;
    rml:path "rooms.csv" ] ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://example.org/room/{room}" ] ;
  rml:predicateObjectMap [ rml:predicate :name ; rml:objectMap [ rml:reference "name" ] ] .
"""


@pytest.mark.parametrize(
    ("on", "where"),
    [
        ("auto", "in this process: 26 bytes"),
        pytest.param("spark", "on Spark", marks=[pytest.mark.spark, pytest.mark.slow]),
    ],
)
def test_files_are_mapped_and_bad_records_kept(tmp_path, on, where):
    (tmp_path / "rooms.ttl").write_text(MAPPING)
    (tmp_path / "rooms.csv").write_text("room,name\n1,one\n2\n3,three\n")
    out = tmp_path / "out" / "rooms.nt"
    done = in_another_process("map", "-m", tmp_path / "rooms.ttl", "-o", out, "--format", "nt", "--on", on)
    assert done.status == 1, done.err
    assert done.err.startswith(f"freshet: mapping {where}")
    assert out.read_text().splitlines() == [
        '<http://example.org/room/1> <http://example.org/name> "one" .',
        '<http://example.org/room/3> <http://example.org/name> "three" .',
    ]
    rejects = [
        json.loads(line)
        for file in (tmp_path / "out" / "rejects").rglob("*.json")
        for line in file.read_text().splitlines()
    ]
    assert len(rejects) == 1
    assert "rooms.csv" in rejects[0]["file"]
    assert done.err.splitlines()[-1].startswith("freshet: 3 records mapped, 1 rejected, see ")


def test_a_wrong_mapping_is_told_in_one_line_before_anything_starts(tmp_path):
    (tmp_path / "rooms.ttl").write_text(MAPPING.replace("rml:reference", "rml:pigeon"))
    done = in_another_process("map", "-m", tmp_path / "rooms.ttl")
    assert done.status == 2
    assert "rooms.ttl" in done.error_line
    assert "#Room" in done.error_line
    assert "pigeon" in done.error_line or "reference" in done.error_line
