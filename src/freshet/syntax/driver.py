"""Runs the parser's tables over a text.

Lark makes the tables; its own driver would take three times as long, because it knows far more of every token and of
every rule than a query needs. What this one cannot parse is given to Lark, whose errors say what was expected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from lark import Lark
from lark.grammar import Rule, Terminal
from lark.lexer import PatternStr, TerminalDef

from freshet.syntax.tables import parser
from freshet.syntax.tree import Token, Tree

_BLANK, _END, _WORD = "BLANK", "END", "WORD"


@dataclass(frozen=True, slots=True)
class Reduction:
    """What to do with a rule once all its children are there.

    `steps` lists the children to keep, in order: -1 is the gap that an absent child leaves; True is a child whose own
    children are taken instead. `data` is the name of the tree to make, or None where the children go to the rule above.
    """

    origin: str
    size: int
    steps: tuple[tuple[int, bool], ...]
    keeps_all: bool
    data: str | None
    unwraps: bool

    def apply(self, children: list[Any], start: int) -> Any:
        """The children as the rule above wants to see them."""
        if self.keeps_all:
            kept = children
        else:
            kept = []
            for index, inline in self.steps:
                if index < 0:
                    kept.append(None)
                elif not inline:
                    kept.append(children[index])
                elif kept:
                    kept += children[index]
                else:
                    kept = children[
                        index
                    ]  # no other reference to this list, so a long one need not be copied at every step
        if self.unwraps and len(kept) == 1:
            return kept[0]
        return kept if self.data is None else Tree(self.data, kept, start)


class Driver:
    """The tables of a Lark parser, ready to run: each state says what a terminal asks for, or where a rule leads."""

    def __init__(self, lark: Lark) -> None:
        table = lark.parser.parser._parse_table
        reductions = {id(rule): _reduction(rule) for rule in lark.rules}
        self._states: dict[int, dict[str, Any]] = {
            state: {_name(symbol): reductions.get(id(target), target) for symbol, (_, target) in row.items()}
            for state, row in table.states.items()
        }
        self._first: int = table.start_states["start"]
        self._last: int = table.end_states["start"]
        keywords = [each for each in lark.terminals if _is_keyword(each)]
        self._keywords = {each.pattern.value.upper(): each.name for each in keywords if each.pattern.flags}
        self._exact_keywords = {each.pattern.value: each.name for each in keywords if not each.pattern.flags}
        self._scanner = _scanner(lark, {each.name for each in keywords})

    def parse(self, text: str) -> Tree | None:
        """The tree of a text; None where it has none."""
        table, keywords, exact_keywords, last = self._states, self._keywords, self._exact_keywords, self._last
        states, values, starts = [self._first], list[Any](), list[int]()
        row, end = table[self._first], 0
        while (match := self._scanner.match(text, end)) is not None:
            end, group = match.end(), match.lastindex or 0
            word, kind, start = match[group], str(match.lastgroup), match.start(group)
            if kind == _WORD:
                kind = exact_keywords.get(word) or keywords.get(word.upper(), _WORD)
            while (action := row.get(kind)).__class__ is Reduction:
                size = action.size
                if size:
                    children, at = values[-size:], starts[-size]
                    del values[-size:], starts[-size:], states[-size:]
                else:
                    children, at = [], start
                value = action.apply(children, at)
                state = table[states[-1]][action.origin]
                if state == last and kind == _END:
                    return cast(Tree, value)
                states.append(state)
                values.append(value)
                starts.append(at)
                row = table[state]
            if action is None:
                return None
            token = Token(word)
            token.type, token.start = kind, start
            states.append(action)
            values.append(token)
            starts.append(start)
            row = table[action]
        return None


@cache
def driver() -> Driver:
    """The one driver of this process."""
    return Driver(parser())


def _name(symbol: str) -> str:
    """The name of a terminal or rule, fit to name a group of a regular expression."""
    return _END if symbol == "$END" else symbol


def _reduction(rule: Rule) -> Reduction:
    options = rule.options
    absent = options.empty_indices or (False,) * len(rule.expansion)
    steps: list[tuple[int, bool]] = []
    index = 0
    for gap in absent:
        if gap:
            steps.append((-1, False))
            continue
        symbol = rule.expansion[index]
        if options.keep_all_tokens or not (isinstance(symbol, Terminal) and symbol.filter_out):
            steps.append((index, not symbol.is_term and symbol.name.startswith("_")))
        index += 1
    name = rule.origin.name
    return Reduction(
        origin=name,
        size=len(rule.expansion),
        steps=tuple(steps),
        keeps_all=steps == [(index, False) for index in range(len(rule.expansion))],
        data=None if name.startswith("_") else rule.alias or name,
        unwraps=options.expand1 and not rule.alias,
    )


def _is_keyword(terminal: TerminalDef) -> bool:
    """Words are matched as words and then looked up: one pattern instead of a hundred."""
    return isinstance(terminal.pattern, PatternStr) and re.fullmatch(r"[A-Za-z_]+", terminal.pattern.value) is not None


def _scanner(lark: Lark, keywords: set[str]) -> re.Pattern[str]:
    """One pattern for what is ignored and the token after it, with terminals in the order in which Lark tries them."""
    blank = lark.get_terminal(_BLANK).pattern.to_regexp()
    known = [each for each in lark.terminals if each.name not in keywords and each.name != _BLANK]
    known.sort(key=lambda each: (-each.priority, -each.pattern.max_width, -len(each.pattern.value), each.name))
    groups = "|".join(f"(?P<{each.name}>{each.pattern.to_regexp()})" for each in known)
    return re.compile(rf"(?:{blank})?(?:{groups}|(?P<{_END}>\Z))")
