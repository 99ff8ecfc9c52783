"""Errors that a user can mend. Anything else is a bug of Freshet and may show a traceback."""

from __future__ import annotations


class FreshetError(Exception):
    """An error that the user can fix. All errors of Freshet that are not bugs are of this class.

    `str()` is one line: `file:line:column: message`, with whatever of the place is known, and the hint in brackets.

    Attributes:
        message: What is wrong.
        file: The file at fault, or None.
        line: The line, counted from 1, or None.
        column: The column, counted from 1, or None.
        hint: How to fix it, or None.
        excerpt: The line of the query with a caret below the place, or nothing.

    Example:
        >>> import freshet
        >>> try:
        ...     freshet.Session().query("SELECT ?s {{ ?s ?p }", file="all.rq")
        ... except freshet.FreshetError as error:
        ...     print(type(error).__name__, error.file, error.line, error.column)
        QuerySyntaxError all.rq 1 20
    """

    exit_status = 2  # of the command line: the input is wrong

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
        excerpt: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.hint = hint
        self.excerpt = excerpt

    @property
    def place(self) -> str:
        """`file:line:column`, as far as it is known; empty where nothing is."""
        if self.line is None:
            return self.file or ""
        where = [self.line] if self.column is None else [self.line, self.column]
        numbers = ":".join(str(number) for number in where)
        return f"{self.file}:{numbers}" if self.file else f"line {numbers}"

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}" if self.place else self.message
        if self.hint:
            text = f"{text} ({self.hint})"
        return " ".join(text.splitlines())


class QuerySyntaxError(FreshetError):
    """The text of a query cannot be read."""


class UnsupportedError(FreshetError):
    """A query or mapping has something that is understood, but not supported."""


class InputError(FreshetError):
    """Data, options or configuration are wrong."""


class BudgetError(InputError):
    """There is no room for a batch, and nothing of it was taken. It may be pushed again when windows have moved on."""
