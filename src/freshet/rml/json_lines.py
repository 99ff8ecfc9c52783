"""References into JSON lines, for whole Arrow arrays of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from freshet.kernels import json_lines as kernels
from freshet.kernels.event_time import UNREAD, read_times
from freshet.kernels.json_lines import PathTree
from freshet.kernels.json_values import NOTHING
from freshet.rdf.arrow import Ranges, booleans, key_ranges, numbers, read_only, strings
from freshet.rdf.errors import UnsupportedError
from freshet.rml.references import json_path


class JsonColumns(NamedTuple):
    """What references find: a text and a kind of `freshet.kernels.json_values` for each line, null where nothing."""

    good: pa.Array  # whether the line is one JSON object
    texts: list[pa.Array]
    kinds: list[pa.Array]
    times: pa.Array  # milliseconds, null where they could not be read or were not asked for


class TimeReference(NamedTuple):
    """The reference that finds event times in the usual form. Its text is only made where it has another form, or is
    wanted for itself."""

    number: int
    text_wanted: bool


def first_word(name: bytes) -> int:
    """The first eight bytes of a name as one number, like the kernel of that name has it."""
    return int.from_bytes(name[:8], "little", signed=len(name) >= 8)


def path_tree(paths: Sequence[tuple[str, ...]]) -> PathTree:
    """The tree of the names that references follow (`references.names_of`)."""
    nodes: list[dict[str, tuple[int, int]]] = [{}]  # name -> (reference, node below), -1 where there is none
    for number, path in enumerate(paths):
        node = 0
        for step in path[:-1]:
            taken, below = nodes[node].get(step, (-1, -1))
            if taken >= 0:
                raise UnsupportedError(
                    f"the reference {json_path(path)} goes into what another reference takes as a value"
                )
            if below < 0:
                below = len(nodes)
                nodes.append({})
                nodes[node][step] = -1, below
            node = below
        if nodes[node].get(path[-1], (-1, -1))[1] >= 0:
            raise UnsupportedError(f"the reference {json_path(path)} takes as a value what another reference goes into")
        nodes[node][path[-1]] = number, -1
    inside = np.zeros((len(nodes), len(paths)), np.bool_)
    for number, path in enumerate(paths):
        node = 0
        inside[0, number] = True
        for step in path[:-1]:
            node = nodes[node][step][1]
            inside[node, number] = True
    names = [(name.encode(), *places) for node in nodes for name, places in node.items()]
    data = np.frombuffer(bytearray(b"".join(name for name, _, _ in names)), np.uint8)
    ends = np.cumsum([len(name) for name, _, _ in names])
    described = np.empty((len(names), 5), np.int64)
    for at, (name, number, below) in enumerate(names):
        described[at] = first_word(name), len(name), int(ends[at]) - len(name), number, below
    return PathTree(np.cumsum([0, *(len(node) for node in nodes)]), described, inside, data)


def read_lines(lines: pa.Array, tree: PathTree, time: TimeReference | None = None) -> JsonColumns:
    """What the references of a tree find in each line."""
    data, starts, ends = key_ranges(lines)
    return read_ranges((read_only(data), starts, ends), tree, time)


def read_ranges(lines: Ranges, tree: PathTree, time: TimeReference | None = None) -> JsonColumns:
    """The same for lines as bytes and where each starts and ends."""
    data, line_starts, line_ends = lines
    count, size = tree.inside.shape[1], line_starts.size
    starts, ends = np.empty((count, size), np.int64), np.empty((count, size), np.int64)
    kinds, good = np.empty((count, size), np.int8), np.empty(size, np.bool_)
    kernels.scan_lines(tree, data, line_starts, line_ends, starts, ends, kinds, good)
    times = np.full(size, UNREAD) if time is None else np.empty(size, np.int64)
    if time is not None:
        at = time.number
        read_times(data, starts[at], ends[at], kinds[at], good, times)
    unread = times == UNREAD
    texts = []
    for at in range(count):
        wanted = good & unread if time is not None and at == time.number and not time.text_wanted else good
        found = wanted & (kinds[at] != NOTHING)
        out = np.empty(int(np.sum(ends[at] - starts[at], where=found)), np.uint8)
        offsets = np.empty(size + 1, np.int32)
        kernels.write_texts(data, starts[at], ends[at], kinds[at], wanted, out, offsets)
        texts.append(strings(out, offsets, found))
    moments = pa.nulls(size, pa.int64()) if time is None else numbers(times, ~unread)
    return JsonColumns(booleans(good), texts, [numbers(row) for row in kinds], moments)
