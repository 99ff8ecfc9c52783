"""Calls of functions that a session has been given, bound to what computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from freshet.algebra.expressions import Call, UserCall
from freshet.algebra.nodes import BGP, QuadPattern, Query, Service, Values
from freshet.algebra.updates import Update

UserFunctions = Mapping[str, Callable[..., Any]]

_WITHOUT_CALLS = BGP | Values | Service | QuadPattern  # the functions in a SERVICE are the endpoint's


def bind_functions(query: Query, functions: UserFunctions) -> Query:
    """The query with its calls of these functions, by their IRIs, bound to them."""
    return replace(query, root=_bound(query.root, functions)) if functions else query


def bind_functions_of_update(update: Update, functions: UserFunctions) -> Update:
    """The same of an update."""
    return replace(update, operations=_bound(update.operations, functions)) if functions else update


def _bound(part: Any, functions: UserFunctions) -> Any:
    if isinstance(part, tuple):
        bound = tuple(_bound(each, functions) for each in part)
        return part if all(new is old for new, old in zip(bound, part, strict=True)) else bound
    if not is_dataclass(part) or isinstance(part, type | _WITHOUT_CALLS):
        return part
    changed = {}
    for place in fields(part):
        old = getattr(part, place.name)
        if (new := _bound(old, functions)) is not old:
            changed[place.name] = new
    if changed:
        part = replace(part, **changed)
    if isinstance(part, Call) and part.function in functions:
        return UserCall(part.function, part.arguments, functions[part.function])
    return part
