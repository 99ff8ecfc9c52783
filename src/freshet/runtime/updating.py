"""What SPARQL Update needs of a session: the documents of LOAD, and how many triples have changed."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from freshet.algebra.updates import Clear, Load, Modify, Transfer, TransferKind, Update
from freshet.federation.client import ServiceClient
from freshet.oneshot.update import ReadDocument
from freshet.rdf.deadline import QueryStoppedError, current
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.formats import FORMATS, rdf_format
from freshet.rdf.reading import Quads, parse_rdf, read_rdf
from freshet.rdf.triples import ANY
from freshet.store.changes import ChangeLog, StoreChanges, quads_of
from freshet.store.dataset import DatasetSnapshot

_MEDIA_TYPES = {media: each.parsed_as for each in FORMATS.values() for media in each.media_types}
_ACCEPT = ", ".join(_MEDIA_TYPES)


class ReplaceRefusedError(InputError):
    """A graph has triples, and the caller may not delete any."""


class UpdateCounts(NamedTuple):
    """How many triples an update has changed: those that were there before are not inserted, others not deleted."""

    inserted: int
    deleted: int


def replaced(graphs: DatasetSnapshot, graph: int, quads: Quads, may_delete: bool) -> StoreChanges:
    """What makes a graph have these triples and no others; ReplaceRefusedError where that may not be."""
    there = graphs.graph(graph).match(ANY, ANY, ANY)
    if len(there.subjects) and not may_delete:
        raise ReplaceRefusedError("the graph has triples, and they may not be replaced")
    log = ChangeLog()
    log.delete(quads_of(there, graph))
    log.insert(quads)
    log.create(graph)
    return log.net()


def can_delete(update: Update) -> bool:
    """Whether an update can take anything away."""
    return any(
        isinstance(each, Clear)
        or (isinstance(each, Modify) and bool(each.deleted))
        or (isinstance(each, Transfer) and each.kind is not TransferKind.ADD)
        for each in update.operations
    )


def documents_of(update: Update, dictionary: Dictionary, services: ServiceClient, *, files: bool) -> ReadDocument:
    """Read the documents of LOAD ahead, as others wait while an update is done; gives what hands them over.

    Files of this machine are read where that is allowed.
    """
    read: dict[Load, Quads | FreshetError] = {}
    for operation in update.operations:
        if isinstance(operation, Load) and operation not in read:
            current().check()
            try:
                read[operation] = _read(operation.source.value, dictionary, services, files=files)
            except QueryStoppedError:
                raise
            except FreshetError as error:
                current().check()  # a request that the limit has cut short fails as one without an answer
                read[operation] = error
                if not operation.silent:
                    break

    def hand_over(operation: Load) -> Quads:
        found = read[operation]
        if isinstance(found, FreshetError):
            raise found
        return found

    return hand_over


def _read(iri: str, dictionary: Dictionary, services: ServiceClient, *, files: bool) -> Quads:
    try:
        scheme = urlsplit(iri).scheme
    except ValueError:
        raise InputError(f"<{iri}> cannot be loaded: it is no URL") from None
    if scheme in ("http", "https"):
        content, media = services.fetch(iri, _ACCEPT)
        form = _MEDIA_TYPES.get(media) or rdf_format(Path(unquote(urlsplit(iri).path)))
        return parse_rdf(content, form, dictionary, iri, blank_scope=dictionary.fresh_scope(), base=iri)
    if scheme == "file" and files:
        return read_rdf(unquote(urlsplit(iri).path), dictionary)
    reason = "files of the server are not loaded" if scheme == "file" else "LOAD takes IRIs of http, https and file"
    raise InputError(f"<{iri}> cannot be loaded: {reason}")
