"""The five languages that Freshet reads, by the names under which they can be asked for."""

from __future__ import annotations

from enum import StrEnum

from freshet.rdf.errors import InputError


class Dialect(StrEnum):
    """A query language. Where none is asked for, what only one of them has gives it away."""

    SPARQL = "sparql"
    RSPQL = "rspql"
    CSPARQL = "csparql"
    SPARQLSTREAM = "sparqlstream"
    CQELS = "cqels"

    @property
    def proper_name(self) -> str:
        """The name as its authors write it."""
        return _PROPER_NAMES[self]


_PROPER_NAMES = {
    Dialect.SPARQL: "SPARQL 1.1",
    Dialect.RSPQL: "RSP-QL",
    Dialect.CSPARQL: "C-SPARQL",
    Dialect.SPARQLSTREAM: "SPARQLstream",
    Dialect.CQELS: "CQELS-QL",
}


def dialect_named(name: str) -> Dialect:
    """The dialect of a name, which may be written as its authors do.

    >>> dialect_named("C-SPARQL"), dialect_named("cqels")
    (<Dialect.CSPARQL: 'csparql'>, <Dialect.CQELS: 'cqels'>)
    """
    plain = name.lower().replace("-", "").removesuffix(" 1.1")
    try:
        return Dialect("cqels" if plain == "cqelsql" else plain)
    except ValueError:
        known = ", ".join(Dialect)
        raise InputError(f"there is no query language '{name[:40]}'", hint=f"there are {known}") from None
