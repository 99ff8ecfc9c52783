"""What a batch of a stream costs with many queries of LSBench Q2's form registered.

The queries differ in one constant: whose posts they wait for; or, where they are varied, also in what else queries
differ in. They are registered before the first batch, or one before each batch. The stream is encoded before the clock
starts, so that a figure has the engine's work only: taking in the batch, evaluating at every moment in it, and
delivering the reports.
"""

from __future__ import annotations

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
from freshet_benchmarks.social import SocialNetwork, make_network
from freshet_benchmarks.social_columns import Encoder, Numbered, Statements, lines
from freshet_benchmarks.social_streams import RATE, RATES, TRIPLES_PER_POST, SocialStreams
from freshet_benchmarks.social_vocabulary import DC, PERSON, POST_STREAM, SIOC, USER

WARM_BATCHES = 8
BATCHES = 24
MOST_ONE_A_BATCH = 1_000
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

# Queries that differ in more than a constant: predicate, window, FILTER, COUNT, CONSTRUCT, LIMIT.
_POSTS = f"PREFIX sioc: <{SIOC}> PREFIX dc: <{DC}> "
_STREAM = f"STREAM <{POST_STREAM}> [RANGE {{ms}}ms]"
VARIED = tuple(
    _POSTS + text.replace("{STREAM}", _STREAM) + " ?user sioc:account_of <%s> }" + tail
    for text, tail in (
        ("SELECT ?post WHERE { {STREAM} { ?user sioc:creator_of ?post }", ""),
        ("SELECT ?post ?made WHERE { {STREAM} { ?user sioc:creator_of ?post . ?post dc:created ?made }", ""),
        ("SELECT ?post WHERE { {STREAM} { ?user sioc:creator_of ?post } FILTER (STRLEN(STR(?post)) > {ms} / 100)", ""),
        ("SELECT (COUNT(?post) AS ?posts) WHERE { {STREAM} { ?user sioc:creator_of ?post }", ""),
        ("CONSTRUCT { ?post sioc:has_creator ?user } WHERE { {STREAM} { ?user sioc:creator_of ?post }", ""),
        ("SELECT ?post WHERE { {STREAM} { ?user sioc:creator_of ?post }", " ORDER BY DESC(?post) LIMIT 3"),
    )
)


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


def run(
    world: World,
    form: str,
    count: int,
    *,
    batches: int = BATCHES,
    one_a_batch: bool = False,
    keep: list[object] | None = None,
) -> Run:
    """Push batches with a number of queries registered. If they differ in a constant only, all answers must come.

    With `one_a_batch` a query is registered before each batch, and the batches after the last count. The
    session goes into `keep`, if that is given.
    """
    session, counted = Session(), Counted()
    session.load(world.stored)
    session.stream(POST_STREAM)
    people = most_active_users(world, count)
    waiting = list(enumerate(texts(form, people)))
    registering = 0.0

    def register(number: int, text: str) -> None:
        nonlocal registering
        started = time.process_time()
        session.register(text, name=f"posts{number}", on_report=counted)
        registering += time.process_time() - started

    if not one_a_batch:
        for each in waiting:
            register(*each)
        waiting = []
    seconds = []
    compared = min(count, MOST_ONE_A_BATCH) if keep is not None else 0  # memory, after as many batches
    warm = max(compared, len(waiting)) + WARM_BATCHES
    with session.dictionary.pins:  # the batches hold terms that nothing else does yet
        encoder = Encoder(session.dictionary)
        pushed: list[Elements] = []
        for number in range(warm + batches):
            if number < len(waiting):
                register(*waiting[number])
            elements = world.streams.posts(number).elements(encoder)
            if keep is None:  # else they would be measured too
                pushed.append(elements)
            started = time.process_time()
            session.push(POST_STREAM, elements)
            seconds.append(time.process_time() - started)
        if keep is not None:
            keep.append(session)
        else:
            session.finish()
            if form in FORMS and not one_a_batch:
                _check(pushed, session, people, counted.rows)
    if session.failures or not counted.rows:
        raise FreshetError(f"{count} queries reported {counted.rows} posts: {session.failures}")
    return Run(median(seconds[warm:]), registering, counted.rows)


def texts(form: str, people: Sequence[int]) -> list[str]:
    """A query about each person: of one form, or of all that are varied by turns, each with a window of its own."""
    if form != "varied":
        return [FORMS[form].replace("%s", f"{PERSON}{person}") for person in people]
    return [
        VARIED[number % len(VARIED)].replace("%s", f"{PERSON}{person}").replace("{ms}", str(1_000 + 10 * number))
        for number, person in enumerate(people)
    ]


def most_active_users(world: World, count: int) -> Sequence[int]:
    """Whose posts the queries wait for: those who post most, first."""
    online = world.streams.online
    others = np.setdiff1d(np.arange(world.streams.network.users), online)
    chosen: list[int] = np.concatenate((online, others))[:count].tolist()
    return chosen


def _check(pushed: Sequence[Elements], session: Session, people: Sequence[int], rows: int) -> None:
    """Every post of the persons most_active_users for is reported once: as it comes."""
    users = [session.dictionary.encode(Iri(f"{USER}{number}")) for number in people]
    creates = session.dictionary.encode(Iri(SIOC + "creator_of"))
    makers = np.concatenate([batch.subjects[batch.predicates == creates] for batch in pushed])
    expected = int(np.count_nonzero(np.isin(makers, users)))
    if rows != expected or not expected:
        raise FreshetError(f"{len(people)} queries reported {rows} posts, there were {expected}")
