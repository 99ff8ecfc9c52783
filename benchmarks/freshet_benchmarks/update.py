"""A graph that changes: updates beside pyoxigraph, streams that delete and replace, and catching up from the past.

Times are those of the processor. Both stores get the same texts of SPARQL Update over the same triples. Each update
replaces values: DELETE DATA of what is there, INSERT DATA of what is not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyoxigraph

from freshet import Iri, Literal, Session
from freshet.rdf.elements import Elements
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.lsbench_replacing import replacing_figures

TRIPLES = 100_000  # stored
BATCH = 1_000
KEYS = 1_000
CHUNK = 10_000
E, S = "http://example.org/", "http://example.org/s"
RANGE = f"FROM NAMED WINDOW <w> ON <{S}> [RANGE PT1S STEP PT0.1S]"
JOIN = f"SELECT ?s ?v {RANGE} WHERE {{ WINDOW <w> {{ ?s <{E}p> ?v . ?s <{E}q> ?x }} }}"
STORED = f"SELECT ?s ?v ?y {RANGE} WHERE {{ WINDOW <w> {{ ?s <{E}p> ?v }} ?s <{E}q> ?y }}"


def update_figures(triples: int | None = None) -> Sequence[Figure]:
    """Run the benchmark over a number of stored triples; streams have five times as many elements."""
    stored = TRIPLES if triples is None else triples
    return [
        *_updates(stored),
        *_streams(5 * stored),
        *replacing_figures(3 * stored),
        *_bytes(10 * stored),
        *_catching_up(5 * stored),
    ]


# ---- updates


def _updates(triples: int) -> list[Figure]:
    session, store = Session(), pyoxigraph.Store()
    for first in range(0, triples, CHUNK):
        text = f"INSERT DATA {{ {_data(range(first, min(first + CHUNK, triples)), 0)} }}"
        session.update(text)
        store.update(text)
    figures = []
    for name, size, count in (("single", 1, 500), ("batch", BATCH, 20)):
        count = max(2, min(count, triples // size // 3))
        texts = [_replacement(range(at * size, (at + 1) * size), back=False) for at in range(count)]
        for text in (texts[0], _replacement(range(size), back=True)):  # compiles what is not compiled yet
            session.update(text)
            store.update(text)
        ours = _seconds(partial(_do_all, session.update, texts))
        theirs = _seconds(partial(_do_all, store.update, texts))
        baseline = Baseline("pyoxigraph", count / theirs)
        figures.append(Figure(f"update_{name}_per_second", count / ours, "updates/s", baseline))
        for at in range(count):
            session.update(_replacement(range(at * size, (at + 1) * size), back=True))
            store.update(_replacement(range(at * size, (at + 1) * size), back=True))
    return figures


def _do_all(update: Callable[[str], object], texts: Sequence[str]) -> None:
    for text in texts:
        update(text)


def _data(keys: range, value: int) -> str:
    return " ".join(f'<{E}k{key}> <{E}p> "v{key}x{value}" .' for key in keys)


def _replacement(keys: range, *, back: bool) -> str:
    """From value 0 to 1, or back."""
    return f"DELETE DATA {{ {_data(keys, int(back))} }} ; INSERT DATA {{ {_data(keys, int(not back))} }}"


# ---- streams


def _streams(elements: int) -> list[Figure]:
    """What elements cost of which a tenth deletes one that came before, or replaces a stored value."""
    plain = elements / _pushing(JOIN, elements, deleting=False)
    deleting = elements / _pushing(JOIN, elements, deleting=True)
    kept = elements / _pushing(STORED, elements, deleting=False, absorb=[E + "q"])
    replaced = elements / _pushing(STORED, elements, deleting=False, absorb={"latest": [E + "q"]})
    return [
        Figure("stream_deleting_per_second", deleting, "elements/s", Baseline("no deletions", plain)),
        Figure("stream_replacing_per_second", replaced, "elements/s", Baseline("absorbed, nothing replaced", kept)),
    ]


def _pushing(query: str, elements: int, *, deleting: bool, absorb: object = False) -> float:
    session = Session(why_elements=0)
    session.stream(S, retracts=deleting, absorb=absorb)  # type: ignore[arg-type]
    session.register(query, name="q", on_batch=lambda batch: None)
    batches = _batches(session, elements, deleting=deleting)

    def push() -> None:
        for batch in batches:
            session.push_recorded(S, batch, None)

    session.push_recorded(S, batches.pop(0), None)  # compiles what is not compiled yet
    return _seconds(push) * elements / sum(len(batch.times) for batch in batches)


def _batches(session: Session, elements: int, *, deleting: bool) -> list[Elements]:
    """A thousand elements a batch, ten of them a millisecond; a tenth says another value of a key, or deletes."""
    ids = session.dictionary.encode_many
    rng = np.random.default_rng(1)
    subjects, values = ids([Iri(f"{E}k{at}") for at in range(KEYS)]), ids([Literal(f"v{at}") for at in range(KEYS)])
    p, q = ids([Iri(E + "p"), Iri(E + "q")]).tolist()
    found = []
    for first in range(0, elements, BATCH):
        rows = np.arange(first, min(first + BATCH, elements))
        keys = rng.integers(0, KEYS, len(rows))
        is_tenth = rows % 10 == 0
        predicates = np.where(is_tenth, q, p)
        objects = values[rng.integers(0, KEYS, len(rows))]
        if deleting:  # what came 5 elements before
            subject_keys = np.where(is_tenth, np.roll(keys, 5), keys)
            objects = np.where(is_tenth, np.roll(objects, 5), objects)
            predicates = np.where(is_tenth, -p, np.where(rows % 10 == 1, q, p))
            keys = subject_keys
        found.append(Elements(rows // 10, subjects[keys], predicates, objects))
    return found


# ---- memory


def _bytes(replacements: int) -> list[Figure]:
    """The store after many replacements of a few keys, beside one that is loaded with what is left."""
    session = Session(why_elements=0)
    session.stream(S, absorb="latest")
    ids = session.dictionary.encode_many
    subjects, [p] = ids([Iri(f"{E}k{at}") for at in range(KEYS)]), ids([Iri(E + "p")])
    for number in range(max(1, replacements // KEYS)):
        with session.dictionary.pins:
            values = ids([Literal(f"v{at}x{number}") for at in range(KEYS)])
            session.push(S, Elements(np.full(KEYS, number), subjects.copy(), np.full(KEYS, p), values))
    session.engine.compact_stored()
    fresh = Session()
    fresh.update(f"INSERT DATA {{ {_data(range(KEYS), 0)} }}")
    used, loaded = (_stored_bytes(each) / KEYS for each in (session, fresh))
    return [Figure("bytes_a_triple_after_replacements", used, "bytes", Baseline("loaded at once", loaded))]


def _stored_bytes(session: Session) -> int:
    sizes = session.sizes()
    return sum(size for name, size in sizes.items() if name not in ("dictionary", "windows"))


# ---- the past


def _catching_up(elements: int) -> list[Figure]:
    """A query over all that is kept: an hour in event time, whatever the number of elements."""
    session = Session()
    session.stream(S, keep_ms=2 * 3_600_000)
    for batch in _batches(session, elements, deleting=False):
        session.push_recorded(S, batch._replace(times=batch.times * 36_000_000 // elements), None)
    query = JOIN.replace("PT1S STEP PT0.1S", "PT10S STEP PT1S")
    seconds = _seconds(lambda: session.register(query, name="past", since=0, on_batch=lambda batch: None))
    return [
        Figure("catching_up_elements_per_second", elements / seconds, "elements/s"),
        Figure("catching_up_real_time", 3600 / seconds, "times real time"),
    ]


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
