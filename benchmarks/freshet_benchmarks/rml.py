"""`freshet bench rml`: NDW-shaped records to N-Quads, without and with a join, beside morph-kgc.

Whole commands, start included, are in `rml_commands.py`. Steady rates are apart, and named so: a million records of
JSON lines by `freshet map`'s own run, on Spark in a session that is up, and in this process. The mapping is that of the
Dynamic Windows thesis (A.3): a subject of seven or six values for each record, and a statement for each pair of a speed
and a flow of the same lane, place and second. Records a second are those read, of both sources. Where the published
files of NDW are at hand (`bench/ndw_published.py`) they are mapped as well. How many statements come out is held
against a join by Arrow.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from freshet.mapper.map_options import MapOptions, MapSummary
from freshet.mapper.map_run import run_map_here
from freshet.rdf.errors import FreshetError
from freshet_benchmarks.figures import Figure
from freshet_benchmarks.ndw_published import Published, published_folder
from freshet_benchmarks.ndw_records import json_texts, mapping_text
from freshet_benchmarks.ndw_streams import LANES_A_SECOND, Streams, bounded_pairs, constant_streams
from freshet_benchmarks.peers import peer_python
from freshet_benchmarks.rml_commands import command_figures

RECORDS = 1_000_000
TIMES = 3
MORPH_KGC = "morph-kgc==2.10.0"
Mapper = Callable[[Path, MapOptions], MapSummary]


def rml_figures(records: int = RECORDS) -> Sequence[Figure]:
    """Run the benchmark."""
    python = peer_python(MORPH_KGC)
    with tempfile.TemporaryDirectory(prefix="freshet-bench-") as folder:
        home = Path(folder)
        commands = command_figures(home, python, MORPH_KGC)
        streams = constant_streams(records // (2 * LANES_A_SECOND))
        write_records(home, streams)
        _write_mappings(home, "$")
        inputs = [Input("rml", home, records, len(bounded_pairs(streams)))]
        if (found := published_folder()) is not None:
            inputs.append(_published(home / "published", Published(found), records))
        rates = _steady_rates(inputs)
    steady = [
        Figure(f"{name}_steady_records_per_second_{where}_{'with' if join else 'without'}_join", rate, "records/s")
        for (name, where, join), rate in rates.items()
    ]
    return [*commands, *steady]


@dataclass(frozen=True, slots=True)
class Input:
    """Files to map, in a folder with its mappings: how many records they have, and how many pairs of them join."""

    name: str
    folder: Path
    records: int
    pairs: int

    def statements(self, join: bool) -> int:
        """How many the mapping makes: of each record one; where it joins, of each flow and of each pair."""
        return self.records // 2 + self.pairs if join else self.records


def _published(folder: Path, published: Published, records: int) -> Input:
    """About as many of the published records."""
    copies = max(records // published.records, 1)
    folder.mkdir()
    published.write(folder, copies)
    _write_mappings(folder, "$")
    return Input("rml_published", folder, copies * published.records, copies * published.pairs())


def _write_mappings(folder: Path, iterator: str) -> None:
    for join in (False, True):
        (folder / _mapping_name(join)).write_text(mapping_text(folder, iterator, join=join))


def write_records(folder: Path, streams: Streams) -> None:
    """Write both topics as JSON lines."""
    for name, table in (("flow", streams.flow), ("speed", streams.speed)):
        columns = [column for column in table.column_names if column not in ("time", "number")]
        records = json_texts(table, columns)
        (folder / f"ndw{name}.json").write_text("\n".join(records.to_pylist()) + "\n")


def _mapping_name(join: bool) -> str:
    return "with.ttl" if join else "without.ttl"


def _steady_rates(inputs: Sequence[Input]) -> dict[tuple[str, str, bool], float]:
    """Records a second for each input and target, without and with the join, the best of several runs."""
    from freshet.spark.map_run import run_map
    from freshet.spark.session import spark_session

    spark = spark_session({})
    mappers: dict[str, Mapper] = {
        "on_spark": lambda mapping, options: run_map(spark, mapping, options),
        "in_process": run_map_here,
    }
    rates: dict[tuple[str, str, bool], float] = {}
    try:
        for _ in range(TIMES):
            for given in inputs:
                for where, mapper in mappers.items():
                    for join in (False, True):
                        key = given.name, where, join
                        rates[key] = max(given.records / _run_seconds(mapper, given, join), rates.get(key, 0))
    finally:
        spark.stop()
    return rates


def _run_seconds(mapper: Mapper, given: Input, join: bool) -> float:
    output = given.folder / "out.nq"
    began = time.perf_counter()
    summary = mapper(given.folder / _mapping_name(join), MapOptions(output=output, rejects=given.folder / "rejects"))
    seconds = time.perf_counter() - began
    if summary.rejected or summary.records != given.records:
        raise FreshetError(f"of {given.records} records {summary.records} were read, {summary.rejected} rejected")
    with output.open("rb") as written:
        made = sum(block.count(b"\n") for block in iter(lambda: written.read(1 << 20), b""))
    if made != given.statements(join):
        raise FreshetError(f"{made} statements were made of {given.name}, not {given.statements(join)}")
    return seconds
