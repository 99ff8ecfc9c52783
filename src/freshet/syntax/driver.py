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

from freshet.rdf.deadline import current
from freshet.syntax.tables import QUERY, parser
from freshet.syntax.tree import Cells, Token, Tree

_BLANK, _END, _WORD, _BRACE = "BLANK", "END", "WORD", "LBRACE"
_TOKENS_AT_ONCE = (1 << 12) - 1  # between two looks at the deadline
_LONG_DATA = 1 << 12  # characters of VALUES or of INSERT DATA from which on their cells are read all at once
_ROWS_AT_ONCE = 1 << 12  # of VALUES, likewise
_QUADS = "quads"
_ALONE = frozenset([*"(){}[],;", ")>>", "{|"])
_NUMBERS = ("SIGNED_DOUBLE", "DOUBLE", "SIGNED_DECIMAL", "DECIMAL", "SIGNED_INTEGER", "INTEGER")


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
        (start,) = lark.options.start
        self._first: int = table.start_states[start]
        self._last: int = table.end_states[start]
        keywords = [each for each in lark.terminals if _is_keyword(each)]
        self._keywords = {each.pattern.value.upper(): each.name for each in keywords if each.pattern.flags}
        self._exact_keywords = {each.pattern.value: each.name for each in keywords if not each.pattern.flags}
        self._scanner = _scanner(lark, {each.name for each in keywords})
        self._patterns = _data_patterns(lark)
        self._compiled: dict[str, re.Pattern[str]] = {}  # those that were used: they take long to compile

    def parse(self, text: str) -> Tree | None:
        """The tree of a text; None where it has none."""
        table, keywords, exact_keywords, last = self._states, self._keywords, self._exact_keywords, self._last
        states, values, starts = [self._first], list[Any](), list[int]()
        row, end = table[self._first], 0
        deadline, looks = current(), 0
        while (match := self._scanner.match(text, end)) is not None:
            looks += 1
            if not looks & _TOKENS_AT_ONCE:
                deadline.check()
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
            if kind == _BRACE and (rule := _data_rule(values)) and text.find("}", end) - end > _LONG_DATA:
                cells = self._cells(rule, text, end)
                if cells is not None:  # the rule is reduced with all cells as one child; else, it is read on
                    end += len(cells) + 1
                    size = 1 if rule == _QUADS else 2
                    value, at = Tree(rule, [*values[-size:-1], cells], starts[-size]), starts[-size]
                    del values[-size:], starts[-size:], states[-size:]
                    state = table[states[-1]][rule]
                    states.append(state)
                    values.append(value)
                    starts.append(at)
                    row = table[state]
        return None

    def is_terminal(self, text: str, name: str) -> bool:
        """Whether a text is one token of a kind."""
        match = self._scanner.match(text)
        return match is not None and match.lastgroup == name and match.span(name) == (0, len(text))

    def _cells(self, rule: str, text: str, start: int) -> Cells | None:
        """What stands in the braces of data, some rows at a time; None where something else stands there."""
        deadline, rows, end = current(), self._data(rule), start
        cell = self._data("part" if rule == _QUADS else "cell")
        texts: list[str] = []
        while (some := rows.match(text, end)) is not None:
            deadline.check()
            texts += cell.findall(some[1])
            end = some.end()
            # The last triple needs no dot.
            if rule == _QUADS and (rest := self._data("last").match(text, end)) is not None:
                texts += cell.findall(rest[1])
                end = rest.end()
            if text[end] == "}":
                cells = Cells(text[start:end])
                cells.type, cells.start, cells.pattern, cells.text, cells.texts = "CELLS", start, cell, text, texts
                return cells
            if not some[1]:
                break
        return None

    def _data(self, name: str) -> re.Pattern[str]:
        if (pattern := self._compiled.get(name)) is None:
            pattern = self._compiled[name] = re.compile(self._patterns[name], re.DOTALL)
        return pattern


@cache
def driver(start: str = QUERY) -> Driver:
    """The one driver of this process for queries, or for updates."""
    return Driver(parser(start))


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


def _data_rule(values: list[Any]) -> str | None:
    """The rule of the data that the brace at the end of some values begins; None where it begins something else."""
    if len(values) < 3 or values[-3].__class__ is not Token:
        return None
    before, last = values[-3].type, values[-2]
    if before == "VALUES":
        return "one_variable" if last.__class__ is Token else "many_variables"
    is_data = before in ("INSERT", "DELETE") and last.__class__ is Token and last.type == "DATA"
    return _QUADS if is_data else None


def _data_patterns(lark: Lark) -> dict[str, str]:
    """Patterns for the data of VALUES and of updates, of the grammar's own terminals: a cell, and some rows.

    The language of VALUES is regular, and that of triples is without brackets and GRAPH, which are left to the grammar.
    The terminals stand in the order in which they are tried elsewhere.
    """
    named = {each.name: f"(?:{each.pattern.to_regexp()})" for each in lark.terminals}
    blank, iri = f"(?:{named[_BLANK]})?+", f"(?:{named['IRIREF']}|{named['PNAME']})"
    string = rf'(?:(?="){named["STRING"]}(?:{named["LANGTAG"]}|\^\^{iri})?)'
    word, boolean = (f"(?ai:(?:{words})(?![A-Z0-9_]))" for words in ("TRUE|FALSE|UNDEF", "TRUE|FALSE"))
    numbers = "|".join(named[name] for name in _NUMBERS)
    cell = f"(?:{named['IRIREF']}|{string}|{named['PNAME']}|{numbers}|{word})"
    node = f"(?:{named['IRIREF']}|{named['PNAME']}|{named['BLANK_NODE_LABEL']})"
    verb = f"(?:{named['IRIREF']}|{named['PNAME']}|a(?![A-Za-z0-9_]))"
    value = f"(?:{named['IRIREF']}|{string}|{named['PNAME']}|{named['BLANK_NODE_LABEL']}|{numbers}|{boolean})"
    objects = rf"{blank}{verb}{blank}{value}(?:{blank},{blank}{value})*+"
    triples = rf"{blank}{node}{objects}(?:{blank};{objects})*+"
    return {
        _QUADS: rf"((?:{triples}{blank}\.){{0,{_ROWS_AT_ONCE}}}+){blank}",
        "last": rf"({triples}){blank}(?=\}})",
        "part": rf"{blank}({value}|a(?![A-Za-z0-9_])|[.,;])",
        "cell": rf"{blank}({cell}|[()])",
        "one_variable": rf"((?:{blank}{cell}){{0,{_ROWS_AT_ONCE}}}+){blank}",
        "many_variables": rf"((?:{blank}\((?:{blank}{cell})*+{blank}\)){{0,{_ROWS_AT_ONCE}}}+){blank}",
    }


def _scanner(lark: Lark, keywords: set[str]) -> re.Pattern[str]:
    """One pattern for what is ignored and the token after it, with terminals in the order in which Lark tries them."""
    blank = lark.get_terminal(_BLANK).pattern.to_regexp()
    known = [each for each in lark.terminals if each.name not in keywords and each.name != _BLANK]
    known.sort(key=lambda each: (-each.priority, -each.pattern.max_width, -len(each.pattern.value), each.name))
    known.sort(key=lambda each: each.pattern.value not in _ALONE)  # what no other terminal begins with, first
    groups = "|".join(f"(?P<{each.name}>{each.pattern.to_regexp()})" for each in known)
    return re.compile(rf"(?:{blank})?(?:{groups}|(?P<{_END}>\Z))")
