from __future__ import annotations

import threading

import pytest

from freshet.algebra.nodes import Query
from freshet.oneshot.answer import answer
from freshet.rdf.deadline import Deadline, QueryStoppedError
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import FreshetError
from freshet.syntax.parser import parse_query
from plain_dataset import PlainDataset, PlainGraph

# a hundred million pairs, which would take seconds and gigabytes
ROWS = " ".join(str(number) for number in range(10_000))
LONG = f"SELECT (COUNT(*) AS ?n) {{ VALUES ?a {{ {ROWS} }} VALUES ?b {{ {ROWS} }} }}"
QUERY = parse_query(LONG)


def run(query: Query, deadline: Deadline) -> None:
    with deadline.running():
        answer(query, PlainDataset(PlainGraph()), Dictionary())


def test_the_time_limit_is_kept_inside_a_join() -> None:
    with pytest.raises(QueryStoppedError, match="time limit of"):
        run(QUERY, Deadline(0.05))


def test_a_query_is_cancelled_from_another_thread() -> None:
    deadline = Deadline()
    timer = threading.Timer(0.05, deadline.cancel)
    timer.start()
    with pytest.raises(QueryStoppedError, match="cancelled"):
        run(QUERY, deadline)
    timer.join()


def test_a_cancelled_query_does_not_begin() -> None:
    deadline = Deadline()
    deadline.cancel()
    with pytest.raises(FreshetError, match="cancelled"):
        run(parse_query("ASK {}"), deadline)
