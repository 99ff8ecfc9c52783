"""Mappings compiled to Spark columns: one row a record, with a text for each term that a record makes.

The text is what of the term's key differs between records. What is the same in all of them stays with the driver, in
the layout (`freshet.rdf.batch`), and so does making ids of keys, since the dictionary is there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from freshet.kernels import json_values
from freshet.rdf.batch import Frame, Layout, Slot
from freshet.rdf.terms import XSD, Iri
from freshet.rml.model import Formulation, Mapping, Reference, TermMap, TermType
from freshet.spark import records
from freshet.spark.terms import IRI_PATTERN, percent_encoded

_NATURAL = {"integer": json_values.INTEGER, "boolean": json_values.BOOLEAN, "double": json_values.REAL}
_AS_IT_IS = (json_values.INTEGER, json_values.PLAIN)


@dataclass(frozen=True, slots=True)
class CompiledMapping:
    """The term maps that vary, in the order of their columns, and how triples are made of them."""

    terms: tuple[TermMap, ...]
    layout: Layout
    formulation: Formulation

    @property
    def references(self) -> frozenset[Reference]:
        return frozenset(reference for term in self.terms for reference in term.references)

    @property
    def kinds(self) -> frozenset[Reference]:
        """The references of which the kind of value matters: those of natural literals, and those in templates."""
        return frozenset(
            each for term in self.terms for each in term.references if term.encoded or _is_natural(term, True)
        )

    @property
    def always_fits(self) -> bool:
        """Whether every record that can be read makes its terms; otherwise some may make what is no IRI."""
        return not any(_may_be_no_iri(term) for term in self.terms)

    def encode(self, parsed: DataFrame) -> DataFrame:
        """Add `text_k` for every term, and the reason where a record makes something that is no IRI."""
        natural = self.formulation is Formulation.JSON
        reasons = [F.col(records.REASON), *(_reason(term, natural) for term in self.terms if _may_be_no_iri(term))]
        texts = {f"text_{k}": _text(term, natural) for k, term in enumerate(self.terms)}
        return parsed.withColumns({**texts, records.REASON: F.coalesce(*reasons)})


def compile_mapping(mapping: Mapping, wanted: frozenset[str] | None, blank_scope: str) -> CompiledMapping:
    """The columns for a mapping; of triples with constant predicates only the `wanted` ones, all where it is None."""
    numbers: dict[TermMap, int] = {}
    formulation = mapping.triples_maps[0].formulation

    def slot(term: TermMap) -> Slot:
        return term.constant if term.constant is not None else numbers.setdefault(term, len(numbers))

    triples = tuple(
        (slot(triples_map.subject), slot(predicate), slot(made))
        for triples_map in mapping.triples_maps
        for predicate, made in triples_map.pairs
        if wanted is None or not isinstance(predicate.constant, Iri) or predicate.constant.value in wanted
    )
    frames = tuple(_frame(term, formulation is Formulation.JSON, blank_scope) for term in numbers)
    return CompiledMapping(tuple(numbers), Layout(triples, frames), formulation)


def _frame(term: TermMap, natural: bool, blank_scope: str) -> Frame:
    """What stands before and after the text of a term in its key."""
    if term.type is TermType.BLANK_NODE:
        return f"_:{blank_scope}.", ""
    if _is_natural(term, natural):
        return "", ""
    before, _, after = _pieces(term)
    if term.type is TermType.IRI:
        return f"<{before}", f"{after}>"
    if term.language is not None:
        return f'"{before}', f'{after}"@{term.language}'
    if term.datatype is None or term.datatype.value == XSD + "string":
        return f'"{before}', f'{after}"'
    return f'"{before}', f'{after}"^^<{term.datatype.value}>'


def _text(term: TermMap, natural: bool) -> Column:
    """What of a term's key differs between records; null where a reference gives nothing."""
    if term.type is TermType.BLANK_NODE:
        # What may not stand in a label goes in as hexadecimal digits, so that different values stay different nodes.
        whole = _joined(term, term.parts, natural)
        label = F.when(whole.rlike("^[A-Za-z0-9]+$"), F.concat(F.lit("n"), whole))
        return label.otherwise(F.concat(F.lit("x"), F.hex(whole)))
    if _is_natural(term, natural):
        return _natural_key(records.kind(term.references[0]), records.field(term.references[0]))
    return _joined(term, _pieces(term)[1], natural)


def _pieces(term: TermMap) -> tuple[str, tuple[str | Reference, ...], str]:
    """The parts of a term: the texts it begins with, those from the first reference to the last, and those after."""
    places = [at for at, part in enumerate(term.parts) if isinstance(part, Reference)]
    first, stop = (places[0], places[-1] + 1) if places else (len(term.parts), len(term.parts))
    before, after = term.parts[:first], term.parts[stop:]
    return "".join(map(str, before)), term.parts[first:stop], "".join(map(str, after))


def _joined(term: TermMap, parts: tuple[str | Reference, ...], natural: bool) -> Column:
    """Parts of a term as one text; null where a reference gives nothing."""
    texts = [F.lit(part) if isinstance(part, str) else _value(term, part, natural) for part in parts]
    return texts[0] if len(texts) == 1 else F.concat(F.lit(""), *texts)


def _value(term: TermMap, reference: Reference, natural: bool) -> Column:
    value = records.field(reference)
    if not term.encoded:
        return value
    if not natural:
        return percent_encoded(records.field_name(reference))
    return F.when(records.kind(reference).isin(*_AS_IT_IS), value).otherwise(
        percent_encoded(records.field_name(reference))
    )


def _is_natural(term: TermMap, natural: bool) -> bool:
    """Whether a term has the type that the record's value has: where values have types, and it is one and no more."""
    typed = term.type is not TermType.LITERAL or term.language is not None or term.datatype is not None
    return natural and not typed and len(term.parts) == 1 and isinstance(term.parts[0], Reference)


def _natural_key(kind: Column, lexical: Column) -> Column:
    """The key of a literal of the type that a JSON value has (RML's natural mapping)."""
    quoted = F.concat(F.lit('"'), lexical, F.lit('"'))
    suffix = F.lit("")
    for name, code in _NATURAL.items():
        suffix = F.when(kind == code, F.lit(f"^^<{XSD}{name}>")).otherwise(suffix)
    return F.concat(quoted, suffix)


def _may_be_no_iri(term: TermMap) -> bool:
    first = term.parts[0] if term.parts else None
    absolute = term.encoded and isinstance(first, str) and re.match(r"[A-Za-z][A-Za-z0-9+.\-]*:", first)
    return term.type is TermType.IRI and not absolute


def _reason(term: TermMap, natural: bool) -> Column:
    whole = _joined(term, term.parts, natural)
    wrong = whole.isNotNull() & ~whole.rlike(IRI_PATTERN)
    return F.when(wrong, F.concat(F.lit("not an absolute IRI: "), whole))
