"""Weather stations in the shape of SRBench's LinkedSensorData: generated observations, and where stations are.

An observation is five triples: its kind, its station, its result, and the value and the unit of that. Kinds and
stations are drawn at random. SRBench's own recordings are not at hand; the paper changed a constant of the queries so
that every pattern has matches, which here all have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from freshet.rdf.elements import Elements
from freshet_benchmarks.social_columns import Encoder, Ints

OM_OWL = "http://knoesis.wright.edu/ssw/ont/sensor-observation.owl#"
WEATHER = "http://knoesis.wright.edu/ssw/ont/weather.owl#"
WGS84 = "http://www.w3.org/2003/01/geo/wgs84_pos#"
SENSOR = "http://knoesis.wright.edu/ssw/System_"
OBSERVATIONS = "http://www.cwi.nl/SRBench/observations"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
XSD_FLOAT = "http://www.w3.org/2001/XMLSchema#float"

KINDS = ("RainfallObservation", "TemperatureObservation", "WindSpeedObservation", "SnowfallObservation")
TRIPLES_PER_OBSERVATION = 5
_PER_BLOCK = 20_000


@dataclass(frozen=True, slots=True)
class Weather:
    """`stations` are stored; the first `active` of them send."""

    stations: int = 12_000
    active: int = 500

    def stored(self) -> str:
        """Where the stations are, as N-Triples."""
        lines = []
        for number in range(self.stations):
            place = f"<{SENSOR}{number}/point>"
            lines.append(f"<{SENSOR}{number}> <{OM_OWL}processLocation> {place} .")
            for name, value in (
                ("lat", 25 + number % 40),
                ("long", -80 - number // 40),
                ("alt", 100 * (number % 30)),
            ):
                lines.append(f'{place} <{WGS84}{name}> "{value}"^^<{XSD_FLOAT}> .')
        return "\n".join(lines) + "\n"

    def elements(self, encoder: Encoder) -> Iterator[Elements]:
        """Observations without end, encoded, in blocks; times are for others to give."""
        random = np.random.default_rng(5)
        kinds = np.array([encoder.iri(WEATHER + kind) for kind in KINDS])
        unit = encoder.iri(WEATHER + "fahrenheit")
        predicates = np.array(
            [
                encoder.iri(iri)
                for iri in (RDF_TYPE, *(OM_OWL + name for name in ("procedure", "result", "floatValue", "uom")))
            ]
        )
        first = 0
        while True:
            numbers = first + np.arange(_PER_BLOCK // TRIPLES_PER_OBSERVATION)
            first += len(numbers)
            observations = encoder.numbered(f"<{SENSOR}obs", ">", numbers)
            results = encoder.numbered(f"<{SENSOR}result", ">", numbers)
            values = random.integers(0, 100, len(numbers))
            subjects = (observations, observations, observations, results, results)
            objects: tuple[Ints, ...] = (
                kinds[random.integers(0, len(KINDS), len(numbers))],
                encoder.numbered(f"<{SENSOR}", ">", random.integers(0, self.active, len(numbers))),
                results,
                encoder.numbered('"', f'"^^<{XSD_FLOAT}>', values),
                np.full(len(numbers), unit),
            )
            yield Elements(
                np.zeros(len(numbers) * TRIPLES_PER_OBSERVATION, np.int64),
                np.column_stack(subjects).reshape(-1),
                np.tile(predicates, len(numbers)),
                np.column_stack(objects).reshape(-1),
            )
