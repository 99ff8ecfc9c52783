"""What a batch of a stream costs with one, ten, a hundred and a thousand queries of LSBench Q2's form registered.

The queries differ in one constant: whose posts they wait for. The stream is encoded before the clock starts, so that a
figure has the engine's work only: taking in the batch, evaluating at every moment in it, and delivering the reports.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError
from freshet.rdf.terms import Iri
from freshet.results.report import Report
from freshet.runtime.session import Session
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.social import SocialNetwork, make_network
from freshet_benchmarks.social_columns import Encoder, Numbered, Statements, lines
from freshet_benchmarks.social_streams import RATE, RATES, TRIPLES_PER_POST, SocialStreams
from freshet_benchmarks.social_vocabulary import PERSON, POST_STREAM, SIOC, USER

COUNTS = (1, 10, 100, 1000)
WARM_BATCHES = 8
BATCHES = 24
POSTS_PER_SECOND = 1000

# Q2: all posts of one person. LSBench's form, evaluated at every arrival, and one that closes ten times a second.
FORMS = {
    "cqels": f"""PREFIX sioc: <{SIOC}> SELECT ?post WHERE {{
  STREAM <{POST_STREAM}> [RANGE 1s] {{ ?user sioc:creator_of ?post }}
  ?user sioc:account_of <%s> }}""",
    "rspql": f"""PREFIX sioc: <{SIOC}> REGISTER ISTREAM <%s/posts> AS SELECT ?post
FROM NAMED WINDOW <w> ON <{POST_STREAM}> [RANGE PT1S STEP PT0.1S] WHERE {{
  WINDOW <w> {{ ?user sioc:creator_of ?post }}
  ?user sioc:account_of <%s> }}""",
}


@dataclass(slots=True)
class Counted:
    """How many rows the reports of all queries had."""

    rows: int = 0

    def __call__(self, report: Report) -> None:
        self.rows += len(report.rows)


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds of processor time: for each batch, and for registering all queries."""

    batch_seconds: float
    register_seconds: float
    rows: int


class World(NamedTuple):
    """The streams, of which that of posts is used, and the file of what is stored."""

    streams: SocialStreams
    stored: Path


def many_queries_figures() -> Sequence[Figure]:
    """Milliseconds a batch for each number of queries, beside those of one query; and what registering one costs."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        world = make_world(Path(folder))
        for form in FORMS:
            runs = {count: run(world, form, count) for count in COUNTS}
            one = Baseline("one query", 1000 * runs[1].batch_seconds)
            for count, found in runs.items():
                baseline = one if count > 1 else None
                figures.append(Figure(f"q2_{form}_{count}_queries_ms", 1000 * found.batch_seconds, "ms", baseline))
            most = runs[COUNTS[-1]]
            figures.append(Figure(f"q2_{form}_register_ms", 1000 * most.register_seconds / COUNTS[-1], "ms a query"))
    return figures


def make_world(folder: Path, *, users: int = 1000) -> World:
    """A network and its posts. Of a network only who is who is stored."""
    network = make_network(users)
    stored = folder / "accounts.nt"
    stored.write_bytes(accounts(network))
    return World(SocialStreams(network, RATE * POSTS_PER_SECOND * TRIPLES_PER_POST / RATES[POST_STREAM]), stored)


def accounts(network: SocialNetwork) -> bytes:
    """Which person each user is, as N-Triples."""
    numbers = np.arange(network.users)
    users, people = Numbered(f"<{USER}", numbers), Numbered(f"<{PERSON}", numbers)
    statements = [Statements(users, SIOC + "account_of", people, numbers)]
    return b"".join(buffer.to_pybytes() for buffer in lines(statements, at_once=network.users))


def run(world: World, form: str, count: int, *, batches: int = BATCHES) -> Run:
    """Push batches with so many queries registered, and check that all their answers came."""
    session, counted = Session(), Counted()
    session.load(world.stored)
    session.stream(POST_STREAM)
    people = asked(world, count)
    texts = [FORMS[form].replace("%s", f"{PERSON}{person}") for person in people]
    started = time.process_time()
    for number, text in enumerate(texts):
        session.register(text, name=f"posts{number}", on_report=counted)
    registered = time.process_time() - started
    seconds = []
    with session.dictionary.pins:  # the batches hold terms that nothing else does yet
        encoder = Encoder(session.dictionary)
        pushed = [world.streams.posts(number).elements(encoder) for number in range(WARM_BATCHES + batches)]
        for batch in pushed:
            started = time.process_time()
            session.push(POST_STREAM, batch)
            seconds.append(time.process_time() - started)
        session.finish()
        _check(pushed, session, people, counted.rows)
    return Run(median(seconds[WARM_BATCHES:]), registered, counted.rows)


def asked(world: World, count: int) -> Sequence[int]:
    """Whose posts the queries wait for: those who post most, first."""
    online = world.streams.online
    others = np.setdiff1d(np.arange(world.streams.network.users), online)
    chosen: list[int] = np.concatenate((online, others))[:count].tolist()
    return chosen


def _check(pushed: Sequence[Elements], session: Session, people: Sequence[int], rows: int) -> None:
    """Every post of the persons asked for is reported once: as it comes."""
    users = [session.dictionary.encode(Iri(f"{USER}{number}")) for number in people]
    creates = session.dictionary.encode(Iri(SIOC + "creator_of"))
    makers = np.concatenate([batch.subjects[batch.predicates == creates] for batch in pushed])
    expected = int(np.count_nonzero(np.isin(makers, users)))
    if rows != expected or not expected:
        raise FreshetError(f"{len(people)} queries reported {rows} posts, there were {expected}")
