"""Queries that share one plan, as the clock sees them: one query, whose report is dealt out to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from freshet.native.change import Operator
from freshet.native.leaf_buffer import LeafBuffer
from freshet.native.one_way_index import Ids
from freshet.native.operators.parameters import ParametersOp
from freshet.native.plan import Plan
from freshet.native.r2s.bags import dealt_out
from freshet.native.r2s.put_out import put_out_of
from freshet.native.s2r.content import WindowContent
from freshet.native.stored_leaf import StoredLeaf
from freshet.rdf.elements import Elements
from freshet.results.report import Report


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    on_report: Callable[[Report], None]


class SharedQuery:
    """Some queries that differ only in constants."""

    def __init__(
        self,
        name: str,
        plan: Plan,
        windows: Sequence[WindowContent],
        leaves: Sequence[LeafBuffer | StoredLeaf],
        root: Operator,
        parameters: ParametersOp,
        stored: Callable[[LeafBuffer | StoredLeaf, int, int], Elements | None],
        keep: Callable[[Ids], None],
        on_failure: Callable[[str, Exception], None],
    ) -> None:
        """`stored` gives what has a term at a place in the stored graph of a leaf, None for leaves of windows.

        `keep` keeps the terms of an array as long as somebody has a part of it.
        """
        self.name = name
        self.plan = plan
        self.windows = windows
        self.leaves = leaves
        self._parameters = parameters
        self._stored = stored
        self._keep = keep
        self._on_failure = on_failure
        self._members: dict[int, _Member] = {}
        self._numbers: dict[str, int] = {}
        self._last = 0
        self._r2s = put_out_of(root, plan)

    def __len__(self) -> int:
        return len(self._members)

    def add(self, name: str, constants: list[int], on_report: Callable[[Report], None]) -> None:
        """One query more."""
        self._last += 1
        self._members[self._last] = _Member(name, on_report)
        self._numbers[name] = self._last
        self._parameters.add(self._last, constants)
        for leaf in {id(leaf): leaf for leaf in self.leaves if leaf.pattern.chosen}.values():
            for place, choice in leaf.pattern.chosen:
                constant = constants[self._parameters.choices.index(choice)]
                elements = self._stored(leaf, place, constant)
                if elements is not None:
                    leaf.receive(elements)

    def remove(self, name: str) -> None:
        number = self._numbers.pop(name)
        del self._members[number]
        self._parameters.remove(number)

    def take_in(self, number: int) -> None:
        """Take in what the leaves' step changed."""
        self._r2s.take_in(number)

    def report(self, time_ms: int) -> None:
        """Give each query what is its own of what R2S puts out now."""
        rows = self._r2s.put_out(empty=not any(window.count for window in self.windows))
        if len(rows) == 0:
            return
        variables = self.plan.variables[:-1]
        ordered, parts = dealt_out(rows)
        self._keep(ordered)
        for number, own in parts:
            member = self._members.get(number)
            if member is None:  # removed since
                continue
            try:
                member.on_report(Report(member.name, time_ms, self.plan.output, variables, own))
            except BrokenPipeError:  # nobody reads anything any more
                raise
            except Exception as error:  # whoever takes one query's reports must not stop the others
                if self._members.get(number) is member:  # else it has removed itself before
                    self._on_failure(member.name, error)

    def on_report(self, report: Report) -> None:
        """Reports are dealt out as they are made."""
