"""`freshet bench oneshot`: six questions to a social network of a million triples, beside pyoxigraph in memory.

Both engines load the same file and must give the same bags of solutions. The time of an answer is that from the
prepared query to all solutions: for Freshet from the parsed and planned query to the columns of ids, for pyoxigraph,
which has no prepared queries, from the text to the last solution of its iterator. What Freshet needs from the text to
the plan is a figure of its own, and so is the time from the text to SPARQL JSON, terms and all.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pyoxigraph

from freshet.algebra.nodes import Query
from freshet.oneshot.answer import answer
from freshet.rdf.errors import FreshetError
from freshet.rdf.oxigraph import parsed_key
from freshet.rdf.triples import DEFAULT_GRAPH
from freshet.results.report import Solutions
from freshet.results.write import write_answer
from freshet.runtime.session import Session
from freshet.store.dataset import DatasetSnapshot
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.social_queries import HEAVY, QUERIES
from freshet_benchmarks.social_triples import write_social

TRIPLES = 1_000_000
WARM_TRIPLES = 10_000
TIMES = 41
PYOXIGRAPH = "pyoxigraph"


class Times(NamedTuple):
    """Medians of seconds."""

    freshet: float
    pyoxigraph: float

    @property
    def ratio(self) -> float:
        return self.freshet / self.pyoxigraph


class Engines(NamedTuple):
    """Both engines with the same data."""

    session: Session
    dataset: DatasetSnapshot
    store: pyoxigraph.Store

    def answer(self, query: Query) -> Solutions:
        """Freshet's solutions."""
        found = answer(query, self.dataset, self.session.dictionary)
        assert isinstance(found, Solutions)
        return found

    def answer_pyoxigraph(self, text: str) -> list[pyoxigraph.QuerySolution]:
        """The solutions of pyoxigraph."""
        return list(self._query(text))

    def json(self, text: str) -> bytes:
        """Freshet's answer from the text to SPARQL JSON."""
        return write_answer(self.answer(self.session.prepare(text)), self.session.dictionary, "json")

    def json_pyoxigraph(self, text: str) -> bytes | None:
        """The answer of pyoxigraph from the text to SPARQL JSON."""
        return self._query(text).serialize(format=pyoxigraph.QueryResultsFormat.JSON)

    def _query(self, text: str) -> pyoxigraph.QuerySolutions:
        found = self.store.query(text)
        assert isinstance(found, pyoxigraph.QuerySolutions)
        return found


def oneshot_figures(triples: int = TRIPLES) -> Sequence[Figure]:
    """Run the benchmark."""
    with tempfile.TemporaryDirectory(prefix="freshet-bench-") as folder:
        warm, timed = Path(folder, "warm.nt"), Path(folder, "timed.nt")
        write_social(warm, triples=WARM_TRIPLES)
        written = write_social(timed, triples=triples)
        load(warm)  # compiles what is not compiled yet
        engines, loading = load(timed)
    prepare = engines.session.prepare
    rows = {name: check(engines, name, text) for name, text in QUERIES.items()}
    answers = {
        name: _measure_by_turns(partial(engines.answer, prepare(text)), partial(engines.answer_pyoxigraph, text))
        for name, text in QUERIES.items()
    }
    documents = [
        _measure_by_turns(partial(engines.json, text), partial(engines.json_pyoxigraph, text))
        for text in QUERIES.values()
    ]
    plans = [median(_seconds(partial(prepare, text)) for _ in range(TIMES)) for text in QUERIES.values()]
    return [
        *(_milliseconds(f"{name}_ms", times) for name, times in answers.items()),
        Figure("ratio_geometric_mean", _mean_ratio([*answers.values()]), "of pyoxigraph's time"),
        Figure("ratio_heavy", _mean_ratio([answers[name] for name in HEAVY]), "of pyoxigraph's time"),
        Figure("text_to_plan_ms", 1000 * median(plans), "ms"),
        Figure("text_to_plan_greatest_ms", 1000 * max(plans), "ms"),
        Figure("ratio_text_to_json", _mean_ratio(documents), "of pyoxigraph's time"),
        Figure(
            "load_triples_per_second",
            written / loading.freshet,
            "triples/s",
            Baseline(PYOXIGRAPH, written / loading.pyoxigraph),
        ),
        Figure("triples", written, "triples"),
        *(Figure(f"{name}_rows", count, "rows") for name, count in rows.items()),
    ]


def load(path: Path) -> tuple[Engines, Times]:
    """Load a file into both engines, and how long each took."""
    session, store = Session(), pyoxigraph.Store()
    ours = _seconds(partial(_load, session, path))
    theirs = _seconds(partial(store.bulk_load, path=str(path), format=pyoxigraph.RdfFormat.N_TRIPLES))
    return Engines(session, session.dataset(), store), Times(ours, theirs)


def _load(session: Session, path: Path) -> None:
    """Load a file, and have all sorted orders made, as pyoxigraph does; else the first queries would make them."""
    session.load(path)
    graph = session.dataset().graph(DEFAULT_GRAPH)
    for pattern in ((1, 1, 0), (0, 1, 1), (1, 0, 0), (0, 0, 1)):
        graph.count(*pattern)


def check(engines: Engines, name: str, text: str) -> int:
    """How many solutions a query has; an error where the engines do not agree on them, or there are none."""
    solutions = engines.answer(engines.session.prepare(text))
    columns = [engines.session.dictionary.keys(column.copy()).to_pylist() for column in solutions.rows.T]
    ours = Counter(zip(*columns, strict=True))
    theirs = Counter(
        tuple(parsed_key(solution[variable], "") for variable in solutions.variables)
        for solution in engines.answer_pyoxigraph(text)
    )
    if ours != theirs or not ours:
        found = f"{ours.total()} solutions against {theirs.total()} of pyoxigraph, {(ours & theirs).total()} the same"
        raise FreshetError(f"the query {name} is not answered as it should be: {found}")
    return ours.total()


def _measure_by_turns(ours: Callable[[], object], theirs: Callable[[], object]) -> Times:
    """The medians of both, run by turns so that what else the machine does meets both."""
    ours()
    pairs = [(_seconds(ours), _seconds(theirs)) for _ in range(TIMES)]
    return Times(*(median(column) for column in zip(*pairs, strict=True)))


def _seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def _milliseconds(name: str, times: Times) -> Figure:
    return Figure(name, 1000 * times.freshet, "ms", Baseline(PYOXIGRAPH, 1000 * times.pyoxigraph))


def _mean_ratio(all_times: Sequence[Times]) -> float:
    """The geometric mean."""
    return math.exp(sum(math.log(times.ratio) for times in all_times) / len(all_times))
