"""`regex` gives the answers of `re`, and stops at the time limit."""

from __future__ import annotations

import re
import sys
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from expression_rows import freshet_values
from freshet.expressions import timed_regex
from freshet.expressions.regex_steps import Steps, steps_of
from freshet.expressions.timed_regex import RegexLimitError, TimedRegex
from freshet.expressions.xpath_regex import RegexError, pieces
from freshet.rdf.deadline import Deadline, QueryStoppedError
from freshet.rdf.terms import Literal

_ATOMS = (
    *("a", "B", "é", "É", "ß", "i", "I", "ı", "İ", "ſ", "K", ".", " ", "^", "$", "()", "[ab]", "[^a]", "[a-z]", "[^é]"),
    *("[A-ı]", "[ı-ſ]", "[a-z-[aeiou]]", r"\b", r"\B", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\i", r"\c"),
    *(r"\p{Lu}", r"\P{L}", r"\.", r"\\", r"\n", r"[\W\d]", r"[^\W\d]", r"[^\S-[x]]", r"(a)\1"),
)
_TIMES = st.sampled_from(["", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{2,}", "{0,2}?"])
_PATTERNS = st.recursive(
    st.sampled_from(_ATOMS),
    lambda inner: st.one_of(
        st.lists(st.builds(str.__add__, inner, _TIMES), min_size=1, max_size=3).map("".join),
        st.builds("({}|{})".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds(r"({})\1".format, inner),
    ),
    max_leaves=5,
)
# U+0345, no letter whose capital is one, is not here: with the flag i it is one for `regex`
_TEXTS = st.text("aabBéÉßẞiIıİſsKk1²½٣_-. \t\n\r\u0301\u00a0xλ:", max_size=9)
_FLAGS = st.sets(st.sampled_from("imsxq"), max_size=3).map("".join)
EVIL, EVIL_TEXT = "^(a|aa)+$", "a" * 90 + "!"


def both(pattern: str, flags: str) -> tuple[TimedRegex, TimedRegex]:
    """A regular expression that leaves all to `re`, and one that leaves nothing to it."""
    made = []
    for longest in (sys.maxsize, -1):
        with patch.object(Steps, "longest", lambda steps, longest=longest: longest):
            try:
                made.append(TimedRegex(pattern, flags))
            except (RegexError, re.error):
                reject()
    return made[0], made[1]


def spans(regex: TimedRegex, text: str) -> list[list[tuple[int, int]]]:
    """The places of all matches, and of their groups where REPLACE may ask for them."""
    groups = range(1 if regex.takes_nothing else regex.groups + 1)
    return [[match.span(group) for group in groups] for match in regex.matches(text)]


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(_PATTERNS, _FLAGS, st.lists(_TEXTS, min_size=1, max_size=4))
def test_both_give_the_same_matches(pattern: str, flags: str, texts: list[str]) -> None:
    quick, slow = both(pattern, flags)
    if "i" in flags and r"\1" in pattern:  # which letters are the same differs for references
        texts = [re.sub("[ıİſ]", "", text) for text in texts]
    for text in ["", *texts]:
        assert slow.found_in(text) == quick.found_in(text)
        assert spans(slow, text) == spans(quick, text)
    assert slow.takes_nothing == quick.takes_nothing


@pytest.mark.parametrize("call", ['REGEX(?a, "{}")', 'REPLACE(?a, "{}", "")'])
def test_a_value_that_takes_too_long_is_no_error_of_sparql(call: str) -> None:
    """An error of SPARQL would leave the row out, as if it did not match."""
    with patch.object(timed_regex, "SECONDS", 0.05), pytest.raises(RegexLimitError) as caught:
        freshet_values(call.format(EVIL), [(Literal(EVIL_TEXT),), (Literal("b"),)])
    reason = f'the regular expression "{EVIL}" takes longer than 0.05 s over a value of 91 characters'
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    "pattern", ["((a{1000}){1000}){1000}", "(" * 50 + "a" + ")+" * 50, "(" * 13 + "a" + "){2,}" * 13]
)
def test_a_pattern_that_would_be_written_out_for_long_is_refused(pattern: str) -> None:
    with pytest.raises(RegexLimitError, match="more than 100,000 parts"):
        TimedRegex(pattern, "").found_in("a")


def test_many_times_one_character_is_no_large_pattern() -> None:
    assert TimedRegex("^.{0,100000}$", "").found_in("abc")
    assert TimedRegex("^(.{0,100000}b|c)+$", "").found_in("a" * 90 + "b")


def test_what_may_take_long_looks_whether_it_has_to_stop() -> None:
    deadline = Deadline()
    deadline.cancel()
    with deadline.running():
        with pytest.raises(QueryStoppedError):
            TimedRegex(EVIL, "").found_in("a")
        assert TimedRegex("^a+$", "").found_in("a")


@pytest.mark.parametrize(
    ("pattern", "longest"),
    [
        ("abc", 16_666_665),
        ("^abc$", sys.maxsize),
        ("a+b", 4_999),
        ("a+b+", 291),
        ("(?:ab|c)?d", 4_166_665),
        ("(a+)+", -1),
        ("(a|b){2}", -1),
        ("(a?){30}", -1),
        (r"[\S\d]+b", 4_081),
        ("^a{0,100000}$", 16_666_665),
        ("a?" * 30, -1),
        (r"(a*)\1", 291),
    ],
)
def test_how_long_a_text_re_may_have(pattern: str, longest: int) -> None:
    assert steps_of(pieces(pattern)).longest() == longest


def test_a_class_of_many_characters_takes_longer() -> None:
    assert steps_of(pieces(r"[\W\P{N}]+b")).longest() < 1_000
