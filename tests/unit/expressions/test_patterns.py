"""REGEX and REPLACE: XPath's regular expressions, translated for Python."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expression_rows import agree, freshet_values, value
from freshet.expressions.patterns import compile_regex
from freshet.expressions.timed_regex import TimedRegex
from freshet.rdf.terms import RDF_LANG_STRING, Literal, Term
from oxigraph_expressions import typed

TRUE, FALSE = typed("boolean", "true"), typed("boolean", "false")

_ATOMS = ["a", "b", "B", "é", ".", "[ab]", "[^a]", "[a-c]", r"\\d", r"\\.", r"\\p{Lu}", "(a|b)", "(?:ab)", r"[\\d-]"]
PATTERNS = st.lists(
    st.builds(lambda atom, times: atom + times, st.sampled_from(_ATOMS), st.sampled_from(["", "*", "+", "?", "{2}"])),
    min_size=1,
    max_size=4,
).map("".join)
TEXTS = st.text("abcBé1-. \n", max_size=8).map(Literal)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(TEXTS), min_size=1, max_size=10), PATTERNS, st.sampled_from(["", "i", "s", "m", "x", "q"]))
def test_regex_as_oxigraph(rows: list[tuple[Literal]], pattern: str, flags: str) -> None:
    agree([f'REGEX(?a, "{pattern}", "{flags}")', f'REGEX(?a, "{pattern}")'], rows)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXTS), min_size=1, max_size=10), PATTERNS, st.sampled_from(["", "x", "<$0>", "[$1]"]))
def test_replace_as_oxigraph(rows: list[tuple[Literal]], pattern: str, replacement: str) -> None:
    """A pattern that may match nothing is an error, which oxigraph does not find."""
    call = f'REPLACE(?a, "{pattern}", "{replacement}")'
    regex = compile_regex(pattern.replace("\\\\", "\\"), "")
    assert regex is not None
    if regex.takes_nothing:
        assert freshet_values(call, rows) == [None] * len(rows)
    else:
        agree([call], rows)


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "matches"),
    [
        ("a$", "", "a\n", False),
        ("a$", "m", "a\nb", True),
        ("^b", "m", "a\nb", True),
        ("^$", "m", "a\n", False),  # no line begins behind the last newline
        ("^b", "", "a\nb", False),
        ("a.b", "", "a\nb", False),
        ("a.b", "s", "a\nb", True),
        ("a b", "x", "ab", True),
        ("a[ ]b", "x", "a b", True),
        ("a.c", "q", "abc", False),
        ("A\\.C", "iq", "a\\.c", True),
        (r"\s", "", "\u00a0", False),
        (r"\S", "", "\u00a0", True),
        (r"^[\i-[:]][\c-[:]]*$", "", "x-1", True),
        (r"^[\i-[:]][\c-[:]]*$", "", "1x", False),
        (r"[a-z-[aeiou]]", "", "e", False),
        (r"[^a-[b]]", "", "b", False),
        (r"\p{Lu}\P{Lu}", "", "Éé", True),
        (r"[\P{L}]", "", "a", False),
        (r"[^\P{L}]", "", "a", True),
        (r"[\S\d]", "", " ", False),
        (r"\p{IsGreek}", "", "λ", True),
        (r"(a)(b)\2\1", "", "abba", True),
        (r"(a)\10", "", "aa0", True),
        ("[a-]", "", "-", True),
        ("[-a]", "", "-", True),
        ("a{2,3}?", "", "aa", True),
        (r"\|\{\}\^\$", "", "|{}^$", True),
        ("ß", "i", "ß", True),
    ],
)
def test_patterns_of_xpath(pattern: str, flags: str, text: str, matches: bool) -> None:
    regex = compile_regex(pattern, flags)
    assert regex is not None
    assert regex.found_in(text) == matches


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "[",
            "]",
            "a**",
            "*a",
            "a*+",
            "(",
            ")",
            "(?=a)",
            "(?i)a",
            "(?P<n>a)",
            "{",
            "}",
            "a{,2}",
            "a{2",
            "[]",
            "[z-a]",
        ),
        *("[z-a]", "a|*", "[a[b]]", "(?:a", "[a-[b]c]", r"\x41", r"\A", r"\p{Xx}", r"\p{IsNowhere}", r"\1", r"(a\1)"),
        *(r"[a-\d]", "\\", r"\p"),
    ],
)
def test_what_is_no_pattern_is_an_error(pattern: str) -> None:
    assert compile_regex(pattern, "") is None


@given(st.text("ab[](){}\\^$.|?*+-:=!<P123,dpiL ", max_size=12), st.sampled_from(["", "i", "x", "m", "s"]))
@settings(max_examples=300, deadline=None)
def test_no_pattern_raises(pattern: str, flags: str) -> None:
    regex = compile_regex(pattern, flags)
    assert regex is None or isinstance(regex, TimedRegex)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # fn:replace's examples
        ('REPLACE("abracadabra", "bra", "*")', Literal("a*cada*")),
        ('REPLACE("abracadabra", "a.*a", "*")', Literal("*")),
        ('REPLACE("abracadabra", "a.*?a", "*")', Literal("*c*bra")),
        ('REPLACE("abracadabra", "a", "")', Literal("brcdbr")),
        ('REPLACE("abracadabra", "a(.)", "a$1$1")', Literal("abbraccaddabbra")),
        ('REPLACE("abracadabra", ".*?", "$1")', None),
        ('REPLACE("AAAA", "A+", "b")', Literal("b")),
        ('REPLACE("darted", "^(.*?)d(.*)$", "$1c$2")', Literal("carted")),
        ('REPLACE("abc"@en, "b", "Z")', Literal("aZc", RDF_LANG_STRING, "en")),
        ('REPLACE("abc", "B", "$0$0", "i")', Literal("abbc")),
        ('REPLACE("a$c", "$", "\\\\$", "q")', Literal("a\\$c")),
        ('REPLACE("abc", "b", "\\\\$1")', Literal("a$1c")),
        ('REPLACE("abc", "b", "\\\\n")', None),
        ('REPLACE("abc", "b", "$")', None),
        ('REPLACE("abc", "(b)", "$12")', Literal("ab2c")),
        ('REPLACE("abc", "(b)|(c)", "[$2]")', Literal("a[][c]")),
        ('REPLACE("abc", "b", "$1")', Literal("ac")),
        ('REPLACE("abc", "b"@en, "x")', None),
        ('REGEX("abc", "b", "k")', None),
        ('REGEX("abc"@en, "B", "i")', TRUE),
        ('REGEX("abc", "b"@en)', None),
        ("REGEX(<urn:b>, 'b')", None),
        ('REGEX(STR(<urn:b>), "b$")', TRUE),
    ],
)
def test_examples(text: str, expected: Term | None) -> None:
    assert value(text) == expected
