"""Literals whose lexical forms are inline, nearly inline, or nothing like it."""

from __future__ import annotations

from hypothesis import strategies as st

from freshet.rdf.ids import XSD_BOOLEAN, XSD_DATE_TIME, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER
from freshet.rdf.terms import XSD, Iri, Literal

INLINE_DATATYPES = (XSD_INTEGER, XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_DATE_TIME)
OTHER_DATATYPES = (
    Iri(XSD + "int"),
    Iri(XSD + "string"),
    Iri("http://example.org/integer"),
    Iri(XSD + "unsignedInteger"),
)

# forms on either side of every rule; each is tried with every datatype
EDGES = [
    *(
        "0",
        "-0",
        "+0",
        "00",
        "1",
        "-1",
        "+1",
        "01",
        "-01",
        "10",
        "",
        "-",
        "+",
        " 1",
        "1 ",
        "1\n",
        "１",
        "٣",
        "1_0",
        "1e",
    ),
    *("144115188075855871", "144115188075855872", "-144115188075855872", "-144115188075855873"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616", "9" * 40),
    *("true", "false", "True", "TRUE", "truE", "tru", "truee", "fals", "1true", "xtrue", "true "),
    *(
        "0.0",
        "-0.0",
        "0.00",
        "-0.00",
        "-0.01",
        "0.5",
        ".5",
        "5.",
        "-.5",
        "+0.5",
        "00.5",
        "0.50",
        "21.50",
        "1.2.3",
        "1,5",
    ),
    *("4503599627370495", "4503599627370496", "-4503599627370495", "-4503599627370496"),
    *("4.503599627370495", "4.503599627370496", "450359962737049.6", "0.4503599627370495"),
    *("0." + "0" * 21 + "1", "0." + "0" * 22 + "1", "0." + "0" * 22, "0." + "0" * 23, "1." + "0" * 22, "0." + "0" * 99),
    *("1.0E0", "1.0e0", "1.0E1", "1.0E01", "1.0E+1", "1.0E-1", "1.0E-0", "1.0E00", "1E5", "1.E5", ".1E5", "10.0E5"),
    *("0.0E0", "-0.0E0", "0.00E5", "0.0E-64", "0.5E3", "-1.5E3", "+1.5E3", "1.5E3.0", "1.5E", "1.5E-", "1.5EE3", "E5"),
    *("7.0368744177663E13", "7.0368744177664E13", "-7.0368744177663E13", "-7.0368744177664E13"),
    *("1.5E23", "1.5E24", "1.5E-21", "1.5E-22", "1.00E24", "1.00E25", "0.000000000000000E0", "0.0000000000000000E0"),
    *("1.5E63", "1.5E64", "1.5E-64", "1.5E-65", "1.5E999", "1.5E99999999999999999999"),
    *("INF", "-INF", "NaN", "+INF", "Infinity", "nan"),
    *("1970-01-01T00:00:00Z", "1970-01-01T00:00:00", "1970-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999"),
    *(
        "0001-01-01T00:00:00",
        "0000-01-01T00:00:00",
        "9999-12-31T23:59:59.999Z",
        "10000-01-01T00:00:00",
        "-0001-01-01T00:00:00",
    ),
    *("2023-02-28T00:00:00Z", "2023-02-29T00:00:00Z", "2024-02-29T00:00:00Z", "2024-02-30T00:00:00Z"),
    *(
        "1900-02-29T00:00:00",
        "2000-02-29T00:00:00",
        "2023-04-31T00:00:00",
        "2023-13-01T00:00:00",
        "2023-00-01T00:00:00",
    ),
    *(
        "2023-01-00T00:00:00",
        "2023-01-32T00:00:00",
        "2023-01-01T24:00:00",
        "2023-01-01T23:60:00",
        "2023-01-01T23:59:60",
    ),
    *("2023-01-01T00:00:00+00:00", "2023-01-01T00:00:00-05:00", "2023-01-01T00:00:00z", "2023-01-01t00:00:00Z"),
    *("2023-01-01T00:00:00.0Z", "2023-01-01T00:00:00.00", "2023-01-01T00:00:00.0000", "2023-01-01T00:00:00.123456Z"),
    *(
        "2023-01-01",
        "2023-01-01T00:00",
        "2023-1-1T00:00:00",
        "2023-01-01 00:00:00",
        "2023-01-01T00:00:00.",
        "20230101T000000",
    ),
    *(
        "2023-01-01T00:00:00,123",
        "2023-01-01T-1:00:00",
        "２023-01-01T00:00:00",
        "2023-01-01T00:00:00ZZ",
        "2023/01/01T00:00:00",
    ),
    *('5"^^<http://www.w3.org/2001/XMLSchema#integer>', '"', '"5', "é", "5\x00"),
]

_signs = st.sampled_from(["", "", "", "-", "+"])
_digits = st.text("0123456789", min_size=1, max_size=25)
_integers = st.integers(-(2**60), 2**60).map(str) | st.builds(str.__add__, _signs, _digits)
_plain = st.builds(lambda whole, fraction: f"{whole}.{fraction}", _integers, _digits)
_scientific = st.builds(
    lambda sign, lead, fraction, exponent: f"{sign}{lead}.{fraction}E{exponent}",
    _signs,
    st.integers(0, 9),
    _digits,
    st.integers(-70, 70),
)
_date_times = st.builds(
    lambda moment, keep, zone: moment.isoformat(timespec="microseconds")[:keep] + zone,
    st.datetimes(),
    st.sampled_from([19, 19, 21, 23, 23, 26]),
    st.sampled_from(["", "Z", "Z", "+00:00"]),
)
_mutated = st.builds(
    lambda form, at, character: form[: at % (len(form) + 1)] + character + form[at % (len(form) + 1) + 1 :],
    st.sampled_from(EDGES) | _date_times | _scientific,
    st.integers(0, 40),
    st.sampled_from([*list("0123456789.-+EeTZ: "), ""]),
)

forms = st.one_of(st.sampled_from(EDGES), _integers, _plain, _scientific, _date_times, _mutated, st.text(max_size=12))
literals = st.builds(Literal, forms, st.sampled_from(INLINE_DATATYPES + OTHER_DATATYPES))
EDGE_LITERALS = [Literal(form, datatype) for form in EDGES for datatype in INLINE_DATATYPES + OTHER_DATATYPES]
