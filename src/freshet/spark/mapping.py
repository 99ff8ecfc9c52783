"""Mappings compiled to Spark columns: one row a record, with an id and a key for each term that a record makes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from freshet.kernels import json_values
from freshet.rdf.batch import Layout, Slot
from freshet.rdf.terms import XSD, Iri
from freshet.rml.model import Formulation, Mapping, Reference, TermMap, TermType
from freshet.spark import records
from freshet.spark.terms import IRI_PATTERN, dictionary_id, inline_id, percent_encoded

_NATURAL = {"integer": json_values.INTEGER, "boolean": json_values.BOOLEAN, "double": json_values.REAL}


@dataclass(frozen=True, slots=True)
class CompiledMapping:
    """The term maps that vary, in the order of their columns, and how triples are made of them."""

    terms: tuple[TermMap, ...]
    layout: Layout
    formulation: Formulation

    @property
    def references(self) -> frozenset[Reference]:
        return frozenset(reference for term in self.terms for reference in term.references)

    def encode(self, parsed: DataFrame, blank_scope: str) -> DataFrame:
        """Add `id_k` and `key_k` for every term, and the reason where a record makes something that is no IRI."""
        natural = self.formulation is Formulation.JSON
        lexicals = {f"lex_{k}": _lexical(term) for k, term in enumerate(self.terms)}
        encoded = parsed.withColumns(lexicals)
        columns: dict[str, Column] = {}
        reasons = [F.col(records.REASON)]
        for k, term in enumerate(self.terms):
            lexical = F.col(f"lex_{k}")
            inline, key = _encoded(term, lexical, natural, blank_scope)
            reasons += _checks(term, lexical)
            columns[f"inline_{k}"] = F.lit(None).cast("bigint") if inline is None else inline
            columns[f"key_{k}"] = key if inline is None else F.when(F.col(f"inline_{k}").isNull(), key)
        encoded = encoded.withColumns({name: c for name, c in columns.items() if name.startswith("inline")})
        encoded = encoded.withColumns({name: c for name, c in columns.items() if name.startswith("key")})
        ids = {f"id_{k}": F.coalesce(F.col(f"inline_{k}"), _hashed(F.col(f"key_{k}"))) for k in range(len(self.terms))}
        return encoded.withColumns({**ids, records.REASON: F.coalesce(*reasons)})


def compile_mapping(mapping: Mapping, wanted: frozenset[str] | None) -> CompiledMapping:
    """The columns for a mapping; of triples with constant predicates only the `wanted` ones, all where it is None."""
    numbers: dict[TermMap, int] = {}

    def slot(term: TermMap) -> Slot:
        return term.constant if term.constant is not None else numbers.setdefault(term, len(numbers))

    triples = tuple(
        (slot(triples_map.subject), slot(predicate), slot(made))
        for triples_map in mapping.triples_maps
        for predicate, made in triples_map.pairs
        if wanted is None or not isinstance(predicate.constant, Iri) or predicate.constant.value in wanted
    )
    return CompiledMapping(tuple(numbers), Layout(triples), mapping.triples_maps[0].formulation)


def _hashed(key: Column) -> Column:
    return F.when(key.isNotNull(), dictionary_id(key))


def _lexical(term: TermMap) -> Column:
    """The text of a term; null where a reference gives nothing."""
    texts = []
    for part in term.parts:
        if isinstance(part, str):
            texts.append(F.lit(part))
            continue
        text = records.field(part)
        texts.append(percent_encoded(text) if term.encoded else text)
    return texts[0] if len(texts) == 1 else F.concat(*texts)


def _encoded(term: TermMap, lexical: Column, natural: bool, blank_scope: str) -> tuple[Column | None, Column]:
    """The inline id (None where there never is one) and the key of a term.

    Where records have types (`natural`), so has a literal that is a value of a record and nothing else.
    """
    if term.type is TermType.IRI:
        return None, F.concat(F.lit("<"), lexical, F.lit(">"))
    if term.type is TermType.BLANK_NODE:
        # What may not stand in a label goes in as hexadecimal digits, so that different values stay different nodes.
        label = F.when(lexical.rlike("^[A-Za-z0-9]+$"), F.concat(F.lit("n"), lexical))
        return None, F.concat(F.lit(f"_:{blank_scope}."), label.otherwise(F.concat(F.lit("x"), F.hex(lexical))))
    quoted = F.concat(F.lit('"'), lexical, F.lit('"'))
    if term.language is not None:
        return None, F.concat(quoted, F.lit(f"@{term.language}"))
    if term.datatype is not None:
        if term.datatype.value == XSD + "string":
            return None, quoted
        return inline_id(lexical, term.datatype.value), F.concat(quoted, F.lit(f"^^<{term.datatype.value}>"))
    if not natural or len(term.parts) != 1 or not isinstance(term.parts[0], Reference):
        return None, quoted
    return _natural_literal(records.kind(term.parts[0]), lexical, quoted)


def _natural_literal(kind: Column, lexical: Column, quoted: Column) -> tuple[Column, Column]:
    """A literal of the type that a JSON value has (RML's natural mapping)."""
    inline: Column | None = None
    key: Column | None = None
    for name, code in _NATURAL.items():
        is_kind = kind == code
        made = inline_id(lexical, XSD + name)
        assert made is not None
        typed = F.concat(quoted, F.lit(f"^^<{XSD}{name}>"))
        inline = F.when(is_kind, made) if inline is None else inline.when(is_kind, made)
        key = F.when(is_kind, typed) if key is None else key.when(is_kind, typed)
    assert inline is not None
    assert key is not None
    return inline, key.otherwise(quoted)


def _checks(term: TermMap, lexical: Column) -> list[Column]:
    first = term.parts[0] if term.parts else None
    absolute = term.encoded and isinstance(first, str) and re.match(r"[A-Za-z][A-Za-z0-9+.\-]*:", first)
    if term.type is not TermType.IRI or absolute:
        return []
    wrong = lexical.isNotNull() & ~lexical.rlike(IRI_PATTERN)
    return [F.when(wrong, F.concat(F.lit("not an absolute IRI: "), lexical))]
