"""The functions of mappings (`rml/functions.py`) on Arrow arrays, with the results that Spark has."""

from __future__ import annotations

import hashlib
import math
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote_plus

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from freshet.mapper.arrow_texts import NULL_TEXT, by_row, is_true, spread, text_scalar
from freshet.mapper.lookup_files import LookupFile, look_up
from freshet.mapper.operations import LISTS, FunctionTable
from freshet.rdf.arrow import list_array, string_array
from freshet.rdf.errors import UnsupportedError
from freshet.rml.functions import MEDIA_TYPES

Values = Any  # a pa.Array, or a pa.Scalar where all rows have the same

_VALUE = "valueParam"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?")
_INTEGER = re.compile(r"([+-]?\d+)(\.\d*)?")
_WORDS = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
_WHOLE = 1 << 63  # Java's long ends before it


class Inputs:
    """What a call is given, by the names of parameters: null where one is not given."""

    def __init__(self, given: Mapping[str, Values | None], rows: int) -> None:
        self.given = given
        self.rows = rows

    def __getitem__(self, name: str) -> Values:
        found = self.given.get(name)
        return NULL_TEXT if found is None else found

    def is_given(self, name: str) -> bool:
        return self.given.get(name) is not None

    def by_row(self, function: Callable[..., str | None], *names: str) -> Values:
        return by_row(function, self.rows, *(self[name] for name in names))

    def truth(self, name: str) -> Values:
        """Whether a text is true or 1; null where there is none."""
        lower = pc.utf8_lower(self[name])
        return pc.or_kleene(pc.equal(lower, text_scalar("true")), pc.equal(lower, text_scalar("1")))


def _upper(text: str) -> str:
    return text.upper()


def _title(text: str) -> str:
    """Words begin after spaces only."""
    words = [(word[:1], word.lower()) for word in text.split(" ")]
    return " ".join(first.title() + lower[len(first.lower()) :] for first, lower in words)


def _substring(given: Inputs) -> Values:
    """Nothing where it begins behind the end of the text."""

    def cut(text: str, start: str, stop: str) -> str | None:
        number = _number(start)
        if number is None:
            return None
        first = 0 if math.isnan(number) else int(max(-1.0, min(number, len(text) + 1.0)))
        whole = _INTEGER.fullmatch(stop.strip())
        end = len(text) if whole is None else min(int(whole[1]), len(text))
        return text[first : max(first, end)] if 0 <= first <= len(text) else None

    stop = pc.fill_null(given["int_i_opt_to"], text_scalar(""))
    return by_row(cut, given.rows, given[_VALUE], given["int_i_from"], stop)


def _replace_chars(text: str, find: str, replace: str) -> str:
    changes: dict[int, str] = {}
    for number, character in enumerate(find):
        changes.setdefault(ord(character), replace[number : number + 1])
    return text.translate(changes)


_HTML: dict[str, str | int | None] = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_JAVASCRIPT: dict[str, str | int | None] = {"\\": "\\\\", '"': '\\"', "'": "\\'", "\n": "\\n"}


def _escape(text: str, mode: str) -> str | None:
    match mode.lower():
        case "html" | "xml":
            return text.translate(str.maketrans(_HTML))
        case "javascript":
            return text.translate(str.maketrans(_JAVASCRIPT))
        case "url":
            return quote_plus(text, safe="*").replace("~", "%7E")
        case "csv":
            return '"' + text.replace('"', '""') + '"' if re.search('[",\n]', text) else text
    return None


def _number(text: str) -> float | None:
    """A number as Spark casts texts to doubles."""
    plain = text.strip("".join(map(chr, range(33))))
    if _NUMBER.fullmatch(plain):
        return float(plain.rstrip("dDfF"))
    sign = -1.0 if plain.startswith("-") else 1.0
    word = _WORDS.get(plain.removeprefix("-" if sign < 0 else "+").lower())
    return None if word is None else sign * word


def _rounded(round_: Callable[[float], float]) -> Callable[[str], str | None]:
    def made(text: str) -> str | None:
        value = _number(text)
        if value is None:
            return None
        if math.isnan(value):
            return "0"
        if math.isinf(value):
            return str(_WHOLE - 1 if value > 0 else -_WHOLE)
        return str(max(-_WHOLE, min(_WHOLE - 1, int(round_(value)))))

    return made


def _absolute(text: str) -> str | None:
    value = _number(text)
    return None if value is None else _java_double(abs(value))


def _java_double(value: float) -> str:
    """A double as Java writes it: 1.0E10, 1.0E-4, 12.5.

    >>> _java_double(12500000.0), _java_double(0.00025), _java_double(3.0), _java_double(1e22)
    ('1.25E7', '2.5E-4', '3.0', '1.0E22')
    """
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, _, power = f"{value:e}".partition("e")
    shortest = repr(value)
    mantissa = shortest.partition("e")[0].replace(".", "").lstrip("-0").rstrip("0") or "0"
    sign = "-" if digits.startswith("-") else ""
    return f"{sign}{mantissa[0]}.{mantissa[1:] or '0'}E{int(power)}"


def _slug(given: Inputs) -> Values:
    lower = _lower_case(given["str"], given.rows)
    return pc.utf8_trim(pc.replace_substring_regex(lower, "[^a-z0-9]+", "-"), characters="-")


def _lower_case(text: Values, rows: int) -> Values:
    return pc.ascii_lower(text) if _is_ascii(text) else by_row(str.lower, rows, text)


def _is_ascii(text: Values) -> bool:
    if isinstance(text, pa.Scalar):
        return not text.is_valid or text.as_py().isascii()
    data = text.buffers()[2]
    return data is None or not (np.frombuffer(data, np.uint8) > 127).any()


def _upper_case(given: Inputs, name: str) -> Values:
    """Arrow knows no characters that become several."""
    text = given[name]
    return pc.ascii_upper(text) if _is_ascii(text) else by_row(_upper, given.rows, text)


def _upper_url(given: Inputs, scheme: str) -> Values:
    upper = _upper_case(given, "str")
    joined = pc.binary_join_element_wise(text_scalar(scheme), upper, text_scalar(""))
    return pc.if_else(is_true(pc.starts_with(upper, "HTTP")), upper, joined)


def _if(given: Inputs) -> Values:
    return pc.if_else(is_true(given.truth("bool_b")), given["any_true"], given["any_false"])


def _concat(given: Inputs) -> Values:
    between = [given["delimiter"]] if given.is_given("delimiter") else []
    return pc.binary_join_element_wise(given["str"], *between, given["otherStr"], text_scalar(""))


def _array_join(given: Inputs) -> Values:
    lists, separator = given["array_a"], given["string_sep"]
    if isinstance(lists, pa.Scalar) or not pa.types.is_list(lists.type):
        raise UnsupportedError("array_join takes a reference that has several values")
    separators = spread(separator, given.rows).to_pylist()
    rows = zip(lists.to_pylist(), separators, strict=True)
    made = [
        None if values is None or mark is None else mark.join(value for value in values if value is not None)
        for values, mark in rows
    ]
    return string_array(made)


def _both(given: Inputs, combine: Callable[[Values, Values], Values]) -> Values:
    first = given.truth("rep_b")
    return combine(first, given.truth("rep_b2")) if given.is_given("rep_b2") else first


def _contains_other(given: Inputs) -> Values:
    """Whether a text is one of the pieces of another, or a part of it where no delimiter is given."""

    def test(text: str, other: str, delimiter: str) -> str:
        return "true" if other in (text.split(delimiter) if delimiter else text) else "false"

    delimiter = pc.fill_null(given["delimiter"], text_scalar(""))
    return by_row(test, given.rows, given["str"], given["otherStr"], delimiter)


def _list_contains(given: Inputs) -> Values:
    lists = given["list"]
    if isinstance(lists, pa.Scalar) or not pa.types.is_list(lists.type):
        raise UnsupportedError("listContainsElement takes a reference that has several values")
    wanted = spread(given["str"], given.rows).to_pylist()
    rows = zip(lists.to_pylist(), wanted, strict=True)
    return pa.array([text is not None and text in (values or ()) for values, text in rows], pa.bool_())


def _in_range(given: Inputs) -> Values:
    """Of bounds that are no numbers nothing is asked; what is not a number is in no range."""

    def test(text: str, start: str, stop: str) -> str:
        value, first, end = map(_number, (text, start, stop))
        if value is None or math.isnan(value):
            return "false"
        return "true" if (first is None or value >= first) and (end is None or value < end) else "false"

    return by_row(test, given.rows, *(pc.fill_null(given[name], text_scalar("")) for name in ("test", "from", "to")))


def _media_type(text: str) -> str | None:
    _, dot, extension = text.rpartition(".")
    return MEDIA_TYPES.get(extension) if dot else None


def _look_up(given: Inputs, *constants: str) -> Values:
    return look_up(spread(given["str"], given.rows), LookupFile(*(given[name].as_py() for name in constants)))


def split_texts(given: Inputs) -> Values:
    """The pieces of a text between separators, as arrays."""
    texts, separator = spread(given[_VALUE], given.rows), given["string_sep"]
    if isinstance(separator, pa.Scalar) and separator.is_valid and separator.as_py():
        return pc.split_pattern(texts, separator.as_py())
    pieces: list[str | None] = []
    lengths = []
    for text, mark in zip(texts.to_pylist(), spread(separator, given.rows).to_pylist(), strict=True):
        found = [] if text is None or mark is None else text.split(mark) if mark else [*text] or [""]
        pieces += found
        lengths.append(len(found))
    return list_array(np.array(lengths, np.int64), string_array(pieces))


def _as_boolean_text(test: Callable[[str, str], bool]) -> Callable[[str, str], str]:
    return lambda text, wanted: "true" if test(text, wanted) else "false"


_FUNCTIONS: dict[str, Callable[[Inputs], Values]] = {
    "toUpperCase": lambda given: _upper_case(given, _VALUE),
    "toLowerCase": lambda given: _lower_case(given[_VALUE], given.rows),
    "toTitleCase": lambda given: given.by_row(_title, _VALUE),
    "string_trim": lambda given: pc.utf8_trim(given[_VALUE], characters=" \t\n\x0b\f\r"),
    "string_length": lambda given: pc.utf8_length(given[_VALUE]),
    "string_substring": _substring,
    "string_replace": lambda given: given.by_row(
        lambda text, find, replace: text.replace(find, replace) if find else text, _VALUE, "find", "replace"
    ),
    "string_replaceChars": lambda given: given.by_row(_replace_chars, _VALUE, "find", "replace"),
    "string_contains": lambda given: given.by_row(
        _as_boolean_text(lambda text, part: part in text), _VALUE, "string_sub"
    ),
    "string_startsWith": lambda given: given.by_row(_as_boolean_text(str.startswith), _VALUE, "string_sub"),
    "string_endsWith": lambda given: given.by_row(_as_boolean_text(str.endswith), _VALUE, "string_sub"),
    "string_indexOf": lambda given: given.by_row(lambda text, part: str(text.find(part)), _VALUE, "string_sub"),
    "string_lastIndexOf": lambda given: given.by_row(lambda text, part: str(text.rfind(part)), _VALUE, "string_sub"),
    "string_md5": lambda given: given.by_row(lambda text: hashlib.md5(text.encode()).hexdigest(), _VALUE),
    "string_sha1": lambda given: given.by_row(lambda text: hashlib.sha1(text.encode()).hexdigest(), _VALUE),
    "string_reverse": lambda given: pc.utf8_reverse(given[_VALUE]),
    "array_join": _array_join,
    "escape": lambda given: given.by_row(_escape, _VALUE, "modeParam"),
    "math_round": lambda given: given.by_row(_rounded(lambda value: math.floor(value + 0.5)), "dec_n"),
    "math_ceil": lambda given: given.by_row(_rounded(math.ceil), "dec_n"),
    "math_floor": lambda given: given.by_row(_rounded(math.floor), "dec_n"),
    "math_abs": lambda given: given.by_row(_absolute, "dec_n"),
    "controls_if": _if,
    "boolean_not": lambda given: pc.invert(given.truth("bool_b")),
    "boolean_and": lambda given: _both(given, pc.and_kleene),
    "boolean_or": lambda given: _both(given, pc.or_kleene),
    "random": lambda given: string_array([str(uuid.uuid4()) for _ in range(given.rows)]),
    "alwaysReturnsABC": lambda given: text_scalar("ABC"),
    "toUpperCaseURL": lambda given: _upper_url(given, "http://"),
    "toUpperCaseWholeURL": lambda given: _upper_url(given, "HTTP://"),
    "trueCondition": lambda given: pc.if_else(is_true(given.truth("strBoolean")), given["str"], NULL_TEXT),
    "decide": lambda given: pc.if_else(
        is_true(pc.equal(given["str"], given["expectedStr"])), given["result"], NULL_TEXT
    ),
    "equal": lambda given: pc.equal(given[_VALUE], given["valueParam2"]),
    "notEqual": lambda given: pc.not_equal(given[_VALUE], given["valueParam2"]),
    "isNull": lambda given: pc.is_null(given["str"]),
    "isNotNull": lambda given: pc.is_valid(given["str"]),
    "stringContainsOtherString": _contains_other,
    "listContainsElement": _list_contains,
    "inRange": _in_range,
    "getMIMEType": lambda given: given.by_row(_media_type, "str"),
    "lookup": lambda given: _look_up(given, "inputFile", "fromColumn", "toColumn"),
    "lookupWithDelimiter": lambda given: _look_up(given, "inputFile", "fromColumn", "toColumn", "delimiter"),
    "concat": _concat,
    "slugify": _slug,
}


def call_function(functions: FunctionTable, iri: str, given: Mapping[str, Values | None], rows: int) -> Values:
    """The result of a call as text; arrays where the function gives several values."""
    inputs = Inputs(given, rows)
    if functions.is_users(iri):
        user = functions.users[iri]
        made = user.apply(*(spread(inputs[name], rows) for name in user.declared.parameters))
        if isinstance(made, pa.ChunkedArray):
            made = made.combine_chunks()
        return made.cast(pa.string())
    name = functions.declaration(iri).name
    if name in LISTS:
        return split_texts(inputs)
    made = _FUNCTIONS[name](inputs)
    return made if made.type == pa.string() else made.cast(pa.string())
