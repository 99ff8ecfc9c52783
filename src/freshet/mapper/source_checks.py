"""Whether the sources of a mapping have what it refers to: looked at before anything runs, triples map by triples map,
so that an error can name the one that asks for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from freshet.rdf.errors import FreshetError, InputError
from freshet.rml.model import Expression, Mapping, TermMap, TriplesMap
from freshet.rml.sources import LogicalSource
from freshet.rml.term_walks import references_in, references_of

Open = Callable[[LogicalSource, Collection[str]], object]  # raises what is wrong with a source


def check_sources(mapping: Mapping, open_source: Open) -> None:
    """Raise an error that names the triples map where a file, a table, a column or a variable is not there."""
    sources = {each.name: each.source for each in mapping.triples_maps}
    for triples_map in mapping.triples_maps:
        asked: dict[LogicalSource, set[str]] = {triples_map.source: set()}
        for source, reference in _references_of_map(triples_map, sources):
            asked.setdefault(source, set()).add(reference)
        for source, references in asked.items():
            _check(open_source, source, references, triples_map.name, mapping.file)


def _check(open_source: Open, source: LogicalSource, references: Collection[str], name: str, file: str) -> None:
    try:
        open_source(source, references)
    except FreshetError as error:
        raise InputError(f"the triples map {name} cannot be mapped: {error}", file=file) from None


def _references_of_map(
    triples_map: TriplesMap, sources: dict[str, LogicalSource]
) -> Iterator[tuple[LogicalSource, str]]:
    """The references of a triples map, each with the source that it is to. Subjects of parents are theirs to check."""
    for made in triples_map.terms:
        if isinstance(made, TermMap):
            yield from ((triples_map.source, each.text) for each in references_of(made))
            continue
        for condition in made.conditions:
            yield from _references_of_expression(condition.child, triples_map.source)
            yield from _references_of_expression(condition.parent, sources[made.parent])


def _references_of_expression(expression: Expression, source: LogicalSource) -> Iterator[tuple[LogicalSource, str]]:
    yield from ((source, each.text) for each in references_in(expression))
