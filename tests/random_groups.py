"""Random rows that enter groups and leave them, of terms of one family or of several."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from freshet.rdf.terms import RDF_LANG_STRING, BlankNode, Iri, Literal, Term
from group_runs import Event, Row
from oxigraph_expressions import typed

# One form for each number, as oxigraph's store knows only the value.
INTEGERS = st.integers(-(10**9), 10**9).map(lambda number: typed("integer", str(number)))
SMALL_INTEGERS = st.integers(-3, 3).map(lambda number: typed("integer", str(number)))
DECIMALS = (
    st.integers(-(10**6), 10**6)
    .filter(lambda digits: digits % 10)
    .map(lambda digits: typed("decimal", f"{Fraction(digits, 1000).__float__():.10f}".rstrip("0").rstrip(".")))
)
DOUBLES = st.one_of(st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6), st.sampled_from([0.5, 1e17, -1e17]))
ORDINARY_DOUBLES = DOUBLES.map(lambda number: typed("double", repr(number)))
SPECIALS = st.sampled_from([typed("double", text) for text in ("NaN", "INF", "-INF", "1E308", "-1E308", "1.5E307")])
FLOATS = st.sampled_from([typed("float", text) for text in ("0.5", "-2", "NaN", "0.25")])
STRINGS = st.sampled_from([Literal(text) for text in ("", "a", "ab", "a b", "b", "Z", "é", "z")])
MOMENTS = st.sampled_from(
    [typed("dateTime", f"20{year}-01-0{day}T00:00:00Z") for year in (19, 20) for day in (1, 2)]
    + [typed("dateTime", "2020-01-01T05:30:00+01:00")]
)
IRIS = st.sampled_from([Iri(f"http://example.org/{name}") for name in ("a", "ab", "a/b", "b")])
BOOLEANS = st.sampled_from([typed("boolean", text) for text in ("true", "false")])
MIXED = st.one_of(
    SMALL_INTEGERS,
    SMALL_INTEGERS,
    DECIMALS,
    ORDINARY_DOUBLES,
    STRINGS,
    MOMENTS,
    IRIS,
    BOOLEANS,
    st.none(),
    st.just(Literal("a", RDF_LANG_STRING, "en")),
    st.just(Literal("a", Iri("urn:d"))),
)
FAMILIES = [
    SMALL_INTEGERS,
    INTEGERS,
    SMALL_INTEGERS | DECIMALS,
    SMALL_INTEGERS | DECIMALS | ORDINARY_DOUBLES,
    ORDINARY_DOUBLES | SPECIALS | SMALL_INTEGERS,
    FLOATS | SMALL_INTEGERS,
    STRINGS,
    MOMENTS,
    IRIS,
    BOOLEANS,
    MIXED,
    SMALL_INTEGERS | st.none(),
    SMALL_INTEGERS | STRINGS,
]
BLANK_NODES = st.sampled_from([BlankNode(name) for name in ("a", "ab", "b")])  # these no query can write
# Decimals of more digits than are computed with go by their text, and are inline in the dictionary all the same.
LONG_DECIMALS = st.sampled_from(["0.1234567890123456789", "0.0000000000000000000001", "-0.1234567890123456789"]).map(
    lambda text: typed("decimal", text)
)
KEYS = st.sampled_from([None, *(Iri(f"urn:{name}") for name in "abc")])


@st.composite
def histories(draw: st.DrawFn, families: list[st.SearchStrategy[Term | None]]) -> list[tuple[int, list[Row]]]:
    """Batches of rows that enter (1) or leave (-1), only such as are there."""
    values = draw(st.sampled_from(families))
    present: list[Row] = []
    steps: list[tuple[int, list[Row]]] = []
    for _ in range(draw(st.integers(1, 8))):
        if present and draw(st.booleans()):
            count = draw(st.integers(1, len(present)))
            shuffled = draw(st.permutations(present))
            steps.append((-1, shuffled[:count]))
            present = shuffled[count:]
        else:
            rows = draw(st.lists(st.tuples(KEYS, values), min_size=1, max_size=12))
            steps.append((1, rows))
            present = present + rows
    return steps


LAST = 40  # every life has ended
Life = tuple[int, int, Row]  # birth, death, row


@st.composite
def lives(draw: st.DrawFn, families: list[st.SearchStrategy[Term | None]]) -> list[Life]:
    """Rows that live from one moment to another, many at once."""
    values = draw(st.sampled_from(families))
    life = st.tuples(st.integers(1, LAST - 1), st.integers(1, LAST // 2), KEYS, values)
    drawn = draw(st.lists(life, max_size=40))
    return [(birth, min(birth + length, LAST), (key, value)) for birth, length, key, value in drawn]


def events(lives: list[Life], end: int, first: int, last: int) -> list[Event]:
    """What comes (end 0) or goes (end 1) in some moments, in order."""
    found = [(life[end], life[2]) for life in lives if first <= life[end] <= last]
    return sorted(found, key=lambda event: event[0])
