"""What a group makes of its values: sums and their types, the least and the greatest, whatever came and left."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freshet.rdf.terms import RDF_LANG_STRING, Iri, Literal, Term
from group_runs import PROPERTY, double, integer, one_group, rows_of
from oxigraph_expressions import typed


def test_what_left_leaves_no_trace_in_doubles() -> None:
    run = one_group("SUM(?v)")
    small = rows_of(double("0.1"), double("0.2"))
    run.update(small, 1)
    before = run.groups()
    for noise in ("1E17", "1E308", "-1.7976931348623157E308", "INF", "-INF", "NaN"):
        for _ in range(3):
            run.update(rows_of(*[double(noise)] * 4), 1)
        for _ in range(3):
            run.update(rows_of(*[double(noise)] * 4), -1)
        assert run.groups() == before, noise


def test_doubles_start_from_zero_when_the_last_has_left() -> None:
    """Three such sizes are too much for twice the precision of a double, so something would stay."""
    run = one_group("SUM(?v)")
    sizes = [double(text) for text in ("1E30", "1", "1E-30")]
    run.update(rows_of(integer(1), *sizes), 1)
    run.update(rows_of(*sizes), -1)
    run.update(rows_of(double("5E-31")), 1)
    run.update(rows_of(integer(1)), -1)
    assert run.groups() == {None: [double("5.0E-31")]}


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30))
@PROPERTY
def test_integers_overflow_at_64_bits_only_in_the_result(numbers: list[int]) -> None:
    run = one_group("SUM(?v)", "AVG(?v)")
    run.update(rows_of(*map(integer, numbers)), 1)
    total, mean = run.groups()[None]
    assert total == (integer(sum(numbers)) if -(2**63) <= sum(numbers) < 2**63 else None)
    cut = abs(sum(numbers)) * 10**18 // len(numbers) * (1 if sum(numbers) > 0 else -1)
    assert isinstance(mean, Literal)
    assert Fraction(mean.lexical) == Fraction(cut, 10**18)


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_that_fill_a_word_go_again(sign: int) -> None:
    run = one_group("SUM(?v)", "AVG(?v)")
    large = integer(sign * (2**57 - 1))
    for _ in range(70):
        run.update(rows_of(large), 1)
    assert run.groups() == {None: [None, typed("decimal", str(sign * (2**57 - 1)))]}
    for _ in range(69):
        run.update(rows_of(large), -1)
    run.update(rows_of(integer(1)), 1)
    assert run.groups()[None][0] == integer(sign * (2**57 - 1) + 1)


def test_decimals_overflow_and_come_back() -> None:
    large = typed("decimal", "170141183460469231731.687303715884105727")
    run = one_group("SUM(?v)")
    run.update(rows_of(*[large] * 5), 1)
    assert run.groups() == {None: [None]}
    run.update(rows_of(*[large] * 4), -1)
    assert run.groups() == {None: [large]}


def test_the_type_follows_what_the_group_holds_now() -> None:
    run = one_group("SUM(?v)", "AVG(?v)", "COUNT(?v)")
    run.update(rows_of(integer(1), typed("decimal", "2.5"), double("0.5"), Literal("x"), None), 1)
    assert run.groups() == {None: [None, None, integer(4)]}
    run.update(rows_of(Literal("x"), None), -1)
    assert run.groups() == {None: [double("4.0E0"), double("1.3333333333333333E0"), integer(3)]}
    run.update(rows_of(double("0.5")), -1)
    assert run.groups() == {None: [typed("decimal", "3.5"), typed("decimal", "1.75"), integer(2)]}
    run.update(rows_of(typed("decimal", "2.5")), -1)
    assert run.groups() == {None: [integer(1), typed("decimal", "1"), integer(1)]}
    run.update(rows_of(integer(1)), -1)
    assert run.groups() == {}


def test_order_of_mixed_terms_is_one_whatever_the_arrival() -> None:
    terms = [
        Iri("urn:a"), Iri("urn:ab"), integer(1), typed("decimal", "1.0"), double("1.0E0"), integer(9), integer(10),
        double("NaN"), typed("dateTime", "2020-01-01T00:00:00Z"), typed("boolean", "false"), typed("boolean", "true"),
        Literal("10a"), Literal("a"), Literal("a", RDF_LANG_STRING, "en"),
    ]  # fmt: skip
    for first in range(len(terms)):
        for last in range(first, len(terms)):
            some = terms[first : last + 1]
            for arrival in (some, some[::-1]):
                run = one_group("MIN(?v)", "MAX(?v)")
                run.update(rows_of(*arrival[::2]), 1)
                run.groups()
                run.update(rows_of(*arrival[1::2]), 1)
                assert run.groups() == {None: [some[0], some[-1]]}


def text(number: int) -> Literal:
    return Literal(f"{number:03}")


def iri(number: int) -> Iri:
    return Iri(f"http://example.org/{number:03}")


@pytest.mark.parametrize("term", [integer, text, iri])
def test_least_and_greatest_leave_one_by_one(term: Callable[[int], Term]) -> None:
    numbers = np.random.default_rng(7).permutation(500)
    run = one_group("MIN(?v)", "MAX(?v)")
    run.update(rows_of(*(term(int(number)) for number in numbers)), 1)
    for number in range(200):
        assert run.groups() == {None: [term(number), term(499 - number)]}
        run.update(rows_of(term(number), term(499 - number)), -1)


@pytest.mark.parametrize("term", [integer, text])
def test_least_and_greatest_of_windows_that_slide(term: Callable[[int], Term]) -> None:
    """Members of many groups leave in order of arrival, or in any other; some come again before they have left."""
    random = np.random.default_rng(11)
    keys = [Iri(f"urn:{number}") for number in range(7)]
    for in_order in (True, False):
        run = one_group("MIN(?v)", "MAX(?v)")
        present: list[tuple[int, int]] = []
        for _ in range(60):
            came = [(int(key), int(number)) for key, number in random.integers(0, (7, 200), (40, 2))]
            present += came
            run.update([(keys[key], term(number)) for key, number in came], 1)
            left = len(present) - 150
            if left > 0:
                if not in_order:
                    random.shuffle(present)
                run.update([(keys[key], term(number)) for key, number in present[:left]], -1)
                present = present[left:]
            expected = {
                keys[key]: [term(end(number for other, number in present if other == key)) for end in (min, max)]
                for key in {key for key, _ in present}
            }
            assert run.groups() == expected


def test_nan_is_the_greatest_number_and_sums_to_nan() -> None:
    run = one_group("MIN(?v)", "MAX(?v)", "SUM(?v)")
    run.update(rows_of(double("NaN"), integer(1)), 1)
    assert run.groups() == {None: [integer(1), double("NaN"), double("NaN")]}
