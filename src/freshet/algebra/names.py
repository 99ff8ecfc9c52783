"""IRIs as a reader knows them: by the query's prefixes, and by those that everybody uses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from freshet.rdf.terms import RDF, XSD, Iri

IriText = Callable[[Iri], str]

_COMMON = (
    ("rdf", RDF),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("xsd", XSD),
    ("owl", "http://www.w3.org/2002/07/owl#"),
)
_LOCAL = re.compile(r"[\w]([\w.-]*[\w-])?|", re.ASCII)


class ShortNames:
    """Writes IRIs short, and remembers which prefixes that took.

    >>> short = ShortNames([("ex", "http://ex/")])
    >>> short(Iri("http://ex/a")), short(Iri("http://ex/a/b")), short.used
    ('ex:a', '<http://ex/a/b>', {'ex': 'http://ex/'})
    """

    def __init__(self, prefixes: Iterable[tuple[str, str]] = ()) -> None:
        declared = dict(prefixes)
        known = [*declared.items(), *(each for each in _COMMON if each[0] not in declared)]
        self._known = sorted(known, key=lambda each: -len(each[1]))
        self.used: dict[str, str] = {}

    def __call__(self, iri: Iri) -> str:
        for prefix, namespace in self._known:
            if namespace and iri.value.startswith(namespace):
                local = iri.value[len(namespace) :]
                if _LOCAL.fullmatch(local):
                    self.used[prefix] = namespace
                    return f"{prefix}:{local}"
        return str(iri)
