"""Errors that a user can mend. Anything else is a bug of Freshet and may show a traceback."""

from __future__ import annotations


class FreshetError(Exception):
    """Something the user can mend.

    `str()` is one line: `file:line:column: message`, with whatever of the place is known, and the hint in brackets.
    Lines and columns count from 1. `excerpt` is the line at fault with a caret below the place, where it is a query's.
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
    """A thing that is named and understood, but that this engine does not do."""


class InputError(FreshetError):
    """Malformed data or configuration."""


class BudgetError(InputError):
    """There is no room for a batch, and nothing of it was taken. It may be pushed again when windows have moved on."""
