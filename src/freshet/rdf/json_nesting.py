"""Nesting of JSON-LD documents: how deep they are, before a parser goes there.

A parser that calls itself for each level, or for each term that a context defines by another one, leaves its stack when
a document of some kilobytes has thousands of them: the whole process ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np

from freshet.rdf.errors import InputError

DEEPEST = 256  # levels of objects and arrays; the memory of a parser grows with their square
_LONGEST_CHAIN = 1_000  # terms of a context that are each defined by the next one
_MOST_TERMS = 20_000  # of a context: it may be gone through for every object
_NO_MARKS = bytes(set(range(256)) - set(b'[]{}:"'))
_OPENING, _CLOSING = np.frombuffer(b"[{", np.uint8), np.frombuffer(b"]}", np.uint8)

Pairs = list[tuple[str, Any]]


def check_json(data: bytes, file: str) -> None:
    """Refuse a document that is nested too deeply, or has a context that is."""
    deepest, members = _measure(data)
    if deepest > DEEPEST:
        raise InputError(f"the document is nested more than {DEEPEST} deep", file=file)
    if members <= _LONGEST_CHAIN:
        return

    def check_object(pairs: Pairs) -> Pairs:
        if len(pairs) > _LONGEST_CHAIN and _has_long_chain(pairs):
            raise InputError(f"a context has terms that are defined by others, {_LONGEST_CHAIN:,} deep", file=file)
        if "@context" in dict(pairs):  # a name may be there twice, and parsers differ in which one counts
            for given in (value for name, value in pairs if name == "@context"):
                if any(len(each) > _MOST_TERMS for each in (given, *given) if isinstance(each, list)):
                    raise InputError(f"a context has more than {_MOST_TERMS:,} terms", file=file)
        return pairs

    try:
        json.loads(data, object_pairs_hook=check_object, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise InputError(error.msg, file=file, line=error.lineno, column=error.colno) from None
    except UnicodeDecodeError:
        pass  # the parser says where


def _measure(data: bytes) -> tuple[int, int]:
    """How deep the document is, and how many members the largest object has, without parsing it."""
    plain = data.replace(b"\\\\", b"  ").replace(b'\\"', b"  ")  # quotation marks that are left begin or end a string
    marks = np.frombuffer(plain.translate(None, _NO_MARKS), np.uint8)
    inside = np.cumsum(marks == ord('"'), dtype=np.int32) & 1
    marks = marks[(inside == 0) & (marks != ord('"'))]
    opening, closing = np.isin(marks, _OPENING), np.isin(marks, _CLOSING)
    depths = np.cumsum(opening, dtype=np.int32)
    depths -= np.cumsum(closing, dtype=np.int32)
    deepest = int(depths.max(initial=0))
    if deepest > DEEPEST:
        return deepest, 0
    # A member belongs to the object of its level that was opened last: by level and place, they stand behind it.
    kept = ~closing
    order = np.argsort(depths[kept].astype(np.int16), kind="stable")
    objects = np.cumsum(opening[kept][order])
    members = np.bincount(objects[~opening[kept][order]], minlength=1)
    return deepest, int(members.max())


def _has_long_chain(pairs: Pairs) -> bool:
    """Whether terms are defined by one another for too long, or in a circle, were these pairs a context."""
    names = {name for name, _ in pairs}
    needs: dict[str, set[str]] = {name: set() for name in names}
    for name, value in pairs:
        found = (part for text in chain((name,), _texts(value)) for part in (text, text.partition(":")[0]))
        needs[name] |= {part for part in found if part in names and part != name}
    users: dict[str, list[str]] = {name: [] for name in names}
    for name, needed in needs.items():
        for each in needed:
            users[each].append(name)
    waiting_for = {name: len(needed) for name, needed in needs.items()}
    ready = [name for name in names if not waiting_for[name]]
    steps = defined = 0
    while ready:
        steps, defined = steps + 1, defined + len(ready)
        after = []
        for user in chain.from_iterable(users[name] for name in ready):
            waiting_for[user] -= 1
            if not waiting_for[user]:
                after.append(user)
        ready = after
    return max(steps, len(names) - defined) > _LONGEST_CHAIN


def _texts(value: Any) -> Iterable[str]:
    """What a definition may refer to: itself, or what its pairs have."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        return (each for pair in value if isinstance(pair, tuple) for each in pair if isinstance(each, str))
    return ()
