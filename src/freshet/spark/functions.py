"""The functions of mappings (`rml/functions.py`) as Spark expressions. A user's functions run on Arrow batches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import Column
from pyspark.sql import functions as F

from freshet.mapper.lookup_files import LookupFile, look_up
from freshet.mapper.operations import LISTS, FunctionTable
from freshet.rml.functions import MEDIA_TYPES

Inputs = Mapping[str, Column | None]  # by the name of the parameter; None where it is not given


def _substring(given: Inputs) -> Column:
    """Nothing where it begins behind the end of the text."""
    text, start = _text(given, "valueParam"), _number(given, "int_i_from").cast("int")
    to = given.get("int_i_opt_to")
    length = F.length(text)
    stop = length if to is None else F.least(to.cast("int"), length)
    return F.when((start >= 0) & (start <= length), F.substring(text, start + 1, F.greatest(stop - start, F.lit(0))))


def _upper_url(given: Inputs, scheme: str = "http://") -> Column:
    upper = F.upper(_text(given, "str"))
    return F.when(upper.startswith("HTTP"), upper).otherwise(F.concat(F.lit(scheme), upper))


_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_ESCAPES: dict[str, Callable[[Column], Column]] = {
    "url": lambda text: F.url_encode(text),
    "javascript": lambda text: _replaced(text, {"\\": "\\\\", '"': '\\"', "'": "\\'", "\n": "\\n"}),
    "csv": lambda text: F.when(
        text.rlike('[",\n]'), F.concat(F.lit('"'), _replaced(text, {'"': '""'}), F.lit('"'))
    ).otherwise(text),
}


def _escape(given: Inputs) -> Column:
    text, mode = _text(given, "valueParam"), F.lower(_text(given, "modeParam"))
    made = F.when(mode.isin("html", "xml"), _replaced(text, _HTML))
    for name, change in _ESCAPES.items():
        made = made.when(mode == name, change(text))
    return made


def _replaced(text: Column, changes: Mapping[str, str]) -> Column:
    for before, after in changes.items():
        text = F.replace(text, F.lit(before), F.lit(after))
    return text


def _concat(given: Inputs) -> Column:
    delimiter = given.get("delimiter")
    between = [] if delimiter is None else [delimiter]
    return F.concat(_text(given, "str"), *between, _text(given, "otherStr"))


def _if(given: Inputs) -> Column:
    made = F.when(_truth(given, "bool_b"), _text(given, "any_true"))
    otherwise = given.get("any_false")
    return made if otherwise is None else made.otherwise(otherwise)


def _slug(given: Inputs) -> Column:
    return F.regexp_replace(F.regexp_replace(F.lower(_text(given, "str")), "[^a-z0-9]+", "-"), "^-+|-+$", "")


def _last_index(given: Inputs) -> Column:
    """Counted from the end, where the text is found turned around."""
    text, wanted = _text(given, "valueParam"), _text(given, "string_sub")
    behind = F.instr(F.reverse(text), F.reverse(wanted))
    return F.when(behind == 0, F.lit(-1)).otherwise(F.length(text) - behind - F.length(wanted) + 1)


def _both(given: Inputs, combine: Callable[[Column, Column], Column]) -> Column:
    first = _truth(given, "rep_b")
    return first if given.get("rep_b2") is None else combine(first, _truth(given, "rep_b2"))


def _contains_other(given: Inputs) -> Column:
    """Whether a text is one of the pieces of another, or a part of it where no delimiter is given."""
    text, other = _text(given, "str"), _text(given, "otherStr")
    delimiter = given.get("delimiter")
    part = F.contains(text, other)
    if delimiter is None:
        return part
    pieces = F.split(text, F.concat(F.lit("\\Q"), delimiter, F.lit("\\E")))
    return F.when(F.coalesce(delimiter, F.lit("")) == "", part).otherwise(F.array_contains(pieces, other))


def _in_range(given: Inputs) -> Column:
    """Of bounds that are no numbers nothing is asked; what is not a number is in no range."""
    value, first, end = (_number(given, name) for name in ("test", "from", "to"))
    is_number = value.isNotNull() & ~F.isnan(value)
    above = first.isNull() | (~F.isnan(first) & (value >= first))
    return F.coalesce(is_number & above & (end.isNull() | (~F.isnan(end) & (value < end))), F.lit(False))


def _media_type(given: Inputs) -> Column:
    text = _text(given, "str")
    made = F.lit(None).cast("string")
    for extension, name in MEDIA_TYPES.items():
        made = F.when(text.endswith(f".{extension}"), F.lit(name)).otherwise(made)
    return made


def _look_up(given: Inputs, *constants: str) -> Column:
    arguments = [_text(given, name) for name in ("str", *constants)]
    found: Column = F.arrow_udf(_look_up_batch, "string")(*arguments)  # type: ignore[attr-defined]
    return found


def _look_up_batch(texts: pa.Array, *constants: pa.Array) -> pa.Array:
    """A batch in a worker of Spark, which reads the file where that is."""
    if not len(texts):
        return texts
    return look_up(texts, LookupFile(*(each[0].as_py() for each in constants)))


def _text(given: Inputs, name: str) -> Column:
    found = given.get(name)
    return F.lit(None).cast("string") if found is None else found


def _number(given: Inputs, name: str) -> Column:
    return _text(given, name).try_cast("double")


def _truth(given: Inputs, name: str) -> Column:
    return F.lower(_text(given, name)).isin("true", "1")


_VALUE = "valueParam"
_COLUMNS: dict[str, Callable[[Inputs], Column]] = {
    "toUpperCase": lambda given: F.upper(_text(given, _VALUE)),
    "toLowerCase": lambda given: F.lower(_text(given, _VALUE)),
    "toTitleCase": lambda given: F.initcap(_text(given, _VALUE)),
    "string_trim": lambda given: F.regexp_replace(_text(given, _VALUE), r"^\s+|\s+\z", ""),
    "string_length": lambda given: F.length(_text(given, _VALUE)),
    "string_substring": _substring,
    "string_replace": lambda given: F.replace(_text(given, _VALUE), _text(given, "find"), _text(given, "replace")),
    "string_replaceChars": lambda given: F.call_function(
        "translate", _text(given, _VALUE), _text(given, "find"), _text(given, "replace")
    ),
    "string_contains": lambda given: F.contains(_text(given, _VALUE), _text(given, "string_sub")),
    "string_startsWith": lambda given: F.startswith(_text(given, _VALUE), _text(given, "string_sub")),
    "string_endsWith": lambda given: F.endswith(_text(given, _VALUE), _text(given, "string_sub")),
    "string_indexOf": lambda given: F.instr(_text(given, _VALUE), _text(given, "string_sub")) - 1,
    "string_lastIndexOf": _last_index,
    "string_md5": lambda given: F.md5(_text(given, _VALUE)),
    "string_sha1": lambda given: F.sha1(_text(given, _VALUE)),
    "string_reverse": lambda given: F.reverse(_text(given, _VALUE)),
    "array_join": lambda given: F.call_function("array_join", _text(given, "array_a"), _text(given, "string_sep")),
    "escape": _escape,
    "math_round": lambda given: F.floor(_number(given, "dec_n") + 0.5),
    "math_ceil": lambda given: F.ceil(_number(given, "dec_n")),
    "math_floor": lambda given: F.floor(_number(given, "dec_n")),
    "math_abs": lambda given: F.abs(_number(given, "dec_n")),
    "controls_if": _if,
    "boolean_not": lambda given: ~_truth(given, "bool_b"),
    "boolean_and": lambda given: _both(given, Column.__and__),
    "boolean_or": lambda given: _both(given, Column.__or__),
    "random": lambda given: F.expr("uuid()"),
    "alwaysReturnsABC": lambda given: F.lit("ABC"),
    "toUpperCaseURL": _upper_url,
    "toUpperCaseWholeURL": lambda given: _upper_url(given, "HTTP://"),
    "trueCondition": lambda given: F.when(_truth(given, "strBoolean"), _text(given, "str")),
    "decide": lambda given: F.when(_text(given, "str") == _text(given, "expectedStr"), _text(given, "result")),
    "equal": lambda given: _text(given, _VALUE) == _text(given, "valueParam2"),
    "notEqual": lambda given: _text(given, _VALUE) != _text(given, "valueParam2"),
    "isNull": lambda given: _text(given, "str").isNull(),
    "isNotNull": lambda given: _text(given, "str").isNotNull(),
    "stringContainsOtherString": _contains_other,
    "listContainsElement": lambda given: F.coalesce(
        F.array_contains(_text(given, "list"), _text(given, "str")), F.lit(False)
    ),
    "inRange": _in_range,
    "getMIMEType": _media_type,
    "lookup": lambda given: _look_up(given, "inputFile", "fromColumn", "toColumn"),
    "lookupWithDelimiter": lambda given: _look_up(given, "inputFile", "fromColumn", "toColumn", "delimiter"),
    "concat": _concat,
    "slugify": _slug,
}


def _split(given: Inputs) -> Column:
    """The pieces of a text between separators, as an array."""
    # Spark splits by a pattern; \Q..\E takes the separator as it is. Only of an empty pattern it knows that characters
    # may be pairs of Java's.
    text, separator = _text(given, _VALUE), _text(given, "string_sep")
    pieces = F.split(text, F.concat(F.lit("\\Q"), separator, F.lit("\\E")))
    return F.when(separator == "", F.split(text, F.lit(""))).otherwise(pieces)


def send_users(functions: FunctionTable) -> None:
    """Have users' functions sent to Spark's workers, as their file is no module that these could import."""
    for user in functions.users.values():
        cloudpickle.register_pickle_by_value(sys.modules[user.apply.__module__])  # type: ignore[no-untyped-call]


def call_column(functions: FunctionTable, iri: str, given: Inputs) -> Column:
    """The result of a call, as text; an array where the function gives several values."""
    if not functions.is_users(iri):
        name = functions.declaration(iri).name
        return _split(given) if name in LISTS else _COLUMNS[name](given).cast("string")
    send_users(functions)
    user = functions.users[iri]
    arguments = [_text(given, name) for name in user.declared.parameters]
    called: Column = F.arrow_udf(user.apply, "string")(*arguments)  # type: ignore[attr-defined]
    return called
