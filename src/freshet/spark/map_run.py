"""`freshet map` on Spark: a mapping over bounded input, to N-Quads and other formats of RDF.

Spark reads, joins and writes in parts; the parts are put together in the order of the input, so the same input gives
the same bytes. Memory is Spark's. A record that cannot be read or mapped is rejected whole, with its reason.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import orjson
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from freshet.mapper.map_options import (
    MapOptions,
    MapSummary,
    Uses,
    by_target,
    literal,
    load_mapping,
    numbers,
    users_of,
    uses,
    with_uncounted_sources,
)
from freshet.mapper.operations import RECORD_NUMBER, FunctionTable, ReferenceShape
from freshet.mapper.output_files import write_output
from freshet.mapper.process_only import refuse_process_only
from freshet.mapper.record_shapes import shapes_of
from freshet.mapper.rejects import Reject, remove_map_rejects, write_map_rejects
from freshet.mapper.renderer import Renderer
from freshet.mapper.source_checks import check_sources
from freshet.rml.mapping_slices import CHILD, PARENT, JoinSlice, MappingSlice, join_name, slice_mapping
from freshet.rml.model import Mapping as RmlMapping
from freshet.rml.model import Target
from freshet.rml.sources import LogicalSource
from freshet.rml.statements import Statement
from freshet.rml.term_walks import on_side, references_in
from freshet.sources.columns import FILE, LINE, REASON
from freshet.spark.nquads import LINES, with_lines
from freshet.spark.records import Records
from freshet.spark.session import spark_session
from freshet.spark.sources.open import open_records
from freshet.spark.term_columns import SparkColumns

_ORDER = "order"
_KEY = "key"


def run_map_on_spark(mapping_file: Path, options: MapOptions) -> MapSummary:
    """Map all records of a mapping's sources, on a Spark that is started for it."""
    spark = spark_session()
    try:
        return run_map(spark, mapping_file, options)
    finally:
        spark.stop()


def run_map(spark: SparkSession, mapping_file: Path, options: MapOptions) -> MapSummary:
    """Map all records of a mapping's sources."""
    users = users_of(options)
    mapping = load_mapping(mapping_file, options, users)
    refuse_process_only(mapping)
    table = FunctionTable(users)
    check_sources(mapping, lambda source, references: open_records(spark, source, references, functions=table))
    return _Run(spark, mapping, options, table).run()


class _Run:
    def __init__(self, spark: SparkSession, mapping: RmlMapping, options: MapOptions, functions: FunctionTable) -> None:
        self._spark = spark
        self._options = options
        self._functions = functions
        self._slices = with_uncounted_sources(slice_mapping(mapping))
        self._sources = list(dict.fromkeys(triples_map.source for triples_map in mapping.triples_maps))
        self._outputs: dict[Target | None, list[Path]] = {None: []}

    def run(self) -> MapSummary:
        options = self._options
        home = options.output.parent if options.output is not None else None
        if home is not None:
            home.mkdir(parents=True, exist_ok=True)
        remove_map_rejects(options.rejects)
        seen = rejected = 0
        unjoined, crossed = [], []
        with tempfile.TemporaryDirectory(prefix=".freshet-map-", dir=home) as folder:
            for number, mapping_slice in enumerate(self._slices):
                counts = self._write_slice(mapping_slice, Path(folder) / str(number))
                rejected += counts.rejected
                if isinstance(mapping_slice, MappingSlice):
                    seen += counts.records
                elif not counts.records:
                    unjoined.append(join_name(mapping_slice))
                elif not mapping_slice.conditions:
                    crossed.append((join_name(mapping_slice), counts.records))
                if counts.rejected:
                    self._write_rejects(mapping_slice, Path(folder) / f"{number}-rejects", number)
            for number, (target, folders) in enumerate(self._outputs.items()):
                if options.distinct and folders:
                    folders = [self._each_once(folders, Path(folder) / f"distinct-{number}")]
                out = target or (options.output and Target(str(options.output), options.format))
                parts = [part for each in folders for part in part_files(each)]
                write_output(parts, out or None, options.format, options.send)
        return MapSummary(seen, rejected, options.rejects, tuple(unjoined), tuple(crossed))

    def _write_slice(self, mapping_slice: MappingSlice | JoinSlice, folder: Path) -> _Counts:
        counts: _Counts | None = None
        for number, (target, chosen) in enumerate(by_target(mapping_slice).items()):
            frame = self._lines(mapping_slice, chosen, keep=False)
            place = folder / str(number)
            if counts is None and not chosen:
                counts = _count(frame)
                continue
            observed = Observation()
            if counts is None:
                frame = frame.observe(observed, F.count(F.lit(1)).alias("records"), F.count(REASON).alias("rejected"))
            lines = frame.where(F.col(LINES) != "").select(LINES)
            lines.write.text(str(place))
            counts = counts or _Counts(observed.get["records"], observed.get["rejected"])
            self._outputs.setdefault(target, []).append(place)
        assert counts is not None
        return counts

    def _each_once(self, folders: list[Path], place: Path) -> Path:
        """The lines of all parts of an output, each once, sorted."""
        lines = self._spark.read.text([str(folder) for folder in folders])
        lines.distinct().orderBy("value").write.text(str(place))
        return place

    def _write_rejects(self, mapping_slice: MappingSlice | JoinSlice, folder: Path, number: int) -> None:
        """Read once more what was rejected, with its text: most runs have none, and need not carry it along."""
        bad = self._lines(mapping_slice, set(mapping_slice.triples), keep=True).where(F.col(REASON).isNotNull())
        kept = F.struct(F.col(REASON), F.col(FILE), F.col(LINE).alias("record"))
        bad.select(F.to_json(kept)).write.text(str(folder))
        write_map_rejects(_read_rejects(part_files(folder)), self._options.rejects / f"{number}.json")

    def _lines(self, mapping_slice: MappingSlice | JoinSlice, chosen: set[Statement], *, keep: bool) -> DataFrame:
        if isinstance(mapping_slice, MappingSlice):
            opened = self._open(mapping_slice.source, uses(mapping_slice.triples), keep)
            shape = ReferenceShape(opened.many, encoded=opened.encoded)
            renderer = Renderer(SparkColumns(self._functions), shapes_of(mapping_slice, shape), nquads=True)
            frame = opened.frame
            if numbers(mapping_slice.triples):
                frame = self._numbered(frame, mapping_slice.source)
            return with_lines(frame, mapping_slice.triples, chosen, renderer)
        return self._joined(mapping_slice, chosen, keep)

    def _open(self, source: LogicalSource, uses: Uses, keep: bool) -> Records:
        return open_records(self._spark, source, uses.texts, encoded=uses.encoded, keep=keep, functions=self._functions)

    def _numbered(self, frame: DataFrame, source: LogicalSource) -> DataFrame:
        """Records with a name that no other has: the number of the source, and their own."""
        name = F.concat(F.lit(f"{self._sources.index(source)}x"), F.monotonically_increasing_id())
        return frame.withColumn(RECORD_NUMBER, name)

    def _joined(self, join: JoinSlice, chosen: set[Statement], keep: bool) -> DataFrame:
        """The pairs of records that join, in an order that does not change from run to run."""
        sides, shapes = {}, {}
        for side, source, expressions in (
            (CHILD, join.child, [condition.child for condition in join.conditions]),
            (PARENT, join.parent, [condition.parent for condition in join.conditions]),
        ):
            keys = {each.text for term in expressions for each in references_in(term)}
            own = uses(join.triples, side)
            opened = self._open(source, Uses(own.texts | keys, own.encoded), keep)
            shapes[side] = ReferenceShape(opened.many, encoded=opened.encoded)
            frame = self._numbered(opened.frame, source) if numbers(join.triples, side) else opened.frame
            frame = frame.where(F.col(REASON).isNull()).withColumn(_ORDER, F.monotonically_increasing_id())
            sides[side] = frame.select(*(F.col(f"`{name}`").alias(f"{side} {name}") for name in frame.columns))
        known = shapes_of(join, shapes[CHILD], shapes[PARENT])
        renderer = Renderer(SparkColumns(self._functions), known, nquads=True)
        for side in (CHILD, PARENT):
            for number, condition in enumerate(join.conditions):
                written = condition.child if side == CHILD else condition.parent
                key = renderer.texts(on_side(literal(written), side).expression)
                value = F.explode(renderer.join(key.pieces)) if key.many else renderer.join(key.pieces)
                sides[side] = sides[side].withColumn(f"{side} {_KEY} {number}", value)
        on = [
            F.col(f"`{CHILD} {_KEY} {number}`") == F.col(f"`{PARENT} {_KEY} {number}`")
            for number in range(len(join.conditions))
        ]
        # Spark does not know how much comes out of a file: left alone it takes every side for small, and collects it.
        if on:
            pairs = sides[CHILD].join(sides[PARENT].hint("merge"), on, "inner")
        else:
            pairs = sides[CHILD].crossJoin(sides[PARENT])
        pairs = pairs.sortWithinPartitions(F.col(f"`{CHILD} {_ORDER}`"), F.col(f"`{PARENT} {_ORDER}`"))
        places = {
            REASON: F.lit(None).cast("string"),
            FILE: F.col(f"`{CHILD} {FILE}`"),
            LINE: F.col(f"`{CHILD} {LINE}`"),
        }
        return with_lines(pairs.withColumns(places), join.triples, chosen, renderer)


class _Counts(NamedTuple):
    records: int
    rejected: int


def _count(frame: DataFrame) -> _Counts:
    (row,) = frame.select(F.count(F.lit(1)), F.count(REASON)).collect()
    return _Counts(row[0], row[1])


def _read_rejects(parts: Iterable[Path]) -> Iterator[Reject]:
    for part in parts:
        with part.open("rb") as lines:
            for line in lines:
                given = orjson.loads(line)
                yield Reject(given["reason"], given.get("file"), given.get("record"))


def part_files(folder: Path) -> list[Path]:
    """The files that Spark has written, in the order of its partitions."""
    return sorted(folder.glob("part-*"))
