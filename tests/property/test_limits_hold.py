"""Whatever a query is, it ends within its limit and a second, with an answer or an error that says why."""

from __future__ import annotations

from contextlib import suppress
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freshet
from query_corpus import EDITS, QUERIES, edited

SECONDS = 0.2
GRACE = 1.0
ONE = (
    "STR",
    "UCASE",
    "LCASE",
    "ENCODE_FOR_URI",
    "STRLEN",
    "ABS",
    "ROUND",
    "SHA256",
    "LANG",
    "DATATYPE",
    "IRI",
    "-",
    "!",
)
TWO = ("CONCAT", "STRBEFORE", "STRAFTER", "CONTAINS", "REGEX", "STRDT", "STRLANG", "SUBSTR", "COALESCE", "SAMETERM")
THREE = ("CONCAT", "REPLACE", "SUBSTR", "IF")
LEAVES = st.sampled_from(
    [
        "?a",
        "?b",
        "?t",
        "?none",
        "1",
        "-0.5",
        "1e400",
        "9" * 5000,
        '"a.b"',
        '"(a+)+$"',
        '"$0$0"',
        '"é"@fr',
        "<x:y>",
        '"."',
    ]
)


def calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{}({})".format, st.sampled_from(ONE), inner),
        st.builds("{}({}, {})".format, st.sampled_from(TWO), inner, inner),
        st.builds("{}({}, {}, {})".format, st.sampled_from(THREE), inner, inner, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "*", "/", "=", "<", "&&"]), inner),
        st.builds('REPLACE({}, ".", "$0$0$0")'.format, inner),
        st.builds("CONCAT({0}, {0}, {0})".format, inner),
    )


EXPRESSIONS = st.recursive(LEAVES, calls, max_leaves=12)
NUMBERS = " ".join(map(str, range(1000)))
PATTERNS = (
    f"VALUES ?a {{ {NUMBERS} }} VALUES ?b {{ {NUMBERS} }}",
    'VALUES ?t { "a" "b" "" }',
    f"VALUES ?a {{ {NUMBERS} }} VALUES ?b {{ {NUMBERS} }} VALUES ?c {{ {NUMBERS} }}",
)
FORMS = (
    "SELECT ({0} AS ?x) {{ {1} }}",
    "SELECT (GROUP_CONCAT({0}) AS ?x) (MAX({0}) AS ?y) {{ {1} }}",
    "SELECT * {{ {1} FILTER({0}) }}",
    "SELECT DISTINCT ?x {{ {1} BIND({0} AS ?x) }} ORDER BY ?x",
    "SELECT ?k (SUM(?b) AS ?x) {{ {1} }} GROUP BY ({0} AS ?k)",
    "CONSTRUCT {{ ?a <p:p> ?x }} {{ {1} BIND({0} AS ?x) }}",
)


@pytest.fixture(scope="module")
def session() -> freshet.Session:
    return freshet.Session()


def ask(session: freshet.Session, text: str) -> None:
    """An answer or a FreshetError in time; whatever else is raised goes through.

    Time is that of the processor, on both sides. The first time may load kernels, the second one does not.
    """
    for _ in range(2):
        began = thread_time()
        with suppress(freshet.FreshetError):
            session.query(text, deadline=freshet.Deadline(SECONDS, 64 << 20, thread_time))
        if thread_time() - began < SECONDS + GRACE:
            return
    pytest.fail(f"it took {thread_time() - began:.2f} s: {text[:1000]}")


@given(EXPRESSIONS, st.sampled_from(PATTERNS), st.sampled_from(FORMS))
@settings(max_examples=120, deadline=None)
def test_expressions(session: freshet.Session, expression: str, pattern: str, form: str) -> None:
    ask(session, form.format(expression, pattern))


@given(st.sampled_from(QUERIES), EDITS)
@settings(max_examples=150, deadline=None)
def test_edited_queries(session: freshet.Session, text: str, edits: object) -> None:
    ask(session, edited(text, edits))  # type: ignore[arg-type]
