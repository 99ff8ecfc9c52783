"""Queries that ask the same with other names of variables share a local view: how variables are renamed, and back."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import Node
from freshet.federation.client import Columns
from freshet.federation.local_view import Asked, LocalView, Needed, Refreshed, Resting
from freshet.rdf.terms import BlankNode, Iri, Literal, TripleTerm


def number_endpoints(pattern: Node) -> tuple[Node, tuple[str, ...]]:
    """A pattern with its variables named by numbers, and the names that they had, in the order of the numbers.

    What has no name of a user's (it begins with a dot) is left as it is.
    """
    names: dict[str, Variable] = {}
    return _numbered(pattern, names), tuple(names)


def _numbered(part: Any, names: dict[str, Variable]) -> Any:
    match part:
        case Variable(name):
            return part if name.startswith(".") else names.setdefault(name, Variable(f"v{len(names)}"))
        case tuple():
            return tuple(_numbered(each, names) for each in part)
        case Iri() | Literal() | BlankNode() | TripleTerm():
            return part
    if not is_dataclass(part) or isinstance(part, type):
        return part
    return replace(part, **{each.name: _numbered(getattr(part, each.name), names) for each in fields(part)})


@dataclass(frozen=True, slots=True)
class NamedView:
    """A local view for a query that has other names for its variables: `names` has them by those of the view."""

    view: LocalView
    names: Mapping[str, str]

    def load(self) -> None:
        self.view.load()

    def join(
        self,
        needed: Needed,
        *,
        seconds: float | None,
        accuracy: float | None,
        silent: bool = False,
        resting: Resting = nullcontext,
    ) -> tuple[Refreshed, Columns]:
        refreshed, found = self.view.join(needed, seconds=seconds, accuracy=accuracy, silent=silent, resting=resting)
        return refreshed, self._named(found)

    def asking(self, needed: Needed, *, seconds: float | None, accuracy: float | None) -> AbstractContextManager[Asked]:
        return self.view.asking(needed, seconds=seconds, accuracy=accuracy)

    def answer(self, asked: Asked, *, silent: bool = False) -> tuple[Refreshed, Columns]:
        refreshed, found = self.view.answer(asked, silent=silent)
        return refreshed, self._named(found)

    def _named(self, found: Columns) -> Columns:
        return Columns({self.names.get(name, name): ids for name, ids in found.ids.items()}, found.count)


AnyView = LocalView | NamedView
