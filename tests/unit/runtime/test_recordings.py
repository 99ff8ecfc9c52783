"""Recordings in every format give the elements that timed N-Triples give."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pyarrow as pa
import pyoxigraph
import pytest

from freshet import Session
from freshet.mapper.record_mapper import StreamMapping
from freshet.rdf.errors import InputError
from freshet.runtime.recordings import Recordings
from freshet.runtime.replay import replay

E = "http://example.org/"
S = E + "s"
QUERY = f"""PREFIX : <{E}> REGISTER RSTREAM <out> AS SELECT ?s ?v FROM NAMED WINDOW <w> ON <{S}> [RANGE PT1S STEP PT1S]
WHERE {{ WINDOW <w> {{ ?s :value ?v ; :at ?t }} }}"""
TIMES = {"a": 100, "b": 400, "c": 1500}
EXPECTED = [(1000, {"<a>=1", "<b>=2"}), (2000, {"<c>=3"})]


def reports(files: dict[str, str | bytes], tmp_path: Path, **options: object) -> list[tuple[int, set[str]]]:
    paths = []
    for name, text in files.items():
        paths.append(tmp_path / name)
        paths[-1].write_bytes(text.encode() if isinstance(text, str) else text)
    with Session() as session:
        session.stream(S)
        query = session.register(QUERY)
        replay(session, Recordings({S: paths}, **options))  # type: ignore[arg-type]
        return [
            (report.time_ms, {f"{row['s']}={row['v'].lexical}".replace(E, "") for row in session.bindings(report)})
            for report in query.take()
        ]


def statements(subject: str, value: int) -> str:
    time = f"1970-01-01T00:00:0{TIMES[subject] / 1000:.3f}Z"
    xsd = "http://www.w3.org/2001/XMLSchema#"
    first = f'<{E}{subject}> <{E}value> "{value}"^^<{xsd}integer> .\n'
    return first + f'<{E}{subject}> <{E}at> "{time}"^^<{xsd}dateTime> .\n'


MESSAGES = [statements(subject, value) for value, subject in enumerate(TIMES, 1)]
TIMED = "".join(
    f"{time}\t{line}\n" for time, text in zip(TIMES.values(), MESSAGES, strict=True) for line in text.splitlines()
)


def serialized(format: pyoxigraph.RdfFormat, text: str) -> bytes:
    made = pyoxigraph.serialize(pyoxigraph.parse(text, pyoxigraph.RdfFormat.N_TRIPLES), format=format)
    assert made is not None
    return made


def test_timed_lines_whatever_the_suffix(tmp_path: Path) -> None:
    for name in ("s.tnt", "s.nt", "s.nq", "s"):
        assert reports({name: TIMED}, tmp_path) == EXPECTED
        assert reports({name: "# a note\n\n" + TIMED}, tmp_path) == EXPECTED


def test_compressed_recordings(tmp_path: Path) -> None:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(TIMED.encode())
    packed = {"gz": gzip.compress(TIMED.encode()), "bz2": bz2.compress(TIMED.encode()), "zst": sink.getvalue()}
    for suffix, data in packed.items():
        assert reports({f"s.tnt.{suffix}": bytes(data)}, tmp_path) == EXPECTED
        with pytest.raises(InputError, match=r"s\.tnt\.\w+: cannot be decompressed"):
            reports({f"s.tnt.{suffix}": b"not at all compressed"}, tmp_path)


def test_documents_by_a_predicate(tmp_path: Path) -> None:
    turned = "".join(reversed(MESSAGES))  # the order inside a document means nothing
    formats = {
        "nt": pyoxigraph.RdfFormat.N_TRIPLES,
        "nq": pyoxigraph.RdfFormat.N_QUADS,
        "ttl": pyoxigraph.RdfFormat.TURTLE,
        "n3": pyoxigraph.RdfFormat.TURTLE,
        "trig": pyoxigraph.RdfFormat.TRIG,
        "rdf": pyoxigraph.RdfFormat.RDF_XML,
        "jsonld": pyoxigraph.RdfFormat.JSON_LD,
    }
    for suffix, form in formats.items():
        files = {f"s.{suffix}.gz": gzip.compress(serialized(form, turned))}
        assert reports(files, tmp_path, time_predicate=E + "at") == EXPECTED


def test_messages_by_a_predicate(tmp_path: Path) -> None:
    log = 'VERSION "1.2-messages"\n' + "MESSAGE\n".join(MESSAGES)
    lines = b"".join(
        serialized(pyoxigraph.RdfFormat.JSON_LD, each).replace(b"\n", b" ").strip() + b"\n" for each in MESSAGES
    )
    patch = "".join("TX .\n" + "".join(f"A {line}\n" for line in each.splitlines()) + "TC .\n" for each in MESSAGES)
    for name, text in {"s.nt": log, "s.nq": log, "s.ttl": log, "s.ndjsonld": lines, "s.rdfp": patch}.items():
        assert reports({name: text}, tmp_path, time_predicate=E + "at") == EXPECTED


def test_a_graph_that_has_its_time_in_the_default_graph(tmp_path: Path) -> None:
    graphs = "".join(
        f"<{E}g{at}> <{E}generated> {time} . <{E}g{at}> {{ {text} }}\n"
        for at, (time, text) in enumerate(zip(TIMES.values(), MESSAGES, strict=True))
    )
    assert reports({"s.trig": graphs}, tmp_path, time_predicate=E + "generated") == EXPECTED


MAPPING = f"""
@prefix rml: <http://w3id.org/rml/> . @prefix : <{E}> .
[] a rml:TriplesMap ;
  rml:logicalSource [ a rml:LogicalSource ; rml:referenceFormulation rml:CSV ;
    rml:source [ a rml:RelativePathSource ; rml:path "elsewhere.csv" ] ] ;
  rml:subjectMap [ rml:template "{E}{{name}}" ] ;
  rml:predicateObjectMap [ rml:predicate :value ; rml:objectMap [ rml:reference "value" ] ] ;
  rml:predicateObjectMap [ rml:predicate :at ; rml:objectMap [ rml:reference "when" ] ] .
"""


def test_csv_with_a_time_column_and_a_mapping(tmp_path: Path) -> None:
    rows = "".join(f"{name},{value},{time}\n" for value, (name, time) in enumerate(TIMES.items(), 1))
    mappings = {S: StreamMapping(MAPPING, "when", "epoch_ms")}
    assert reports({"s.csv": "name,value,when\n" + rows}, tmp_path, mappings=mappings) == EXPECTED
    packed = gzip.compress(b"name,value,when\n" + rows.encode())
    assert reports({"s.csv.gz": packed}, tmp_path, mappings=mappings) == EXPECTED


def test_records_without_a_time_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text("name,value,when\na,1,100\nx,9,soon\nb,2,400\nc,3,1500\n")
    with Session() as session:
        session.stream(S)
        recordings = Recordings({S: [file]}, mappings={S: StreamMapping(MAPPING, "when", "epoch_ms")})
        replay(session, recordings)
        assert recordings.rejected == {S: 1}
        assert recordings.reasons == {S: f"{file}: no event time in when"}
        assert session.streams()[0].elements == 6


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("s.ttl", MESSAGES[0], {}, r"s\.ttl: its statements have no times: --time-predicate"),
        ("s.csv", "a,b\n", {}, r"s\.csv: records become RDF by a mapping"),
        ("s.ttl", f"<{E}a> <{E}p> 1 .", {"time_predicate": E + "at"}, r"s\.ttl: <http://example.org/at> has no date"),
        (
            "s.nq",
            MESSAGES[0] + MESSAGES[1] + f"<{E}x> <{E}p> <{E}y> .",
            {"time_predicate": E + "at"},
            r"s\.nq: <http://example.org/x> has no <http://example.org/at>, and others have different ones",
        ),
        (
            "s.ttl",
            f'VERSION "1.2-messages"\n{MESSAGES[0]}MESSAGE\n{MESSAGES[1]}{MESSAGES[2]}<{E}x> <{E}p> 1 .',
            {"time_predicate": E + "at"},
            r"message 2 has no single <http://example.org/at>, and <http://example.org/x> in it has none",
        ),
    ],
)
def test_what_is_wrong_is_said(name: str, text: str, options: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        reports({name: text}, tmp_path, **options)
