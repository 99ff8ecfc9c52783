"""Random comparisons between windows: what the ordered index leaves out would not have passed the FILTER.

Values that pyoxigraph compares as we do are answered as the reference answers; all others (floats beside decimals, NaN,
infinities, numbers at the end of what float64 holds) as by a cross product.
"""

from __future__ import annotations

import re
from random import Random

import pytest

from comparing import differences, reports_of
from counts import count
from freshet.native.operators.join_plan import JoinPlan
from random_streams import batches
from reference.evaluator import evaluate
from reference.rewriting import rewrite
from session_runs import Lines, run_session

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
STREAMS = (EX + "s", EX + "t", EX + "u")
CASES = count(400, "FRESHET_CASES") // 4 or 1

# With A and B for what is compared, and C for constants.
FORMS = (
    "A > B - C && A < B + C",
    "A >= B && A <= B + C",
    "A - B < C && B - A < C",
    "ABS(A - B) <= C",
    "A = B + C",
    "A = B",
    "A * 2 < B && A + C > B",
    "A / -2 <= B - C && C - A <= 3 + B",
    "-A > B && A + 1 >= C - B",
    "A < B",
    "C >= B - A && (A > 0 || B > 0) && A >= B",
    "A * 0 <= B && 3 * A - C > B",
)


def number(dice: Random) -> str:
    value = dice.randrange(-8, 9)
    kind = dice.choice(("integer", "integer", "decimal", "double"))
    text = str(value) if kind == "integer" else f"{value}.{dice.choice(('25', '5'))}"
    return f'"{text}"^^<{XSD}{kind}>'


def ordinary(dice: Random) -> str:
    """A term that the reference compares as we do."""
    kind = dice.randrange(12)
    if kind == 0:
        day, hour, zone = dice.randrange(1, 9), dice.randrange(9), dice.choice(("Z", "+05:00"))
        return f'"2026-01-0{day}T0{hour}:00:00{zone}"^^<{XSD}dateTime>'
    if kind == 1:
        return dice.choice(("<http://example.org/a>", '"text"', '"5"', '"b"@en', f'"true"^^<{XSD}boolean>'))
    return number(dice)


def moment(dice: Random) -> str:
    zone = dice.choice(("Z", "Z", "", "+14:00", "-08:00"))
    day, time = (
        f"2026-01-0{dice.randrange(1, 5)}",
        f"{dice.randrange(10, 24)}:0{dice.randrange(9)}:00.{dice.randrange(9)}",
    )
    texts = {"dateTime": f"{day}T{time}{zone}", "date": f"{day}{zone}", "time": f"{time}{zone}"}
    kind = dice.choice(("dateTime", "dateTime", "date", "time"))
    return f'"{texts[kind]}"^^<{XSD}{kind}>'


def extreme(dice: Random) -> str:
    kind = dice.choice(("float", "double", "decimal", "integer"))
    texts = {
        "float": ("NaN", "INF", "-INF", "0.1", "3.4028235e38", "1e-40", "16777217", "-0", "2.5", "0.3"),
        "double": ("NaN", "INF", "-INF", "0.1", "1e300", "-1e300", "5e-324", "9007199254740993", "2.5", "0.3", "1e38"),
        "decimal": ("0.1", "0.3", "0.000000000000000001", "-0.000000000000000001", "9007199254740993.5", "2.5", "2.50"),
        "integer": ("0", "16777217", "9007199254740993", "9007199254740992", "1000000000000000000", "3", "-3"),
    }[kind]
    return f'"{dice.choice(texts)}"^^<{XSD}{kind}>'


def constant(dice: Random, value) -> str:
    return str(dice.randrange(0, 6)) if value is not extreme else dice.choice(("0", "0.1", "1e0", "5", "1e300"))


def query_of(dice: Random, value) -> str:
    windows = dice.choice(("[RANGE PT2S STEP PT1S]", "[COUNT 7]", "[RANGE PT3S STEP PT1S]"))
    names = ["a", "b", *("c" * dice.randrange(2))]
    blocks = [f"WINDOW :{name} {{ ?{name}s :p ?{name} }}" for name in names]
    froms = [f"FROM NAMED WINDOW :{name} ON <{stream}> {windows}" for name, stream in zip(names, STREAMS, strict=False)]
    filters = [dice.choice(FORMS)]
    if len(names) == 3:
        filters.append(dice.choice(("?c > ?a && ?c < ?b + 2", "?c = ?b", "?c - ?a >= ?b")))
    filters = [re.sub(r"\bC\b", lambda _: constant(dice, value), each) for each in filters]
    filters = [re.sub(r"\bA\b", "?a", re.sub(r"\bB\b", "?b", each)) for each in filters]
    where = " ".join([*blocks, *(f"FILTER ({each})" for each in filters)])
    output = dice.choice(("RSTREAM", "ISTREAM", "DSTREAM"))
    return f"PREFIX : <{EX}> REGISTER {output} :q AS SELECT * {' '.join(froms)} WHERE {{ {where} }}"


def streams_of(dice: Random, value) -> dict[str, Lines]:
    return {
        stream: [
            (400 * at + dice.randrange(400), f"<{EX}n{dice.randrange(6)}> <{EX}p> {value(dice)} .")
            for at in range(dice.randrange(4, 22))
        ]
        for stream in STREAMS
    }


def found_by(query: str, streams: dict[str, Lines], dice: Random) -> list[dict]:
    return run_session(query, batches(streams, dice), name=EX + "q", streams=streams)


def test_range_joins_answer_as_the_reference() -> None:
    answered = 0
    for seed in range(CASES):
        dice = Random(seed)
        query, streams = query_of(dice, ordinary), streams_of(dice, ordinary)
        asked = rewrite(query, streams)
        expected = reports_of(evaluate(query, streams), asked.name, asked.output)
        answered += bool(expected)
        wrong = differences(found_by(query, streams, dice), expected)
        assert not wrong, f"seed {seed}\n{query}\n{streams}\n{wrong}"
    assert answered > CASES // 4


@pytest.mark.parametrize("value", [extreme, moment, ordinary])
def test_range_joins_answer_as_a_cross_product(value, monkeypatch: pytest.MonkeyPatch) -> None:
    ranges, seen = JoinPlan._range, []

    def noted(self: JoinPlan, joined: int, at: int) -> object:
        found = ranges(self, joined, at)
        seen.append(found is not None)
        return found

    for seed in range(CASES):
        dice = Random(seed)
        query, streams = query_of(dice, value), streams_of(dice, value)
        monkeypatch.setattr(JoinPlan, "_range", noted)
        found = found_by(query, streams, Random(seed))
        monkeypatch.setattr(JoinPlan, "_range", lambda *_: None)
        expected = found_by(query, streams, Random(seed))
        wrong = differences(found, expected)
        assert not wrong, f"seed {seed}\n{query}\n{streams}\n{wrong}"
    assert any(seen)
