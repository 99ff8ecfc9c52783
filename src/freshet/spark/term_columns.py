"""Term maps as Spark expressions: what texts and columns, one after the other, make a term of a record."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

from freshet.rdf.errors import UnsupportedError
from freshet.rdf.terms import XSD, BlankNode, Iri, Literal, Term, term_key
from freshet.rml import kinds
from freshet.rml.mapping_slices import calls_of, references_in, references_of
from freshet.rml.model import Call, EachRecord, Expression, Reference, Template, TermMap, TermType
from freshet.rml.reader_terms import LANGUAGE_PATTERN
from freshet.spark import records
from freshet.spark.functions import LISTS, TAKES_LIST, FunctionTable
from freshet.spark.terms import (
    IRI_PATTERN,
    escape_literal,
    percent_encoded,
    percent_encoded_ascii,
    percent_encoded_value,
)

_SCHEME = r"^[A-Za-z][A-Za-z0-9+.\-]*:"
# What not even an unsafe IRI may hold: it would end the term or the line.
_UNSAFE_PATTERN = r"^[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x1f<>]*$"
_AS_IT_IS = (kinds.INTEGER, kinds.PLAIN, kinds.BOOLEAN)
_NOT_ESCAPED = (kinds.PLAIN, *kinds.DATATYPES)
_ENCODED = (TermType.IRI, TermType.URI)
_IRIS = (TermType.IRI, TermType.URI, TermType.UNSAFE_IRI, TermType.UNSAFE_URI)
RECORD_NUMBER = "record number"

Piece = str | Column


class ReferenceShape(NamedTuple):
    """What the columns of records are: which references have arrays, and which kinds values may have."""

    many: frozenset[str] = frozenset()
    kinds: tuple[int, ...] = ()
    encoded: frozenset[str] = frozenset()  # the references with a column of percent-encoded texts


class Rendered(NamedTuple):
    """A term: pieces that stand one after the other; where it is `many`, one column that is an array of whole terms.

    Where a piece is null there is no term. `reason` is null, or why what the record makes is no term.
    """

    pieces: tuple[Piece, ...]
    many: bool = False
    reason: Column | None = None


class _Bound(NamedTuple):
    """One of the values of a reference or call that has several."""

    text: Column
    kind: Column | None


@dataclass(frozen=True, slots=True)
class Renderer:
    """Makes columns of term maps.

    `shapes` says what the columns of each side are. In N-Quads literals are escaped, in the dictionary's keys they are
    not. Labels of blank nodes begin with `blank_scope`.
    """

    shapes: Mapping[str, ReferenceShape]
    nquads: bool
    blank_scope: str = ""
    functions: FunctionTable = field(default_factory=FunctionTable)
    bound: Mapping[Expression, _Bound] = field(default_factory=dict)

    def render(self, term: TermMap) -> Rendered:
        """A term with its datatype, language and condition."""
        if isinstance(term.expression, Iri | BlankNode | Literal):
            return self._conditional(term, Rendered((self._constant(term.expression),)))
        several = self._several(term)
        if not several:
            return self._conditional(term, self._single(term))
        whole = self._each(several, lambda inner: join_pieces(inner._single(term).pieces))
        wrong = self._each(several, lambda inner: _or_null(inner._single(term).reason))
        reason = F.element_at(F.filter(wrong, lambda reason: reason.isNotNull()), 1)
        safe = F.when(F.size(wrong) > 0, reason)
        return self._conditional(term, Rendered((whole,), True, safe))

    def text(self, expression: Expression) -> Column:
        """What an expression gives, as it is: a key of a join, an input of a function."""
        match expression:
            case Reference():
                return self._reference(expression)
            case Template(parts):
                return join_pieces(tuple(part if isinstance(part, str) else self._reference(part) for part in parts))
            case Call():
                return self._call(expression)
            case Iri(value) | BlankNode(value):
                return F.lit(value)
            case Literal(lexical):
                return F.lit(lexical)
        raise UnsupportedError("a node of its own for each record cannot be a value")

    def texts(self, expression: Expression) -> Rendered:
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
        if isinstance(term.expression, Call) and self._function_name(term.expression) in LISTS:
            found.append(term.expression)
        if found and any(self.functions.is_users(call.function.value) for call in calls_of(term)):
            raise UnsupportedError("a user's function cannot be called with references that have several values")
        return found

    def _function_name(self, call: Call) -> str:
        return self.functions.declaration(call.function.value).name

    def _takes_list(self, call: Call) -> bool:
        return self._function_name(call) in TAKES_LIST

    def _is_many(self, reference: Reference) -> bool:
        return reference not in self.bound and reference.text in self.shapes[reference.side].many

    def _each(self, several: list[Expression], make: Callable[[Renderer], Column]) -> Column:
        """What is made with each of the values, and for each with every one of the others."""
        first, rest = several[0], several[1:]

        def inner(text: Column, kind: Column | None = None) -> Column:
            bound = replace(self, bound={**self.bound, first: _Bound(text, kind)})
            return bound._each(rest, make) if rest else make(bound)

        if isinstance(first, Reference):
            texts = records.field(first)
            if self.shapes[first.side].kinds:
                made = F.zip_with(texts, records.kind(first), lambda text, kind: inner(text, kind))
            else:
                made = F.transform(texts, lambda text: inner(text))
        else:
            made = F.transform(self.text(first), lambda text: inner(text))
        return F.flatten(made) if rest else made

    def _constant(self, term: Term) -> str:
        if isinstance(term, BlankNode):
            return f"_:{self.blank_scope}c{term.label}"
        return str(term) if self.nquads else term_key(term)

    def _conditional(self, term: TermMap, rendered: Rendered) -> Rendered:
        if term.condition is None:
            return rendered
        holds = self._call(term.condition) == "true"
        first, *rest = rendered.pieces if rendered.many else (join_pieces(rendered.pieces),)
        reason = None if rendered.reason is None else F.when(holds, rendered.reason)
        return Rendered((F.when(holds, first), *rest), rendered.many, reason)

    def _single(self, term: TermMap) -> Rendered:
        if term.type is TermType.BLANK_NODE:
            return self._blank(term)
        return self._iri(term) if term.type in _IRIS else self._literal(term)

    def _blank(self, term: TermMap) -> Rendered:
        before = f"_:{self.blank_scope}" if self.nquads else f"_:{self.blank_scope}."
        if isinstance(term.expression, EachRecord):
            side = term.expression.side
            return Rendered((before, "r", F.col(f"`{side} {RECORD_NUMBER}`" if side else f"`{RECORD_NUMBER}`")))
        # What may not stand in a label goes in as hexadecimal digits, so that different values stay different nodes.
        whole = self.text(term.expression)
        label = F.when(whole.rlike("^[A-Za-z0-9]+$"), F.concat(F.lit("n"), whole))
        return Rendered((before, label.otherwise(F.concat(F.lit("x"), F.hex(whole)))))

    def _iri(self, term: TermMap) -> Rendered:
        pieces = fuse_pieces(self._iri_pieces(term))
        encoded = term.type in _ENCODED and isinstance(term.expression, Template)
        absolute = isinstance(pieces[0], str) and re.match(_SCHEME, pieces[0]) is not None
        # Encoded, a colon of a value is none: before the first slash there is a scheme or there is never one.
        relative = not absolute and encoded and (not isinstance(pieces[0], str) or ":" not in pieces[0])
        if not absolute and term.base is not None:
            if relative:
                pieces, absolute = fuse_pieces((term.base, *pieces)), True
            else:
                whole = join_pieces(pieces)
                pieces = (F.when(whole.rlike(_SCHEME), whole).otherwise(F.concat(F.lit(term.base), whole)),)
        reason = self._nested(term.expression)
        if not (absolute and encoded):
            whole = join_pieces(pieces)
            pattern = IRI_PATTERN if term.type in _ENCODED else _UNSAFE_PATTERN
            wrong = F.when(whole.isNotNull() & ~whole.rlike(pattern), F.concat(F.lit("not an absolute IRI: "), whole))
            reason = wrong if reason is None else F.coalesce(reason, wrong)
        return Rendered(fuse_pieces(("<", *pieces, ">")), reason=reason)

    def _iri_pieces(self, term: TermMap) -> tuple[Piece, ...]:
        expression = term.expression
        if isinstance(expression, Template):
            encode = self._encoded if term.type is TermType.IRI else self._encoded_ascii
            value = encode if term.type in _ENCODED else self._reference
            return tuple(part if isinstance(part, str) else value(part) for part in expression.parts) or ("",)
        return (self.text(expression),)

    def _literal(self, term: TermMap) -> Rendered:
        lexical = self._lexical(term.expression)
        if isinstance(term.language, TermMap):
            language = self.text(term.language.expression)
            wrong = F.when(
                language.isNotNull() & ~language.rlike(LANGUAGE_PATTERN), F.concat(F.lit("no language tag: "), language)
            )
            tag = language if self.nquads else F.lower(language)
            return Rendered(fuse_pieces(('"', *lexical, '"@', tag)), reason=wrong)
        if term.language is not None:
            tag_text = term.language if self.nquads else term.language.lower()
            return Rendered(fuse_pieces(('"', *lexical, f'"@{tag_text}')))
        if isinstance(term.datatype, TermMap):
            made = self._iri(term.datatype)
            whole = join_pieces(made.pieces)
            plain = f"<{XSD}string>"
            suffix = F.when(whole == plain, F.lit("")).otherwise(F.concat(F.lit("^^"), whole))
            return Rendered(fuse_pieces(('"', *lexical, '"', suffix)), reason=made.reason)
        datatype = term.datatype
        if datatype is None and isinstance(term.expression, Call):
            datatype = self.functions.declaration(term.expression.function.value).result
        if datatype is None and isinstance(term.expression, Reference) and self._kind(term.expression) is not None:
            suffix = self._natural_suffix(term.expression)
            return Rendered(('"', *lexical, '"', suffix), reason=self._nested(term.expression))
        reason = self._nested(term.expression)
        if datatype is None or datatype.value == XSD + "string":
            return Rendered(fuse_pieces(('"', *lexical, '"')), reason=reason)
        if datatype.value == XSD + "double" and isinstance(term.expression, Reference):
            lexical = (self._double(term.expression, lexical),)
        return Rendered(fuse_pieces(('"', *lexical, f'"^^<{datatype.value}>')), reason=reason)

    def _double(self, reference: Reference, lexical: tuple[Piece, ...]) -> Column:
        """A whole number as the canonical text of a double: 33 is 3.3E1. Other texts are as the record has them."""
        kind = self._kind(reference)
        if kind is None:
            return join_pieces(lexical)
        value = self._reference(reference)
        digits = F.ltrim(value, F.lit("-"))
        rest = F.rtrim(F.substring(digits, 2, 1 << 20), F.lit("0"))
        rest = F.when(rest == "", F.lit("0")).otherwise(rest)
        sign = F.when(value.startswith("-"), F.lit("-")).otherwise(F.lit(""))
        whole = F.concat(sign, F.left(digits, F.lit(1)), F.lit("."), rest, F.lit("E"), F.length(digits) - 1)
        return F.when(kind == kinds.INTEGER, whole).otherwise(join_pieces(lexical))

    def _natural_suffix(self, reference: Reference) -> Column:
        """The type that a value of JSON or SQL has (RML's natural mapping)."""
        kind = self._kind(reference)
        assert kind is not None
        suffix = F.lit("")
        for code, name in kinds.DATATYPES.items():
            if code in self.shapes[reference.side].kinds:
                suffix = F.when(kind == code, F.lit(f"^^<{XSD}{name}>")).otherwise(suffix)
        return suffix

    def _nested(self, expression: Expression) -> Column | None:
        """Why a value that holds others makes no term; only N-Quads are so strict."""
        if not self.nquads or not isinstance(expression, Reference) or (kind := self._kind(expression)) is None:
            return None
        return F.when(kind == kinds.NESTED, F.lit(f"the value of {expression} is an object or an array"))

    def _lexical(self, expression: Expression) -> tuple[Piece, ...]:
        parts = expression.parts if isinstance(expression, Template) else (expression,)
        found: list[Piece] = []
        for part in parts:
            if isinstance(part, str):
                found.append(Literal(part).__str__()[1:-1] if self.nquads else part)
            elif not self.nquads:
                found.append(self.text(part))
            else:
                found.append(self._escaped(part))
        return tuple(found)

    def _escaped(self, part: Expression) -> Column:
        value = self.text(part)
        if isinstance(part, Reference) and (kind := self._kind(part)) is not None:
            return F.when(kind.isin(*_NOT_ESCAPED), value).otherwise(escape_literal(value))
        return escape_literal(value)

    def _reference(self, reference: Reference) -> Column:
        return self.bound[reference].text if reference in self.bound else records.field(reference)

    def _kind(self, reference: Reference) -> Column | None:
        if reference in self.bound:
            return self.bound[reference].kind
        return records.kind(reference) if self.shapes[reference.side].kinds else None

    def _encoded(self, reference: Reference) -> Column:
        if reference.text in self.shapes[reference.side].encoded:
            return records.encoded_column(reference)
        value = self._reference(reference)
        if reference in self.bound:
            encoded = percent_encoded_value(value)
        else:
            encoded = percent_encoded(records.field_name(reference))
        kind = self._kind(reference)
        if kind is None:
            return encoded
        # A plus sign is all that a number may have to encode.
        number = F.when(kind == kinds.REAL, F.replace(value, F.lit("+"), F.lit("%2B")))
        return F.when(kind.isin(*_AS_IT_IS), value).otherwise(F.coalesce(number, encoded))

    def _encoded_ascii(self, reference: Reference) -> Column:
        return percent_encoded_ascii(self._reference(reference))

    def _call(self, call: Call) -> Column:
        if call in self.bound:
            return self.bound[call].text
        declared = self.functions.declaration(call.function.value)
        given: dict[str, Column | None] = {}
        for parameter, value in call.inputs:
            name = declared.parameter(parameter.value)
            assert name is not None
            given[name] = self.text(value.expression)
        return self.functions.column(call.function.value, given)


def fuse_pieces(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The pieces with texts that stand beside each other as one."""
    made: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and made and isinstance(made[-1], str):
            made[-1] += piece
        elif not isinstance(piece, str) or piece:
            made.append(piece)
    return tuple(made) or ("",)


def join_pieces(pieces: tuple[Piece, ...]) -> Column:
    """The pieces as one text; null where one is null."""
    columns = [F.lit(piece) if isinstance(piece, str) else piece for piece in fuse_pieces(pieces)]
    return columns[0] if len(columns) == 1 else F.concat(*columns)


def _or_null(reason: Column | None) -> Column:
    return F.lit(None).cast("string") if reason is None else reason
