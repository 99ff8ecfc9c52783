"""CityBench's recorded sensors as streams of timed N-Triples, as its engines map them: rows become SSN observations.

Every property that the sensor repository says a service observes gives an observation a row: its type, the service,
the property and the value. Recorded time runs faster: `speed` recorded milliseconds are one of the replay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyoxigraph
from numpy.typing import NDArray

from freshet.rdf.errors import InputError

SERVICES = "http://www.insight-centre.org/dataset/SampleEventService#"
CITY = "http://www.insight-centre.org/citytraffic#"
SSN = "http://purl.oclc.org/NET/ssnx/ssn#"
SAO = "http://purl.oclc.org/NET/sao/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD = "http://www.w3.org/2001/XMLSchema#"

LOCATIONS = "UserLocationService"
LOCATION_EVERY_MS = 1000  # positions have no time of their own: CityBench sends one a second

_OBSERVED = f"""SELECT ?service ?kind ?property WHERE {{
  ?service <{SSN}observes> ?property . ?property a ?kind }}"""
_POLLUTANTS = ("ozone", "particullate_matter", "carbon_monoxide", "sulfure_dioxide", "nitrogen_dioxide")

Properties = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Which part of the recordings is replayed, from when on (recorded milliseconds), for how long, and how fast."""

    start_ms: int
    length_ms: int  # of the replay
    speed: int = 300  # what is recorded every five minutes comes every second

    def replayed(self, recorded: pa.Array) -> NDArray[np.int64]:
        """The times of rows in the replay; those outside of the excerpt are negative or not below `length_ms`."""
        milliseconds: NDArray[np.int64] = recorded.cast(pa.timestamp("ms")).cast(pa.int64()).to_numpy()
        return (milliseconds - self.start_ms) // self.speed


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a recording: when they were recorded, and the values of the kinds of properties, as N-Triples terms.

    A value that is missing is null: there is no observation of it then.
    """

    times: pa.Array
    values: Mapping[str, pa.Array]


class CityBench:
    """The folder of CityBench: `streams/`, and `dataset/` with the sensor repository and the lengths of roads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.properties = observed_properties(folder / "dataset/SensorRepository.n3")
        roads = _table(folder / "dataset/MetaData/trafficMetaData.csv")
        reports = roads["REPORT_ID"].cast(pa.string()).to_pylist()
        self.metres = dict(zip(reports, roads["DISTANCE_IN_METERS"].to_pylist(), strict=True))
        self._read: dict[str, Rows] = {}

    def replay(self, service: str, excerpt: Excerpt, *, services: str = SERVICES) -> bytes:
        """A service's stream as timed N-Triples in the order of its rows; its name begins with `services`."""
        path = self.folder / "streams" / f"{service}.stream"
        properties = self.properties.get(service)
        if properties is None:
            raise InputError(f"the sensor repository has no service {service}")
        if service == LOCATIONS:
            return _locations(path, properties["Location"], services + service, excerpt)
        if service not in self._read:
            self._read[service] = self._rows(path, service)
        rows = self._read[service]
        times = excerpt.replayed(rows.times)
        kept = np.flatnonzero((times >= 0) & (times < excerpt.length_ms))
        parts = [
            _observations(service, services + service, times[kept], kept, kind, properties[kind], values.take(kept))
            for kind, values in rows.values.items()
            if kind in properties
        ]
        return _text(_joined(*parts, nulls="skip"))

    def _rows(self, path: Path, service: str) -> Rows:
        if service.startswith("AarhusTrafficData"):
            return _traffic(_table(path), self.metres[service.removeprefix("AarhusTrafficData")])
        for start, read in (
            ("AarhusPollutionData", _pollution),
            ("AarhusWeatherData", _weather),
            ("AarhusParkingData", _parking),
        ):
            if service.startswith(start):
                return read(_table(path))
        raise InputError(f"there is no mapping for the recordings of {service}")


def observed_properties(repository: Path) -> Properties:
    """The property of each kind that each service observes, by the services' names."""
    store = pyoxigraph.Store()
    store.load(path=str(repository), format=pyoxigraph.RdfFormat.TURTLE, base_iri=SERVICES)
    found: dict[str, dict[str, str]] = {}
    for service, kind, observed in store.query(_OBSERVED):  # type: ignore[union-attr]
        name, short = (term.value.rpartition("#")[2] for term in (service, kind))
        found.setdefault(name, {})[short] = observed.value
    return found


def _table(path: Path) -> pa.Table:
    if not path.exists():
        raise InputError("there is no such recording", file=str(path))
    return pyarrow.csv.read_csv(path)


def _traffic(table: pa.Table, metres: int) -> Rows:
    speeds, vehicles = (_column(table, name).cast(pa.float64()) for name in ("avgSpeed", "vehicleCount"))
    standing = pc.equal(speeds, 0)
    estimated = pc.divide(float(metres), pc.if_else(standing, 1.0, speeds))
    values = {
        "AvgSpeed": _doubles(speeds),
        "VehicleCount": _doubles(vehicles),
        "MeasureTime": _doubles(_column(table, "avgMeasuredTime")),
        "EstimatedTime": _doubles(pc.if_else(standing, -1.0, estimated)),
        "CongestionLevel": _doubles(pc.divide(vehicles, float(metres))),
    }
    return Rows(_column(table, "TIMESTAMP"), values)


def _pollution(table: pa.Table) -> Rows:
    """The index of a place is its worst pollutant."""
    worst = pc.max_element_wise(*(_column(table, name) for name in _POLLUTANTS), skip_nulls=False)
    return Rows(_column(table, "timestamp"), {"API": _integers(worst)})


def _weather(table: pa.Table) -> Rows:
    values = {
        "Temperature": _doubles(_column(table, "tempm")),
        "Humidity": _integers(_column(table, "hum")),
        "WindSpeed": _doubles(_column(table, "wspdm")),
    }
    return Rows(_column(table, "TIMESTAMP"), values)


def _parking(table: pa.Table) -> Rows:
    vacant = pc.subtract(_column(table, "totalspaces"), _column(table, "vehiclecount"))
    return Rows(_column(table, "updatetime"), {"ParkingVacancy": _integers(vacant)})


def _observations(
    service: str,
    observer: str,
    times: NDArray[np.int64],
    numbers: NDArray[np.int64],
    kind: str,
    observed: str,
    values: pa.Array,
) -> pa.Array:
    """The lines of one observation a row; null where there is no value."""
    begins = _joined(_number(times), "\t<" + SERVICES + service + "-", _number(numbers), f"-{kind}> ")
    return _lines(
        begins,
        (f"<{RDF_TYPE}>", f"<{SSN}Observation>"),
        (f"<{SSN}observedBy>", f"<{observer}>"),
        (f"<{SSN}observedProperty>", f"<{observed}>"),
        (f"<{SAO}hasValue>", values),
    )


def _locations(path: Path, observed: str, observer: str, excerpt: Excerpt) -> bytes:
    """Positions of a user: the value of an observation is a node with a latitude and a longitude."""
    options = pyarrow.csv.ReadOptions(column_names=["user", "position"])
    parse = pyarrow.csv.ParseOptions(delimiter="|")
    table = pyarrow.csv.read_csv(path, read_options=options, parse_options=parse)
    times = np.arange(table.num_rows, dtype=np.int64) * LOCATION_EVERY_MS
    kept = np.flatnonzero(times < excerpt.length_ms)
    places = pc.split_pattern(_column(table, "position").take(kept), ",")
    latitudes, longitudes = (_typed(pc.list_element(places, at), "double") for at in (0, 1))
    numbers = _number(kept)
    nodes = _joined("_:place", numbers)
    begins = _joined(_number(times[kept]), "\t")
    observations = _lines(
        _joined(begins, "<" + SERVICES + LOCATIONS + "-", numbers, "-Location> "),
        (f"<{RDF_TYPE}>", f"<{SSN}Observation>"),
        (f"<{SSN}observedBy>", f"<{observer}>"),
        (f"<{SSN}observedProperty>", f"<{observed}>"),
        (f"<{SSN}featureOfInterest>", _joined("<", _column(table, "user").take(kept), ">")),
        (f"<{SAO}hasValue>", nodes),
    )
    positions = _lines(
        _joined(begins, nodes, " "), (f"<{CITY}hasLatitude>", latitudes), (f"<{CITY}hasLongitude>", longitudes)
    )
    return _text(_joined(observations, positions))


def _lines(begins: pa.Array, *statements: tuple[str, pa.Array | str]) -> pa.Array:
    """Several statements about each subject, one after the other."""
    parts: list[pa.Array | str] = []
    for predicate, value in statements:
        parts += [begins, predicate + " ", value, " .\n"]
    return _joined(*parts)


def _column(table: pa.Table, name: str) -> pa.Array:
    return table[name].combine_chunks()


def _doubles(values: pa.Array) -> pa.Array:
    return _typed(values.cast(pa.float64()).cast(pa.string()), "double")


def _integers(values: pa.Array) -> pa.Array:
    return _typed(values.cast(pa.int64()).cast(pa.string()), "integer")


def _typed(texts: pa.Array, datatype: str) -> pa.Array:
    return _joined('"', texts, f'"^^<{XSD}{datatype}>')


def _number(numbers: NDArray[np.int64]) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def _joined(*parts: pa.Array | str, nulls: str = "emit_null") -> pa.Array:
    return pc.binary_join_element_wise(*parts, "", null_handling=nulls)


def _text(lines: pa.Array) -> bytes:
    """The text of all lines, which lies in one piece behind the array."""
    return lines.buffers()[2].to_pybytes() if len(lines) else b""
