"""The queries that share a plan, and how each gets what is its own of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from freshet.algebra.nodes import StreamOperator
from freshet.native.one_way_index import Ids
from freshet.results.report import Report


class Member(NamedTuple):
    """A query, and who gets its reports."""

    name: str
    on_report: Callable[[Report], None]


class Members:
    """Queries by numbers, which are given in the order in which they come, and never twice.

    There may be very many: whoever looks for what holds rows need not look in here.
    """

    def __init__(self, on_failure: Callable[[str, Exception], None]) -> None:
        self._on_failure = on_failure
        self._by_number: dict[int, Member] = {}
        self._numbers: dict[str, int] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._by_number)

    def add(self, name: str, on_report: Callable[[Report], None]) -> int:
        """One query more; gives its number."""
        self._last += 1
        self._by_number[self._last] = Member(name, on_report)
        self._numbers[name] = self._last
        return self._last

    def remove(self, name: str) -> int | None:
        """One query less; gives the number it had, None where there is none of that name."""
        number = self._numbers.pop(name, None)
        if number is not None:
            del self._by_number[number]
        return number

    def numbers(self) -> tuple[int, ...]:
        return tuple(self._by_number)

    def give(
        self, parts: Iterable[tuple[int, Ids]], time_ms: int, output: StreamOperator, variables: tuple[str, ...]
    ) -> None:
        """Report rows to the queries with these numbers, as far as they are here; they may go meanwhile."""
        member_of = self._by_number.get
        for number, rows in parts:
            member = member_of(number)
            if member is None:
                continue
            name, on_report = member
            try:
                on_report(Report(name, time_ms, output, variables, rows))
            except BrokenPipeError:  # nobody reads anything any more
                raise
            except Exception as error:  # whoever takes one query's reports must not stop the others
                if member_of(number) is member:  # else it has removed itself before
                    self._on_failure(name, error)
