"""Texts as they stand inside IRIs, for whole Arrow arrays."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from freshet.kernels.percent import encode, encoded_sizes
from freshet.rdf.arrow import key_ranges, large_strings, read_only


def percent_encoded(texts: pa.Array) -> pa.Array:
    """The texts as RML templates put them into IRIs: everything but iunreserved characters is escaped."""
    data, starts, ends = key_ranges(texts)
    data = read_only(data)
    offsets = np.empty(len(starts) + 1, np.int64)
    encoded_sizes(data, starts, ends, offsets)
    out = np.empty(int(offsets[-1]), np.uint8)
    encode(data, starts, ends, out)
    return large_strings(out, offsets, starts >= 0).cast(pa.string())
