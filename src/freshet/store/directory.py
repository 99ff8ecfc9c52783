"""Makes the directories of sorted triples; `freshet.kernels.sorted_triples` says what they are and reads them."""

from __future__ import annotations

import numpy as np

from freshet.kernels.sorted_triples import Directory, count_keys, fill_directory
from freshet.rdf.triples import Ids


def make_directory(keys: Ids, bounds: Ids) -> Directory:
    """The directory of rows whose equal keys stand side by side; group g has the rows bounds[g]:bounds[g + 1]."""
    counts = count_keys(keys, bounds)
    # at least a quarter of the slots stays free, so that a search is short and comes to an end
    bits = np.array([max(1, (int(count) + int(count) // 3).bit_length()) for count in counts], np.int64)
    words = 2 << bits
    firsts = np.cumsum(words) - words
    slots = np.zeros(int(words.sum()), np.int64)
    shifts = 64 - bits
    fill_directory(slots, firsts, shifts, keys, bounds)
    return Directory(slots, firsts, shifts)
