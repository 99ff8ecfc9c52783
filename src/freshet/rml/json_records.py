"""What references find in JSON records: kernels for names, indexes and wildcards, a library for the rest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.kernels import json_lines, json_paths
from freshet.kernels.json_paths import INDEX, NAME, WILDCARD, PathSteps
from freshet.kernels.json_values import BOOLEAN, ESCAPED, INTEGER, NESTED, NOTHING, REAL, STRING
from freshet.rdf.arrow import Ranges, numbers, string_array, strings, truths
from freshet.rml.json_lines import first_word, path_tree, read_ranges
from freshet.rml.json_paths import JsonPath, Step, Wildcard, deep_enough

Column = tuple[pa.Array, pa.Array]  # texts and kinds; lists of them where a path may find several values


class JsonValues(NamedTuple):
    """What references find, in the order of the references."""

    objects: pa.Array  # whether each record is a JSON object
    columns: list[Column]


class Places(NamedTuple):
    """What a path finds in documents: values firsts[i]:firsts[i + 1] are in document i, if it is good JSON."""

    firsts: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    kinds: NDArray[np.int8]
    good: NDArray[np.bool_]


class Real(float):
    """A number with a fraction or an exponent that remembers how it was written."""

    __slots__ = ("written",)

    def __new__(cls, written: str) -> Real:
        made = super().__new__(cls, written)
        made.written = written
        return made

    written: str


def path_steps(steps: Sequence[Step]) -> PathSteps:
    """Steps as kernels take them."""
    data = np.frombuffer(bytearray(b"".join(step.encode() for step in steps if isinstance(step, str))), np.uint8)
    described = np.zeros((len(steps), 5), np.int64)
    start = 0
    for at, step in enumerate(steps):
        if isinstance(step, str):
            end = start + len(step.encode())
            described[at] = NAME, first_word(step.encode()), end - start, start, 0
            start = end
        else:
            described[at] = (WILDCARD, 0, 0, 0, 0) if step is Wildcard.ALL else (INDEX, 0, 0, 0, step)
    return PathSteps(described, data)


class JsonReferences:
    """References compiled; `read` finds them in records."""

    def __init__(self, paths: Sequence[JsonPath], nulls: Iterable[str] = ()) -> None:
        self._paths = paths
        self._nulls = frozenset(nulls)
        named = sorted({path.names for path in paths if path.names is not None})
        groups = _group_paths(named) or [[]]
        self._trees = [path_tree(group) for group in groups]
        self._named = {names: (at, number) for at, group in enumerate(groups) for number, names in enumerate(group)}
        self._steps = {path: path_steps(path.steps) for path in paths if path.names is None and path.steps is not None}
        self._compiled = {path: path.compiled() for path in paths if path.steps is None}

    def read(self, records: Ranges, objects_only: bool) -> JsonValues:
        """What is found in records, as bytes and where each starts and ends.

        Records are lines that were not parsed yet, and then must be objects, or values that were read before.
        """
        read = [read_ranges(records, tree) for tree in self._trees]
        objects = read[0].good
        sound = _blank_bad_records(records, objects) if objects_only and objects.false_count else records
        loaded = list(parse_records(sound)) if self._compiled else []
        columns = []
        for path in self._paths:
            if path.names is not None:
                tree, number = self._named[path.names]
                columns.append(self._without_nulls((read[tree].texts[number], read[tree].kinds[number])))
            elif path.steps is not None:
                firsts, values = _walk_steps(self._steps[path], sound)
                columns.append(self._gather_values(path, firsts, values))
            else:
                columns.append(self._gather_values(path, *_find_values(path, self._compiled[path], loaded)))
        return JsonValues(objects, columns)

    def _without_nulls(self, column: Column) -> Column:
        texts, kinds = column
        if not self._nulls or not (empty := self._is_null(texts)).true_count:
            return column
        return pc.if_else(empty, None, texts), pc.if_else(empty, pa.scalar(NOTHING, pa.int8()), kinds)

    def _is_null(self, texts: pa.Array) -> pa.Array:
        return pc.is_in(texts, string_array(sorted(self._nulls)))

    def _gather_values(self, path: JsonPath, firsts: NDArray[np.int64], values: Column) -> Column:
        """Values by record: a list a record, or at most one where the path cannot find more."""
        texts, kinds = values
        kept = pc.and_(pc.not_equal(kinds, NOTHING), pc.invert(self._is_null(texts)))
        if kept.false_count:
            texts, kinds = texts.filter(kept), kinds.filter(kept)
            firsts = np.concatenate([[0], np.cumsum(truths(kept))])[firsts]
        if path.many:
            offsets = numbers(firsts.astype(np.int32))
            return pa.ListArray.from_arrays(offsets, texts), pa.ListArray.from_arrays(offsets, kinds)
        places = numbers(firsts[:-1], firsts[1:] != firsts[:-1])
        return texts.take(places), pc.fill_null(kinds.take(places), NOTHING)


def _group_paths(paths: Iterable[tuple[str, ...]]) -> list[list[tuple[str, ...]]]:
    """Paths in groups in which none goes into what another takes as a value."""
    groups: list[list[tuple[str, ...]]] = []
    for path in paths:
        for group in groups:
            if not any(path[: len(other)] == other or other[: len(path)] == path for other in group):
                group.append(path)
                break
        else:
            groups.append([path])
    return groups


def _blank_bad_records(records: Ranges, good: pa.Array) -> Ranges:
    """The same records, null in place of those that are not good."""
    data, starts, ends = records
    nothing = ~good.to_numpy(zero_copy_only=False)
    return data, np.where(nothing, 0, starts), np.where(nothing, 0, ends)


def find(steps: PathSteps, documents: Ranges) -> Places:
    """What a path finds in each document, as places in their bytes."""
    data, document_starts, document_ends = documents
    size = document_starts.size
    firsts, good, walk = np.empty(size + 1, np.int64), np.empty(size, np.bool_), json_paths.new_walk()
    capacity = max(4 * size, 64)
    while True:
        starts, ends = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
        kinds = np.empty(capacity, np.int8)
        read = json_paths.find_values(
            steps, data, document_starts, document_ends, walk, starts, ends, kinds, firsts, good
        )
        if read == size:
            count = int(firsts[-1])
            return Places(firsts, starts[:count], ends[:count], kinds[:count], good)
        capacity *= 4


def _walk_steps(steps: PathSteps, records: Ranges) -> tuple[NDArray[np.int64], Column]:
    firsts, starts, ends, kinds, _ = find(steps, records)
    quoted = (kinds == STRING) | (kinds == ESCAPED)
    starts, ends = starts + quoted, ends - quoted
    found = kinds != NOTHING
    out, offsets = np.empty(int(np.sum(ends - starts, where=found)), np.uint8), np.empty(kinds.size + 1, np.int32)
    json_lines.write_texts(records[0], starts, ends, kinds, found, out, offsets)
    return firsts, (strings(out, offsets, found), numbers(kinds))


def parse_records(records: Ranges) -> Iterator[Any]:
    """Records as Python values; None where there is none."""
    data, starts, ends = records
    text = data.tobytes()
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        yield json.loads(text[start:end], parse_float=Real) if end > start else None


def _find_values(path: JsonPath, compiled: Any, records: list[Any]) -> tuple[NDArray[np.int64], Column]:
    with deep_enough():
        found = [[] if record is None else compiled.findall(record) for record in records]
    firsts = np.concatenate([[0], np.cumsum([len(values) for values in found], dtype=np.int64)])
    values = [as_text(value) for each in found for value in each]
    texts = pa.array([text for text, _ in values], pa.string())
    return firsts.astype(np.int64), (texts, pa.array([kind for _, kind in values], pa.int8()))


def as_text(value: Any) -> tuple[str | None, int]:
    """A JSON value as text, and its kind."""
    match value:
        case None:
            return None, NOTHING
        case bool():
            return ("true" if value else "false"), BOOLEAN
        case str():
            return value, STRING
        case Real():
            return value.written, REAL
        case int():
            return str(value), INTEGER
        case _:
            return json.dumps(value, ensure_ascii=False), NESTED
