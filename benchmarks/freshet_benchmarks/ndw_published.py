"""The flows and speeds that NDW has published, as the project has them beside it (`../shared/data/ndw`, FRESHET_NDW).

A line there is the path of a lane and a JSON object. As in the thesis the lane's own name goes into the object. There
are some 68,000 records; where more are wanted, they come again in other years, so that no two copies join.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import orjson
import pyarrow as pa

from freshet.rdf.errors import InputError
from freshet_benchmarks.ndw_records import JOINED
from freshet_benchmarks.ndw_streams import constant_streams

_FIRST_YEAR = 2017
_ADDED = {"time", "number"}  # what generated records have beside those that are published


def published_folder() -> Path | None:
    """Where the published files are; None where they are not to be had."""
    given = os.environ.get("FRESHET_NDW")
    folder = Path(given) if given else Path(__file__).resolve().parents[3] / "shared" / "data" / "ndw"
    return folder if (folder / "data").is_dir() else None


class Published:
    """The records of each topic as JSON texts, with the name of the lane in each."""

    def __init__(self, folder: Path) -> None:
        self.flow: list[str] = []
        self.speed: list[str] = []
        for file in sorted((folder / "data").glob("*/*")):
            for line in _lines(file):
                (self.flow if '"flow":' in line else self.speed).append(line)
        _check_shape(self)

    @property
    def records(self) -> int:
        return len(self.flow) + len(self.speed)

    def write(self, folder: Path, copies: int) -> None:
        """Write both topics as JSON lines, repeated."""
        for name, texts in (("flow", self.flow), ("speed", self.speed)):
            whole = "".join(f"{text}\n" for text in texts)
            with (folder / f"ndw{name}.json").open("w") as file:
                for copy in range(copies):
                    file.write(whole.replace(f'"timestamp":"{_FIRST_YEAR}', f'"timestamp":"{_FIRST_YEAR + copy}'))

    def pairs(self) -> int:
        """How many pairs of a flow and a speed join, by Arrow."""
        sides = [
            pa.table({field: [str(orjson.loads(text)[field]) for text in texts] for field in JOINED})
            for texts in (self.flow, self.speed)
        ]
        return len(sides[0].join(sides[1], list(JOINED), join_type="inner"))


def _lines(file: Path) -> Iterator[str]:
    for line in file.read_text().splitlines():
        path, found, text = line.partition("= {")
        if not found:
            raise InputError(f"a line is no record of NDW: {line[:80]}", file=str(file))
        yield f'{{"internalId":"{path.rpartition("/")[2]}",{text}'


def _check_shape(published: Published) -> None:
    """Published records have the fields that generated ones have, and the same kinds of values."""
    ours = constant_streams(1)
    for name, texts, made in (("flow", published.flow, ours.flow), ("speed", published.speed, ours.speed)):
        wanted = set(made.column_names) - _ADDED
        numbers = wanted - {"internalId", "timestamp"}
        for text in texts:
            record = orjson.loads(text)
            found = {field for field, value in record.items() if isinstance(value, int | float)}
            if set(record) != wanted or found != numbers:
                raise InputError(f"a published {name} is not of the shape of the generated ones: {text}")
