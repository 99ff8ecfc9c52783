"""The queries that share a plan, and how each gets what is its own of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from freshet.algebra.nodes import StreamOperator
from freshet.native.failures import warn_gone
from freshet.native.one_way_index import Ids
from freshet.rdf.dictionary import Dictionary
from freshet.results.report import Report

OnReport = Callable[[Report], None]


class Members:
    """Queries by numbers, which are given in the order in which they come, from 1 on, and never twice.

    There may be very many: whoever looks for what holds rows need not look in here. They stand in lists,
    which touch less memory for a report than a table would; those who have gone leave a gap. No more come once there
    are elements, so that gaps do not add up.
    """

    def __init__(self, on_failure: Callable[[str, Exception], None], dictionary: Dictionary | None = None) -> None:
        self._on_failure = on_failure
        self._dictionary = dictionary
        self._numbers: dict[str, int] = {}
        self._names = [""]
        self._takers: list[OnReport | None] = [None]  # None for those who have gone

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, name: str, on_report: OnReport) -> int:
        """One query more; gives its number."""
        number = self._numbers[name] = len(self._names)
        self._names.append(name)
        self._takers.append(on_report)
        return number

    def remove(self, name: str) -> int | None:
        """One query less; gives the number it had, None where there is none of that name."""
        number = self._numbers.pop(name, None)
        if number is not None:
            self._names[number], self._takers[number] = "", None
        return number

    def numbers(self) -> tuple[int, ...]:
        return tuple(self._numbers.values())

    def give(
        self, parts: Iterable[tuple[int, Ids]], time_ms: int, output: StreamOperator, variables: tuple[str, ...]
    ) -> None:
        """Report rows to the queries with these numbers, as far as they are here; they may go meanwhile."""
        names, takers, dictionary = self._names, self._takers, self._dictionary
        for number, rows in parts:
            on_report = takers[number]
            if on_report is None:
                continue
            name = names[number]
            try:
                on_report(Report(name, time_ms, output, variables, rows, None, None, dictionary))
            except BrokenPipeError:  # nobody reads anything any more
                raise
            except Exception as error:  # whoever takes one query's reports must not stop the others
                if takers[number] is on_report:
                    self._on_failure(name, error)
                else:  # it has removed itself before
                    warn_gone(name, error)
