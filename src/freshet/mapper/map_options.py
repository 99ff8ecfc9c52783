"""`freshet map`: its options, what it does of a mapping, and what is wrong with one before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from freshet.mapper.output_files import FORMATS, WITH_GRAPHS, Send
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.rdf.terms import Iri
from freshet.rml.fetching import Fetch, with_fetched
from freshet.rml.functions import FUNCTIONS
from freshet.rml.mapping_slices import JoinSlice, MappingSlice, slice_mapping
from freshet.rml.model import Expression, Target, Template, TermMap, TermType
from freshet.rml.model import Mapping as RmlMapping
from freshet.rml.reader import read_mapping
from freshet.rml.sources import DatabaseSource, FileSource
from freshet.rml.statements import Collection, Statement
from freshet.rml.term_walks import each_record_in, references_in, references_of
from freshet.rml.user_functions import UserFunction, load_functions
from freshet.rml.views import base_sources


@dataclass(frozen=True, slots=True)
class MapOptions:
    """How a mapping is run. Without an output it goes to standard output. `database` has the tables of R2RML.

    `fetch` makes a file of a source on the Web. `send` has the statements of files inserted at an endpoint; without
    files it raises an error where the endpoint may not be asked.
    """

    output: Path | None = None
    format: str = "nq"
    rejects: Path = Path("rejects")
    base: str | None = None
    functions: Path | None = None
    distinct: bool = False
    database: str | None = None
    fetch: Fetch | None = None
    send: Send | None = None


class MapSummary(NamedTuple):
    """What a run has done. `unjoined` are the joins that found nothing, `crossed` those without a condition, with the
    number of pairs."""

    records: int
    rejected: int
    rejects: Path
    unjoined: tuple[str, ...] = ()
    crossed: tuple[tuple[str, int], ...] = ()


def users_of(options: MapOptions) -> dict[str, UserFunction]:
    return load_functions(options.functions) if options.functions else {}


def load_mapping(mapping_file: Path, options: MapOptions, users: Mapping[str, UserFunction]) -> RmlMapping:
    """The mapping, checked: what cannot be run is an error before anything runs."""
    if options.format not in FORMATS:
        raise InputError(f"there is no format {options.format}: there are {', '.join(FORMATS)}")
    declared = {**FUNCTIONS, **{iri: user.declared for iri, user in users.items()}}
    mapping = read_mapping(mapping_file, base=options.base, functions=declared, database=options.database)
    for triples_map in mapping.triples_maps:
        if not all(isinstance(each.source, FileSource | DatabaseSource) for each in base_sources(triples_map.source)):
            raise UnsupportedError(
                f"the triples map {triples_map.name} reads a stream; `freshet map` reads files and databases,"
                " `freshet run` reads streams",
                file=mapping.file,
            )
    if options.fetch is not None:
        mapping = with_fetched(mapping, options.fetch)
    _check_endpoints(mapping, options)
    for mapping_slice in slice_mapping(mapping):
        for statement in mapping_slice.parts:
            for name in {target.format for target in statement.targets} or {options.format}:
                if statement.graph is not None and name not in WITH_GRAPHS:
                    raise InputError(f"the mapping makes named graphs, which {name} cannot hold", file=mapping.file)
    return mapping


def _check_endpoints(mapping: RmlMapping, options: MapOptions) -> None:
    """Raise an error where a target is an endpoint that may not be asked."""
    statements = (statement for each in slice_mapping(mapping) for statement in each.parts)
    endpoints = {target.path for statement in statements for target in statement.targets if target.endpoint}
    for endpoint in sorted(endpoints):
        if options.send is None:
            raise UnsupportedError(f"the endpoint {endpoint} as a target here", file=mapping.file)
        options.send(endpoint, [])


def with_uncounted_sources(slices: list[MappingSlice | JoinSlice]) -> list[MappingSlice | JoinSlice]:
    """The slices, with one of its own for each source that only joins read: its rejects count too."""
    own = {each.source for each in slices if isinstance(each, MappingSlice)}
    both = [source for each in slices if isinstance(each, JoinSlice) for source in (each.child, each.parent)]
    alone: list[MappingSlice | JoinSlice] = [
        MappingSlice(source, ()) for source in dict.fromkeys(both) if source not in own
    ]
    return slices + alone


def by_target(mapping_slice: MappingSlice | JoinSlice) -> dict[Target | None, set[Statement]]:
    """The statements that go to each target; None is the usual output."""
    found: dict[Target | None, set[Statement]] = {}
    for statement in mapping_slice.triples:
        targets: list[Target | None] = [*sorted(statement.targets, key=str)]
        for target in targets or [None]:
            found.setdefault(target, set()).add(statement)
    return found or {None: set()}


class Uses(NamedTuple):
    """The references whose texts are wanted as they are, and those that are wanted as they stand in IRIs."""

    texts: frozenset[str]
    encoded: frozenset[str]


def uses(statements: Iterable[Statement | Collection], side: str = "") -> Uses:
    texts, encoded = set(), set()
    for term in {term for statement in statements for term in statement if term is not None}:
        in_iri = term.type is TermType.IRI and isinstance(term.expression, Template)
        inside = set(references_in(term.expression)) if in_iri else set()
        encoded |= {each.text for each in inside if each.side == side}
        around = references_of(replace(term, expression=Iri("")) if in_iri else term)
        texts |= {each.text for each in around if each.side == side}
    return Uses(frozenset(texts), frozenset(encoded))


def numbers(statements: Iterable[Statement | Collection], side: str = "") -> bool:
    """Whether a statement has a node of its own for each record."""
    terms = (term for statement in statements for term in statement if term is not None)
    return any(each.side == side for term in terms for each in each_record_in(term))


def literal(expression: Expression) -> TermMap:
    return TermMap(TermType.LITERAL, expression)
