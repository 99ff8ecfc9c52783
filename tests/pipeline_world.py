"""A small pipeline on disk, with the triples that its mappings make, as the reference and `replay` want them.

Rooms report temperatures as JSON lines, doors report passings as CSV, an operator's notes come as timed N-Triples.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random

EX = "http://example.org/house/"
XSD = "http://www.w3.org/2001/XMLSchema#"
START_MS = 1_700_000_000_000

GRAPH = "\n".join(
    [f"<{EX}room/{room}> <{EX}floor> <{EX}floor/{room % 3}> ." for room in range(8)]
    + [f'<{EX}floor/{floor}> <{EX}name> "floor {floor}"@en .' for floor in range(3)]
)

TEMPERATURE_MAPPING = f"""
@prefix rml: <http://semweb.mmlab.be/ns/rml#> . @prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix xsd: <{XSD}> . @prefix ex: <{EX}> .
<#T> a rr:TriplesMap ;
  rml:logicalSource [ rml:source "temperature" ; rml:referenceFormulation ql:JSONPath ; rml:iterator "$" ] ;
  rr:subjectMap [ rr:template "{EX}reading/{{id}}" ] ;
  rr:predicateObjectMap [ rr:predicate ex:room ; rr:objectMap [ rr:template "{EX}room/{{where.room}}" ] ] ,
    [ rr:predicate ex:degrees ; rr:objectMap [ rml:reference "degrees" ; rr:datatype xsd:decimal ] ] ,
    [ rr:predicate ex:note ; rr:objectMap [ rml:reference "note" ; rr:language "en" ] ] .
"""

DOOR_MAPPING = f"""
@prefix rml: <http://w3id.org/rml/> . @prefix xsd: <{XSD}> . @prefix ex: <{EX}> .
<#D> a rml:TriplesMap ;
  rml:logicalSource [ rml:source "doors" ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "{EX}passing/{{id}}" ; rml:class ex:Passing ] ;
  rml:predicateObjectMap [ rml:predicate ex:into ; rml:objectMap [ rml:template "{EX}room/{{room}}" ] ] ,
    [ rml:predicate ex:people ; rml:objectMap [ rml:reference "people" ; rml:datatype xsd:integer ] ] .
"""

WARM_FLOORS = f"""
PREFIX ex: <{EX}>
REGISTER RSTREAM <warmFloors> AS
SELECT ?name (COUNT(?r) AS ?readings) (AVG(?d) AS ?average) (MAX(?d) AS ?most) (SUM(?n) AS ?people)
FROM NAMED WINDOW <t> ON ex:temperature [RANGE PT20S STEP PT10S]
FROM NAMED WINDOW <d> ON ex:doors [RANGE PT30S STEP PT15S]
WHERE {{
  ?room ex:floor ?floor . ?floor ex:name ?name .
  WINDOW <t> {{ ?r ex:room ?room ; ex:degrees ?d }}
  WINDOW <d> {{ ?p a ex:Passing ; ex:into ?room ; ex:people ?n }}
  FILTER (?d > 18.5 && ?n != 3)
}} GROUP BY ?name
"""

NOTED = f"""
PREFIX ex: <{EX}>
REGISTER ISTREAM <noted> AS
SELECT ?room ?text ?said
FROM NAMED WINDOW <t> ON ex:temperature [RANGE PT15S STEP PT5S]
FROM NAMED WINDOW <n> ON ex:notes [RANGE PT1M STEP PT5S]
WHERE {{
  WINDOW <t> {{ ?r ex:room ?room ; ex:note ?text }}
  WINDOW <n> {{ ?note ex:about ?room ; ex:says ?said }}
}}
"""

PIPELINE = f"""
graph: house.nt
streams:
  temperature:
    iri: {EX}temperature
    source: {{folder: in/temperature, format: json, files_per_batch: 1}}
    mapping: temperature.rml.ttl
    time: {{reference: $.at, as: iso}}
    lateness: 2s
  doors:
    iri: {EX}doors
    source: {{folder: in/doors, format: csv, files_per_batch: 1}}
    mapping: doors.rml.ttl
    time: {{reference: ms, as: epoch_ms}}
    lateness: 2s
  notes:
    iri: {EX}notes
    source: {{folder: in/notes, format: timed-ntriples, files_per_batch: 1}}
    lateness: 2s
queries:
  warmFloors: {{file: warmFloors.rq, sinks: [{{files: out/warmFloors}}]}}
  noted: {{file: noted.rq, sinks: [{{files: out/noted}}]}}
checkpoint: checkpoint
rejects: rejects
spark:
  master: "local[2]"
  config: {{spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1"}}  # short runs end before better code pays
"""

QUERIES = {"warmFloors": WARM_FLOORS, "noted": NOTED}


@dataclass(frozen=True)
class World:
    """A pipeline in a folder, and what its streams amount to."""

    folder: Path
    streams: dict[str, list[tuple[int, str]]]  # IRI -> (time, statement)
    rejected: int

    @property
    def pipeline(self) -> Path:
        return self.folder / "pipeline.yaml"

    def reports_so_far(self) -> list[bytes]:
        """The whole lines in all output files, while a run may be writing."""
        parts = (self.folder / "out").rglob("part-*.ndjson")
        return [line for part in parts for line in part.read_bytes().split(b"\n")[:-1]]

    def rejects_count(self) -> int:
        files = (self.folder / "rejects").rglob("*.json")
        return sum(len(file.read_bytes().splitlines()) for file in files)

    def reports(self, query: str) -> list[dict]:
        parts = sorted((self.folder / "out" / query).glob("part-*.ndjson"))
        return [json.loads(line) for part in parts for line in part.read_text(encoding="utf-8").splitlines()]


def write_world(folder: Path, *, files: int = 6, records: int = 40, seed: int = 1, bad: bool = False) -> World:
    """Write everything into `folder`: `files` files a stream, each with `records` records in order of time."""
    random = Random(seed)
    contents = {
        "house.nt": GRAPH,
        "temperature.rml.ttl": TEMPERATURE_MAPPING,
        "doors.rml.ttl": DOOR_MAPPING,
        "warmFloors.rq": WARM_FLOORS,
        "noted.rq": NOTED,
        "pipeline.yaml": PIPELINE,
    }
    for name, text in contents.items():
        (folder / name).write_text(text, encoding="utf-8")
    streams: dict[str, list[tuple[int, str]]] = {EX + name: [] for name in ("temperature", "doors", "notes")}
    rejected = 0
    for number in range(files):
        for name, make in (("temperature", _temperature), ("doors", _door), ("notes", _note)):
            lines = ["id,room,people,ms"] if name == "doors" else []
            for at in range(records):
                time_ms = START_MS + (number * records + at) * 700 + random.randrange(-900, 900)
                line, statements = make(random, f"{number}-{at}", time_ms)
                lines.append(line)
                streams[EX + name] += [(time_ms, statement) for statement in statements]
            if bad and number % 2:
                lines.insert(3, BAD_LINES[name])
                rejected += 1
            target = folder / "in" / name / f"{number:04d}.txt"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(lines) + "\n", encoding="utf-8")
            # Spark reads the oldest file first; files of one instant would come in any order.
            os.utime(target, (START_MS / 1000 + number, START_MS / 1000 + number))
    return World(folder, streams, rejected)


BAD_LINES = {
    "temperature": '{"id": "broken", "where": {"room": 1}, "deg',
    "doors": "broken,1",
    "notes": "17\t<http://example.org/only-two> <http://example.org/terms> .",
}


def _temperature(random: Random, identity: str, time_ms: int) -> tuple[str, list[str]]:
    # No decimal ends in a zero: the reference keeps values, not their lexical forms.
    room, degrees = random.randrange(8), f"{random.randrange(15, 25)}.{random.randrange(1, 10)}"
    moment = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    note = random.choice([None, None, "warm", "cold"])
    text = {"id": identity, "where": {"room": room}, "at": moment, "note": note}
    line = json.dumps(text)[:-1] + f', "degrees": {degrees}}}'
    subject = f"<{EX}reading/{identity}>"
    statements = [
        f"{subject} <{EX}room> <{EX}room/{room}> .",
        f'{subject} <{EX}degrees> "{degrees}"^^<{XSD}decimal> .',
    ]
    return line, statements + ([f'{subject} <{EX}note> "{note}"@en .'] if note else [])


def _door(random: Random, identity: str, time_ms: int) -> tuple[str, list[str]]:
    room, people = random.randrange(8), random.randrange(1, 5)
    subject = f"<{EX}passing/{identity}>"
    return f"{identity},{room},{people},{time_ms}", [
        f"{subject} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{EX}Passing> .",
        f"{subject} <{EX}into> <{EX}room/{room}> .",
        f'{subject} <{EX}people> "{people}"^^<{XSD}integer> .',
    ]


def _note(random: Random, identity: str, time_ms: int) -> tuple[str, list[str]]:
    about, says = random.choice([("about", f"<{EX}room/{random.randrange(8)}>"), ("says", '"let\\u0020air in"')])
    statement = f"_:n{random.randrange(5)} <{EX}{about}> {says} ."
    return f"{time_ms}\t{statement}", [statement]


def timed_lines(stream: list[tuple[int, str]]) -> Iterator[str]:
    """A stream as timed N-Triples, in order of time."""
    return (f"{time_ms}\t{statement}\n" for time_ms, statement in sorted(stream))
