"""Random expressions, as text, over variables that may hold anything or nothing.

Not made, since pyoxigraph, which the reference asks, is no judge of it: the text of a computed double (`6.25` and
`6.25E0` are both right), and sums of dates (pyoxigraph gives durations, SPARQL 1.1 an error).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from random_streams import NUMBERS

FUNCTIONS = ("ABS", "CEIL", "FLOOR", "ROUND", "STR", "LANG", "DATATYPE", "-")
TESTS = ("isIRI", "isBLANK", "isLITERAL", "isNUMERIC", "BOUND", "!BOUND")


class Dice(Random):
    """Chance, and the arithmetic that it may choose from: where there are dates nothing is added or subtracted."""

    operators = "+-*/"


def operand(dice: Dice, variables: Sequence[str], depth: int = 1) -> str:
    if depth and dice.random() < 0.3:
        left, right = operand(dice, variables, 0), operand(dice, variables, 0)
        return f"({left} {dice.choice(dice.operators)} {right})"
    if depth and dice.random() < 0.15:
        given = [name for name in variables if not name.startswith("?n")]
        return f"{dice.choice(FUNCTIONS)}({operand(dice, given, 0)})"
    if depth and dice.random() < 0.05:
        choices = ", ".join(operand(dice, variables, 0) for _ in range(2))
        return dice.choice([f"IF({condition(dice, variables, 0)}, {choices})", f"COALESCE({choices})"])
    return dice.choice([*list(variables) * 3, *NUMBERS, '"a"', ":r0"])


def condition(dice: Dice, variables: Sequence[str], depth: int = 2) -> str:
    """A filter's expression; it may well be an error for some solutions."""
    kind = dice.randint(0, 11) if depth else 0
    if kind == 11:
        return f"{dice.choice(TESTS)}({dice.choice(variables)})"
    if kind >= 9:
        return f"{dice.choice(variables)} != {operand(dice, variables, 0)}"
    if kind <= 4:
        operator = dice.choice(["=", "!=", "!=", "<", "<=", ">", ">="])
        left = dice.choice(variables) if dice.random() < 0.6 else operand(dice, variables)
        return f"{left} {operator} {operand(dice, variables, dice.choice([0, 1]))}"
    if kind == 5:
        return f'{dice.choice(variables)} {dice.choice(["", "NOT "])}IN (1, 0.5, :r1, "a")'
    inner = condition(dice, variables, depth - 1)
    if kind == 6:
        return f"!({inner})"
    return f"({inner}) {'&&' if kind == 7 else '||'} ({condition(dice, variables, depth - 1)})"


def total_order(dice: Random, variables: Sequence[str]) -> str:
    """ORDER BY that leaves no two different solutions in an open order, as long as there are no blank nodes.

    SPARQL orders neither a string and a number nor two datatypes, so datatype, language, text and number come one by
    one.
    """
    keys = [
        key
        for name in variables
        for key in (f"DATATYPE({name})", f"LANG({name})", f'IF(isNUMERIC({name}), "", STR({name}))', f"({name} + 0)")
    ]
    by_value = [f"({dice.choice(variables)} + 0)"] if dice.random() < 0.5 else []
    turned = [f"DESC({key})" if dice.random() < 0.3 else f"ASC({key})" for key in [*by_value, *keys]]
    return f"ORDER BY {' '.join(turned)}"


def slice_text(dice: Random) -> str:
    return dice.choice(["", f"LIMIT {dice.randint(1, 4)}", f"LIMIT {dice.randint(1, 3)} OFFSET 1", "OFFSET 1"])
