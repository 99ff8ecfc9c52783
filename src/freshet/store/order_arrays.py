"""One sorted order of a graph's triples as plain arrays: what is kept in memory, or mapped from files."""

from __future__ import annotations

from typing import NamedTuple

from freshet.rdf.triples import Ids


class OrderArrays(NamedTuple):
    """Triples grouped by predicate, sorted by key (subject or object), then by the second place (the other of both).

    There is no column of predicates: the group of a row says it. The arrays may be maps of files. Maps that are
    copied on write (mode "c") are to kernels what arrays in memory are; for read-only ones they are compiled again.
    """

    predicates: Ids  # of the groups, ascending
    bounds: Ids  # group g has the rows bounds[g]:bounds[g + 1]
    keys: Ids
    seconds: Ids
    slots: Ids  # the directory of the keys: see freshet.kernels.sorted_triples
    firsts: Ids
    shifts: Ids

    @property
    def column_bytes(self) -> int:
        """The size of the triples."""
        return self.keys.nbytes + self.seconds.nbytes

    @property
    def directory_bytes(self) -> int:
        """The size of what finds them."""
        return sum(array.nbytes for array in self) - self.column_bytes
