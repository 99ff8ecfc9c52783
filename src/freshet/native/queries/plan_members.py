"""The queries that share a plan, and how each gets what is its own of a report."""

from __future__ import annotations

from collections.abc import Callable

from freshet.algebra.nodes import StreamOperator
from freshet.native.buffers.one_way_index import Ids
from freshet.native.failures import warn_gone
from freshet.native.r2s.bags import Dealt
from freshet.rdf.dictionary import Dictionary
from freshet.results.answers import AnswerBatch, ReportCallback
from freshet.results.report import Report

OnAnswers = Callable[[AnswerBatch], None]


class PlanMembers:
    """Queries by the numbers of their rows of the parameters, from 1 on.

    There may be very many; searches for holders of rows leave them out. The first of each number stands in lists, which
    touch less memory for a report than a table would; a number without queries leaves a gap.
    """

    def __init__(self, on_failure: Callable[[str, Exception], None], dictionary: Dictionary) -> None:
        self._on_failure = on_failure
        self._dictionary = dictionary
        self._numbers: dict[str, int] = {}
        self._names = [""]
        self._takers: list[OnAnswers | None] = [None]  # None for a number without queries
        self._others: dict[int, dict[str, OnAnswers]] = {}  # of a number, those after the first

    def __len__(self) -> int:
        return len(self._numbers)

    def has(self, number: int) -> bool:
        """Whether any query has a number."""
        return self._takers[number] is not None

    def add(self, name: str, number: int, on_answers: OnAnswers) -> None:
        """One query more, with a number that others have, that is free again, or the next."""
        self._numbers[name] = number
        if number == len(self._names):
            self._names.append(name)
            self._takers.append(on_answers)
        elif self._takers[number] is None:
            self._names[number], self._takers[number] = name, on_answers
        else:
            self._others.setdefault(number, {})[name] = on_answers

    def remove(self, name: str) -> int | None:
        """One query less; gives the number it had, None where there is none of that name."""
        number = self._numbers.pop(name, None)
        if number is None:
            return None
        others = self._others.get(number)
        if others is None:
            self._names[number], self._takers[number] = "", None
            return number
        if self._names[number] == name:
            first = next(iter(others))
            self._names[number], self._takers[number] = first, others[first]
            name = first
        del others[name]
        if not others:
            del self._others[number]
        return number

    def move(self, number: int, other: int) -> None:
        """Those who have a number have another from now on."""
        takers = self._of(number)
        self._names[number], self._takers[number] = "", None
        self._others.pop(number, None)
        for name, on_answers in takers:
            self.add(name, other, on_answers)

    def numbers(self) -> tuple[int, ...]:
        return tuple(self._numbers.values())

    def give(self, dealt: Dealt, moments: Ids, output: StreamOperator, variables: tuple[str, ...]) -> None:
        """Report to the queries that have reports, as far as they are here; they may go meanwhile."""
        takers, others, names, dictionary = self._takers, self._others, self._names, self._dictionary
        reported, offsets, rows = moments[dealt.places], dealt.offsets, dealt.rows
        ends, times, starts = dealt.ends.tolist(), reported.tolist(), offsets.tolist()
        for at, number in enumerate(dealt.numbers.tolist()):
            taker = takers[number]
            if taker is None:
                continue
            first, end = ends[at], ends[at + 1]
            is_shared = number in others
            for name, on_answers in self._of(number) if is_shared else ((names[number], taker),):
                if is_shared and self._taker(name, number) is not on_answers:
                    continue
                try:
                    if end - first == 1 and type(on_answers) is ReportCallback:
                        moment, own = times[first], rows[starts[first] : starts[end]]
                        on_answers.on_report(
                            Report(name, moment >> 1, output, variables, own, None, None, dictionary, moment)
                        )
                    else:
                        own_moments, own_offsets = reported[first:end], offsets[first : end + 1]
                        on_answers(AnswerBatch(name, output, variables, own_moments, own_offsets, rows, dictionary))
                except BrokenPipeError:  # the reader has gone
                    raise
                except Exception as error:  # a failing callback of one query must not stop the others
                    self._failed(name, number, on_answers, error)

    def _failed(self, name: str, number: int, on_answers: OnAnswers, error: Exception) -> None:
        if self._taker(name, number) is on_answers:
            self._on_failure(name, error)
        else:  # it has removed itself before
            warn_gone(name, error)

    def _of(self, number: int) -> list[tuple[str, OnAnswers]]:
        """The queries that have a number."""
        first = self._takers[number]
        assert first is not None, "a number is given up with its last query"
        return [(self._names[number], first), *self._others.get(number, {}).items()]

    def _taker(self, name: str, number: int) -> OnAnswers | None:
        """What takes the answers of a query, if it is here."""
        return self._takers[number] if self._names[number] == name else self._others.get(number, {}).get(name)
