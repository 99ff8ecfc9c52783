"""SPARQL Update of a graph directory: what changes is written beside its sorted files."""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.oneshot.update import changes_of
from freshet.rdf.arrow import numbers
from freshet.rdf.reading import Quads
from freshet.runtime.session import Session
from freshet.runtime.updating import UpdateCounts, documents_of
from freshet.store.changes import ChangeLog, StoreChanges
from freshet.store.directory_changes import DirectoryChanges, write_changes
from freshet.store.found import Found
from freshet.store.graph_commit import locked_directory
from freshet.store.graph_directory import GraphDirectory
from freshet.store.graph_manifest import read_manifest


def update_directory(path: Path, text: str, session: Session, *, file: str | None = None) -> UpdateCounts:
    """Change a graph directory, all at once, with a session that has nothing yet. Readers keep what they have open.

    Raises:
        InputError: It is no graph directory, another process writes to it, or an operation cannot be done.
    """
    with locked_directory(path):
        directory, manifest = GraphDirectory(path), read_manifest(path)
        dictionary = session.dictionary
        dictionary.scope_prefix = f"{secrets.token_hex(6)}x"  # its blank nodes are not those of any other run
        session.load(path)
        with dictionary.pins:
            update = session.prepare_update(text, file=file)
            documents = documents_of(update, dictionary, session.services, files=True)
            snapshot = session.dataset()
            found = changes_of(update, snapshot, dictionary, session.services, documents)
            went = sum(_count(snapshot.graph(name).probe(*each.deleted)) for name, each in found.by_graph().items())
            came = len(found.inserted.graphs) - sum(
                _count(snapshot.graph(name).probe(*each.inserted)) for name, each in found.by_graph().items()
            )
            net = _with_those_before(directory, found)
            ids = np.unique(np.concatenate((*net.deleted, *net.inserted)))
            ids = ids[ids > 0]
            terms = pa.table([numbers(ids), dictionary.keys(ids)], names=["id", "key"])
            triples = manifest.counts.triples + came - went
            write_changes(path, manifest, DirectoryChanges(net.deleted, net.inserted, terms), triples)
    return UpdateCounts(came, went)


def _with_those_before(directory: GraphDirectory, found: StoreChanges) -> StoreChanges:
    """All changes of the sorted files: what they have and is deleted, and what they lack and is inserted."""
    log = ChangeLog()
    if (before := directory.changes()) is not None:
        log.delete(before.deleted)
        log.insert(before.inserted)
    log.delete(found.deleted)
    log.insert(found.inserted)
    net = log.net()
    sorted_graphs = dict(directory.graphs())
    has = {kind: np.zeros(len(quads.graphs), np.bool_) for kind, quads in (("-", net.deleted), ("+", net.inserted))}
    for name, index in sorted_graphs.items():
        for kind, quads in (("-", net.deleted), ("+", net.inserted)):
            own = np.flatnonzero(quads.graphs == name)
            if len(own):
                subjects, predicates, objects = (column[own] for column in quads[:3])
                has[kind][own[index.probe(subjects, predicates, objects)[0]]] = True
    return StoreChanges(_select_quads(net.deleted, has["-"]), _select_quads(net.inserted, ~has["+"]), {})


def _select_quads(quads: Quads, chosen: NDArray[np.bool_]) -> Quads:
    return Quads(*(column[chosen] for column in quads))


def _count(found: Found) -> int:
    return len(found[0])
