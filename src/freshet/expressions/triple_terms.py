"""Functions of triple terms (SPARQL 1.2, 17.4.6): TRIPLE, SUBJECT, PREDICATE and OBJECT."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from freshet.expressions.columns import Column, ColumnBatch, Keys
from freshet.expressions.distinct import apply, encode, keys_of, read
from freshet.expressions.lexical import iri, make_room
from freshet.rdf.arrow import texts
from freshet.rdf.deadline import current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.terms import MOST_NESTED, TRIPLE_START, nesting, triple_key, triple_parts
from freshet.rdf.values import Ids

_BETWEEN_CHECKS = 1 << 10
_TIMES_ITS_TEXT = 3  # what a triple term's parts take, as objects and as terms of the dictionary


def part_columns(dictionary: Dictionary, ids: Ids) -> tuple[Ids, Ids, Ids]:
    """The subjects, predicates and objects of triple terms."""
    distinct, places = encode(ids)
    keys = dictionary.keys(distinct).to_pylist()
    current().reserve(_TIMES_ITS_TEXT * sum(map(len, keys)))
    parts = []
    for start in range(0, len(keys), _BETWEEN_CHECKS):
        current().check()
        parts += [triple_parts(key) for key in keys[start : start + _BETWEEN_CHECKS]]
    subjects, predicates, objects = (
        dictionary.intern_arrow(texts(list(column)))[places] for column in zip(*parts, strict=True)
    )
    return subjects, predicates, objects


def _triple(batch: ColumnBatch, *terms: Column) -> Keys:
    return keys_of(apply(_triple_term, *(read(batch, term, str) for term in terms)))


def _triple_term(subject: str, predicate: str, object_: str) -> str | None:
    if (iri(subject) is None and not subject.startswith("_:")) or iri(predicate) is None:
        return None
    if nesting(object_) >= MOST_NESTED:
        return None
    made = triple_key(subject, predicate, object_)
    make_room(len(made))
    return made


def _parts(key: str) -> tuple[str, str, str] | None:
    return triple_parts(key) if key.startswith(TRIPLE_START) else None


def _part(place: int, batch: ColumnBatch, argument: Column) -> Keys:
    return keys_of(apply(lambda parts: parts[place], read(batch, argument, _parts)))


FUNCTIONS: dict[str, Callable[..., Column]] = {
    "TRIPLE": _triple,
    "SUBJECT": partial(_part, 0),
    "PREDICATE": partial(_part, 1),
    "OBJECT": partial(_part, 2),
}
