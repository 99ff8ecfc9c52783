"""`freshet map` as a whole: sources on the Web are fetched, and the mapping runs in this process or on Spark."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from freshet.federation.downloads import Downloads
from freshet.federation.settings import ServiceSettings
from freshet.federation.uploads import Uploads
from freshet.mapper.map_options import MapOptions, MapSummary
from freshet.mapper.placement import SPARK, place_mapping

_MOST_BYTES = 16 << 30  # of a document; it is on disk, not in memory
_SECONDS = 3600.0


def run_mapping(
    mapping: Path, options: MapOptions, on: str, hosts: Sequence[str] = (), say: Callable[[str], None] = print
) -> MapSummary:
    """Run a mapping; `hosts` are those that its sources and targets may be on. `say` is called with where it runs."""
    settings = ServiceSettings(tuple(hosts), most_bytes=_MOST_BYTES, timeout_seconds=_SECONDS)
    with tempfile.TemporaryDirectory(prefix="freshet-sources-") as folder:
        downloads, uploads = Downloads(settings, Path(folder)), Uploads(settings)
        options = replace(options, fetch=downloads.fetch, send=uploads.send)
        place = place_mapping(mapping, options, on)
        say(place.reason)
        if place.on == SPARK:
            from freshet.spark.map_run import run_map_on_spark

            return run_map_on_spark(mapping, options)
        from freshet.mapper.map_run import run_map_here

        return run_map_here(mapping, options)
