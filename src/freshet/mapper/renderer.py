"""Term maps as operations on columns: what texts and columns, one after the other, make a term of a record."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple

from freshet.mapper.operations import (
    IRI_PATTERN,
    LISTS,
    SCHEME_PATTERN,
    TAKES_LIST,
    UNSAFE_IRI_PATTERN,
    C,
    ColumnOperations,
    ReferenceShape,
)
from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import XSD, BlankNode, Iri, Literal, Term, term_key
from freshet.rml import kinds
from freshet.rml.functions import GREL
from freshet.rml.model import Call, EachRecord, Expression, QuotedTriple, Reference, Template, TermMap, TermType
from freshet.rml.reader_terms import LANGUAGE_TAG
from freshet.rml.term_walks import calls_of, references_in, references_of

_ENCODED = (TermType.IRI, TermType.URI)
_MD5 = GREL + "string_md5"
_IRIS = (TermType.IRI, TermType.URI, TermType.UNSAFE_IRI, TermType.UNSAFE_URI)


class Rendered(NamedTuple, Generic[C]):
    """A term: pieces that stand one after the other; where it is `many`, one column that is an array of whole terms.

    Where a piece is null there is no term. `reason` is null, or why what the record makes is no term.
    """

    pieces: tuple[str | C, ...]
    many: bool = False
    reason: C | None = None


@dataclass(frozen=True, slots=True)
class Renderer(Generic[C]):
    """Makes columns of term maps.

    `shapes` says what the columns of each side are. In N-Quads literals are escaped, in the dictionary's keys they are
    not. Labels of blank nodes begin with `blank_scope`.
    """

    columns: ColumnOperations[C]
    shapes: Mapping[str, ReferenceShape]
    nquads: bool
    blank_scope: str = ""

    def render(self, term: TermMap) -> Rendered[C]:
        """A term with its datatype, language and condition."""
        if isinstance(term.expression, Iri | BlankNode | Literal):
            return self._conditional(term, Rendered((self._constant(term.expression),)))
        several = self._several(term)
        if not several:
            return self._conditional(term, self._single(term))
        may_be_wrong: list[bool] = []

        def make(inner: Renderer[C]) -> C:
            single = inner._single(term)
            may_be_wrong.append(single.reason is not None)
            return inner.join(single.pieces)

        whole = self._each(several, make)
        reason = None
        if any(may_be_wrong):
            reason = self.columns.first(self._each(several, lambda inner: inner._reason(term)))
        return self._conditional(term, Rendered((whole,), True, reason))

    def text(self, expression: Expression) -> C:
        """What an expression gives, as it is: a key of a join, an input of a function."""
        match expression:
            case Reference():
                return self._reference(expression)
            case Template(parts):
                return self.join(tuple(part if isinstance(part, str) else self._reference(part) for part in parts))
            case Call():
                return self._call(expression)
            case Iri(value) | BlankNode(value):
                return self.columns.constant(value)
            case Literal(lexical):
                return self.columns.constant(lexical)
        what = "a quoted triple" if isinstance(expression, QuotedTriple) else "a node of its own for each record"
        raise UnsupportedError(f"{what} cannot be a value")

    def texts(self, expression: Expression) -> Rendered[C]:
        """The same, an array where a reference or a function has several values."""
        several = self._several(TermMap(TermType.LITERAL, expression))
        if not several:
            return Rendered((self.text(expression),))
        return Rendered((self._each(several, lambda inner: inner.text(expression)),), True)

    def _several(self, term: TermMap) -> list[Expression]:
        """What in a term has several values."""
        whole = {each for call in calls_of(term) if self._takes_list(call) for each in references_in(call)}
        found: list[Expression] = [
            each for each in dict.fromkeys(references_of(term)) if self._is_many(each) and each not in whole
        ]
        found += [call for call in _outer_calls(term) if self._function_name(call) in LISTS]
        if found and any(self.columns.functions.is_users(call.function.value) for call in calls_of(term)):
            raise UnsupportedError("a user's function cannot be called with references that have several values")
        return found

    def _function_name(self, call: Call) -> str:
        return self.columns.functions.declaration(call.function.value).name

    def _takes_list(self, call: Call) -> bool:
        return self._function_name(call) in TAKES_LIST

    def _is_many(self, reference: Reference) -> bool:
        return self.columns.bound(reference) is None and reference.text in self.shapes[reference.side].many

    def _each(self, several: list[Expression], make: Callable[[Renderer[C]], C]) -> C:
        """What is made with each of the values, and for each with every one of the others."""
        first, rest = several[0], several[1:]

        def inner(columns: ColumnOperations[C]) -> C:
            bound = replace(self, columns=columns)
            return bound._each(rest, make) if rest else make(bound)

        with_kinds = isinstance(first, Reference) and self.shapes[first.side].kinds
        kinds_of = self.columns.kind(first) if isinstance(first, Reference) and with_kinds else None
        return self.columns.each(first, self.text(first), kinds_of, inner, flatten=bool(rest))

    def _reason(self, term: TermMap) -> C:
        """Why a record makes no term, where that can be; null where it makes one."""
        reason = self._single(term).reason
        assert reason is not None
        return reason

    def _constant(self, term: Term) -> str:
        if isinstance(term, BlankNode):
            return f"_:{self.blank_scope}c{term.label}"
        return str(term) if self.nquads else term_key(term)

    def _conditional(self, term: TermMap, rendered: Rendered[C]) -> Rendered[C]:
        if term.condition is None:
            return rendered
        holds = self.columns.equals(self._call(term.condition), "true")
        whole = self.join(rendered.pieces)
        reason = None if rendered.reason is None else self.columns.when(holds, rendered.reason)
        return Rendered((self.columns.when(holds, whole),), rendered.many, reason)

    def _single(self, term: TermMap) -> Rendered[C]:
        if isinstance(term.expression, QuotedTriple):
            return self._triple(term, term.expression)
        if term.type is TermType.BLANK_NODE:
            return self._blank(term)
        return self._iri(term) if term.type in _IRIS else self._literal(term)

    def _triple(self, term: TermMap, triple: QuotedTriple) -> Rendered[C]:
        """A triple term, or the blank node that reifies it: its label is a digest, so equal triples have the same."""
        parts = [self._inside(each) for each in triple]
        pieces: tuple[str | C, ...] = ("<<( ",)
        for part in parts:
            pieces += (*part.pieces, " ")
        pieces = fuse_pieces((*pieces, ")>>"))
        reasons = [part.reason for part in parts if part.reason is not None]
        reason = self.columns.coalesce(*reasons) if reasons else None
        if term.type is not TermType.BLANK_NODE:
            return Rendered(pieces, reason=reason)
        digest = self.columns.call(_MD5, {"valueParam": self.join(pieces)})
        return Rendered((f"_:{self.blank_scope}q", digest), reason=reason)

    def _inside(self, term: TermMap) -> Rendered[C]:
        """A term of a triple term, of one value of each reference."""
        if isinstance(term.expression, Iri | BlankNode | Literal):
            return self._conditional(term, Rendered((self._constant(term.expression),)))
        return self._conditional(term, self._single(term))

    def _blank(self, term: TermMap) -> Rendered[C]:
        before = f"_:{self.blank_scope}" if self.nquads else f"_:{self.blank_scope}."
        if isinstance(term.expression, EachRecord):
            return Rendered((before, "r", self.columns.record_number(term.expression.side)))
        # What may not stand in a label goes in as hexadecimal digits, so that different values stay different nodes.
        columns, whole = self.columns, self.text(term.expression)
        digits = columns.concat(columns.constant("x"), columns.hexadecimal(whole))
        plain = columns.concat(columns.constant("n"), whole)
        return Rendered((before, columns.when(columns.matches(whole, r"^[A-Za-z0-9]+\z"), plain, digits)))

    def _iri(self, term: TermMap) -> Rendered[C]:
        pieces = fuse_pieces(self._iri_pieces(term))
        encoded = term.type in _ENCODED and isinstance(term.expression, Template)
        absolute = isinstance(pieces[0], str) and re.match(SCHEME_PATTERN, pieces[0]) is not None
        # Encoded, a colon of a value is none: before the first slash there is a scheme or there is never one.
        relative = not absolute and encoded and (not isinstance(pieces[0], str) or ":" not in pieces[0])
        if not absolute and term.base is not None:
            if relative:
                pieces, absolute = fuse_pieces((term.base, *pieces)), True
            else:
                whole = self.join(pieces)
                resolved = self.columns.concat(self.columns.constant(term.base), whole)
                pieces = (self.columns.when(self.columns.matches(whole, SCHEME_PATTERN), whole, resolved),)
        reason = self._nested(term.expression)
        if not (absolute and encoded):
            whole = self.join(pieces)
            wrong = self._mismatch(
                whole, IRI_PATTERN if term.type in _ENCODED else UNSAFE_IRI_PATTERN, "not an absolute IRI: "
            )
            reason = wrong if reason is None else self.columns.coalesce(reason, wrong)
        return Rendered(fuse_pieces(("<", *pieces, ">")), reason=reason)

    def _mismatch(self, text: C, pattern: str, reason: str) -> C:
        """Why a text is not what it should be; null where it is, or is not there."""
        columns = self.columns
        return columns.when(columns.mismatches(text, pattern), columns.concat(columns.constant(reason), text))

    def _iri_pieces(self, term: TermMap) -> tuple[str | C, ...]:
        expression = term.expression
        if isinstance(expression, Template):
            encode = self._percent_encode if term.type is TermType.IRI else self._encoded_ascii
            value = encode if term.type in _ENCODED else self._reference
            return tuple(part if isinstance(part, str) else value(part) for part in expression.parts) or ("",)
        return (self.text(expression),)

    def _literal(self, term: TermMap) -> Rendered[C]:
        lexical = self._lexical(term.expression)
        if isinstance(term.language, TermMap):
            language = self.text(term.language.expression)
            wrong = self._mismatch(language, rf"^{LANGUAGE_TAG}\z", "no language tag: ")
            tag = language if self.nquads else self.columns.lower(language)
            return Rendered(fuse_pieces(('"', *lexical, '"@', tag)), reason=wrong)
        if term.language is not None:
            tag_text = term.language if self.nquads else term.language.lower()
            return Rendered(fuse_pieces(('"', *lexical, f'"@{tag_text}')))
        if isinstance(term.datatype, TermMap):
            made = self._iri(term.datatype)
            whole = self.join(made.pieces)
            plain = f"<{XSD}string>"
            typed = self.columns.concat(self.columns.constant("^^"), whole)
            suffix = self.columns.when(self.columns.equals(whole, plain), self.columns.constant(""), typed)
            return Rendered(fuse_pieces(('"', *lexical, '"', suffix)), reason=made.reason)
        datatype = term.datatype
        if datatype is None and isinstance(term.expression, Call):
            datatype = self.columns.functions.declaration(term.expression.function.value).result
        if datatype is None and isinstance(term.expression, Reference) and self._kind(term.expression) is not None:
            suffix = self._natural_suffix(term.expression)
            return Rendered(('"', *lexical, '"', suffix), reason=self._nested(term.expression))
        reason = self._nested(term.expression)
        if datatype is None or datatype.value == XSD + "string":
            return Rendered(fuse_pieces(('"', *lexical, '"')), reason=reason)
        if datatype.value == XSD + "double" and isinstance(term.expression, Reference):
            lexical = (self._double(term.expression, lexical),)
        return Rendered(fuse_pieces(('"', *lexical, f'"^^<{datatype.value}>')), reason=reason)

    def _double(self, reference: Reference, lexical: tuple[str | C, ...]) -> C:
        """An integer as the canonical text of a double. Other texts are as the record has them."""
        kind, whole = self._kind(reference), self.join(lexical)
        if kind is None:
            return whole
        double = self.columns.integer_as_double(self.columns.text(reference))
        return self.columns.when(self.columns.equals(kind, kinds.INTEGER), double, whole)

    def _natural_suffix(self, reference: Reference) -> C:
        """The type that a value of JSON or SQL has (RML's natural mapping)."""
        kind = self._kind(reference)
        assert kind is not None
        suffix = self.columns.constant("")
        for code, name in kinds.DATATYPES.items():
            if code in self.shapes[reference.side].kinds:
                typed = self.columns.constant(f"^^<{XSD}{name}>")
                suffix = self.columns.when(self.columns.equals(kind, code), typed, suffix)
        return suffix

    def _nested(self, expression: Expression) -> C | None:
        """Why a value that holds others makes no term; only N-Quads are so strict."""
        if not self.nquads or not isinstance(expression, Reference) or (kind := self._kind(expression)) is None:
            return None
        reason = self.columns.constant(f"the value of {expression} is an object or an array")
        return self.columns.when(self.columns.equals(kind, kinds.NESTED), reason)

    def _lexical(self, expression: Expression) -> tuple[str | C, ...]:
        parts = expression.parts if isinstance(expression, Template) else (expression,)
        found: list[str | C] = []
        for part in parts:
            if isinstance(part, str):
                found.append(Literal(part).__str__()[1:-1] if self.nquads else part)
            elif not self.nquads:
                found.append(self.text(part))
            else:
                found.append(self._escaped(part))
        return tuple(found)

    def _escaped(self, part: Expression) -> C:
        return self.columns.escaped(self.text(part), self._kind(part) if isinstance(part, Reference) else None)

    def _reference(self, reference: Reference) -> C:
        return self.columns.text(reference)

    def _kind(self, reference: Reference) -> C | None:
        return self.columns.kind(reference) if self.shapes[reference.side].kinds else None

    def _percent_encode(self, reference: Reference) -> C:
        return self.columns.percent_encoded(reference, self.shapes[reference.side])

    def _encoded_ascii(self, reference: Reference) -> C:
        return self.columns.percent_encoded_ascii(self._reference(reference))

    def _call(self, call: Call) -> C:
        if (bound := self.columns.bound(call)) is not None:
            return bound
        declared = self.columns.functions.declaration(call.function.value)
        given: dict[str, C | None] = {}
        for parameter, value in call.inputs:
            name = declared.parameter(parameter.value)
            assert name is not None
            given[name] = self.text(value.expression)
        return self.columns.call(call.function.value, given)

    def join(self, pieces: tuple[str | C, ...]) -> C:
        """The pieces as one text; null where one is null."""
        made = [self.columns.constant(piece) if isinstance(piece, str) else piece for piece in fuse_pieces(pieces)]
        return made[0] if len(made) == 1 else self.columns.concat(*made)


def _outer_calls(term: TermMap) -> list[Call]:
    """The calls whose values are those of the term, or of the terms of a quoted triple."""
    if isinstance(term.expression, QuotedTriple):
        return [call for each in term.expression for call in _outer_calls(each)]
    return [term.expression] if isinstance(term.expression, Call) else []


def fuse_pieces(pieces: tuple[str | C, ...]) -> tuple[str | C, ...]:
    """The pieces with texts that stand beside each other as one."""
    made: list[str | C] = []
    for piece in pieces:
        if isinstance(piece, str) and made and isinstance(made[-1], str):
            made[-1] += piece
        elif not isinstance(piece, str) or piece:
            made.append(piece)
    return tuple(made) or ("",)
