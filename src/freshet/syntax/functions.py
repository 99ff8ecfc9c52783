"""The built-in functions of SPARQL 1.2 (section 17.4) and how many arguments each takes."""

from __future__ import annotations

from difflib import get_close_matches

from freshet.rdf.terms import XSD

_ONE = (
    "STR LANG DATATYPE BOUND IRI ABS CEIL FLOOR ROUND STRLEN UCASE LCASE ENCODE_FOR_URI YEAR MONTH DAY HOURS MINUTES "
    "SECONDS TIMEZONE TZ MD5 SHA1 SHA256 SHA384 SHA512 ISIRI ISBLANK ISLITERAL ISNUMERIC "
    "LANGDIR HASLANG HASLANGDIR ISTRIPLE SUBJECT PREDICATE OBJECT"
)
_TWO = "LANGMATCHES CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER STRLANG STRDT SAMETERM"

ARGUMENT_COUNTS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(("RAND", "NOW", "UUID", "STRUUID"), (0, 0)),
    "BNODE": (0, 1),
    **dict.fromkeys(_ONE.split(), (1, 1)),
    **dict.fromkeys(_TWO.split(), (2, 2)),
    **dict.fromkeys(("IF", "TRIPLE", "STRLANGDIR"), (3, 3)),
    "REGEX": (2, 3),
    "SUBSTR": (2, 3),
    "REPLACE": (3, 4),
    "CONCAT": (0, None),
    "COALESCE": (0, None),
}
"""Least and most arguments by name; None is any number."""

SYNONYMS = {"URI": "IRI", "ISURI": "ISIRI"}
"""Two names of one function: the algebra has the second."""

_XPATH = "http://www.w3.org/2005/xpath-functions#"
_MATH = "http://www.w3.org/2005/xpath-functions/math#"

BY_IRI = {
    _XPATH + name: function
    for name, function in {
        **{name.lower(): name for name in ("ABS", "FLOOR", "ROUND", "CONCAT", "CONTAINS", "REPLACE")},
        "ceiling": "CEIL",
        "string-length": "STRLEN",
        "substring": "SUBSTR",
        "substring-before": "STRBEFORE",
        "substring-after": "STRAFTER",
        "upper-case": "UCASE",
        "lower-case": "LCASE",
        "starts-with": "STRSTARTS",
        "ends-with": "STRENDS",
        "encode-for-uri": "ENCODE_FOR_URI",
        "matches": "REGEX",
        "current-dateTime": "NOW",
        **{
            f"{name}-from-dateTime": f"{name.upper()}"
            for name in ("year", "month", "day", "hours", "minutes", "seconds")
        },
        "timezone-from-dateTime": "TIMEZONE",
    }.items()
}
"""The functions of XPath that SPARQL's functions are defined by (section 17.3): the same by another name."""

_MATH_COUNTS = {"pi": 0, "pow": 2, "atan2": 2}
_JENA = ("http://jena.apache.org/ARQ/function#", "http://jena.hpl.hp.com/ARQ/function#")
_JENA_COUNTS = {"localname": 1, "namespace": 1, "sqrt": 1, "pi": 0}
BY_IRI |= {space + "now": "NOW" for space in _JENA}

AGGREGATES = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")


def wrong_count(function: str, count: int) -> str | None:
    """What to say where a function is not given the arguments it takes.

    >>> wrong_count("STRLEN", 2)
    'STRLEN takes 1 argument, not 2'
    """
    least, most = ARGUMENT_COUNTS[function]
    if least <= count and (most is None or count <= most):
        return None
    takes = str(least) if least == most else f"{least} to {most}"
    return f"{function} takes {takes} argument{'' if most == 1 else 's'}, not {count}"


def wrong_count_by_iri(iri: str, count: int) -> str | None:
    """The same of a cast or a function of mathematics; nothing is known of others.

    >>> wrong_count_by_iri("http://www.w3.org/2001/XMLSchema#integer", 2)
    'integer takes 1 argument, not 2'
    """
    space, mark, name = iri.partition("#")
    if space + mark not in (XSD, _MATH, *_JENA) or (space + mark in _JENA and name not in _JENA_COUNTS):
        return None
    takes = 1 if space + mark == XSD else {**_MATH_COUNTS, **_JENA_COUNTS}.get(name, 1)
    return None if takes == count else f"{name} takes {takes} argument{'' if takes == 1 else 's'}, not {count}"


def similar(name: str) -> str | None:
    """The function or aggregate whose name is most like this one."""
    known = [*ARGUMENT_COUNTS, *SYNONYMS, *AGGREGATES]
    return next(iter(get_close_matches(name.upper(), known, n=1, cutoff=0.6)), None)
