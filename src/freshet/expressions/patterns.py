"""REGEX and REPLACE (SPARQL 1.1, 17.4.3.14 and 17.4.3.15)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from freshet.expressions.columns import Column, ColumnBatch, Keys, Truths
from freshet.expressions.distinct import apply, keys_of, read, truths_of
from freshet.expressions.lexical import Text, make_room, simple, text
from freshet.expressions.timed_regex import TimedRegex
from freshet.expressions.xpath_regex import FLAGS, RegexError

_PARTS = re.compile(r"\\([\\$])|\$([0-9]+)|([^\\$]+)|(.)", re.DOTALL)

_MOST_DIGITS = 9  # of the number of a group
_PARTS_AT_ONCE = 1 << 12

Template = tuple[str | int, ...]


@lru_cache(maxsize=512)
def compile_regex(pattern: str, flags: str) -> TimedRegex | None:
    """A regular expression, or None where the pattern or a flag is wrong."""
    if not set(flags) <= FLAGS:
        return None
    try:
        return TimedRegex(pattern, flags)
    except (RegexError, re.error, OverflowError, RecursionError, ValueError):
        return None


def _matches(one: Text, pattern: str, flags: str = "") -> bool | None:
    regex = compile_regex(pattern, flags)
    return None if regex is None else regex.found_in(one.lexical)


def _regex(batch: ColumnBatch, source: Column, *rest: Column) -> Truths:
    arguments = (read(batch, argument, simple) for argument in rest)
    return truths_of(apply(_matches, read(batch, source, text), *arguments))


@lru_cache(maxsize=512)
def template(replacement: str, groups: int) -> Template | None:
    """A replacement as texts and numbers of groups; None where a backslash or dollar stands for nothing.

    >>> template("a$1b", 1), template("$12", 1), template("a$", 0)
    (('a', 1, 'b'), (1, '2'), None)
    """
    parts: list[str | int] = []
    for escaped, digits, plain, wrong in _PARTS.findall(replacement):
        if wrong:
            return None
        if digits:
            length = min(len(digits), _MOST_DIGITS)  # as many digits as name a group that there is
            while length > 1 and int(digits[:length]) > groups:
                length -= 1
            number = int(digits[:length])
            parts.append(number if number <= groups else "")
            parts.append(digits[length:])
        else:
            parts.append(escaped or plain)
    return tuple(part for part in parts if part != "")


def _replace_text(one: Text, pattern: str, replacement: str, flags: str = "") -> str | None:
    regex = compile_regex(pattern, flags)
    if regex is None or regex.takes_nothing:  # what matches nothing could be replaced everywhere: an error
        return None
    parts = (replacement,) if "q" in flags else template(replacement, regex.groups)
    if parts is None:
        return None
    whole, end = one.lexical, 0
    out: list[str] = []
    joined: list[str] = []
    for match in regex.matches(whole):
        out.append(whole[end : match.start()])
        out += (part if isinstance(part, str) else whole[slice(*match.span(part))] for part in parts)
        end = match.end()
        if len(out) > _PARTS_AT_ONCE:
            joined.append(_joined(out))
            out = []
    joined.append(_joined([*out, whole[end:]]))
    return Text(_joined(joined), one.tag).key()


def _joined(parts: list[str]) -> str:
    make_room(sum([len(part) for part in parts]))
    return "".join(parts)


def _replace(batch: ColumnBatch, source: Column, *rest: Column) -> Keys:
    arguments = (read(batch, argument, simple) for argument in rest)
    return keys_of(apply(_replace_text, read(batch, source, text), *arguments))


FUNCTIONS: dict[str, Callable[..., Column]] = {"REGEX": _regex, "REPLACE": _replace}
