"""`freshet map` in this process: blocks of records are read, mapped on Arrow arrays and written, one after the other.

It has what the run on Spark (`freshet.spark.map_run`) has: the same lines, rejects and counts. Memory holds a block of
records; of joins both sides, with the columns that they need.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.mapper.arrow_columns import ArrowColumns
from freshet.mapper.arrow_gather import Gathered, collection_lines, is_merged, merged
from freshet.mapper.arrow_join import joined_rows
from freshet.mapper.arrow_lines import Lines, line_bytes, lines_of
from freshet.mapper.arrow_texts import spread, text_scalar
from freshet.mapper.map_options import (
    MapOptions,
    MapSummary,
    by_target,
    literal,
    load_mapping,
    users_of,
    uses,
    with_uncounted_sources,
)
from freshet.mapper.map_options import (
    numbers as needs_numbers,
)
from freshet.mapper.open import tasks_of
from freshet.mapper.operations import RECORD_NUMBER, FunctionTable, ReferenceShape
from freshet.mapper.output_files import write_output
from freshet.mapper.record_shapes import shapes_of
from freshet.mapper.rejects import Reject, remove_map_rejects, write_map_rejects
from freshet.mapper.renderer import Renderer
from freshet.mapper.single_values import single_values
from freshet.mapper.source_checks import check_sources
from freshet.rdf.arrow import numbers
from freshet.rml.mapping_slices import CHILD, PARENT, JoinSlice, MappingSlice, join_name, slice_mapping
from freshet.rml.model import Expression, Reference, Target
from freshet.rml.model import Mapping as RmlMapping
from freshet.rml.sources import LogicalSource
from freshet.rml.statements import Collection, Statement
from freshet.rml.term_walks import calls_of, on_side, references_in
from freshet.sources.columns import FILE, LINE, REASON, ROWS, Plan, Task


def run_map_here(mapping_file: Path, options: MapOptions) -> MapSummary:
    """Map all records of a mapping's sources."""
    users = users_of(options)
    mapping = load_mapping(mapping_file, options, users)
    table = FunctionTable(users)
    check_sources(mapping, lambda source, references: tasks_of(source, Plan(tuple(sorted(references))), table))
    return _Run(mapping, options, table).run()


class _Block(NamedTuple):
    """Some records, and what their columns are."""

    batch: pa.RecordBatch
    shapes: Mapping[str, ReferenceShape]


class _Run:
    def __init__(self, mapping: RmlMapping, options: MapOptions, functions: FunctionTable) -> None:
        self._options = options
        self._functions = functions
        self._slices = with_uncounted_sources(slice_mapping(mapping))
        self._sources = list(dict.fromkeys(triples_map.source for triples_map in mapping.triples_maps))

    def run(self) -> MapSummary:
        options = self._options
        home = options.output.parent if options.output is not None else None
        if home is not None:
            home.mkdir(parents=True, exist_ok=True)
        remove_map_rejects(options.rejects)
        seen = rejected = 0
        unjoined, crossed = [], []
        with tempfile.TemporaryDirectory(prefix=".freshet-map-", dir=home) as folder:
            outputs = _Outputs(Path(folder))
            with outputs:
                for number, mapping_slice in enumerate(self._slices):
                    records, bad = self._write_slice(mapping_slice, outputs)
                    rejected += bad
                    if isinstance(mapping_slice, MappingSlice):
                        seen += records
                    elif not records:
                        unjoined.append(join_name(mapping_slice))
                    elif not mapping_slice.conditions:
                        crossed.append((join_name(mapping_slice), records))
                    if bad:
                        write_map_rejects(self._rejects(mapping_slice), options.rejects / f"{number}.json")
            for target, file in outputs.files.items():
                if options.distinct:
                    _keep_each_once(file)
                out = target or (options.output and Target(str(options.output), options.format))
                write_output([file], out or None, options.format, options.send)
        return MapSummary(seen, rejected, options.rejects, tuple(unjoined), tuple(crossed))

    def _write_slice(self, mapping_slice: MappingSlice | JoinSlice, outputs: _Outputs) -> tuple[int, int]:
        """Write the lines of a slice. Gives how many records there are, and how many of them are rejected."""
        targets = by_target(mapping_slice)
        collections = _Collections(mapping_slice, outputs)
        seen = rejected = 0
        for block in self._blocks(mapping_slice, keep=False):
            for made in self._lines(mapping_slice, block, list(targets.values())):
                seen += len(made.reasons)
                rejected += len(made.reasons) - made.reasons.null_count
                for target, texts in zip(targets, made.texts, strict=True):
                    outputs.write(target, line_bytes(texts))
                collections.add(made.collections)
        collections.close()
        return seen, rejected

    def _rejects(self, mapping_slice: MappingSlice | JoinSlice) -> Iterator[Reject]:
        """Read once more what was rejected, with its text: most runs have none, and need not carry it along."""
        for block in self._blocks(mapping_slice, keep=True):
            reasons = pa.concat_arrays([made.reasons for made in self._lines(mapping_slice, block, [])])
            bad = pc.is_valid(reasons)
            columns = [reasons, block.batch.column(FILE), block.batch.column(LINE)]
            for row in zip(*(column.filter(bad).to_pylist() for column in columns), strict=True):
                yield Reject(*row)

    def _lines(
        self, mapping_slice: MappingSlice | JoinSlice, block: _Block, chosen: list[set[Statement]]
    ) -> Iterator[Lines]:
        """The lines of a block; in halves where an array cannot hold them."""
        columns = ArrowColumns(block.batch, self._functions)
        renderer: Renderer[Any] = Renderer(columns, block.shapes, nquads=True)
        try:
            yield lines_of(block.batch, mapping_slice.triples, chosen, renderer, mapping_slice.collections)
        except (pa.ArrowCapacityError, pa.ArrowInvalid):
            half = len(block.batch) // 2
            if not half:
                raise
            for some in (block.batch.slice(0, half), block.batch.slice(half)):
                yield from self._lines(mapping_slice, block._replace(batch=some), chosen)

    def _blocks(self, mapping_slice: MappingSlice | JoinSlice, *, keep: bool) -> Iterator[_Block]:
        if isinstance(mapping_slice, JoinSlice):
            yield from self._pairs(mapping_slice, keep)
            return
        own = uses(mapping_slice.parts)
        in_calls = _references_in_calls(mapping_slice.parts)
        numbered = needs_numbers(mapping_slice.parts)
        many, batches = self._read(mapping_slice.source, own.texts | own.encoded, keep=keep, numbered=numbered)
        for batch in batches:
            some, several = single_values(batch, many, many - in_calls)
            yield _Block(some, shapes_of(mapping_slice, ReferenceShape(several)))

    def _read(
        self, source: LogicalSource, references: frozenset[str], *, keep: bool, numbered: bool
    ) -> tuple[frozenset[str], Iterator[pa.RecordBatch]]:
        """Which references have arrays, and the records of a source."""
        shape, tasks = tasks_of(source, Plan(tuple(sorted(references)), keep), self._functions)
        if numbered:
            return shape.many, self._numbered(source, tasks)
        return shape.many, (batch for task in tasks for batch in task())

    def _numbered(self, source: LogicalSource, tasks: Sequence[Task]) -> Iterator[pa.RecordBatch]:
        for number, task in enumerate(tasks):
            first = number << 33  # as Spark numbers the rows of its partitions
            for batch in task():
                yield batch.append_column(RECORD_NUMBER, self._names(source, first, len(batch)))
                first += len(batch)

    def _names(self, source: LogicalSource, first: int, count: int) -> pa.Array:
        """Names that no other records have: the number of the source, and their own."""
        own = numbers(np.arange(first, first + count)).cast(pa.string())
        return pc.binary_join_element_wise(text_scalar(f"{self._sources.index(source)}x"), own, text_scalar(""))

    def _pairs(self, join: JoinSlice, keep: bool) -> Iterator[_Block]:
        child = self._side(join, CHILD, join.child, [each.child for each in join.conditions], keep)
        parent = self._side(join, PARENT, join.parent, [each.parent for each in join.conditions], keep)
        if child is None or parent is None:
            return
        shapes = shapes_of(join, ReferenceShape(child.many), ReferenceShape(parent.many))
        for own, other in joined_rows(child.keys, parent.keys, ROWS):
            left = child.records.take(child.rows.take(numbers(own)))
            right = parent.records.take(parent.rows.take(numbers(other)))
            columns = {**_columns(left), **_columns(right)}
            columns |= {
                REASON: pa.nulls(len(own), pa.string()),
                FILE: columns[f"{CHILD} {FILE}"],
                LINE: columns[f"{CHILD} {LINE}"],
            }
            yield _Block(pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns)), shapes)

    def _side(
        self, join: JoinSlice, side: str, source: LogicalSource, keys: list[Expression], keep: bool
    ) -> _Side | None:
        """The good records of one side of a join, in memory, with its keys; None where there are none."""
        own = uses(join.parts, side)
        compared = {each.text for key in keys for each in references_in(key)}
        numbered = needs_numbers(join.parts, side)
        batches = []
        many, read = self._read(source, own.texts | own.encoded | compared, keep=keep, numbered=numbered)
        for batch in read:
            good = pc.is_null(batch.column(REASON))
            kept = batch.filter(good) if good.false_count else batch
            batches.append(kept.rename_columns([f"{side} {name}" for name in kept.schema.names]))
        if not sum(map(len, batches)):
            return None
        (records,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
        in_calls = _references_in_calls(join.parts, side) | frozenset(compared)
        records, several = single_values(records, many, many - in_calls, f"{side} ")
        shape = shapes_of(join, ReferenceShape(several), ReferenceShape(several))[side]
        renderer: Renderer[Any] = Renderer(ArrowColumns(records, self._functions), {side: shape}, nquads=True)
        rows = numbers(np.arange(len(records)))
        # Without conditions all records have the same key.
        made: list[pa.Array] = [] if keys else [spread(text_scalar(""), len(records))]
        for key in keys:
            found = renderer.texts(on_side(literal(key), side).expression)
            column = spread(renderer.join(found.pieces), len(records)).take(rows)
            if found.many:
                parents = pc.list_parent_indices(column)
                made = [each.take(parents) for each in made]
                rows, column = rows.take(parents), column.flatten()
            made.append(column)
        return _Side(records, several, rows, made)


class _Side(NamedTuple):
    """One side of a join: its records, which references have arrays, and for each row that can join its record and
    keys. A record with several values of a key has several rows."""

    records: pa.RecordBatch
    many: frozenset[str]
    rows: pa.Array
    keys: list[pa.Array]


class _Collections:
    """Writes the triples of collections: at once, or at the end where records may have members of the same one."""

    def __init__(self, mapping_slice: MappingSlice | JoinSlice, outputs: _Outputs) -> None:
        self._collections = mapping_slice.collections
        self._joined = isinstance(mapping_slice, JoinSlice)
        self._outputs = outputs
        self._kept: dict[int, list[Gathered]] = {}

    def add(self, found: list[Gathered]) -> None:
        for number, (collection, gathered) in enumerate(zip(self._collections, found, strict=True)):
            if self._joined or is_merged(collection.term):
                self._kept.setdefault(number, []).append(gathered)
            else:
                self._write(collection, gathered)
            for inner in gathered.inner:
                self._write(collection, inner)

    def close(self) -> None:
        for number, parts in self._kept.items():
            self._write(self._collections[number], merged(parts))

    def _write(self, collection: Collection, gathered: Gathered) -> None:
        lines = line_bytes(collection_lines(gathered))
        targets: list[Target | None] = [*sorted(collection.targets, key=str)]
        for target in targets or [None]:
            self._outputs.write(target, lines)


class _Outputs:
    """A file of lines for each target; None is the usual output, which is there even where nothing is made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[Target | None, IO[bytes]] = {}
        self._closing = ExitStack()
        self.files: dict[Target | None, Path] = {}

    def __enter__(self) -> None:
        self.write(None, memoryview(b""))

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def write(self, target: Target | None, lines: memoryview) -> None:
        if target not in self._open:
            self.files[target] = self._folder / str(len(self.files))
            self._open[target] = self._closing.enter_context(self.files[target].open("wb"))
        self._open[target].write(lines)


def _columns(records: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(records.schema.names, records.columns, strict=True))


def _references_in_calls(statements: tuple[Statement | Collection, ...], side: str = "") -> frozenset[str]:
    """The references that functions are called with: an absent value is not to them what a null is."""
    terms = {term for statement in statements for term in statement if term is not None}
    calls = {call for term in terms for call in calls_of(term)}
    found = {each for call in calls for each in references_in(call)}
    return frozenset(each.text for each in found if isinstance(each, Reference) and each.side == side)


def _keep_each_once(file: Path) -> None:
    """The lines of a file, each once, sorted by their bytes."""
    lines = sorted(set(file.read_bytes().splitlines(keepends=True)))
    file.write_bytes(b"".join(lines))
