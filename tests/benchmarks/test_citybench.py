"""Recordings become observations: what each row says, when it comes, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
import pytest

from freshet.rdf.errors import InputError
from freshet_benchmarks.citybench import CITY, SAO, SERVICES, SSN, CityBench, Excerpt
from shared_data import shared

REPOSITORY = f"""@prefix : <{SERVICES}> . @prefix ssn: <{SSN}> . @prefix ct: <{CITY}> .
:AarhusTrafficData7 ssn:observes :speed, :cars, :time, :level .
:speed a ct:AvgSpeed . :cars a ct:VehicleCount . :time a ct:EstimatedTime . :level a ct:CongestionLevel .
:AarhusPollutionData7 ssn:observes :air . :air a ct:API .
:AarhusWeatherData0 ssn:observes :warm, :wet, :wind .
:warm a ct:Temperature . :wet a ct:Humidity . :wind a ct:WindSpeed .
:AarhusParkingDataX ssn:observes :free . :free a ct:ParkingVacancy .
:UserLocationService ssn:observes :where . :where a ct:Location .
:Nothing ssn:observes :odd . :odd a ct:Odd .
"""
RECORDINGS = {
    "AarhusTrafficData7": "avgMeasuredTime,avgSpeed,TIMESTAMP,vehicleCount\n"
    "9,50,2014-08-01T00:00:00,5\n9,0,2014-08-01T00:05:00,0\n9,1,2014-08-01T00:10:00,1\n",
    "AarhusPollutionData7": "ozone,particullate_matter,carbon_monoxide,sulfure_dioxide,nitrogen_dioxide,timestamp\n"
    "1,2,30,4,5,2014-08-01 00:00:00\n",
    "AarhusWeatherData0": "hum,tempm,wspdm,TIMESTAMP\n56,18.5,7.4,2014-08-01T00:00:00\n,18.0,,2014-08-01T00:05:00\n",
    "AarhusParkingDataX": "vehiclecount,updatetime,totalspaces\n115,2014-08-01 00:00:04.145,210\n",
    "UserLocationService": "http://e/user|56.5,10.25\nhttp://e/user|56,10\nhttp://e/user|55,10\n",
}
EXCERPT = Excerpt(start_ms=1_406_851_200_000, length_ms=2000, speed=300)


@pytest.fixture
def bench(tmp_path: Path) -> CityBench:
    (tmp_path / "streams").mkdir()
    (tmp_path / "dataset/MetaData").mkdir(parents=True)
    (tmp_path / "dataset/SensorRepository.n3").write_text(REPOSITORY)
    (tmp_path / "dataset/MetaData/trafficMetaData.csv").write_text("REPORT_ID,DISTANCE_IN_METERS\n7,1000\n")
    for name, text in RECORDINGS.items():
        (tmp_path / f"streams/{name}.stream").write_text(text)
    return CityBench(tmp_path)


def observations(text: bytes) -> dict[str, list[tuple[int, str]]]:
    """The times and values by the observed property; all four statements of an observation must be there."""
    found: dict[str, list[tuple[int, str]]] = {}
    about: dict[tuple[int, str], dict[str, str]] = {}
    for line in text.decode().splitlines():
        time_ms, _, statement = line.partition("\t")
        [quad] = ox.parse(statement, ox.RdfFormat.N_TRIPLES)
        about.setdefault((int(time_ms), str(quad.subject)), {})[quad.predicate.value] = str(quad.object.value)
    for (time_ms, _), says in about.items():
        if f"{SSN}observedProperty" in says:
            assert f"{SSN}observedBy" in says
            assert "Observation" in says["http://www.w3.org/1999/02/22-rdf-syntax-ns#type"]
            name = says[f"{SSN}observedProperty"].removeprefix(SERVICES)
            found.setdefault(name, []).append((time_ms, says[f"{SAO}hasValue"]))
    return found


def test_traffic(bench: CityBench) -> None:
    """Estimated time and congestion come from the length of the road; a standing column has no estimate."""
    assert observations(bench.replay("AarhusTrafficData7", EXCERPT)) == {
        "speed": [(0, "50"), (1000, "0")],
        "cars": [(0, "5"), (1000, "0")],
        "time": [(0, "20"), (1000, "-1")],
        "level": [(0, "0.005"), (1000, "0")],
    }


def test_pollution_is_the_worst_of_all(bench: CityBench) -> None:
    assert observations(bench.replay("AarhusPollutionData7", EXCERPT)) == {"air": [(0, "30")]}


def test_what_was_not_measured_is_no_observation(bench: CityBench) -> None:
    assert observations(bench.replay("AarhusWeatherData0", EXCERPT)) == {
        "warm": [(0, "18.5"), (1000, "18")],
        "wet": [(0, "56")],
        "wind": [(0, "7.4")],
    }


def test_parking(bench: CityBench) -> None:
    assert observations(bench.replay("AarhusParkingDataX", EXCERPT)) == {"free": [(13, "95")]}


def test_positions_come_every_second(bench: CityBench) -> None:
    text = bench.replay("UserLocationService", EXCERPT)
    places = observations(text)["where"]
    assert [time_ms for time_ms, _ in places] == [0, 1000]
    assert len({node for _, node in places}) == 2
    assert text.decode().count(f"<{CITY}hasLatitude>") == 2
    assert '"10.25"^^<http://www.w3.org/2001/XMLSchema#double>' in text.decode()


def test_names_of_services(bench: CityBench) -> None:
    text = bench.replay("AarhusPollutionData7", EXCERPT, services="http://e/").decode()
    assert f"<{SSN}observedBy> <http://e/AarhusPollutionData7>" in text


def test_nothing_in_the_excerpt(bench: CityBench) -> None:
    assert bench.replay("AarhusPollutionData7", Excerpt(0, 1000)) == b""


@pytest.mark.parametrize("service", ["Missing", "Nothing"])
def test_unknown_services(bench: CityBench, service: str) -> None:
    with pytest.raises(InputError, match=service):
        bench.replay(service, EXCERPT)


def test_a_missing_recording(bench: CityBench) -> None:
    (bench.folder / "streams/AarhusParkingDataX.stream").unlink()
    with pytest.raises(InputError, match=r"AarhusParkingDataX\.stream"):
        bench.replay("AarhusParkingDataX", EXCERPT)


@pytest.mark.parametrize(
    ("service", "lines"),
    [
        ("AarhusTrafficData158505", 16_954 * 5 * 4),
        ("AarhusPollutionData158505", 17_568 * 4),
        ("AarhusWeatherData0", (4_357 * 3 - 24) * 4),  # 24 values are missing
        ("AarhusParkingDataSKOLEBAKKEN", 6_908 * 4),
        ("UserLocationService", 290 * 7),
    ],
)
def test_the_recordings_themselves(service: str, lines: int) -> None:
    """A file of each kind, whole."""
    bench = CityBench(shared("data/citybench"))
    assert bench.replay(service, Excerpt(0, length_ms=2**62, speed=1)).count(b"\n") == lines
