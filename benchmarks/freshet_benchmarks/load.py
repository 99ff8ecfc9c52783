"""`freshet bench load`: a social network from N-Triples to a graph directory, beside other ways to load the same file.

`freshet load` runs on Spark, which has started and loaded a small file before the clock starts; it writes tables, both
sorted orders, their directories and the dictionary, and waits for the disk. `Session.load` reads the same file into
memory and makes both orders. pyoxigraph's `bulk_load` writes its own store to the disk. All three must have the same
number of triples.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyoxigraph

from freshet.rdf.errors import FreshetError
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.runtime.session import Session
from freshet.spark.bulk_load import load_files, warm
from freshet.spark.session import spark_session
from freshet.store.graph_directory import GraphDirectory
from freshet.store.triple_index import OBJECT, SUBJECT, TripleIndex
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.social_triples import write_social

TRIPLES = 4_000_000
WARM_TRIPLES = 50_000
OPENINGS = 9
PYOXIGRAPH = "pyoxigraph bulk_load"


def load_figures(triples: int = TRIPLES, *, master: str = "local[*]") -> Sequence[Figure]:
    """Run the benchmark."""
    with tempfile.TemporaryDirectory(prefix="freshet-bench-") as name:
        folder = Path(name)
        small, file, graph = folder / "small.nt", folder / "network.nt", folder / "graph"
        write_social(small, triples=WARM_TRIPLES)
        written = write_social(file, triples=triples)
        warm()
        _load_session(small)
        spark = spark_session(master=master)
        try:
            load_files(spark, [small], folder / "small")
            on_spark = _seconds(lambda: load_files(spark, [file], graph))
        finally:
            spark.stop()
        in_memory = _seconds(lambda: _load_session(file))
        others = _seconds(lambda: _load_pyoxigraph(file, folder / "pyoxigraph"))
        opening = min(_seconds(lambda: Session().load(graph)) for _ in range(OPENINGS))
        directory = GraphDirectory(graph)
        _check(directory, _load_session(file), pyoxigraph.Store.read_only(str(folder / "pyoxigraph")))
        read = file.stat().st_size
    counts = directory.counts
    rate = Baseline(PYOXIGRAPH, written / others)
    return [
        Figure("load_triples_per_second", written / on_spark, "triples/s", rate),
        Figure("session_load_triples_per_second", written / in_memory, "triples/s", rate),
        Figure("load_against_session", in_memory / on_spark, "of Session.load's rate"),
        Figure("open_ms", 1000 * opening, "ms"),
        *_sizes(directory),
        Figure("source_bytes_per_triple", read / written, "bytes"),
        Figure("triples", counts.triples, "triples"),
        Figure("terms", counts.terms, "terms"),
    ]


def _sizes(directory: GraphDirectory) -> list[Figure]:
    kinds = {"columns": (".keys", ".seconds"), "directories": (".directory",), "dictionary": (".heap", ".slots")}
    figures = [
        Figure(f"{kind}_bytes_per_triple", directory.size_of(*suffixes) / directory.counts.triples, "bytes")
        for kind, suffixes in kinds.items()
    ]
    return [
        *figures,
        Figure("tables_bytes_per_triple", directory.size_of(".parquet") / directory.counts.triples, "bytes"),
    ]


def _seconds(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def _load_session(file: Path) -> TripleIndex:
    """Both orders of what a session has loaded."""
    session = Session()
    session.load(file)
    index = session.stored.base(DEFAULT_GRAPH)
    for order in (SUBJECT, OBJECT):
        index.order(order)
    return index


def _load_pyoxigraph(file: Path, folder: Path) -> None:
    store = pyoxigraph.Store(str(folder))
    store.bulk_load(path=str(file), format=pyoxigraph.RdfFormat.N_TRIPLES)
    store.flush()


def _check(directory: GraphDirectory, session: TripleIndex, store: pyoxigraph.Store) -> None:
    (mapped,) = (index for _, index in directory.graphs())
    found = (directory.counts.triples, len(mapped), len(session), len(store))
    if len(set(found)) > 1:
        raise FreshetError(f"the ways to load do not agree on the number of triples: {found}")
