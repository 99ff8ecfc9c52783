"""What a durable session remembers of its streams and queries, as it is journaled, and what is done with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple

from freshet.algebra.nodes import Query
from freshet.algebra.parameters import bind_parameters
from freshet.native.moments import BEFORE_ALL_TIME
from freshet.native.streams.stream import StreamState
from freshet.rdf.deadline import QueryLimits
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.reading import Quads
from freshet.rdf.terms import Iri, term_from_key
from freshet.results.answers import AnswerBatch, hand_over
from freshet.results.report import Report
from freshet.runtime.journal import Header
from freshet.runtime.query_order import streams_read
from freshet.runtime.registered_query import RegisteredQuery
from freshet.store.dataset import StoredDataset, rows_by_graph
from freshet.syntax.parser import parse_query

if TYPE_CHECKING:
    from freshet.native.engine import Engine

OnReport = Callable[[Report], None]
OnBatch = Callable[[AnswerBatch], None]


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """A stream as it was declared; `absorb` are the predicates of what enters the graph: none (None), or all (none
    named). `keep_ms` is how far back one-shot queries may look, 0 where they may not, with 0 `keep_bytes` then.
    `idle_ms` is after how long a silence the stream goes on with the wall clock, 0 for never. `carries` are the
    predicates that its elements can have, where a mapping says that."""

    iri: str
    lateness_ms: int
    absorb: tuple[str, ...] | None
    held: bool
    keep_ms: int = 0
    keep_bytes: int = 0
    idle_ms: int = 0
    carries: tuple[str, ...] | None = None
    latest: bool = False  # whether what enters the graph replaces the values that are there
    retracts: bool = False  # whether elements can delete
    absorb_ms: int = 0  # at what age that which enters the graph goes again, 0 for never
    graphs: bool = False  # whether elements keep the graphs that they are in


@dataclass(frozen=True, slots=True)
class DurableRegistration:
    """A query as it was registered, when `streams` streams were known. If it is `measured`, what its operators do is
    counted."""

    name: str
    text: str
    file: str | None
    dialect: str | None
    report: tuple[str, ...]
    every_ms: int | None
    limit_seconds: float | None
    streams: int = 0
    accuracy: float | None = None
    latency_ms: float | None = None
    bindings: tuple[tuple[str, str], ...] = ()  # the keys of terms, by the names of variables
    measured: bool = False
    limit_bytes: int | None = None
    since_ms: int | None = None  # from which time on it sees elements, if that is in the past

    @property
    def limits(self) -> QueryLimits | None:
        """What one step may take, if that is limited."""
        given = QueryLimits(self.limit_seconds, self.limit_bytes)
        return None if given == QueryLimits() else given

    def parse(self) -> Query:
        """The query, with its parameters bound."""
        query = parse_query(self.text, file=self.file, dialect=self.dialect)
        return bind_parameters(query, {name: term_from_key(key) for name, key in self.bindings})


class Position(NamedTuple):
    """How much of a stream is in: the number of batches (pushes) and of elements."""

    batches: int
    elements: int


class Outbox:
    """Reports of a query on their way: to a callback, or to where they wait."""

    query: RegisteredQuery

    def __init__(self, registration: DurableRegistration) -> None:
        self.registration = registration
        self.waiting: deque[AnswerBatch] = deque()
        self.made: deque[int] = deque()  # for each batch that waits, or may not have been received, its entry
        self.on_report: OnReport | None = None
        self.on_batch: OnBatch | None = None
        self.on_skip: OnBatch | None = None  # gets reports that were received before the restart
        self.is_restored = False  # and was not asked for since

    def put(self, batch: AnswerBatch, entry: int, is_wanted: Callable[[], bool]) -> None:
        """Reports that an entry has made; a callback gets them as long as they are wanted."""
        if self.on_batch is not None:
            self.on_batch(batch)
        elif self.on_report is not None:
            hand_over(batch, self.on_report, is_wanted)
        else:
            self.waiting.append(batch)  # first: a report taken before its entry is noted does not count as received
            self.made.append(entry)

    def skip(self, batch: AnswerBatch) -> None:
        """Reports that were received before the restart."""
        if self.on_skip is not None:
            self.on_skip(batch)

    def hand_to(self, on_report: OnReport | None, on_batch: OnBatch | None) -> None:
        """A callback gets what waits, and all from now on; where it raises, the rest waits on."""
        while self.waiting:
            batch = self.waiting.popleft()
            if on_report is not None and len(batch) > 1:
                self.waiting.appendleft(batch.part(1, len(batch)))
                batch = batch.part(0, 1)
            try:
                if on_report is not None:
                    on_report(next(batch.reports()))
                elif on_batch is not None:
                    on_batch(batch)
            except BaseException:
                self.waiting.appendleft(batch)  # it was not received
                raise
            self.query.acknowledge()
        self.on_report, self.on_batch = on_report, on_batch

    def oldest(self, default: int) -> int:
        """The first entry that has made a report which may not have been received."""
        try:
            return min(self.made[0], default)
        except IndexError:
            return default


def options_of(state: StreamState, dictionary: Dictionary) -> StreamOptions:
    """How a stream was declared."""
    absorb = None
    if state.absorb is not None:
        terms = dictionary.decode_many(sorted(state.absorb))
        absorb = tuple(sorted(term.value for term in terms if isinstance(term, Iri)))
    carries = None if state.carries is None else tuple(sorted(predicate.value for predicate in state.carries))
    return StreamOptions(
        state.iri,
        state.lateness_ms,
        absorb,
        state.held,
        state.keep_ms,
        state.keep_bytes,
        state.idle_ms,
        carries,
        state.latest,
        state.retracts,
        state.absorb_ms,
        state.graphs,
    )


def stream_options_of(fields: Header) -> StreamOptions:
    absorb = fields["absorb"]
    kept = None if absorb is None else tuple(absorb)
    numbers = ("keep_ms", "keep_bytes", "idle_ms", "absorb_ms")
    later = {name: fields.get(name, 0) for name in numbers}  # earlier ones had none
    carries = fields.get("carries")
    known = None if carries is None else tuple(carries)
    changing = {name: fields.get(name, False) for name in ("latest", "retracts", "graphs")}
    return StreamOptions(fields["iri"], fields["lateness_ms"], kept, fields["held"], **later, carries=known, **changing)


def registration_of(fields: Header) -> DurableRegistration:
    known = {name: fields[name] for name in DurableRegistration.__slots__ if name in fields}  # earlier ones had fewer
    bindings = tuple((name, key) for name, key in fields.get("bindings", ()))
    return DurableRegistration(**{**known, "report": tuple(fields["report"]), "bindings": bindings})


def declare_stream(engine: Engine, options: StreamOptions) -> None:
    """Make a stream known to an engine. The caller holds a pin on its dictionary."""
    absorb = None
    if options.absorb is not None:
        absorb = frozenset(engine.dictionary.encode(Iri(predicate)) for predicate in options.absorb)
    state = StreamState(options.iri, options.lateness_ms, absorb, options.latest, options.retracts, held=options.held)
    state.keep_bytes, state.idle_ms, state.absorb_ms = options.keep_bytes, options.idle_ms, options.absorb_ms
    state.graphs = options.graphs
    state.carries = None if options.carries is None else frozenset(map(Iri, options.carries))
    engine.declare(state)
    if options.keep_ms:
        engine.keep_windows(options.iri, options.keep_ms, options.keep_bytes)


def declare_first(engine: Engine, streams: Iterable[Header]) -> None:
    """Declare those streams that are not there yet."""
    for fields in streams:
        if fields["iri"] not in engine.streams:
            declare_stream(engine, stream_options_of(fields))


def declare_read(engine: Engine, registration: DurableRegistration, streams: Iterable[Header]) -> None:
    """Declare the streams that a query reads and that are not there: earlier versions made them with the query."""
    query = registration.parse()
    missing = [iri for iri in streams_read(query) if not engine.can_read(iri)]
    if missing:
        declare_first(engine, [fields for fields in streams if fields["iri"] in missing])
        for iri in missing:
            if iri not in engine.streams:
                engine.declare(StreamState(iri))


def streams_state(engine: Engine, batches: dict[str, int]) -> list[Header]:
    """The streams of an engine as they are now, in the order they came; `batches` are those that are in."""
    return [
        {
            **asdict(options_of(state, engine.dictionary)),
            "watermark_ms": state.watermark_ms,
            **dict(zip(("elements", "late", "derived"), state.counts, strict=True)),
            "batches": batches.get(state.iri, 0),
        }
        for state in engine.streams.values()
    ]


def positions_of(engine: Engine, batches: dict[str, int]) -> dict[str, Position]:
    """How far each stream is."""
    return {iri: Position(batches.get(iri, 0), state.elements) for iri, state in engine.streams.items()}


def restore_streams(engine: Engine, streams: Iterable[Header], batches: dict[str, int]) -> None:
    """Have declared streams be as far as they were, if they were there before."""
    for fields in streams:
        if fields["iri"] not in engine.streams or "watermark_ms" not in fields:
            continue
        known = engine.streams[fields["iri"]]
        known.go_on_counting(fields["elements"], fields["late"], fields.get("derived"))
        batches[known.iri] = fields.get("batches", 0)
        if known.elements:
            engine.note_gone(known.iri, fields["watermark_ms"] + known.lateness_ms)
        engine.advance(known.iri, fields["watermark_ms"])
    engine.forget_past()


def latest_in(header: Header) -> int:
    """The largest time of an element in an entry."""
    latest_ms: int = header.get("latest_ms", BEFORE_ALL_TIME)
    return latest_ms


def load_quads(engine: Engine | None, stored: StoredDataset, quads: Quads, home: int) -> None:
    """Add statements to the stored graphs; the graph `home` is there then, if only empty.

    An engine passes them on to its queries.
    """
    engine_held = nullcontext() if engine is None else engine.loading()
    with engine_held, stored.changing:  # a snapshot has all of a file or nothing
        for name, rows in rows_by_graph(quads.graphs, home):
            subjects, predicates, objects = (column[rows] for column in quads[:3])
            (engine or stored).load(subjects, predicates, objects, name)
