"""`freshet bench rml`: NDW-shaped records of JSON lines to N-Quads, without and with a join, beside morph-kgc.

The mapping is that of the Dynamic Windows thesis (A.3): a subject of seven or six values for each record, and a
statement for each pair of a speed and a flow of the same lane, place and second. Records are mapped a million at a time
by `freshet map`'s own run in a Spark session that is up; morph-kgc, from PyPI in an environment of its own, gets as
many of the same records as it reads in a while, as a JSON array, and its start is counted, as it has no other way.
Records a second are those read, of both sources. Where the published files of NDW are at hand
(`bench/ndw_published.py`) they are mapped as well. How many statements come out is held against a join by Arrow.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freshet.rdf.errors import FreshetError
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.ndw_published import Published, published_folder
from freshet_benchmarks.ndw_records import json_texts, mapping_text
from freshet_benchmarks.ndw_streams import LANES_A_SECOND, Streams, bounded_pairs, constant_streams
from freshet_benchmarks.peers import peer_python

RECORDS = 1_000_000
PEER_RECORDS = 100_000
TIMES = 3
MORPH_KGC = "morph-kgc==2.10.0"


def rml_figures(records: int = RECORDS, peer_records: int = PEER_RECORDS) -> Sequence[Figure]:
    """Run the benchmark."""
    python = peer_python(MORPH_KGC)
    with tempfile.TemporaryDirectory(prefix="freshet-bench-") as folder:
        home = Path(folder)
        streams = constant_streams(records // (2 * LANES_A_SECOND))
        write_records(home, streams, lines=True)
        peer = home / "peer"
        peer.mkdir()
        write_records(peer, constant_streams(peer_records // (2 * LANES_A_SECOND)), lines=False)
        _write_mappings(home, "$")
        _write_mappings(peer, "$[*]")
        inputs = [Input("rml", home, records, len(bounded_pairs(streams)))]
        if (found := published_folder()) is not None:
            inputs.append(_published(home / "published", Published(found), records))
        rates = _our_rates(inputs)
        theirs = {join: _peer_rate(python, peer, join, peer_records) for join in (False, True) if python is not None}
    return [
        Figure(
            f"{name}_records_per_second_{'with' if join else 'without'}_join",
            rate,
            "records/s",
            Baseline(f"{MORPH_KGC} with its start", theirs[join]) if name == "rml" and join in theirs else None,
        )
        for (name, join), rate in rates.items()
    ]


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


def write_records(folder: Path, streams: Streams, *, lines: bool) -> None:
    """Write both topics, as JSON lines or as one array each."""
    for name, table in (("flow", streams.flow), ("speed", streams.speed)):
        columns = [column for column in table.column_names if column not in ("time", "number")]
        records = json_texts(table, columns)
        with (folder / f"ndw{name}.json").open("w") as file:
            if lines:
                file.write("\n".join(records.to_pylist()) + "\n")
            else:
                file.write("[" + ",\n".join(records.to_pylist()) + "]\n")


def _mapping_name(join: bool) -> str:
    return "with.ttl" if join else "without.ttl"


def _our_rates(inputs: Sequence[Input]) -> dict[tuple[str, bool], float]:
    """Records a second for each input, without and with the join, the best of several runs."""
    from freshet.spark.session import spark_session

    spark = spark_session({})
    rates: dict[tuple[str, bool], float] = {}
    try:
        for _ in range(TIMES):
            for given in inputs:
                for join in (False, True):
                    rate = given.records / _run_seconds(spark, given, join)
                    rates[given.name, join] = max(rate, rates.get((given.name, join), 0))
    finally:
        spark.stop()
    return rates


def _run_seconds(spark: Any, given: Input, join: bool) -> float:
    from freshet.mapper.map_options import MapOptions
    from freshet.spark.map_run import run_map

    output = given.folder / "out.nq"
    began = time.perf_counter()
    summary = run_map(
        spark, given.folder / _mapping_name(join), MapOptions(output=output, rejects=given.folder / "rejects")
    )
    seconds = time.perf_counter() - began
    if summary.rejected or summary.records != given.records:
        raise FreshetError(f"of {given.records} records {summary.records} were read, {summary.rejected} rejected")
    with output.open("rb") as written:
        made = sum(block.count(b"\n") for block in iter(lambda: written.read(1 << 20), b""))
    if made != given.statements(join):
        raise FreshetError(f"{made} statements were made of {given.name}, not {given.statements(join)}")
    return seconds


def _peer_rate(python: Path, folder: Path, join: bool, records: int) -> float:
    """Records a second of morph-kgc, on two processes."""
    settings = folder / "settings.ini"
    settings.write_text(
        "[CONFIGURATION]\noutput_format: N-QUADS\nnumber_of_processes: 2\nlogging_level: ERROR\n"
        f"output_file: {folder}/peer.nq\n[data]\nmappings: {folder / _mapping_name(join)}\n"
    )
    began = time.perf_counter()
    subprocess.run([python, "-m", "morph_kgc", settings], check=True, stdout=sys.stderr, cwd=folder)
    return records / (time.perf_counter() - began)
