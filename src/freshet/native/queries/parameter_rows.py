"""The rows of the parameters of a shared plan: queries with equal constants that see the same share one.

| query | constants | sees elements from | row |
| ----- | --------- | ------------------ | --- |
| a     | p1        | all                | 1   |
| b     | p1        | all                | 1   |
| c     | p2        | all                | 2   |
| d     | p1        | 500                | 3, and 1 when all elements before 500 have left |
"""

from __future__ import annotations

from collections.abc import Sequence

from freshet.native.operators.parameters import ParametersOp
from freshet.native.queries.plan_members import OnAnswers, PlanMembers
from freshet.native.s2r.content import WindowContent

_Key = tuple[int, ...]  # constants, and behind them for each window the first element that is seen; 0 where all are


class ParameterRows:
    """Which row each query of a shared plan has. `windows` are those of which a query may see less than there is."""

    def __init__(self, parameters: ParametersOp, members: PlanMembers, windows: Sequence[WindowContent]) -> None:
        self._parameters = parameters
        self._members = members
        self._windows = windows
        self._numbers: dict[_Key, int] = {}
        self._keys: dict[int, _Key] = {}
        self._recent: dict[int, tuple[int, ...]] = {}  # where the rows begin that see less than there is, in order

    def add(self, name: str, constants: list[int], on_answers: OnAnswers) -> tuple[int, ...] | None:
        """One query more. Gives where it begins to see the windows, if it is the first of its row."""
        begins = tuple(window.begin for window in self._windows)
        key = (*constants, *begins)
        number = self._numbers.get(key)
        if number is not None:
            self._members.add(name, number, on_answers)
            return None
        number = self._parameters.next_number()
        for query_begins, begin, window in zip(self._parameters.begins, begins, self._windows, strict=True):
            query_begins.add(number, begin, window.left)
        self._know(key, number)
        if any(begins):
            self._recent[number] = begins
        self._members.add(name, number, on_answers)
        self._parameters.add(number, constants)
        return begins

    def remove(self, name: str) -> None:
        """One query less, with its row if it was the last."""
        number = self._members.remove(name)
        assert number is not None, "only who shares the plan leaves it"
        if not self._members.has(number):
            self._forget(number)

    def merge(self) -> None:
        """Let queries that have come to see all of the windows have the row of the others with their constants.

        Called before a batch is taken in: with the one before it, all that the others do not see had left.
        """
        while self._recent:
            number, begins = next(iter(self._recent.items()))
            windows = zip(self._windows, begins, strict=True)
            if any(window.left - len(window.leaving) < begin for window, begin in windows):
                return
            del self._recent[number]
            key = self._keys[number]
            whole = (*key[: len(key) - len(begins)], *(0 for _ in begins))
            other = self._numbers.get(whole)
            if other is None:
                del self._numbers[key]
                self._know(whole, number)
            else:
                self._members.move(number, other)
                self._forget(number)

    def _know(self, key: _Key, number: int) -> None:
        self._numbers[key], self._keys[number] = number, key

    def _forget(self, number: int) -> None:
        del self._numbers[self._keys.pop(number)]
        self._recent.pop(number, None)
        self._parameters.remove(number)
