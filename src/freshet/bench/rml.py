"""`freshet bench rml`: NDW-shaped records of JSON lines to N-Quads, without and with a join, beside morph-kgc.

The mapping is that of the thesis (seed 002, appendix A.3): a subject of seven or six values for each record, and a
statement for each pair of a speed and a flow of the same lane, place and second. Records are mapped a million at a time
by `freshet map`'s own run in a Spark session that is up; morph-kgc, from PyPI in an environment of its own, gets as
many of the same records as it reads in a while, as a JSON array, and its start is counted, as it has no other way.
Records a second are those read, of both sources.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from freshet.bench.figures import Baseline, Figure
from freshet.bench.ndw_records import json_texts, mapping_text
from freshet.bench.ndw_streams import LANES_A_SECOND, Streams, constant_streams
from freshet.bench.peers import peer_python
from freshet.rdf.errors import FreshetError

RECORDS = 1_000_000
PEER_RECORDS = 100_000
TIMES = 3
MORPH_KGC = "morph-kgc==2.10.0"


def rml_figures(records: int = RECORDS, peer_records: int = PEER_RECORDS) -> Sequence[Figure]:
    """Run the benchmark."""
    python = peer_python(MORPH_KGC)
    with tempfile.TemporaryDirectory(prefix="freshet-bench-") as folder:
        home = Path(folder)
        write_records(home, constant_streams(records // (2 * LANES_A_SECOND)), lines=True)
        peer = home / "peer"
        peer.mkdir()
        write_records(peer, constant_streams(peer_records // (2 * LANES_A_SECOND)), lines=False)
        for place, iterator in ((home, "$"), (peer, "$[*]")):
            for join in (False, True):
                (place / _mapping_name(join)).write_text(mapping_text(place, iterator, join=join))
        rates = _our_rates(home, records)
        theirs = {join: _peer_rate(python, peer, join, peer_records) for join in (False, True) if python is not None}
    return [
        Figure(
            f"rml_records_per_second_{'with' if join else 'without'}_join",
            rates[join],
            "records/s",
            Baseline(f"{MORPH_KGC} with its start", theirs[join]) if join in theirs else None,
        )
        for join in (False, True)
    ]


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


def _our_rates(home: Path, records: int) -> dict[bool, float]:
    from freshet.spark.map_run import MapOptions, run_map
    from freshet.spark.session import spark_session

    spark = spark_session({})
    seconds: dict[bool, list[float]] = {False: [], True: []}
    try:
        for _ in range(TIMES):
            for join, runs in seconds.items():
                began = time.perf_counter()
                summary = run_map(
                    spark, home / _mapping_name(join), MapOptions(output=home / "out.nq", rejects=home / "rejects")
                )
                runs.append(time.perf_counter() - began)
                if summary.rejected or summary.records != records:
                    raise FreshetError(f"of {records} records {summary.records} were read, {summary.rejected} rejected")
    finally:
        spark.stop()
    return {join: records / min(runs) for join, runs in seconds.items()}


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
