"""`freshet map`: a mapping over bounded input, to N-Quads and other formats of RDF.

Spark reads, joins and writes in parts; the parts are put together in the order of the input, so the same input gives
the same bytes. Memory is Spark's. A record that cannot be read or mapped is rejected whole, with its reason.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import Iri
from freshet.rml.functions import FUNCTIONS
from freshet.rml.mapping_slices import (
    CHILD,
    PARENT,
    JoinSlice,
    MappingSlice,
    Statement,
    join_name,
    on_side,
    references_in,
    references_of,
    slice_mapping,
)
from freshet.rml.model import EachRecord, Expression, Target, Template, TermMap, TermType
from freshet.rml.model import Mapping as RmlMapping
from freshet.rml.reader import read_mapping
from freshet.rml.sources import DatabaseSource, FileSource, LogicalSource
from freshet.rml.user_functions import UserFunction, load_functions
from freshet.spark import records
from freshet.spark.functions import FunctionTable
from freshet.spark.mapping import shapes_of
from freshet.spark.nquads import LINES, with_lines
from freshet.spark.output_files import FORMATS, WITH_GRAPHS, part_files, write_output
from freshet.spark.rejects import remove_map_rejects, write_map_rejects
from freshet.spark.source_checks import check_sources
from freshet.spark.sources.columns import Records
from freshet.spark.sources.open import open_records
from freshet.spark.term_columns import RECORD_NUMBER, ReferenceShape, Renderer, join_pieces

_ORDER = "order"
_KEY = "key"


@dataclass(frozen=True, slots=True)
class MapOptions:
    """How a mapping is run. Without an output it goes to standard output."""

    output: Path | None = None
    format: str = "nq"
    rejects: Path = Path("rejects")
    base: str | None = None
    functions: Path | None = None
    distinct: bool = False


class MapSummary(NamedTuple):
    """What a run has done. `unjoined` are the joins that found nothing."""

    records: int
    rejected: int
    rejects: Path
    unjoined: tuple[str, ...] = ()


def check_map(mapping_file: Path, options: MapOptions) -> None:
    """Raise what is wrong with a mapping and its options, without Spark."""
    load_mapping(mapping_file, options, _users(options))


def _users(options: MapOptions) -> dict[str, UserFunction]:
    return load_functions(options.functions) if options.functions else {}


def run_map(spark: SparkSession, mapping_file: Path, options: MapOptions) -> MapSummary:
    """Map all records of a mapping's sources."""
    users = _users(options)
    mapping = load_mapping(mapping_file, options, users)
    check_sources(spark, mapping)
    return _Run(spark, mapping, options, FunctionTable(users)).run()


def load_mapping(mapping_file: Path, options: MapOptions, users: Mapping[str, UserFunction]) -> RmlMapping:
    """The mapping, checked: what cannot be run is an error before anything runs."""
    if options.format not in FORMATS:
        raise InputError(f"there is no format {options.format}: there are {', '.join(FORMATS)}")
    declared = {**FUNCTIONS, **{iri: user.declared for iri, user in users.items()}}
    mapping = read_mapping(mapping_file, base=options.base, functions=declared)
    for triples_map in mapping.triples_maps:
        if not isinstance(triples_map.source.source, FileSource | DatabaseSource):
            raise UnsupportedError(
                f"the triples map {triples_map.name} reads a stream; `freshet map` reads files and databases,"
                " `freshet run` reads streams",
                file=mapping.file,
            )
    for mapping_slice in slice_mapping(mapping):
        for statement in mapping_slice.triples:
            for name in {target.format for target in statement.targets} or {options.format}:
                if statement.graph is not None and name not in WITH_GRAPHS:
                    raise InputError(f"the mapping makes named graphs, which {name} cannot hold", file=mapping.file)
    return mapping


class _Run:
    def __init__(self, spark: SparkSession, mapping: RmlMapping, options: MapOptions, functions: FunctionTable) -> None:
        self._spark = spark
        self._options = options
        self._functions = functions
        self._slices = _with_uncounted_sources(slice_mapping(mapping))
        self._sources = list(dict.fromkeys(triples_map.source for triples_map in mapping.triples_maps))
        self._outputs: dict[Target | None, list[Path]] = {None: []}

    def run(self) -> MapSummary:
        options = self._options
        home = options.output.parent if options.output is not None else None
        if home is not None:
            home.mkdir(parents=True, exist_ok=True)
        remove_map_rejects(options.rejects)
        seen = rejected = 0
        unjoined = []
        with tempfile.TemporaryDirectory(prefix=".freshet-map-", dir=home) as folder:
            for number, mapping_slice in enumerate(self._slices):
                counts = self._write_slice(mapping_slice, Path(folder) / str(number))
                rejected += counts.rejected
                if isinstance(mapping_slice, MappingSlice):
                    seen += counts.records
                elif not counts.records:
                    unjoined.append(join_name(mapping_slice))
                if counts.rejected:
                    self._write_rejects(mapping_slice, Path(folder) / f"{number}-rejects", number)
            for number, (target, folders) in enumerate(self._outputs.items()):
                if options.distinct and folders:
                    folders = [self._each_once(folders, Path(folder) / f"distinct-{number}")]
                out = target or (options.output and Target(str(options.output), options.format))
                write_output(folders, out or None, options.format)
        return MapSummary(seen, rejected, options.rejects, tuple(unjoined))

    def _write_slice(self, mapping_slice: MappingSlice | JoinSlice, folder: Path) -> _Counts:
        counts: _Counts | None = None
        for number, (target, chosen) in enumerate(_by_target(mapping_slice).items()):
            frame = self._lines(mapping_slice, chosen, keep=False)
            place = folder / str(number)
            if counts is None and not chosen:
                counts = _count(frame)
                continue
            observed = Observation()
            if counts is None:
                frame = frame.observe(
                    observed, F.count(F.lit(1)).alias("records"), F.count(records.REASON).alias("rejected")
                )
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
        bad = self._lines(mapping_slice, set(mapping_slice.triples), keep=True).where(F.col(records.REASON).isNotNull())
        kept = F.struct(F.col(records.REASON), F.col(records.FILE), F.col(records.LINE).alias("record"))
        bad.select(F.to_json(kept)).write.text(str(folder))
        write_map_rejects(part_files(folder), self._options.rejects / f"{number}.json")

    def _lines(self, mapping_slice: MappingSlice | JoinSlice, chosen: set[Statement], *, keep: bool) -> DataFrame:
        if isinstance(mapping_slice, MappingSlice):
            opened = self._open(mapping_slice.source, _uses(mapping_slice.triples), keep)
            shape = ReferenceShape(opened.many, encoded=opened.encoded)
            renderer = Renderer(shapes_of(mapping_slice, shape), nquads=True, functions=self._functions)
            frame = opened.frame
            if _numbers(mapping_slice.triples):
                frame = self._numbered(frame, mapping_slice.source)
            return with_lines(frame, mapping_slice.triples, chosen, renderer)
        return self._joined(mapping_slice, chosen, keep)

    def _open(self, source: LogicalSource, uses: _Uses, keep: bool) -> Records:
        return open_records(self._spark, source, uses.texts, encoded=uses.encoded, keep=keep)

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
            uses = _uses(join.triples, side)
            opened = self._open(source, _Uses(uses.texts | keys, uses.encoded), keep)
            shapes[side] = ReferenceShape(opened.many, encoded=opened.encoded)
            frame = self._numbered(opened.frame, source) if _numbers(join.triples, side) else opened.frame
            frame = frame.where(F.col(records.REASON).isNull()).withColumn(_ORDER, F.monotonically_increasing_id())
            sides[side] = frame.select(*(F.col(f"`{name}`").alias(f"{side} {name}") for name in frame.columns))
        known = shapes_of(join, shapes[CHILD], shapes[PARENT])
        renderer = Renderer(known, nquads=True, functions=self._functions)
        for side in (CHILD, PARENT):
            for number, condition in enumerate(join.conditions):
                written = condition.child if side == CHILD else condition.parent
                key = renderer.texts(on_side(_literal(written), side).expression)
                value = F.explode(join_pieces(key.pieces)) if key.many else join_pieces(key.pieces)
                sides[side] = sides[side].withColumn(f"{side} {_KEY} {number}", value)
        on = [
            F.col(f"`{CHILD} {_KEY} {number}`") == F.col(f"`{PARENT} {_KEY} {number}`")
            for number in range(len(join.conditions))
        ]
        # Spark does not know how much comes out of a file: left alone it takes every side for small, and collects it.
        pairs = sides[CHILD].join(sides[PARENT].hint("merge"), on, "inner")
        pairs = pairs.sortWithinPartitions(F.col(f"`{CHILD} {_ORDER}`"), F.col(f"`{PARENT} {_ORDER}`"))
        places = {
            records.REASON: F.lit(None).cast("string"),
            records.FILE: F.col(f"`{CHILD} {records.FILE}`"),
            records.LINE: F.col(f"`{CHILD} {records.LINE}`"),
        }
        return with_lines(pairs.withColumns(places), join.triples, chosen, renderer)


class _Counts(NamedTuple):
    records: int
    rejected: int


def _count(frame: DataFrame) -> _Counts:
    (row,) = frame.select(F.count(F.lit(1)), F.count(records.REASON)).collect()
    return _Counts(row[0], row[1])


def _with_uncounted_sources(slices: list[MappingSlice | JoinSlice]) -> list[MappingSlice | JoinSlice]:
    """The slices, with one of its own for each source that only joins read: its rejects count too."""
    own = {each.source for each in slices if isinstance(each, MappingSlice)}
    both = [source for each in slices if isinstance(each, JoinSlice) for source in (each.child, each.parent)]
    alone: list[MappingSlice | JoinSlice] = [
        MappingSlice(source, ()) for source in dict.fromkeys(both) if source not in own
    ]
    return slices + alone


def _by_target(mapping_slice: MappingSlice | JoinSlice) -> dict[Target | None, set[Statement]]:
    """The statements that go to each target; None is the usual output."""
    found: dict[Target | None, set[Statement]] = {}
    for statement in mapping_slice.triples:
        targets: list[Target | None] = [*sorted(statement.targets, key=str)]
        for target in targets or [None]:
            found.setdefault(target, set()).add(statement)
    return found or {None: set()}


class _Uses(NamedTuple):
    """The references whose texts are wanted as they are, and those that are wanted as they stand in IRIs."""

    texts: frozenset[str]
    encoded: frozenset[str]


def _uses(statements: Iterable[Statement], side: str = "") -> _Uses:
    texts, encoded = set(), set()
    for term in {term for statement in statements for term in statement if term is not None}:
        in_iri = term.type is TermType.IRI and isinstance(term.expression, Template)
        inside = set(references_in(term.expression)) if in_iri else set()
        encoded |= {each.text for each in inside if each.side == side}
        around = references_of(replace(term, expression=Iri("")) if in_iri else term)
        texts |= {each.text for each in around if each.side == side}
    return _Uses(frozenset(texts), frozenset(encoded))


def _numbers(statements: Iterable[Statement], side: str = "") -> bool:
    """Whether a statement has a node of its own for each record."""
    terms = (term for statement in statements for term in statement if term is not None)
    return any(term.expression == EachRecord(side) for term in terms)


def _literal(expression: Expression) -> TermMap:
    return TermMap(TermType.LITERAL, expression)
