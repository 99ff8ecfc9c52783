"""Differences of bags of rows: what ISTREAM and DSTREAM put out."""

from __future__ import annotations

import numpy as np

from freshet.native.one_way_index import Ids, OneWayIndex


def bag_difference(rows: Ids, others: Ids) -> Ids:
    """The rows that are left when each of `others` has struck out one that is equal to it."""
    if len(rows) == 0 or len(others) == 0:
        return rows
    counted = OneWayIndex(rows.shape[1])
    counted.add(np.ascontiguousarray(others))
    return rows[~counted.take(np.ascontiguousarray(rows))]


def distinct_rows(rows: Ids) -> Ids:
    """Each row once, in order of first appearance."""
    if len(rows) == 0:
        return rows
    _, fresh = OneWayIndex(rows.shape[1]).add(np.ascontiguousarray(rows))
    return rows[fresh]
