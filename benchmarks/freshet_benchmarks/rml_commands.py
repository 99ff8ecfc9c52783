"""Whole commands of `freshet bench rml`: a mapping of files, from the start of the process to its end.

Freshet and morph-kgc map the same files with the same mapping, by turns. Records are NDW-shaped, of both sources
together. Times are by the clock and in CPU of all processes; both systems have run before on this machine.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from freshet.rdf.errors import FreshetError
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.ndw_records import FORMATS, json_texts, mapping_text
from freshet_benchmarks.ndw_streams import LANES_A_SECOND, Streams, bounded_pairs, constant_streams

COUNTS = (10, 10_000, 200_000, 1_000_000)
TIMES = 3
LONG = 1_000_000  # so many records are mapped once: the start makes no difference there


class Taken(NamedTuple):
    """What a command took."""

    seconds: float
    cpu_seconds: float
    peak_megabytes: float


UNITS = {"seconds": "s", "cpu_seconds": "s", "peak_megabytes": "MB"}


def command_figures(
    home: Path, peer: Path | None, peer_name: str, counts: Sequence[int] = COUNTS, times: int = TIMES
) -> list[Figure]:
    """What each system takes for each format and number of records, without and with a join: the best of some runs."""
    figures = []
    for count in counts:
        streams = _first(constant_streams(count // (2 * LANES_A_SECOND) + 1), count // 2)
        pairs = len(bounded_pairs(streams))
        for form in FORMATS:
            folder = home / f"{form}-{count}"
            folder.mkdir()
            write_records(folder, streams, form)
            for join in (False, True):
                statements = count // 2 + pairs if join else count
                found = _measure(folder, form, join, peer, statements, 1 if count >= LONG else times)
                name = f"rml_command_{form}_{count}_{'with' if join else 'without'}_join"
                figures += _figures(name, *found, peer_name)
    return figures


def _figures(name: str, ours: Taken, theirs: Taken | None, peer_name: str) -> list[Figure]:
    return [
        Figure(
            f"{name}_{field}",
            getattr(ours, field),
            unit,
            None if theirs is None else Baseline(peer_name, getattr(theirs, field)),
        )
        for field, unit in UNITS.items()
    ]


def _first(streams: Streams, count: int) -> Streams:
    return Streams(streams.flow.slice(0, count), streams.speed.slice(0, count))


def write_records(folder: Path, streams: Streams, form: str) -> None:
    """Write both sources in a format: a JSON array, CSV with a header, or XML."""
    for name, table in (("flow", streams.flow), ("speed", streams.speed)):
        columns = [column for column in table.column_names if column not in ("time", "number")]
        with (folder / f"ndw{name}.{form}").open("w", encoding="utf-8", newline="") as file:
            if form == "json":
                file.write("[" + ",\n".join(json_texts(table, columns).to_pylist()) + "]\n")
                continue
            rows = zip(*(table[column].cast(pa.string()).to_pylist() for column in columns), strict=True)
            if form == "csv":
                writer = csv.writer(file)
                writer.writerow(columns)
                writer.writerows(rows)
                continue
            file.write("<records>\n")
            for row in rows:
                values = "".join(f"<{column}>{value}</{column}>" for column, value in zip(columns, row, strict=True))
                file.write(f"<record>{values}</record>\n")
            file.write("</records>\n")


def _measure(
    folder: Path, form: str, join: bool, peer: Path | None, statements: int, times: int
) -> tuple[Taken, Taken | None]:
    mapping, output = folder / f"join-{join}.ttl", folder / "out.nq"
    mapping.write_text(mapping_text(folder, FORMATS[form].iterator, join=join, form=form))
    ours = [sys.executable, "-m", "freshet", "map", "-m", str(mapping), "-o", str(output)]
    theirs = [] if peer is None else peer_command(folder, mapping, peer)
    found: dict[str, list[Taken]] = {"ours": [], "theirs": []}
    for _ in range(times):
        found["ours"].append(run_command(ours, folder))
        if peer is not None:
            found["theirs"].append(run_command(theirs, folder))
    made = output.read_bytes().count(b"\n")
    if made != statements:
        raise FreshetError(f"{made} statements were made of {folder.name}, not {statements}")
    return _best(found["ours"]), _best(found["theirs"]) if found["theirs"] else None


def peer_command(folder: Path, mapping: Path, peer: Path) -> list[str]:
    """The command of morph-kgc that does the same."""
    settings = folder / "settings.ini"
    settings.write_text(
        "[CONFIGURATION]\noutput_format: N-QUADS\nnumber_of_processes: 2\nlogging_level: ERROR\n"
        f"output_file: {folder}/peer.nq\n[data]\nmappings: {mapping}\n"
    )
    return [str(peer), "-m", "morph_kgc", str(settings)]


def _best(runs: list[Taken]) -> Taken:
    return Taken(*(min(values) for values in zip(*runs, strict=True)))


# Linux counts the memory of the process that starts a command to the command's peak, so a small one starts it.
_STARTER = """
import json, os, sys, time
began = time.perf_counter()
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, 1, 0)])
_, status, used = os.wait4(pid, 0)
seconds = time.perf_counter() - began
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


def run_command(command: Sequence[str], folder: Path) -> Taken:
    """What a command took, with the processes that it has started and waited for."""
    starter = [sys.executable, "-I", "-S", "-c", _STARTER, *command]
    done = subprocess.run(starter, cwd=folder, capture_output=True, text=True, check=False)
    status, *taken = json.loads(done.stdout) if done.returncode == 0 else [done.returncode]
    if status:
        raise FreshetError(f"{' '.join(command)} failed: {done.stderr[-500:]}")
    return Taken(*taken)
