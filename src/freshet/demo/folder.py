"""The demo as files in a folder of the user's: pipeline, mappings, queries, the town's graph, folders to read from."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from freshet.demo.city import Town, write_city
from freshet.demo.observations import STREAMS

IN = "in"


def write_demo(folder: Path, **size: int) -> Town:
    """Lay out the demo in `folder` (see `make_town` for the size) and give its town, to write observations of."""
    town = write_city(folder, **size)
    for file in resources.files("freshet.demo").joinpath("files").iterdir():
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    for stream in STREAMS:
        (folder / IN / stream).mkdir(parents=True, exist_ok=True)
    return town
