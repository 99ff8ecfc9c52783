"""Joins as mappings describe them: conditions, and the windows in which records of streams wait for each other."""

from __future__ import annotations

import re

from freshet.rdf.errors import InputError
from freshet.rml.mapping_graph import MappingGraph, Value
from freshet.rml.sizing import load_policy
from freshet.rml.vocabulary import short
from freshet.rml.windows import JoinWindow, WindowKind, default_window, window_with
from freshet.syntax.durations import duration_ms, unit_duration_ms

_SIZES = {"windowSize": "size", "lowerLimit": "lower", "upperLimit": "upper"}
_TIMES = {"idleTime": "idle_ms", "silentTime": "silent_ms"}
_COUNTS = {"listSize": "list_size", "mostWaiting": "most_waiting"}
_COSTS = {"shrinkAbove": "shrink_above", "growBelow": "grow_below"}
_JOIN_TYPES = {
    "TumblingJoin": WindowKind.TUMBLING,
    "TumblingWindowJoin": WindowKind.TUMBLING,
    "CrossJoin": WindowKind.TUMBLING,
    "SlidingJoin": WindowKind.SLIDING,
    "SlidingWindowJoin": WindowKind.SLIDING,
    "DynamicJoin": WindowKind.DYNAMIC,
    "DynamicWindowJoin": WindowKind.DYNAMIC,
    "VCTWindowJoin": WindowKind.DYNAMIC,
}
_IN_CONFIG = {
    *(f"rmls:{name}" for name in (*_SIZES, *_COSTS, *_COUNTS, *_TIMES, "joinType", "windowType", "sizingPolicy")),
}
# Commas inside of these belong to the reference itself.
_NO_LIST = re.compile(r"""[\[\]()'"]""")


def read_window(graph: MappingGraph, node: Value) -> JoinWindow | None:
    """The window of a referencing object map; None where it says nothing of one."""
    config = graph.optional(node, "rmls:joinConfig")
    kind = graph.optional(node, "rmls:windowType")
    if config is None:
        return None if kind is None else default_window(_kind(graph, kind))
    graph.check_properties(config, _IN_CONFIG)
    kind = kind or graph.optional(config, "rmls:windowType")
    chosen = WindowKind.DYNAMIC
    if kind is not None:
        chosen = _kind(graph, kind)
    elif graph.get(config, "rmls:joinType"):
        chosen = _join_type(graph, graph.single(config, "rmls:joinType"))
    given: dict[str, object] = {}
    for name, field in _SIZES.items():
        if (text := graph.text(config, f"rmls:{name}")) is not None:
            counted = chosen is WindowKind.DYNAMIC_COUNT
            given[field] = _number(graph, name, text) if counted else _milliseconds(graph, name, text)
    for name, field in _COSTS.items():
        if (text := graph.text(config, f"rmls:{name}")) is not None:
            given[field] = _cost(graph, name, text)
    for name, field in _COUNTS.items():
        if (text := graph.text(config, f"rmls:{name}")) is not None:
            given[field] = _number(graph, name, text)
    for name, field in _TIMES.items():
        if (text := graph.text(config, f"rmls:{name}")) is not None:
            given[field] = _milliseconds(graph, name, text)
    if (policy := graph.text(config, "rmls:sizingPolicy")) is not None:
        if graph.sent is not None:
            raise graph.refusal("a sizing policy, which is code, in a mapping that is sent")
        given["policy"] = policy
    try:
        if policy is not None:
            load_policy(policy)
        return window_with(default_window(chosen), given)
    except InputError as error:
        raise graph.wrong(f"has a window that cannot be: {error}") from None


def _kind(graph: MappingGraph, value: Value) -> WindowKind:
    name = short(value.value).removeprefix("rmls:")
    if name not in set(WindowKind):
        raise graph.refusal(f"the window type {name}")
    return WindowKind(name)


def _join_type(graph: MappingGraph, value: Value) -> WindowKind:
    name = short(value.value).removeprefix("rmls:")
    if name not in _JOIN_TYPES:
        raise graph.refusal(f"the join type {name}")
    return _JOIN_TYPES[name]


def _is_whole(text: str) -> bool:
    """Whether a text is a number in the digits that durations are written in; `isdigit` takes ² for one too."""
    return text.isascii() and text.isdecimal()


def _number(graph: MappingGraph, name: str, text: str) -> int:
    if not _is_whole(text):
        raise graph.wrong(f"has {text} as {name}, where a whole number is wanted")
    return int(text)


def _cost(graph: MappingGraph, name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise graph.wrong(f"has {text} as {name}, where a number is wanted") from None


def _milliseconds(graph: MappingGraph, name: str, text: str) -> int:
    if _is_whole(text):
        return int(text)
    try:
        return duration_ms(text) if text[:1] in ("P", "p") else unit_duration_ms(text)
    except ValueError as error:
        raise graph.wrong(f"has {text} as {name}: {error}") from None


def listed(child: str, parent: str) -> list[tuple[str, str]]:
    """The attributes of a condition: several where both sides are comma-separated lists of the same length.

    >>> listed("a,b", "c, d")
    [('a', 'c'), ('b', 'd')]
    """
    children, parents = child.split(","), parent.split(",")
    if len(children) == len(parents) > 1 and not _NO_LIST.search(child + parent):
        return [(left.strip(), right.strip()) for left, right in zip(children, parents, strict=True)]
    return [(child, parent)]
