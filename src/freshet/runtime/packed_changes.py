"""Changes of stored graphs as bytes that say their own terms, for a journal."""

from __future__ import annotations

import numpy as np

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.reading import Quads
from freshet.rdf.terms import term_from_key, term_key
from freshet.runtime.journal import Header, Piece
from freshet.runtime.packed_elements import pack_columns, unpack_columns
from freshet.store.changes import StoreChanges


def pack_changes(changes: StoreChanges, dictionary: Dictionary) -> tuple[Header, list[Piece]]:
    """What is deleted, then what is inserted; the header has the graphs that are made, or are no more."""
    columns = [np.concatenate(pair) for pair in zip(changes.deleted, changes.inserted, strict=True)]
    header, body = pack_columns((), columns, dictionary)
    names = dictionary.decode_many(list(changes.exists))
    exists = [(term_key(term), kind) for term, kind in zip(names, changes.exists.values(), strict=True) if term]
    return {**header, "deleted": len(changes.deleted.graphs), "exists": exists}, body


def unpack_changes(header: Header, body: bytes, dictionary: Dictionary) -> StoreChanges:
    """The same again, in ids of the dictionary. The caller holds a pin on it."""
    _, columns = unpack_columns(header, body, 0, 4, dictionary)
    count = header["deleted"]
    deleted, inserted = (Quads(*(column[part] for column in columns)) for part in (slice(count), slice(count, None)))
    exists = {dictionary.encode(term_from_key(key)): kind for key, kind in header["exists"]}
    return StoreChanges(deleted, inserted, exists)
