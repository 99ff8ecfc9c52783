"""Collections and containers (RML-CC) of records, on Arrow arrays: their nodes, their members and their own triples."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from freshet.mapper.arrow_texts import hexadecimal, spread, text_scalar
from freshet.mapper.renderer import Renderer
from freshet.rdf.arrow import list_array, list_lengths, numbers, whole_numbers
from freshet.rdf.errors import UnsupportedError
from freshet.rml.model import CollectionKind, EachRecord, Gather, TermMap, TermType

Values = Any
Rows = NDArray[np.int64]

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_NIL = text_scalar(f"<{_RDF}nil>")
_NOTHING = text_scalar("")


class Gathered(NamedTuple):
    """Collections: the record that each is of, in order, its node, its members, and the graph of its triples. `inner`
    are the collections that are members of others."""

    gather: Gather
    owners: Rows
    nodes: pa.Array
    members: pa.Array
    graphs: pa.Array | None
    reasons: tuple[Values, ...] = ()
    inner: tuple[Gathered, ...] = ()

    def filtered(self, good: NDArray[np.bool_]) -> Gathered:
        """Those of good records."""
        kept = np.flatnonzero(good[self.owners])
        rows = numbers(kept)
        return Gathered(
            self.gather,
            self.owners[kept],
            self.nodes.take(rows),
            self.members.take(rows),
            None if self.graphs is None else self.graphs.take(rows),
            inner=tuple(each.filtered(good) for each in self.inner),
        )


class _Values(NamedTuple):
    """Terms with the records that they are of, in order."""

    owners: Rows
    terms: pa.Array


def gather(term: TermMap, graph: TermMap | None, renderer: Renderer[Values], rows: int) -> Gathered:
    """The collections that a term map makes of records. Blank nodes of different graphs are different."""
    given = term.gather
    assert given is not None
    reasons: list[Values] = []
    inner: list[Gathered] = []
    values: list[_Values] = []
    for member in given.members:
        assert isinstance(member, TermMap)
        if member.gather is not None:
            below = gather(member, graph, renderer, rows)
            inner.append(below)
            reasons += below.reasons
            values.append(_Values(below.owners, below.nodes))
        else:
            values.append(_terms(member, renderer, rows, reasons))
    graphs = None if graph is None else _single(graph, renderer, rows, reasons)
    owners, members = _product(values, rows) if given.product else _appended(values, rows)
    nodes = _nodes(term, given, renderer, owners, rows, graphs, reasons)
    own_graphs = None if graphs is None else graphs.take(numbers(owners))
    empty = list_lengths(members) == 0
    if given.kind is CollectionKind.LIST and empty.any():
        nodes = pc.if_else(_booleans(empty), _NIL, nodes)
    there = pc.is_valid(nodes)
    if not given.empty and empty.any():
        there = pc.and_(there, _booleans(~empty))
    kept = whole_numbers(numbers(np.arange(owners.size)).filter(there))
    taken = numbers(kept)
    return Gathered(
        given,
        owners[kept],
        nodes.take(taken),
        members.take(taken),
        None if own_graphs is None else own_graphs.take(taken),
        tuple(reasons),
        tuple(inner),
    )


def _booleans(values: NDArray[np.bool_]) -> pa.Array:
    return pc.cast(numbers(values.astype(np.int8)), pa.bool_())


def _terms(term: TermMap, renderer: Renderer[Values], rows: int, reasons: list[Values]) -> _Values:
    made = renderer.render(term)
    if made.reason is not None:
        reasons.append(made.reason)
    column = spread(renderer.join(made.pieces), rows)
    owners = numbers(np.arange(rows))
    if made.many:
        owners, column = pc.list_parent_indices(column).cast(pa.int64()), column.flatten()
    there = pc.is_valid(column)
    return _Values(whole_numbers(owners.filter(there)), column.filter(there))


def _single(term: TermMap, renderer: Renderer[Values], rows: int, reasons: list[Values]) -> pa.Array:
    made = renderer.render(term)
    if made.many:
        raise UnsupportedError("the node or the graph of a collection cannot have several values in a record")
    if made.reason is not None:
        reasons.append(made.reason)
    return spread(renderer.join(made.pieces), rows)


def _appended(values: list[_Values], rows: int) -> tuple[Rows, pa.Array]:
    """A collection a record, with the values of all members one after the other."""
    owners = np.concatenate([each.owners for each in values])
    order = np.argsort(owners, kind="stable")
    terms = pa.concat_arrays([each.terms for each in values]).take(numbers(order))
    return np.arange(rows), list_array(np.bincount(owners, minlength=rows).astype(np.int32), terms)


def _product(values: list[_Values], rows: int) -> tuple[Rows, pa.Array]:
    """A collection for each choice of a value of every member."""
    owners = values[0].owners
    chosen = [np.arange(owners.size)]
    for each in values[1:]:
        counts = np.bincount(each.owners, minlength=rows)
        firsts = np.cumsum(counts) - counts
        times = counts[owners]
        rows_before = np.repeat(np.arange(owners.size), times)
        within = np.arange(rows_before.size) - np.repeat(np.cumsum(times) - times, times)
        chosen = [places[rows_before] for places in chosen]
        owners = owners[rows_before]
        chosen.append(firsts[owners] + within)
    size, width = owners.size, len(values)
    starts = np.cumsum([0, *(len(each.terms) for each in values[:-1])])
    places = np.stack([start + places for start, places in zip(starts, chosen, strict=True)], axis=1)
    terms = pa.concat_arrays([each.terms for each in values]).take(numbers(places.reshape(-1)))
    return owners, list_array(np.full(size, width, np.int32), terms)


def _nodes(
    term: TermMap,
    given: Gather,
    renderer: Renderer[Values],
    owners: Rows,
    rows: int,
    graphs: pa.Array | None,
    reasons: list[Values],
) -> pa.Array:
    taken = numbers(owners)
    if isinstance(term.expression, EachRecord):
        number = spread(renderer.columns.record_number(term.expression.side), rows).take(taken)
        pieces = [text_scalar(f"_:{renderer.blank_scope}r"), number, text_scalar(f"-{given.number}")]
        if given.product:
            firsts = np.searchsorted(owners, owners)
            pieces += [text_scalar("-"), numbers(np.arange(owners.size) - firsts).cast(pa.string())]
        nodes = pc.binary_join_element_wise(*pieces, _NOTHING)
    else:
        nodes = _single(_without_gathering(term), renderer, rows, reasons).take(taken)
    if graphs is None or term.type is not TermType.BLANK_NODE:
        return nodes
    return pc.binary_join_element_wise(nodes, text_scalar("-g"), hexadecimal(graphs.take(taken)), _NOTHING)


def _without_gathering(term: TermMap) -> TermMap:
    return TermMap(term.type, term.expression, condition=term.condition, base=term.base)


def merged(parts: list[Gathered]) -> Gathered:
    """Collections with the same node, in the same graph, as one: their members in the order of records."""
    nodes = pa.concat_arrays([each.nodes for each in parts])
    members = pa.concat_arrays([each.members for each in parts])
    graphs = None if parts[0].graphs is None else pa.concat_arrays([each.graphs for each in parts])
    keys = nodes if graphs is None else pc.binary_join_element_wise(graphs, text_scalar(" "), nodes, _NOTHING)
    codes = whole_numbers(pc.dictionary_encode(keys).indices.cast(pa.int64()))
    order = np.argsort(codes, kind="stable")
    firsts = np.searchsorted(codes[order], np.arange(codes.max(initial=-1) + 1))
    ordered = members.take(numbers(order))
    lengths = np.bincount(codes[order], weights=list_lengths(ordered), minlength=firsts.size).astype(np.int32)
    heads = numbers(order[firsts])
    return Gathered(
        parts[0].gather,
        np.zeros(firsts.size, np.int64),
        nodes.take(heads),
        list_array(lengths, ordered.flatten()),
        None if graphs is None else graphs.take(heads),
    )


def collection_lines(found: Gathered) -> pa.Array:
    """The triples of collections themselves, as lines."""
    lengths = list_lengths(found.members).astype(np.int64)
    owners = np.repeat(np.arange(lengths.size), lengths)
    places = np.arange(owners.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = numbers(owners)
    nodes, terms = found.nodes.take(rows), found.members.flatten()
    end = _ends(found.graphs, rows)
    if found.gather.kind is not CollectionKind.LIST:
        own = _lines(found.nodes, f" <{_RDF}type> <{_RDF}{found.gather.kind}>", None, _ends(found.graphs, None))
        numbered = numbers(places + 1).cast(pa.string())
        members = pc.binary_join_element_wise(
            nodes, text_scalar(f" <{_RDF}_"), numbered, text_scalar("> "), terms, end, _NOTHING
        )
        return pa.concat_arrays([spread(own, len(found.nodes)), members])
    cells = _cells(found, owners, places, nodes)
    last = places == lengths[owners] - 1
    following = numbers(np.minimum(np.arange(1, owners.size + 1), max(owners.size - 1, 0)))
    rest = pc.if_else(_booleans(last), _NIL, cells.take(following))
    first = _lines(cells, f" <{_RDF}first> ", terms, end)
    return pa.concat_arrays([first, _lines(cells, f" <{_RDF}rest> ", rest, end)])


def _cells(found: Gathered, owners: Rows, places: Rows, nodes: pa.Array) -> pa.Array:
    """The nodes of lists: the first is the collection's own, the others are named after it."""
    blank = pc.starts_with(found.nodes, "_:")
    label = pc.binary_join_element_wise(text_scalar("_:c"), hexadecimal(found.nodes), _NOTHING)
    if found.graphs is not None:
        label = pc.binary_join_element_wise(label, text_scalar("-g"), hexadecimal(found.graphs), _NOTHING)
    label = pc.if_else(blank, found.nodes, label).take(numbers(owners))
    later = pc.binary_join_element_wise(label, text_scalar("-"), numbers(places).cast(pa.string()), _NOTHING)
    return pc.if_else(_booleans(places == 0), nodes, later)


def _lines(subjects: pa.Array, between: str, objects: pa.Array | None, end: Values) -> pa.Array:
    parts = [subjects, text_scalar(between), *([] if objects is None else [objects]), end]
    return pc.binary_join_element_wise(*parts, _NOTHING)


def _ends(graphs: pa.Array | None, rows: pa.Array | None) -> Values:
    if graphs is None:
        return text_scalar(" .\n")
    taken = graphs if rows is None else graphs.take(rows)
    return pc.binary_join_element_wise(text_scalar(" "), taken, text_scalar(" .\n"), _NOTHING)


def is_merged(found: TermMap) -> bool:
    """Whether collections of several records may have the same node."""
    return not isinstance(found.expression, EachRecord)
