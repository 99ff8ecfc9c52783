"""Where a mapping runs: in this process, or on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from freshet.mapper.map_options import MapOptions, load_mapping, users_of
from freshet.mapper.process_only import process_only, refuse_process_only
from freshet.rdf.errors import FreshetError, UnsupportedError
from freshet.rml.mapping_slices import JoinSlice, slice_mapping
from freshet.rml.model import Mapping
from freshet.rml.sources import SQLITE, Compression, DatabaseSource, FileSource, LogicalSource
from freshet.rml.views import base_sources
from freshet.sources.database_drivers import driver_of
from freshet.sources.files import files_of
from freshet.sources.open import needs_jdbc

PROCESS, SPARK, AUTO = "process", "spark", "auto"
# Spark takes half a minute to start, in which this process maps some gigabytes; it then maps as fast as it has cores.
MOST_BYTES = 1_000_000_000
# What is joined, or compared for --distinct, is in memory.
MOST_HELD_BYTES = 250_000_000
_UNPACKED = 8  # how many times as large a packed file may become


class Placement(NamedTuple):
    """Where a mapping runs, and why."""

    on: str
    reason: str


def place_mapping(mapping_file: Path, options: MapOptions, on: str) -> Placement:
    """Where a mapping runs. What is wrong with it or its options is raised before."""
    mapping = load_mapping(mapping_file, options, users_of(options))
    databases = {each.source.source for each in mapping.triples_maps if _needs_jdbc(each.source)}
    if on == SPARK:
        refuse_process_only(mapping)
    if on == PROCESS and databases:
        hint = "pip install 'freshet[databases]' brings drivers of PostgreSQL and MySQL for this process"
        needed = "a database that is read through JDBC needs Spark: --on spark"
        raise UnsupportedError(needed, file=mapping.file, hint=hint)
    if on != AUTO:
        return Placement(on, f"mapping {_WHERE[on]}, as --on {on} says")
    if (what := process_only(mapping)) is not None:
        return Placement(PROCESS, f"mapping {_WHERE[PROCESS]}: it has {what}")
    if databases:
        return Placement(SPARK, f"mapping {_WHERE[SPARK]}: a database is read through JDBC")
    held = _held_sources(mapping, options)
    total, kept = _bytes({each.source for each in mapping.triples_maps}), _bytes(held)
    if kept > MOST_HELD_BYTES:
        what = "for --distinct" if options.distinct else "to join"
        return Placement(SPARK, f"mapping {_WHERE[SPARK]}: {_show(kept)} {what}, more than {_show(MOST_HELD_BYTES)}")
    if total > MOST_BYTES:
        return Placement(SPARK, f"mapping {_WHERE[SPARK]}: {_show(total)} of input, more than {_show(MOST_BYTES)}")
    return Placement(PROCESS, f"mapping {_WHERE[PROCESS]}: {_show(total)} of input, at most {_show(MOST_BYTES)}")


_WHERE = {PROCESS: "in this process", SPARK: "on Spark"}


def _needs_jdbc(source: LogicalSource) -> bool:
    bases = (each.source for each in base_sources(source))
    return any(isinstance(each, DatabaseSource) and needs_jdbc(each) for each in bases)


def _held_sources(mapping: Mapping, options: MapOptions) -> set[LogicalSource]:
    """The sources of which records are held in memory."""
    if options.distinct:
        return {each.source for each in mapping.triples_maps}
    joins = [each for each in slice_mapping(mapping) if isinstance(each, JoinSlice)]
    return {source for join in joins for source in (join.child, join.parent)}


def _bytes(sources: set[LogicalSource]) -> int:
    """How much there is to read. The run reports a source that is missing."""
    bases = {base for each in sources for base in base_sources(each)}
    served = {base for base in bases if isinstance(base.source, DatabaseSource) and driver_of(base.source.url)}
    files = {base.source for base in bases - served}
    return sum(map(_size, files)) + sum(map(_size_at_server, served))


def _size_at_server(source: LogicalSource) -> int:
    from freshet.sources.databases import estimated_bytes

    return estimated_bytes(source)


def _size(given: object) -> int:
    try:
        if isinstance(given, FileSource):
            times = 1 if given.compression is Compression.NONE else _UNPACKED
            return times * sum(file.stat().st_size for file in files_of(given))
        if isinstance(given, DatabaseSource) and given.url.startswith(SQLITE):
            return Path(given.url.removeprefix(SQLITE)).stat().st_size
    except (OSError, FreshetError):
        return 0
    return 0


def _show(size: int) -> str:
    """A size as people read it.

    >>> _show(900), _show(2_500_000), _show(10**9)
    ('900 bytes', '2.5 MB', '1.1 GB')
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
