"""The forms of query that `freshet bench operators` registers, their data, and the same from scratch in Arrow.

A form is a chain of patterns `?v0 :p0 ?v1 . ?v1 :p1 ?v2 …`, each over the last n elements of a stream of its own, with
something on top of the join. The window of each stream moves with every element. From scratch, Arrow's hash join and
hash aggregation (all cores) answer the same over the whole windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.rdf.elements import Elements
from freshet.rdf.terms import XSD
from freshet_benchmarks.social_columns import Encoder

Ints = NDArray[np.int64]

BASE = "http://example.org/"
_NUMBERS = 100_000


class Top(Enum):
    """What stands on top of the join."""

    NOTHING = "SELECT * "
    AVERAGE = "SELECT ?v0 (AVG(?v1) AS ?mean) "
    LEAST = "SELECT (MIN(?v2) AS ?least) "
    DISTINCT = "SELECT DISTINCT ?v0 "


@dataclass(frozen=True, slots=True)
class Form:
    """A query: `width` patterns over windows of `window` rows with `keys` values to join on, `firsts` values of ?v0."""

    name: str
    patterns: int
    window: int
    keys: int
    firsts: int
    top: Top = Top.NOTHING
    rstream: bool = False
    closing: bool = False

    def query(self) -> str:
        """In CQELS-QL, which puts out what is new. RSTREAM and windows that close, every millisecond, are RSP-QL's."""
        group = " GROUP BY ?v0" if self.top is Top.AVERAGE else ""
        patterns = [f"?v{at} <{BASE}p{at}> ?v{at + 1}" for at in range(self.patterns)]
        if self.rstream or self.closing:
            width = f"RANGE PT{self.window / 1_000}S STEP PT0.001S" if self.closing else f"COUNT {self.window}"
            windows = "".join(f"FROM NAMED WINDOW <w{at}> ON <{stream(at)}> [{width}]\n" for at in range(self.patterns))
            where = " ".join(f"WINDOW <w{at}> {{ {pattern} }}" for at, pattern in enumerate(patterns))
            output = "RSTREAM" if self.rstream else "ISTREAM"
            return f"REGISTER {output} <{self.name}> AS {self.top.value}\n{windows}WHERE {{ {where} }}{group}"
        where = " ".join(
            f"STREAM <{stream(at)}> [TRIPLES {self.window}] {{ {pattern} }}" for at, pattern in enumerate(patterns)
        )
        return f"{self.top.value} WHERE {{ {where} }}{group}"

    @property
    def numeric(self) -> bool:
        """Whether the last variable is a number."""
        return self.top in (Top.AVERAGE, Top.LEAST)


def stream(at: int) -> str:
    """The stream of a pattern."""
    return f"{BASE}stream{at}"


class Data:
    """The elements of a form: whole windows at one instant first, then one a millisecond, in streams by chance.

    `contents` are the windows after what was made last, as pairs of columns of plain numbers.
    """

    def __init__(self, form: Form, encoder: Encoder) -> None:
        self.form = form
        self._encoder = encoder
        self._random = np.random.default_rng(7)
        self._predicates = [encoder.iri(f"{BASE}p{at}") for at in range(form.patterns)]
        self._now_ms = 0
        none = np.empty(0, np.int64)
        self.contents: list[tuple[Ints, Ints]] = [(none, none) for _ in range(form.patterns)]

    def fill(self) -> Mapping[str, Elements]:
        """Elements of each stream that fill all windows, at one instant."""
        self._now_ms += 1
        times = np.full(self.form.window, self._now_ms, np.int64)
        return {stream(at): self._elements(at, times) for at in range(self.form.patterns)}

    def batches(self, size: int) -> Iterator[Mapping[str, Elements]]:
        """Batches without end, each element an instant of its own."""
        while True:
            first_ms, chosen = self._now_ms + 1, self._random.integers(0, self.form.patterns, size)
            self._now_ms += size
            yield {
                stream(at): self._elements(at, first_ms + np.flatnonzero(chosen == at))
                for at in range(self.form.patterns)
                if (chosen == at).any()
            }

    def singles(self, count: int) -> Iterator[Mapping[str, Elements]]:
        """Elements one by one, of the streams by turns."""
        for turn in range(count):
            self._now_ms += 1
            at = turn % self.form.patterns
            yield {stream(at): self._elements(at, np.array([self._now_ms]))}

    def _elements(self, at: int, times: Ints) -> Elements:
        form, count = self.form, len(times)
        lefts = self._random.integers(0, form.firsts if at == 0 else form.keys, count)
        last = at == form.patterns - 1
        rights = self._random.integers(0, _NUMBERS if last and form.numeric else form.keys, count)
        before, after = self.contents[at]
        self.contents[at] = (
            np.concatenate((before, lefts))[-form.window :],
            np.concatenate((after, rights))[-form.window :],
        )
        return Elements(
            times,
            self._encoder.numbered(f"<{BASE}v{at}x", ">", lefts),
            np.full(count, self._predicates[at]),
            self._encoder.numbered('"', f'"^^<{XSD}integer>', rights)
            if last and form.numeric
            else self._encoder.numbered(f"<{BASE}v{at + 1}x", ">", rights),
        )


def from_scratch(form: Form, contents: list[tuple[Ints, Ints]]) -> pa.Table:
    """The answer over whole windows. A window is a set of triples, so that what it has twice counts once."""
    tables = [
        pa.table({f"v{at}": lefts, f"v{at + 1}": rights}).group_by([f"v{at}", f"v{at + 1}"]).aggregate([])
        for at, (lefts, rights) in enumerate(contents)
    ]
    joined = tables[0]
    for at, table in enumerate(tables[1:], start=1):
        joined = joined.join(table, f"v{at}", join_type="inner")
    match form.top:
        case Top.AVERAGE:
            return joined.group_by("v0").aggregate([("v1", "mean")])
        case Top.LEAST:
            return joined.group_by([]).aggregate([("v2", "min")])
        case Top.DISTINCT:
            return joined.group_by("v0").aggregate([])
        case _:
            return joined
