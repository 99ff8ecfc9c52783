"""Parts of a YARRRML document with their places, and the shorter names that its keys have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ruamel.yaml.nodes import ScalarNode

from freshet.rdf.errors import InputError
from freshet.rdf.yaml_positions import Document, KeyPath

_OTHER_NAMES = {
    "mappings": ("mapping", "m"),
    "sources": ("source",),
    "targets": ("target", "t"),
    "subjects": ("subject", "s"),
    "predicateobjects": ("predicateobject", "po"),
    "predicates": ("predicate", "p"),
    "objects": ("object", "o"),
    "graphs": ("graph", "g"),
    "conditions": ("condition", "c"),
    "function": ("fn", "f"),
    "parameters": ("pms",),
    "parameter": ("pm",),
    "value": ("v",),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A value in a document, and where it is."""

    document: Document
    path: KeyPath
    data: Any

    def error(self, message: str, hint: str | None = None) -> InputError:
        return self.document.value_error(self.path, message, hint)

    @property
    def line(self) -> int:
        return self.document.key_place(self.path)[0]

    @property
    def is_map(self) -> bool:
        return isinstance(self.data, dict)

    @property
    def is_list(self) -> bool:
        return isinstance(self.data, list)

    @property
    def text(self) -> str:
        """A scalar as it is written."""
        node = self.document.values.get(self.path)
        if not isinstance(node, ScalarNode) or self.data is None:
            raise self.error("a text is wanted here")
        return str(node.value)

    def keys(self, *known: str) -> dict[str, Part]:
        """The values of a map by the full names of their keys; other keys are errors."""
        if not self.is_map:
            raise self.error(f"a map with {', '.join(known)} is wanted here")
        full = {other: name for name in known for other in (name, *_OTHER_NAMES.get(name, ())) if name in known}
        found: dict[str, Part] = {}
        for key, value in self.data.items():
            part = Part(self.document, (*self.path, key), value)
            name = full.get(key)
            if name is None:
                wanted = ", ".join(known)
                raise self.document.key_error(part.path, f"there is no key '{key}' here: there are {wanted}")
            if name in found:
                raise self.document.key_error(part.path, f"the key '{key}' stands for '{name}', which is there already")
            found[name] = part
        return found

    def named(self) -> Iterator[tuple[str, Part]]:
        """The entries of a map whose keys are the user's own names."""
        if not self.is_map:
            raise self.error("a map of names is wanted here")
        for key, value in self.data.items():
            yield key, Part(self.document, (*self.path, key), value)

    def items(self) -> list[Part]:
        """The members of a list."""
        assert self.is_list
        return [Part(self.document, (*self.path, number), value) for number, value in enumerate(self.data)]

    def each(self) -> list[Part]:
        """The members of a list, or the part alone."""
        return self.items() if self.is_list else [self]
