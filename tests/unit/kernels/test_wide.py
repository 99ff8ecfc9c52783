"""128-bit arithmetic in two words against Python's integers, which have as many bits as they need."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels import wide

UNIT = 10**18
LEAST, GREATEST = -(2**127), 2**127 - 1

EDGES = [0, 1, -1, LEAST, LEAST + 1, GREATEST, UNIT, -UNIT, 2**64, 2**64 - 1, -(2**64), 2**63, 10**38]
NUMBERS = st.one_of(
    st.integers(LEAST, GREATEST),
    st.integers(-(10**6), 10**6).map(lambda number: number * UNIT),
    st.integers(-(10**21), 10**21),
    st.builds(lambda digits, zeros: digits * 10**zeros, st.integers(-9999, 9999), st.integers(0, 34)),
    st.sampled_from(EDGES),
)
PROPERTY = settings(max_examples=500, deadline=None)


def words(number: int) -> tuple[np.int64, np.uint64]:
    return np.int64(number >> 64), np.uint64(number & (2**64 - 1))


def number(high: int, low: int) -> int:
    return (int(high) << 64) | int(low)


def in_range(result: int | None) -> int | None:
    return result if result is not None and LEAST <= result <= GREATEST else None


def without_zeros(size: int) -> tuple[int, int]:
    zeros = 0
    while size and size % 10 == 0:
        size //= 10
        zeros += 1
    return size, zeros


def product(left: int, right: int) -> int | None:
    """None where it has more than 18 digits after the point."""
    return left * right // UNIT if left * right % UNIT == 0 else None


def quotient(left: int, right: int) -> int | None:
    """oxigraph's way: the dividend as long as 127 bits allow, the divisor as short as it gets, 18 digits or nothing."""
    if right == 0:
        return None
    size, zeros = abs(left), 0
    while size and size * 10 <= GREATEST:
        size *= 10
        zeros += 1
    divisor, more = without_zeros(abs(right))
    if not 18 <= zeros + more <= 18 + 38:
        return None
    cut = size // divisor // 10 ** (zeros + more - 18)
    return cut if (left < 0) == (right < 0) else -cut


OPERATIONS: dict[str, tuple[Callable[..., tuple[int, int, bool]], Callable[[int, int], int | None]]] = {
    "add": (wide.add, lambda left, right: left + right),
    "subtract": (wide.subtract, lambda left, right: left - right),
    "multiply": (wide.multiply, product),
    "divide": (wide.divide, quotient),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_equal_those_of_python(name: str) -> None:
    kernel, exact = OPERATIONS[name]

    @PROPERTY
    @given(NUMBERS, NUMBERS)
    def check(left: int, right: int) -> None:
        high, low, fits = kernel(*words(left), *words(right))
        assert (number(high, low) if fits else None) == in_range(exact(left, right))

    check()


def test_quotients_are_exact_where_there_is_one() -> None:
    @PROPERTY
    @given(st.integers(1, 10**21), st.integers(1, 2**32 - 1))
    def check(left: int, right: int) -> None:
        high, low, fits = wide.divide(*words(left * 10**9), *words(right * UNIT))
        assert fits
        assert number(high, low) == left * 10**9 // right

    check()


@PROPERTY
@given(NUMBERS, NUMBERS)
def test_order(left: int, right: int) -> None:
    assert wide.compare(*words(left), *words(right)) == (left > right) - (left < right)


@PROPERTY
@given(NUMBERS)
def test_parts(value: int) -> None:
    high, low, negative = wide.magnitude(*words(value))
    high, low = np.uint64(high), np.uint64(low)  # Numba gives back Python's integers
    assert (number(high, low), negative) == (abs(value), value < 0)
    assert number(*wide.with_sign(high, low, negative)[:2]) == value
    whole_high, whole_low, fraction = wide.whole_part(high, low)
    assert divmod(abs(value), UNIT) == (number(whole_high, whole_low), fraction)
    if value != LEAST:
        assert number(*wide.negate(*words(value))) == -value
    assert wide.fits_integer(*words(value)) == (-(2**63) * UNIT <= value <= (2**63 - 1) * UNIT)
    short_high, short_low, zeros = wide.shortest(high, low, 38)
    if value:
        assert (number(short_high, short_low), zeros) == without_zeros(abs(value))


@PROPERTY
@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 18))
def test_scaled(mantissa: int, scale: int) -> None:
    assert number(*wide.scale_to_units(np.int64(mantissa), scale)) == mantissa * 10 ** (18 - scale)


@PROPERTY
@given(NUMBERS)
def test_nearest_float(value: int) -> None:
    real = float(wide.to_float(*words(value)))
    exact = float(Fraction(value, UNIT))
    assert abs(real - exact) <= np.spacing(abs(exact))
    if abs(value) < 2**53 or value % UNIT == 0:
        assert real == exact
