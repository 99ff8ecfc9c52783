"""What `freshet bench rml` relies on: the published records have the shape of the generated ones, and both map."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from freshet.mapper.map_run import run_map_here
from freshet.rdf.errors import FreshetError, InputError
from freshet_benchmarks import rml
from freshet_benchmarks.ndw_published import Published
from freshet_benchmarks.ndw_streams import bounded_pairs, constant_streams
from freshet_benchmarks.rml_commands import command_figures
from shared_data import shared

LANE = "au/1/5/RWS01_1/lane1= "
FLOW = LANE + (
    '{"lat":51.4,"long":5.4,"flow":360,"period":60,"accuracy":100,"timestamp":"2017-03-15 22:11:00.0","num_lanes":1}'
)
SPEED = LANE + ('{"lat":51.4,"long":5.4,"speed":92.5,"accuracy":100,"timestamp":"2017-03-15 22:11:00.0","num_lanes":1}')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ndw" / "data" / "time1").mkdir(parents=True)
    return tmp_path / "ndw"


def write(folder: Path, *lines: str) -> Path:
    (folder / "data" / "time1" / "part").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_copies_of_published_records_do_not_join(folder: Path, tmp_path: Path) -> None:
    published = Published(write(folder, FLOW, SPEED, SPEED.replace("lane1", "lane2")))
    assert (published.records, published.pairs()) == (3, 1)
    published.write(tmp_path, 3)
    records = [json.loads(line) for line in (tmp_path / "ndwspeed.json").read_text().splitlines()]
    assert [(each["internalId"], each["timestamp"][:4]) for each in records] == [
        (lane, year) for year in ("2017", "2018", "2019") for lane in ("lane1", "lane2")
    ]
    assert records[0]["speed"] == 92.5


@pytest.mark.parametrize(
    "line",
    [FLOW.replace("360", '"360"'), FLOW.replace('"period":60,', ""), "no record"],
    ids=["a text", "no period", "nothing"],
)
def test_published_records_of_another_shape_are_refused(folder: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"shape|no record"):
        Published(write(folder, line))


def test_the_real_files_have_the_shape_of_the_generated() -> None:
    published = Published(shared("data/ndw"))
    assert published.records == 68_400
    assert published.pairs() == 34_200


def test_what_is_mapped_is_what_a_join_by_arrow_says(folder: Path, tmp_path: Path) -> None:
    streams = constant_streams(2)
    rml.write_records(tmp_path, streams)
    rml._write_mappings(tmp_path, "$")
    generated = rml.Input("rml", tmp_path, 800, len(bounded_pairs(streams)))
    real = rml._published(tmp_path / "published", Published(write(folder, FLOW, SPEED)), 20)
    assert (real.records, real.pairs) == (20, 10)
    for given in (generated, real):
        for join in (False, True):
            assert rml._run_seconds(run_map_here, given, join) > 0
    with pytest.raises(FreshetError, match="20 statements were made of rml_published, not 21"):
        rml._run_seconds(run_map_here, rml.Input("rml_published", real.folder, 20, 11), True)


@pytest.mark.slow
def test_whole_commands_map_every_format(tmp_path: Path) -> None:
    figures = command_figures(tmp_path, None, "", counts=(10,), times=1)
    assert len(figures) == 3 * 2 * 3
    assert all(figure.value > 0 for figure in figures)
