"""Mappings compiled for streams: one row a record, with a text for each term that a record makes.

The text is what of the term's key differs between records. What is the same in all of them stays with the driver, in
the layout (`freshet.rdf.batch`), and so does making ids of keys, since the dictionary is there. A stream has triples
and no graphs: a triple that a mapping puts in named graphs is there once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from freshet.mapper.operations import C, ColumnOperations, FunctionTable, ReferenceShape
from freshet.mapper.record_shapes import shapes_of
from freshet.mapper.renderer import Rendered, Renderer, fuse_pieces
from freshet.rdf.batch import Frame, Layout, Slot
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import XSD_STRING, BlankNode, Iri, Literal, Term
from freshet.rml.mapping_slices import JoinSlice, MappingSlice
from freshet.rml.model import Call, EachRecord, QuotedTriple, Reference, Template, TermMap, TermType
from freshet.rml.statements import Statement
from freshet.rml.term_walks import references_of


@dataclass(frozen=True, slots=True)
class CompiledMapping:
    """The term maps that vary, in the order of their columns, and how triples are made of them."""

    terms: tuple[TermMap, ...]
    layout: Layout
    shapes: Mapping[str, ReferenceShape]
    blank_scope: str
    functions: FunctionTable

    @property
    def references(self) -> frozenset[Reference]:
        return frozenset(reference for term in self.terms for reference in references_of(term))

    @property
    def kinds(self) -> frozenset[Reference]:
        """The references of which the kind of value matters: those of natural literals, and those in templates."""
        return frozenset(each for term in self.terms for each in references_of(term) if _needs_kind(term))

    def renderer(self, columns: ColumnOperations[C], many: Mapping[str, frozenset[str]] | None = None) -> Renderer[C]:
        """What makes the keys of terms. References in `many`, of each side of a join its own, have arrays."""
        shapes = self.shapes
        if many:
            shapes = {side: shape._replace(many=many[side]) for side, shape in shapes.items()}
        return Renderer(columns, shapes, nquads=False, blank_scope=self.blank_scope)

    def texts(self, renderer: Renderer[C]) -> tuple[dict[str, C], list[C]]:
        """`text_k` of every term, and the reasons where a record makes something that is no IRI.

        Of references with arrays the texts of terms are arrays too.
        """
        rendered = [renderer.render(term) for term in self.terms]
        texts = {f"text_{k}": _text(made, self.layout.frames[k], renderer) for k, made in enumerate(rendered)}
        return texts, [made.reason for made in rendered if made.reason is not None]


def compile_slice(
    mapping_slice: MappingSlice | JoinSlice,
    wanted: frozenset[str] | None,
    blank_scope: str,
    functions: FunctionTable | None = None,
) -> CompiledMapping:
    """The columns for a slice of a mapping. References of a join name their side, and so do their columns."""
    if mapping_slice.collections:
        raise UnsupportedError("collections and containers (RML-CC) are not supported in streams")
    return _compile_statements(mapping_slice.triples, wanted, blank_scope, shapes_of(mapping_slice), functions)


def _compile_statements(
    statements: Iterable[Statement],
    wanted: frozenset[str] | None,
    blank_scope: str,
    shapes: Mapping[str, ReferenceShape],
    functions: FunctionTable | None,
) -> CompiledMapping:
    numbers: dict[TermMap, int] = {}

    def slot(term: TermMap) -> Slot:
        constant = _constant(term)
        if constant is not None:
            return constant
        if isinstance(term.expression, EachRecord):
            raise UnsupportedError("a node of its own for each record is not supported in streams")
        if isinstance(term.expression, QuotedTriple):
            raise UnsupportedError("quoted triples (RML-star) are not supported in streams")
        return numbers.setdefault(replace(term, targets=()), len(numbers))

    triples = [
        (slot(made.subject), slot(made.predicate), slot(made.object))
        for made in statements
        if wanted is None or not isinstance(iri := made.predicate.expression, Iri) or iri.value in wanted
    ]
    frames = tuple(_frame(term, shapes, blank_scope) for term in numbers)
    layout = Layout(tuple(dict.fromkeys(triples)), frames)
    return CompiledMapping(tuple(numbers), layout, shapes, blank_scope, functions or FunctionTable())


def _constant(term: TermMap) -> Term | None:
    if isinstance(term.expression, Iri | BlankNode | Literal) and term.condition is None:
        return term.expression
    return None


def _frame(term: TermMap, shapes: Mapping[str, ReferenceShape], blank_scope: str) -> Frame:
    """What stands before and after the text of a term in its key. No columns are made: Spark may not run yet."""
    if term.condition is not None:
        return "", ""
    if term.type is TermType.BLANK_NODE:
        return f"_:{blank_scope}.", ""
    parts = term.expression.parts if isinstance(term.expression, Template) else ()
    first = parts[0] if parts and isinstance(parts[0], str) else ""
    last = parts[-1] if len(parts) > 1 and isinstance(parts[-1], str) else ""
    if term.type is not TermType.LITERAL:
        absolute = re.match(r"[A-Za-z][A-Za-z0-9+.\-]*:", first) is not None
        return (f"<{first}", f"{last}>") if absolute else ("<", ">")
    if isinstance(term.language, str):
        return f'"{first}', f'{last}"@{term.language.lower()}'
    if isinstance(term.language, TermMap) or isinstance(term.datatype, TermMap) or isinstance(term.expression, Call):
        return f'"{first}', ""
    if term.datatype is None and isinstance(term.expression, Reference) and shapes[term.expression.side].kinds:
        return '"', ""
    if term.datatype is None or term.datatype == XSD_STRING:
        return f'"{first}', f'{last}"'
    return f'"{first}', f'{last}"^^<{term.datatype.value}>'


def _text(rendered: Rendered[C], frame: Frame, renderer: Renderer[C]) -> C:
    """What of a term's key differs between records; null where a reference gives nothing."""
    before, after = frame
    if rendered.many:
        (whole,) = rendered.pieces
        assert not isinstance(whole, str)
        return renderer.columns.cut_each(whole, len(before), len(after))
    first, *rest = fuse_pieces(rendered.pieces)
    if before:
        assert isinstance(first, str)
        assert first.startswith(before)
        first = first.removeprefix(before)
    *most, last = first, *rest
    if after:
        assert isinstance(last, str)
        assert last.endswith(after)
        last = last.removesuffix(after)
    return renderer.join((*most, last))


def _needs_kind(term: TermMap) -> bool:
    if term.type is TermType.LITERAL:
        return isinstance(term.expression, Reference) and term.datatype is None and term.language is None
    return term.type is TermType.IRI and isinstance(term.expression, Template)
