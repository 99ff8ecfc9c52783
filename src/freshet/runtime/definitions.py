"""Continuous queries with parameters: defined once, registered with values when their answers are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from freshet.rdf.errors import InputError
from freshet.rdf.terms import Term


@dataclass(frozen=True, slots=True)
class QueryDefinition:
    """A query that has parameters: names of variables, without the question mark."""

    name: str
    text: str
    parameters: tuple[str, ...]
    dialect: str | None = None

    def bound_name(self, bindings: Mapping[str, Term]) -> str:
        """The name of the query with values.

        >>> from freshet.rdf.terms import Iri
        >>> QueryDefinition("posts", "...", ("user",)).bound_name({"user": Iri("http://e/u")})
        'posts?user=%3Chttp%3A%2F%2Fe%2Fu%3E'
        """
        if set(bindings) != set(self.parameters):
            wanted = ", ".join(self.parameters)
            raise InputError(f"the query {self.name} takes values for {wanted}")
        return f"{self.name}?{urlencode([(name, str(bindings[name])) for name in self.parameters])}"

    def is_bound(self, name: str) -> bool:
        """Whether a query is this one with values."""
        return name.startswith(f"{self.name}?")
