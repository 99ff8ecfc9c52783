"""A graph directory as the stored data of a session: mapped where that can be, read where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from freshet.rdf.dictionary import Dictionary
from freshet.rdf.reading import Quads
from freshet.rdf.triples import DEFAULT_GRAPH, Ids, Triples, rename_ids
from freshet.store.changes import NO_QUADS
from freshet.store.dataset import StoredDataset, rows_by_graph
from freshet.store.graph_directory import GraphDirectory
from freshet.store.triple_index import TripleIndex

if TYPE_CHECKING:
    from freshet.native.engine import Engine


def open_graph(
    directory: GraphDirectory, dictionary: Dictionary, stored: StoredDataset, engine: Engine, home: int
) -> int:
    """Add a graph directory to the stored data, its default graph to the graph `home`; gives the number of triples.

    The dictionary becomes that of the directory, with what it has already entered beside. That is not possible for a
    second directory, nor where a term has another id there because two terms have one hash: then the directory's terms
    are entered one by one. Triples are copied where ids are others here, where the graph has triples already, and where
    queries are registered, which must be notified.
    """
    changed = np.empty((2, 0), np.int64)
    if not dictionary.start_from(directory.dictionary_arrays):
        changed = _enter_terms(directory, dictionary)
    deleted, inserted = _changes(directory, dictionary, home)
    with engine.loading(), stored.changing:  # a snapshot has all of it or nothing
        for name, index in directory.graphs():
            graph = home if name == DEFAULT_GRAPH else int(rename_ids(np.array([name], np.int64), changed)[0])
            gone = Triples(*(column[deleted.graphs == graph] for column in deleted[:3]))
            if changed.size or engine.names or not _is_empty(stored, graph):
                triples = Triples(*(rename_ids(column, changed) for column in index.triples()))
                engine.load(*_without(triples, gone), graph)
            else:
                stored.mount(index, graph)
                if len(gone.subjects):
                    stored.delete(*gone, graph)
        for graph, rows in rows_by_graph(inserted.graphs):
            subjects, predicates, objects = (column[rows] for column in inserted[:3])
            engine.load(subjects, predicates, objects, graph)
    return directory.counts.triples


def _changes(directory: GraphDirectory, dictionary: Dictionary, home: int) -> tuple[Quads, Quads]:
    """What updates have deleted and inserted, in ids as they are here."""
    changes = directory.changes()
    if changes is None:
        return NO_QUADS, NO_QUADS
    given, found = changes.terms.column("id").to_numpy(), dictionary.intern_arrow(changes.terms.column("key"))
    names = np.stack([given, found])  # in the order of `given`
    deleted, inserted = (
        Quads(*(rename_ids(column, names) for column in quads)) for quads in (changes.deleted, changes.inserted)
    )
    return (
        deleted._replace(graphs=np.where(deleted.graphs == DEFAULT_GRAPH, home, deleted.graphs)),
        inserted._replace(graphs=np.where(inserted.graphs == DEFAULT_GRAPH, home, inserted.graphs)),
    )


def _without(triples: Triples, gone: Triples) -> Triples:
    if not len(gone.subjects):
        return triples
    left = np.ones(len(triples.subjects), np.bool_)
    left[TripleIndex(gone).probe(*map(np.ascontiguousarray, triples))[0]] = False
    return Triples(*(column[left] for column in triples))


def _is_empty(stored: StoredDataset, graph: int) -> bool:
    return not len(stored.base(graph)) and not len(stored.added(graph).times)


def _enter_terms(directory: GraphDirectory, dictionary: Dictionary) -> Ids:
    """Enter the directory's terms; gives the ids that are others here, in order, and what they are here."""
    import pyarrow.dataset as ds  # brings pandas along

    changed = [np.empty((2, 0), np.int64)]
    for batch in ds.dataset(directory.terms_folder, format="parquet").to_batches():
        given, found = batch.column("id").to_numpy(), dictionary.intern_arrow(batch.column("key"))
        differ = given != found
        changed.append(np.stack([given[differ], found[differ]]))
    both = np.concatenate(changed, axis=1)
    return both[:, np.argsort(both[0])]
