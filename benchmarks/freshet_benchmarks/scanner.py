"""The scanner of N-Triples: from the bytes of a generated social network to ids, beside pyoxigraph's parser.

Both read the same bytes on one core, with terms that repeat somewhat more often than in LSBench's files (the last
figure tells). Freshet starts with an empty dictionary, or with one that knows the terms; pyoxigraph makes its terms,
and nothing is done with them.
"""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import pyoxigraph

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.ntriples import scan_statements
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.social import TRIPLES_PER_USER, make_network
from freshet_benchmarks.social_triples import write_network

TRIPLES = 1_000_000
TIMES = 5
PYOXIGRAPH = "pyoxigraph's parser"


def scanner_figures(triples: int = TRIPLES, times: int = TIMES) -> Sequence[Figure]:
    """Run the benchmark. Times are those of the processor, the best of several by turns."""
    with tempfile.TemporaryDirectory(prefix="freshet-bench-") as folder:
        path = Path(folder, "social.nt")
        with path.open("wb") as file:
            users = max(2, round(triples / TRIPLES_PER_USER))
            written = write_network(file, make_network(users))
        data = path.read_bytes()
    known = Dictionary()
    scan(data, known)  # compiles what is not compiled yet
    seconds = [
        (_seconds(lambda: scan(data, Dictionary())), _seconds(lambda: scan(data, known)), _seconds(lambda: parse(data)))
        for _ in range(times)
    ]
    fresh, again, parsing = (written / min(column) for column in zip(*seconds, strict=True))
    baseline = Baseline(PYOXIGRAPH, parsing)
    return [
        Figure("kernel_scanner_triples_per_second", fresh, "triples/s", baseline),
        Figure("kernel_scanner_known_terms_triples_per_second", again, "triples/s", baseline),
        Figure("kernel_scanner_bytes_per_triple", len(data) / written, "bytes"),
        Figure("kernel_scanner_terms", len(known), "terms"),
        Figure(
            "kernel_scanner_terms_per_triple",
            len(known) / written,
            "terms",
            Baseline("LSBench with 1,000 users", 0.131),
        ),
    ]


def scan(data: bytes, dictionary: Dictionary) -> int:
    """The number of statements that the scanner finds; a bad line is an error."""
    (subjects, *_), errors = scan_statements(data, dictionary, "social.nt", quads=False)
    if errors:
        raise errors[0]
    return subjects.size


def parse(data: bytes) -> None:
    """Have pyoxigraph read the data."""
    deque(pyoxigraph.parse(data, pyoxigraph.RdfFormat.N_TRIPLES), maxlen=0)


def _seconds(action: Callable[[], object]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began
