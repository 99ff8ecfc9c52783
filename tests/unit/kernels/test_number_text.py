"""Texts of numbers: the shortest decimal of a double against Python's `repr`, and keys against those of the parser."""

from __future__ import annotations

import struct
from decimal import Context, Decimal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.kernels.shortest_double import shortest_decimal
from freshet.kernels.values import DECIMAL, DOUBLE, INTEGER, Values
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.ids import XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from freshet.rdf.terms import Literal
from freshet.rdf.values import intern_numbers, number_ids


def bits_of(real: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", real))[0])


def check(real: float) -> None:
    digits, exponent = shortest_decimal(np.int64(bits_of(real)))
    written = Decimal(repr(real)).normalize().as_tuple()
    found = Decimal((0, tuple(map(int, str(digits))), int(exponent))).normalize().as_tuple()
    assert found == written, real


@settings(max_examples=2_000, deadline=None)
@given(st.integers(1, (2047 << 52) - 1))
def test_any_bits(bits: int) -> None:
    check(struct.unpack("<d", struct.pack("<q", bits))[0])


@settings(max_examples=500, deadline=None)
@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_quotients(total: int, count: int) -> None:
    check(total / count)


def test_powers_of_two_and_ten_and_the_ends() -> None:
    for exponent in range(-1074, 1024):
        real = 2.0**exponent
        for other in (real, float(np.nextafter(real, 0)), float(np.nextafter(real, np.inf))):
            if 0 < other < float("inf"):
                check(other)
    for exponent in range(-323, 309):
        check(float(f"1e{exponent}"))
    for text in ("5e-324", "2.2250738585072014e-308", "1.7976931348623157e308", "9007199254740993", "2e23", "9.5e-3"):
        check(float(text))


def entered(dictionary: Dictionary, kind: int, rows: list[tuple[int, int, int]]) -> list[int]:
    """The ids of numbers by high, low and real."""
    numbers = np.zeros((len(rows), 4), np.int64)
    numbers[:, 0] = kind
    numbers[:, 1:] = rows
    ids = np.zeros(len(rows), np.int64)
    intern_numbers(dictionary, numbers, ids)
    return ids.tolist()


def test_keys_of_doubles_are_canonical() -> None:
    dictionary = Dictionary()
    wanted = {
        "1.3333333333333333E0": 4 / 3, "-1.0E-7": -1e-7, "5.0E-324": 5e-324, "1.25E300": 1.25e300,
        "INF": float("inf"), "-INF": float("-inf"), "NaN": float("nan"), "-0.0E0": -0.0, "1.0E22": 1e22, "1.2E1": 12.0,
        "1.0E-9": 1e-9, "1.5E37": 1.5e37, "0.0E0": 0.0,
    }  # fmt: skip
    ids = entered(dictionary, DOUBLE, [(0, 0, bits_of(real)) for real in wanted.values()])
    assert ids == [dictionary.encode(Literal(text, XSD_DOUBLE)) for text in wanted]


@settings(max_examples=300, deadline=None)
@given(st.integers(-(2**127), 2**127 - 1) | st.integers(-(2**70), 2**70))
def test_keys_of_decimals_are_canonical(units: int) -> None:
    """Also of those that have an inline id nobody asks for: there they are as the kernel of these has them."""
    dictionary = Dictionary()
    high, low = units >> 64, np.uint64(units & (2**64 - 1)).view(np.int64)
    values = Values(*(np.array([part], dtype) for part, dtype in ((DECIMAL, np.uint8), (high, np.int64))),
                    np.array([low]).view(np.uint64), np.zeros(1))  # fmt: skip
    (found,) = number_ids(dictionary, values).tolist()
    text = f"{Decimal(units).scaleb(-18, Context(prec=60)):f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    assert found == dictionary.encode(Literal(text, XSD_DECIMAL))


def test_the_least_inline_integer() -> None:
    dictionary = Dictionary()
    for number in (-(2**57), -(2**57) - 1, 2**57 - 1, 2**57):
        units = number * 10**18
        high, low = np.array([units >> 64]), np.array([units & (2**64 - 1)], np.uint64)
        values = Values(np.array([INTEGER], np.uint8), high, low, np.zeros(1))
        assert number_ids(dictionary, values).tolist() == [dictionary.encode(Literal(str(number), XSD_INTEGER))]
