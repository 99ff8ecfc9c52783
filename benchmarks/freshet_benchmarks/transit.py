"""A public transport feed in the manner of GTFS-Madrid-Bench: tables in CSV, JSON and XML, which refer to each other.

At scale 1 there are 20 routes, 200 stops, 400 trips and 10,000 stop times; other scales have as many times more.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

Row = dict[str, str]

_HEAD = """@prefix rml: <http://w3id.org/rml/> .
@prefix gtfs: <http://vocab.gtfs.org/terms#> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
"""
_BASE = "http://transit.example.org/"
_STOPS_OF_TRIP = 25
_FORMULATIONS = {
    "csv": "rml:CSV",
    "json": 'rml:JSONPath ; rml:iterator "$[*]"',
    "xml": 'rml:XPath ; rml:iterator "/r/i"',
}
# The tables: the form of each, its columns, and which of them refer to other tables.
_FORMS = {"agency": "csv", "routes": "json", "stops": "xml", "calendar": "json", "trips": "csv", "stop_times": "csv"}
_COLUMNS = {
    "agency": ("name", "url"),
    "routes": ("short_name", "long_name"),
    "stops": ("name", "lat", "lon"),
    "calendar": ("start", "end"),
    "trips": ("headsign",),
    "stop_times": ("arrival", "sequence"),
}
_REFERENCES = {
    "routes": {"agency_id": "agency"},
    "trips": {"route_id": "routes", "service_id": "calendar"},
    "stops": {"parent_id": "stops"},
    "stop_times": {"trip_id": "trips", "stop_id": "stops"},
}


@dataclass(frozen=True, slots=True)
class Feed:
    """The rows of all tables."""

    tables: dict[str, list[Row]]

    @property
    def records(self) -> int:
        return sum(map(len, self.tables.values()))

    @property
    def statements(self) -> int:
        """How many statements a mapper must make: one for each value, and one for each reference."""
        return sum(
            bool(row[column])
            for name, rows in self.tables.items()
            for row in rows
            for column in (*_COLUMNS[name], *_REFERENCES.get(name, ()))
        )


def make_feed(scale: float) -> Feed:
    """A feed, the same for the same scale."""
    routes, stops, trips = (max(1, round(count * scale)) for count in (20, 200, 400))
    return Feed(
        {
            "agency": [{"id": "a0", "name": "Transit & Co", "url": "http://transit.example.org"}],
            "routes": [
                {"id": f"r{n}", "agency_id": "a0", "short_name": str(n), "long_name": f"Line {n} <east>"}
                for n in range(routes)
            ],
            "stops": [
                {
                    "id": f"s{n}",
                    "name": f"Stop {n}",
                    "lat": f"40.{n:06}",
                    "lon": f"-3.{n:06}",
                    "parent_id": "" if n % 4 == 0 else f"s{n - n % 4}",
                }
                for n in range(stops)
            ],
            "calendar": [{"id": f"c{n}", "start": f"2024-0{n + 1}-01", "end": "2024-12-31"} for n in range(5)],
            "trips": [
                {
                    "id": f"t{n}",
                    "route_id": f"r{n % routes}",
                    "service_id": f"c{n % 5}",
                    "headsign": "" if n % 3 else f"to {n}",
                }
                for n in range(trips)
            ],
            "stop_times": [
                {
                    "id": f"t{trip}-{number}",
                    "trip_id": f"t{trip}",
                    "stop_id": f"s{(trip * 7 + number) % stops}",
                    "arrival": f"{6 + number // 4:02}:{15 * (number % 4):02}:00",
                    "sequence": str(number),
                }
                for trip in range(trips)
                for number in range(_STOPS_OF_TRIP)
            ],
        }
    )


def write_feed(feed: Feed, folder: Path) -> Path:
    """Write the tables, and the mapping; gives the mapping."""
    writers = {"csv": _write_csv, "json": _write_json, "xml": _write_xml}
    for name, rows in feed.tables.items():
        writers[_FORMS[name]](folder / f"{name}.{_FORMS[name]}", rows)
    mapping = folder / "mapping.ttl"
    mapping.write_text(_HEAD + "".join(_triples_map(name, folder) for name in feed.tables), encoding="utf-8")
    return mapping


def _write_csv(file: Path, rows: list[Row]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _write_json(file: Path, rows: list[Row]) -> None:
    filled = [{key: value for key, value in row.items() if value} for row in rows]
    file.write_text(json.dumps(filled, ensure_ascii=False), encoding="utf-8")


def _write_xml(file: Path, rows: list[Row]) -> None:
    items = "".join(f"<i>{''.join(_elements(row))}</i>\n" for row in rows)
    file.write_text(f"<r>\n{items}</r>\n", encoding="utf-8")


def _elements(row: Row) -> Iterable[str]:
    return (f"<{key}>{escape(value)}</{key}>" for key, value in row.items() if value)


def _triples_map(name: str, folder: Path) -> str:
    form = _FORMS[name]
    pairs = [
        f'[ rml:predicate gtfs:{column} ; rml:objectMap [ rml:reference "{column}" ] ]' for column in _COLUMNS[name]
    ]
    for column, parent in _REFERENCES.get(name, {}).items():
        join = f'rml:joinCondition [ rml:child "{column}" ; rml:parent "id" ]'
        pairs.append(f"[ rml:predicate gtfs:{column} ; rml:objectMap [ rml:parentTriplesMap <#{parent}> ; {join} ] ]")
    source = f'[ rml:source "{folder}/{name}.{form}" ; rml:referenceFormulation {_FORMULATIONS[form]} ; rml:null "" ]'
    subject = f'rml:subjectMap [ rml:template "{_BASE}{name}/{{id}}" ]'
    return f"<#{name}> rml:logicalSource {source} ;\n  {subject} ;\n  rml:predicateObjectMap {', '.join(pairs)} .\n"
