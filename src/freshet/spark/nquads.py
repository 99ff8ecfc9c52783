"""Statements of a record as one text of N-Quads lines: a column a record, not a row a statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from freshet.mapper.renderer import fuse_pieces
from freshet.rml.model import TermMap
from freshet.rml.statements import Statement
from freshet.sources.columns import FILE, LINE, REASON
from freshet.spark.term_columns import Piece, SparkRendered, SparkRenderer

LINES = "lines"


def with_lines(
    frame: DataFrame, statements: Sequence[Statement], chosen: set[Statement], renderer: SparkRenderer
) -> DataFrame:
    """Records with the N-Quads lines of the `chosen` statements in LINES: empty where they make none.

    REASON says why a record makes no statements: because of what it is, or of a term of any of the statements.
    """
    terms = _Terms(statements, renderer)
    named = [column.alias(name) for name, column in terms.columns.items()]
    with_terms = frame.select("*", *named) if named else frame
    reason = F.coalesce(F.col(REASON), *terms.reasons)
    lines = F.concat_ws("\n", *(terms.lines(statement) for statement in statements if statement in chosen))
    return with_terms.select(
        F.when(reason.isNull(), lines).otherwise("").alias(LINES),
        reason.alias(REASON),
        FILE,
        LINE,
    )


class _Terms:
    """The terms of some statements. One that stands in several statements has a column of its own."""

    def __init__(self, statements: Iterable[Statement], renderer: SparkRenderer) -> None:
        used = Counter(_without_targets(term) for statement in statements for term in statement if term is not None)
        self.columns: dict[str, Column] = {}
        self.reasons: list[Column] = []
        self._join = renderer.join
        self._rendered: dict[TermMap, SparkRendered] = {}
        for term, times in used.items():
            made = renderer.render(term)
            if made.reason is not None:
                self.reasons.append(made.reason)
            if times > 1 and any(not isinstance(piece, str) for piece in made.pieces):
                name = f"term {len(self.columns)}"
                self.columns[name] = renderer.join(made.pieces)
                made = SparkRendered((F.col(f"`{name}`"),), made.many)
            self._rendered[term] = made

    def lines(self, statement: Statement) -> Column:
        """The lines of a statement: a text, or an array where a term of it is many; null where a term is missing."""
        terms = [self._rendered[_without_targets(term)] for term in statement if term is not None]
        between: list[SparkRendered] = []
        for term in terms:
            between += [term, SparkRendered((" ",))]
        return _each_of([*between, SparkRendered((".",))], self._join)


def _each_of(terms: list[SparkRendered], make: Callable[[tuple[Piece, ...]], Column]) -> Column:
    """What is made with every choice of one value of each term."""
    at = next((at for at, term in enumerate(terms) if term.many), None)
    if at is None:
        return make(fuse_pieces(tuple(piece for term in terms for piece in term.pieces)))
    (values,) = terms[at].pieces
    assert isinstance(values, Column)
    several = sum(term.many for term in terms) > 1

    def inner(value: Column) -> Column:
        return _each_of([*terms[:at], SparkRendered((value,)), *terms[at + 1 :]], make)

    made = F.transform(values, inner)
    return F.flatten(made) if several else made


def _without_targets(term: TermMap) -> TermMap:
    """A term map without where its triples go."""
    return replace(term, targets=()) if term.targets else term
