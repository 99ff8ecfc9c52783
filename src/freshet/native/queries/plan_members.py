"""The queries that share a plan, and how each gets what is its own of a report."""

from __future__ import annotations

from collections.abc import Callable

from freshet.algebra.nodes import StreamOperator
from freshet.native.buffers.one_way_index import Ids
from freshet.native.failures import warn_gone
from freshet.native.r2s.bags import Dealt
from freshet.rdf.dictionary import Dictionary
from freshet.results.answers import AnswerBatch

OnAnswers = Callable[[AnswerBatch], None]


class PlanMembers:
    """Queries by numbers, from 1 on.

    There may be very many; searches for holders of rows leave them out. They stand in lists,
    which touch less memory for a report than a table would; those who have gone leave a gap.
    """

    def __init__(self, on_failure: Callable[[str, Exception], None], dictionary: Dictionary) -> None:
        self._on_failure = on_failure
        self._dictionary = dictionary
        self._numbers: dict[str, int] = {}
        self._names = [""]
        self._takers: list[OnAnswers | None] = [None]  # None for those who have gone

    def __len__(self) -> int:
        return len(self._numbers)

    def add(self, name: str, number: int, on_answers: OnAnswers) -> None:
        """One query more, with an unused number: one that is free again, or the next."""
        self._numbers[name] = number
        if number == len(self._names):
            self._names.append(name)
            self._takers.append(on_answers)
        else:
            self._names[number], self._takers[number] = name, on_answers

    def remove(self, name: str) -> int | None:
        """One query less; gives the number it had, None where there is none of that name."""
        number = self._numbers.pop(name, None)
        if number is not None:
            self._names[number], self._takers[number] = "", None
        return number

    def numbers(self) -> tuple[int, ...]:
        return tuple(self._numbers.values())

    def give(self, dealt: Dealt, moments: Ids, output: StreamOperator, variables: tuple[str, ...]) -> None:
        """Report to the queries that have reports, as far as they are here; they may go meanwhile."""
        names, takers, dictionary = self._names, self._takers, self._dictionary
        reported, offsets, rows = moments[dealt.places], dealt.offsets, dealt.rows
        ends = dealt.ends.tolist()
        for at, number in enumerate(dealt.numbers.tolist()):
            on_answers = takers[number]
            if on_answers is None:
                continue
            name, first, end = names[number], ends[at], ends[at + 1]
            try:
                on_answers(
                    AnswerBatch(
                        name, output, variables, reported[first:end], offsets[first : end + 1], rows, dictionary
                    )
                )
            except BrokenPipeError:  # the reader has gone
                raise
            except Exception as error:  # a failing callback of one query must not stop the others
                if takers[number] is on_answers:
                    self._on_failure(name, error)
                else:  # it has removed itself before
                    warn_gone(name, error)
