"""What term maps are compiled to: operations on columns, which Spark and Arrow both have.

The compiler (`freshet.mapper.renderer`) knows these only. A column is a Spark expression, or an Arrow array of the
records of a batch; where a reference has several values, it is one of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeVar

from freshet.rml.functions import FUNCTIONS, Function
from freshet.rml.model import Expression, Reference
from freshet.rml.user_functions import UserFunction

C = TypeVar("C")

LISTS = frozenset({"string_split"})  # functions that give several values
TAKES_LIST = frozenset({"array_join", "listContainsElement"})  # functions that take all values of a reference at once
RECORD_NUMBER = "record number"

# What an IRI may not hold, and how one begins. \z and not $, which in Java also stands before a last line break.
IRI_PATTERN = r"""^[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>"{}|\\^`]*\z"""
# What not even an unsafe IRI may hold: it would end the term or the line.
UNSAFE_IRI_PATTERN = r"^[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x1f<>]*\z"
SCHEME_PATTERN = r"^[A-Za-z][A-Za-z0-9+.\-]*:"


class ReferenceShape(NamedTuple):
    """What the columns of records are: which references have arrays, and which kinds values may have."""

    many: frozenset[str] = frozenset()
    kinds: tuple[int, ...] = ()
    encoded: frozenset[str] = frozenset()  # the references with a column of percent-encoded texts


class FunctionTable:
    """What of functions can be called: those of Freshet, and the user's."""

    def __init__(self, users: Mapping[str, UserFunction] | None = None) -> None:
        self.users = dict(users or {})

    def declaration(self, iri: str) -> Function:
        return self.users[iri].declared if iri in self.users else FUNCTIONS[iri]

    def is_users(self, iri: str) -> bool:
        return iri in self.users


class ColumnOperations(Protocol[C]):
    """The columns of records, and what can be made of them. Null is the absence of a value, as in SQL."""

    @property
    def functions(self) -> FunctionTable: ...

    def text(self, reference: Reference) -> C:
        """What a reference finds; where `each` has bound it, one of its values."""
        ...

    def kind(self, reference: Reference) -> C:
        """Its kind (`freshet.rml.kinds`)."""
        ...

    def bound(self, expression: Expression) -> C | None:
        """The value that `each` has bound."""
        ...

    def record_number(self, side: str) -> C:
        """The number of the record, which no other record of a source has."""
        ...

    def percent_encoded(self, reference: Reference, shape: ReferenceShape) -> C:
        """A value inside an IRI: all but iunreserved characters are escaped."""
        ...

    def percent_encoded_ascii(self, text: C) -> C:
        """A value inside a URI: characters beyond ASCII are escaped too."""
        ...

    def escaped(self, text: C, kind: C | None) -> C:
        """The text of a literal as N-Quads write it."""
        ...

    def constant(self, text: str) -> C: ...

    def concat(self, *texts: C) -> C:
        """Texts one after the other; null where one is null."""
        ...

    def when(self, condition: C, value: C, otherwise: C | None = None) -> C:
        """The value where the condition is true, otherwise another or null."""
        ...

    def coalesce(self, *columns: C) -> C:
        """The first that is not null."""
        ...

    def equals(self, column: C, value: str | int) -> C: ...

    def matches(self, text: C, pattern: str) -> C:
        """Whether a regular expression finds something in the text."""
        ...

    def mismatches(self, text: C, pattern: str) -> C:
        """Whether there is a text in which it finds nothing."""
        ...

    def lower(self, text: C) -> C: ...

    def hexadecimal(self, text: C) -> C:
        """The bytes of a text."""
        ...

    def integer_as_double(self, digits: C) -> C:
        """An integer as the canonical text of a double: 33 is 3.3E1."""
        ...

    def call(self, function: str, given: Mapping[str, C | None]) -> C:
        """The result of a function as text; of those that give lists an array."""
        ...

    def each(
        self,
        expression: Expression,
        values: C,
        kinds: C | None,
        make: Callable[[ColumnOperations[C]], C],
        *,
        flatten: bool,
    ) -> C:
        """An array of what is made with each of the values of an expression, which is bound to it meanwhile.

        `flatten`: what is made are arrays, and become one.
        """
        ...

    def first(self, values: C) -> C:
        """The first of an array that is not null."""
        ...

    def cut_each(self, values: C, before: int, after: int) -> C:
        """The texts of an array without the given numbers of characters at their beginning and end."""
        ...
