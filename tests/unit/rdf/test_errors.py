import pickle

import pytest

from freshet.rdf.errors import FreshetError, InputError, QuerySyntaxError, UnsupportedError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FreshetError("no"), "no"),
        (InputError("no", file="a.ttl"), "a.ttl: no"),
        (InputError("no", file="a.ttl", line=3), "a.ttl:3: no"),
        (InputError("no", file="a.ttl", line=3, column=7), "a.ttl:3:7: no"),
        (InputError("no", line=3, column=7), "line 3:7: no"),
        (UnsupportedError("no", hint="yes"), "no (yes)"),
        (QuerySyntaxError("one\ntwo", file="q.rq", line=1, column=2, excerpt="x\n^"), "q.rq:1:2: one two"),
    ],
)
def test_one_line_with_the_place(error: FreshetError, text: str) -> None:
    assert str(error) == text


def test_errors_travel_between_processes() -> None:
    error = QuerySyntaxError("no", file="q.rq", line=1, column=2, hint="yes", excerpt="x\n^")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is QuerySyntaxError
    assert (str(copy), copy.excerpt, copy.line) == (str(error), "x\n^", 1)
