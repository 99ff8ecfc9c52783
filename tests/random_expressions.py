"""Random expressions, as text, over variables that may hold anything or nothing."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from random_streams import NUMBERS

FUNCTIONS = ("ABS", "CEIL", "FLOOR", "ROUND", "STR", "LANG", "DATATYPE", "-")
TESTS = ("isIRI", "isBLANK", "isLITERAL", "isNUMERIC", "BOUND", "!BOUND")


def operand(dice: Random, variables: Sequence[str], depth: int = 1) -> str:
    if depth and dice.random() < 0.3:
        left, right = operand(dice, variables, 0), operand(dice, variables, 0)
        return f"({left} {dice.choice('+-*/')} {right})"
    if depth and dice.random() < 0.15:
        return f"{dice.choice(FUNCTIONS)}({operand(dice, variables, 0)})"
    if depth and dice.random() < 0.05:
        choices = ", ".join(operand(dice, variables, 0) for _ in range(2))
        return dice.choice([f"IF({condition(dice, variables, 0)}, {choices})", f"COALESCE({choices})"])
    return dice.choice([*list(variables) * 3, *NUMBERS, '"a"', ":r0"])


def condition(dice: Random, variables: Sequence[str], depth: int = 2) -> str:
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

    SPARQL orders neither a string and a number nor two datatypes, so datatype, language and text come one by one.
    """
    keys = [f"{name}({variable})" for variable in variables for name in ("DATATYPE", "LANG", "STR")]
    turned = [f"DESC({key})" if dice.random() < 0.3 else f"ASC({key})" for key in keys]
    by_value = [f"{dice.choice(['ASC', 'DESC'])}({dice.choice(variables)} + 0)"] if dice.random() < 0.5 else []
    return f"ORDER BY {' '.join([*by_value, *turned])}"


def slice_text(dice: Random) -> str:
    return dice.choice(["", f"LIMIT {dice.randint(1, 4)}", f"LIMIT {dice.randint(1, 3)} OFFSET 1", "OFFSET 1"])
