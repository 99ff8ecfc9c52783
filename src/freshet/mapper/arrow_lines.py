"""Statements of records as N-Quads lines, on Arrow arrays: a text a record, with all its lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.mapper.arrow_gather import Gathered, gather
from freshet.mapper.arrow_texts import spread, text_scalar
from freshet.mapper.renderer import Rendered, Renderer, fuse_pieces
from freshet.rdf.arrow import list_array, numbers, truths, whole_numbers
from freshet.rml.model import TermMap
from freshet.rml.statements import Collection, Statement
from freshet.sources.columns import REASON

Values = Any
_NOTHING = text_scalar("")


class Lines(NamedTuple):
    """For each target the lines of each record, none of rejected ones; the reasons of these; and the collections of the
    others, whose own triples are not among the lines."""

    texts: list[pa.Array]
    reasons: pa.Array
    collections: list[Gathered]


def lines_of(
    batch: pa.RecordBatch,
    statements: Sequence[Statement],
    chosen: Iterable[set[Statement]],
    renderer: Renderer[Values],
    collections: Sequence[Collection] = (),
) -> Lines:
    """The lines of the statements that are chosen for each target.

    REASON says why a record makes no statements: because of what it is, or of a term of any of the statements.
    """
    rows = len(batch)
    terms = _Terms(statements, collections, renderer, rows)
    reasons = spread(pc.coalesce(batch.column(REASON), *terms.reasons), rows)
    good = pc.is_null(reasons) if reasons.null_count < rows else None
    made = {statement: terms.lines(statement, rows) for statement in dict.fromkeys(statements)}
    texts = []
    for some in chosen:
        columns = [made[statement] for statement in statements if statement in some]
        joined = _one_after_another(columns, rows)
        texts.append(joined if good is None else joined.filter(good))
    gathered = [terms.gathered[_key(each.term, each.graph)] for each in collections]
    if good is not None:
        gathered = [each.filtered(truths(good)) for each in gathered]
    return Lines(texts, reasons, gathered)


def line_bytes(texts: pa.Array) -> memoryview:
    """The lines of an array: its bytes as they are, since what is null has none."""
    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return memoryview(b"")
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]


def _one_after_another(columns: list[pa.Array], rows: int) -> pa.Array:
    if not columns:
        return spread(_NOTHING, rows)
    if len(columns) == 1:
        return columns[0]
    return pc.binary_join_element_wise(*columns, _NOTHING, null_handling="replace", null_replacement="")


class _Terms:
    """The terms of some statements. One that stands in several statements is made once."""

    def __init__(
        self, statements: Iterable[Statement], collections: Iterable[Collection], renderer: Renderer[Values], rows: int
    ) -> None:
        terms = [_key(term, each.graph) for each in statements for term in each if term is not None]
        used = Counter(terms + [_key(each.term, each.graph) for each in collections])
        self.reasons: list[Values] = []
        self.gathered: dict[_Key, Gathered] = {}
        self._renderer = renderer
        self._rendered: dict[_Key, Rendered[Values]] = {}
        for key, times in used.items():
            term, graph = key
            if term.gather is not None:
                self._gather(key, gather(term, graph, renderer, rows), rows)
                continue
            made = renderer.render(term)
            if made.reason is not None:
                self.reasons.append(made.reason)
            if times > 1 and not made.many and len(made.pieces) > 1:
                made = Rendered((renderer.join(made.pieces),))
            self._rendered[key] = made

    def _gather(self, key: _Key, found: Gathered, rows: int) -> None:
        """A collection as a term: an array of the nodes of each record's."""
        self.gathered[key] = found
        self.reasons += found.reasons
        lengths = np.bincount(found.owners, minlength=rows).astype(np.int32)
        self._rendered[key] = Rendered((list_array(lengths, found.nodes),), True)

    def lines(self, statement: Statement, rows: int) -> pa.Array:
        """The lines of a statement, those of a record as one text; null where it makes none."""
        terms = [self._rendered[_key(term, statement.graph)] for term in statement if term is not None]
        if any(term.many for term in terms):
            return self._of_many(terms, rows)
        pieces: tuple[str | Values, ...] = ()
        for term in terms:
            pieces += (*term.pieces, " ")
        return spread(self._renderer.join(fuse_pieces((*pieces, ".\n"))), rows)

    def _of_many(self, terms: list[Rendered[Values]], rows: int) -> pa.Array:
        """A row for every choice of one value of each term; then those of each record together."""
        owners = numbers(np.arange(rows))
        made: list[Values] = []
        for term in terms:
            column = self._renderer.join(term.pieces)
            column = column if isinstance(column, pa.Scalar) else column.take(owners)
            if term.many:
                parents = pc.list_parent_indices(column)
                made = [each if isinstance(each, pa.Scalar) else each.take(parents) for each in made]
                owners, column = owners.take(parents), column.flatten()
            made += [column, text_scalar(" ")]
        lines = pc.fill_null(pc.binary_join_element_wise(*made, text_scalar(".\n"), _NOTHING), _NOTHING)
        lines = spread(lines, len(owners))
        if not len(lines):
            return spread(_NOTHING, rows)
        ends = np.frombuffer(lines.buffers()[1], np.int32)[lines.offset : lines.offset + len(lines) + 1]
        firsts = np.searchsorted(whole_numbers(owners), np.arange(rows + 1))
        offsets = np.ascontiguousarray(ends[firsts])
        return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(offsets), lines.buffers()[2]])


_Key = tuple[TermMap, TermMap | None]


def _key(term: TermMap, graph: TermMap | None) -> _Key:
    """What distinguishes terms: where triples go does not, and their graph does for collections only."""
    beside = None if term.gather is None or graph is None else _without_targets(graph)
    return _without_targets(term), beside


def _without_targets(term: TermMap) -> TermMap:
    """A term map without where its triples go."""
    return replace(term, targets=()) if term.targets else term
