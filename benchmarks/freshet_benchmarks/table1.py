"""`freshet bench table1`: the queries of table 1 of operator-aware structures, each a registered query.

SRBench-like weather and LSBench's social network are generated (`weather`, `social`). Every query has a session of its
own with the stored data; its windows are filled at one instant, then triples come in batches of 1,000, each triple an
instant of its own. The baseline is what the paper reports for CQELS on eight cores. Rates are by processor time, of all
threads. Queries with other operators over the same data have no published figure. Then triples come one by one, and
what each takes until its reports are there is by the clock (`registered.one_element_figures`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from freshet.rdf.elements import Elements
from freshet.rdf.errors import FreshetError
from freshet.runtime.session import Session
from freshet_benchmarks.figures import Baseline, Figure
from freshet_benchmarks.registered import Throughput, one_element_figures, push_batch, register, take_rows, throughput
from freshet_benchmarks.social import TRIPLES_PER_USER, make_network
from freshet_benchmarks.social_columns import Encoder, Ints
from freshet_benchmarks.social_streams import SocialStreams
from freshet_benchmarks.social_triples import write_network
from freshet_benchmarks.table1_queries import WINDOWS, Asked, social_queries, weather_queries
from freshet_benchmarks.weather import OBSERVATIONS, Weather

BATCH = 1_000
STORED = 500_000
PUBLISHED = "CQELS (published)"
TAG = '"tag0"'


@dataclass(frozen=True, slots=True)
class Length:
    """How long a query is measured: processor time, and batches at most; then triples one by one."""

    seconds: float = 2.0
    batches: int = 200
    singles: int = 1_000
    warm_singles: int = 200


USUAL = Length()
SHORT = Length(0.0, 3, 10, 5)


@dataclass(frozen=True, slots=True)
class World:
    """What is stored, as files, and the streams."""

    weather: Weather
    weather_file: Path
    social: SocialStreams
    social_file: Path

    @property
    def user(self) -> int:
        """One of those who are online, and most of whose friends are."""
        return int(self.social.online[self.social.online.size // 2])

    def stored(self, asked: Asked) -> Path:
        """The file that a query needs."""
        return self.weather_file if asked.weather else self.social_file

    def blocks(self, asked: Asked, encoder: Encoder) -> Iterator[Mapping[str, Elements]]:
        """What comes in the streams of a query, block by block; times say only what comes before what."""
        if asked.weather:
            for elements in self.weather.elements(encoder):
                yield {OBSERVATIONS: elements._replace(times=np.arange(len(elements.times)))}
        else:
            number = 0
            while True:
                batch = self.social.batch(number)
                yield {stream: batch[stream].elements(encoder) for stream in asked.streams}
                number += 1


def make_world(folder: Path, triples: int = STORED) -> World:
    """Stored data: `triples` in the social network, and a fortieth of that number of stations."""
    users = max(20, round(triples / TRIPLES_PER_USER))
    weather = Weather(max(500, triples // 40))
    weather_file, social_file = folder / "stations.nt", folder / "social.nt"
    weather_file.write_text(weather.stored())
    network = make_network(users)
    with social_file.open("wb") as file:
        write_network(file, network)
    return World(weather, weather_file, SocialStreams(network), social_file)


def queries(world: World, windows: dict[str, int] = WINDOWS) -> list[Asked]:
    """All queries over a world."""
    return [*weather_queries(windows), *social_queries(world.user, TAG, windows)]


def table1_figures(triples: int | None = None, length: Length = USUAL) -> Sequence[Figure]:
    """Run the benchmark; `triples` are those of the stored network."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="freshet-table1-") as folder:
        world = make_world(Path(folder), triples or STORED)
        asked = queries(world)
        for each in asked:  # compiles what is not compiled yet
            run(world, each, SHORT, WINDOWS)
        for each in asked:
            found, singles = run(world, each, length, WINDOWS)
            figures += [*query_figures(each, found), *singles]
    return [*figures, *(Figure(f"window_{name}", size, "triples") for name, size in _window_sizes().items())]


def query_figures(asked: Asked, found: Throughput) -> list[Figure]:
    """The rate beside the published one, and how much is put out."""
    baseline = None if asked.published is None else Baseline(PUBLISHED, asked.published)
    return [
        Figure(f"{asked.name}_triples_per_second", found.elements_per_second, "triples/s", baseline),
        Figure(f"{asked.name}_rows_per_triple", found.rows / found.elements, "rows"),
    ]


def run(world: World, asked: Asked, length: Length, windows: Mapping[str, int]) -> tuple[Throughput, list[Figure]]:
    """Fill the windows of a query, then measure it, in batches and one by one; one that never answers is an error."""
    session = Session()
    session.load(world.stored(asked))
    with session.dictionary.pins:  # the batches hold terms that nothing else does yet
        query = register(session, asked.text, asked.name)
        merged = Merged(world.blocks(asked, Encoder(session.dictionary)))
        push_batch(session, merged.fill({stream: windows[stream] for stream in asked.streams}))
        batches = merged.batches(BATCH, 1 + length.batches)
        push_batch(session, next(batches))
        filled = take_rows(query)
        found = throughput(session, [query], batches, seconds=length.seconds)
    singles = one_element_figures(
        asked.name, session, query, asked.streams, merged.batches(1, 2 * (length.singles + length.warm_singles)),
        count=length.singles, warm=length.warm_singles,
    )  # fmt: skip
    if not filled + found.rows:
        raise FreshetError(f"the query {asked.name} had no answers, so that its rate says nothing")
    return found, singles


class Merged:
    """Blocks of several streams as one sequence, which is cut into batches and given times anew."""

    def __init__(self, blocks: Iterator[Mapping[str, Elements]]) -> None:
        self._blocks = blocks
        self._streams: tuple[str, ...] = ()
        self._waiting: list[_Tagged] = []
        self._now_ms = 0

    def fill(self, sizes: Mapping[str, int]) -> Mapping[str, Elements]:
        """A number of elements of each stream and all that come before them, at one instant."""
        taken: list[_Tagged] = []
        counts = dict.fromkeys(sizes, 0)
        while any(counts[stream] < size for stream, size in sizes.items()):
            taken.append(self._block())
            for stream in sizes:
                counts[stream] += int(np.count_nonzero(taken[-1].tags == self._streams.index(stream)))
        self._now_ms += 1
        whole = _Tagged.joined(taken)
        return self._split(whole, np.full(len(whole.tags), self._now_ms))

    def batches(self, size: int, count: int) -> Iterator[Mapping[str, Elements]]:
        """Batches of a number of elements in all streams together, one a millisecond."""
        for _ in range(count):
            while sum(len(block.tags) for block in self._waiting) < size:
                self._waiting.append(self._block())
            whole = _Tagged.joined(self._waiting)
            self._waiting = [whole.part(slice(size, None))]
            times = self._now_ms + 1 + np.arange(size)
            self._now_ms += size
            yield self._split(whole.part(slice(size)), times)

    def _block(self) -> _Tagged:
        block = next(self._blocks)
        self._streams = self._streams or tuple(block)
        columns = [np.concatenate(column) for column in zip(*block.values(), strict=True)]
        tags = np.repeat(np.arange(len(block)), [len(elements.times) for elements in block.values()])
        order = np.argsort(columns[0], kind="stable")
        return _Tagged(tags[order], Elements(*(column[order] for column in columns)))

    def _split(self, tagged: _Tagged, times: Ints) -> Mapping[str, Elements]:
        elements = tagged.elements._replace(times=times)
        rows = {stream: np.flatnonzero(tagged.tags == at) for at, stream in enumerate(self._streams)}
        return {
            stream: Elements(*(column[chosen] for column in elements)) for stream, chosen in rows.items() if chosen.size
        }


@dataclass(frozen=True, slots=True)
class _Tagged:
    """Elements of several streams in one order, with the number of the stream of each."""

    tags: Ints
    elements: Elements

    @staticmethod
    def joined(blocks: Sequence[_Tagged]) -> _Tagged:
        columns = zip(*(block.elements for block in blocks), strict=True)
        return _Tagged(np.concatenate([block.tags for block in blocks]), Elements(*map(np.concatenate, columns)))

    def part(self, rows: slice) -> _Tagged:
        return _Tagged(self.tags[rows], Elements(*(column[rows] for column in self.elements)))


def _window_sizes() -> dict[str, int]:
    return {stream.rpartition("/")[2]: size for stream, size in WINDOWS.items()}
