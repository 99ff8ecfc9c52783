"""The comparison must see what differs, or every other test could pass for nothing."""

from __future__ import annotations

import pytest

from comparing import XSD, differences

ONE = {"type": "literal", "value": "1", "datatype": XSD + "integer"}
A = {"type": "uri", "value": "http://example.org/a"}


def double(text: str) -> dict[str, str]:
    return {"type": "literal", "value": text, "datatype": XSD + "double"}


def blank(label: str) -> dict[str, str]:
    return {"type": "bnode", "value": label}


def report(*bindings: dict, time: int = 5000, query: str = "q", stream: str = "rstream") -> dict:
    return {"query": query, "time": time, "stream": stream, "bindings": list(bindings)}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (report({"a": ONE}, {"a": A}), report({"a": A}, {"a": ONE})),
        (report({"a": ONE, "b": A}), report({"b": A, "a": ONE})),
        (report({"a": double("0.3")}), report({"a": double("3.0000000000000004E-1")})),
        (report({"a": double("NaN")}), report({"a": double("NaN")})),
        (report({"a": double("INF")}), report({"a": double("INF")})),
        (report({"a": double("0.1")}, {"a": double("0.1")}), report({"a": double("1E-1")}, {"a": double("0.1")})),
        (report({"a": blank("x"), "b": blank("y")}), report({"a": blank("y"), "b": blank("x")})),
        (
            report({"a": {"type": "literal", "value": "x"}}),
            report({"a": {"type": "literal", "value": "x", "datatype": XSD + "string"}}),
        ),
    ],
)
def test_same(left: dict, right: dict) -> None:
    assert differences([left], [right]) == ""


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (report({"a": ONE}), report({"a": ONE}, {"a": ONE})),
        (report({"a": ONE}), report({"b": ONE})),
        (report({"a": ONE}), report({"a": ONE, "b": A})),
        (report({"a": ONE}), report({"a": {**ONE, "value": "01"}})),
        (report({"a": ONE}), report({"a": {**ONE, "datatype": XSD + "decimal"}})),
        (report({"a": {**ONE, "value": "1"}}), report({"a": double("1")})),
        (report({"a": double("1")}), report({"a": double("1.00000001")})),
        (report({"a": double("INF")}), report({"a": double("-INF")})),
        (report({"a": {"type": "literal", "value": "x"}}), report({"a": {"type": "uri", "value": "x"}})),
        (
            report({"a": {"type": "literal", "value": "x", "xml:lang": "en"}}),
            report({"a": {"type": "literal", "value": "x", "xml:lang": "fr"}}),
        ),
        (report({"a": blank("x"), "b": blank("x")}), report({"a": blank("x"), "b": blank("y")})),
        (report({"a": blank("x")}), report({"a": A})),
        (report({"a": ONE}), report({"a": ONE}, query="other")),
        (report({"a": ONE}), report({"a": ONE}, stream="istream")),
        (report({"a": ONE}), report({"a": ONE}, time=6000)),
    ],
)
def test_different(left: dict, right: dict) -> None:
    assert differences([left], [right])
    assert differences([right], [left])


def test_reports_missing_or_too_many() -> None:
    assert differences([], [report({"a": ONE})])
    assert differences([report({"a": ONE})], [])


def test_order_of_time() -> None:
    early, late = report({"a": ONE}), report({"a": ONE}, time=9000)
    assert differences([early, late], [early, late]) == ""
    assert differences([late, early], [early, late])
    assert differences([early, early], [early])


def test_two_reports_of_one_time_in_their_order() -> None:
    close, instant = report({"a": ONE}), report({"a": A})
    assert differences([close, instant], [close, instant]) == ""
    assert differences([instant, close], [close, instant])
    assert differences([close], [close, instant])


def test_sequences() -> None:
    first, second = {"a": ONE}, {"a": A}
    ordered = {**report(first, second), "ordered": True}
    assert differences([report(first, second)], [ordered]) == ""
    assert differences([report(second, first)], [ordered])


def graph(*triples: str) -> dict:
    return {"query": "q", "time": 5000, "stream": "rstream", "triples": "".join(f"{triple} .\n" for triple in triples)}


def test_graphs() -> None:
    left = graph("_:x <u:p> _:y", "_:y <u:p> <u:a>", f'<u:a> <u:p> "0.5"^^<{XSD}double>')
    assert differences([left], [graph(f'<u:a> <u:p> "5E-1"^^<{XSD}double>', "_:b <u:p> <u:a>", "_:a <u:p> _:b")]) == ""
    assert differences([left], [graph(f'<u:a> <u:p> "0.5"^^<{XSD}double>', "_:y <u:p> <u:a>", "_:x <u:p> _:x")])
    assert differences([left], [graph("_:x <u:p> _:y", "_:y <u:p> <u:a>")])
    assert differences([left], [report({"a": ONE})])
