"""Are two lists of reports the same? Both are in the form that `freshet replay --format ndjson` prints.

Solutions are compared as bags, terms exactly, except that xsd:double and xsd:float go by value within 1e-9, and blank
nodes by a one-to-one renaming within a report. A report that says `"ordered": true` is compared as a sequence, the
triples of CONSTRUCT as graphs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from math import isclose, isinf, isnan
from typing import Any

import pyoxigraph as ox

from reference.evaluator import Answer

XSD = "http://www.w3.org/2001/XMLSchema#"
APPROXIMATE = (XSD + "double", XSD + "float")
MOST_BLANK_NODES = 6
ROLES = ("subject", "predicate", "object")

Term = Mapping[str, Any]
Binding = Mapping[str, Term]
Row = tuple[tuple[str, tuple[str, ...]], ...]


def reports_of(answers: Iterable[Answer], query: str, output: str, *, ordered: bool = False) -> list[dict[str, Any]]:
    """What the reference found, in the form of the NDJSON reports."""
    return [
        {"query": query, "time": answer.time_ms, "stream": output, **content_of(answer)}
        | ({"ordered": True} if ordered and answer.triples is None else {})
        for answer in answers
    ]


def content_of(answer: Answer) -> dict[str, Any]:
    """Bindings, or the triples of CONSTRUCT as N-Triples."""
    if answer.triples is not None:
        key = "quads" if any(isinstance(each, ox.Quad) for each in answer.triples) else "triples"
        return {key: "".join(sorted(f"{each} .\n" for each in answer.triples))}
    return {
        "bindings": [{name: term_json(term) for name, term in sorted(binding.items())} for binding in answer.bindings()]
    }


def term_json(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> dict[str, Any]:
    """A term as the SPARQL 1.2 JSON results format writes it."""
    if isinstance(term, ox.Triple):
        parts = zip(ROLES, term, strict=True)
        return {"type": "triple", "value": {role: term_json(part) for role, part in parts}}
    if isinstance(term, ox.NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, ox.BlankNode):
        return {"type": "bnode", "value": term.value}
    if term.direction is not None:
        language, direction = term.language, term.direction.value
        return {"type": "literal", "value": term.value, "xml:lang": language, "its:dir": direction}
    if term.language:
        return {"type": "literal", "value": term.value, "xml:lang": term.language}
    if term.datatype.value == XSD + "string":
        return {"type": "literal", "value": term.value}
    return {"type": "literal", "value": term.value, "datatype": term.datatype.value}


def differences(found: Sequence[Mapping[str, Any]], expected: Sequence[Mapping[str, Any]]) -> str:
    """Empty where the reports agree; else every difference on a line of its own, for people to read."""
    lines = []
    if (times := [report["time"] for report in found]) != sorted(times):
        lines.append(f"reports are not in time order: {times}")
    by_time, wanted = by_moment(found), by_moment(expected)
    for moment in sorted(by_time.keys() | wanted.keys()):
        at = f"at {moment[0]}"
        if moment not in by_time:
            lines.append(f"{at}: no report, expected {show_report(wanted[moment])}")
        elif moment not in wanted:
            lines.append(f"{at}: no report expected, found {show_report(by_time[moment])}")
        else:
            report, other = by_time[moment], wanted[moment]
            for field in ("query", "stream"):
                if report.get(field) != other.get(field):
                    lines.append(f"{at}: {field} is {report.get(field)}, expected {other[field]}")
            if not same_content(report, other):
                indent = " " * len(at)
                lines.append(f"{at}: found    {show_report(report)}\n{indent}  expected {show_report(other)}")
    return "\n".join(lines)


def by_moment(reports: Sequence[Mapping[str, Any]]) -> dict[tuple[int, int], Mapping[str, Any]]:
    """Reports by time and, where two are of one time (a close and an instant), by their order."""
    counted: Counter[int] = Counter()
    numbered = {}
    for report in reports:
        numbered[report["time"], counted[report["time"]]] = report
        counted[report["time"]] += 1
    return numbered


def same_content(found: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    """The same solutions, or the same graph."""
    for key in ("triples", "quads"):
        if key in found or key in expected:
            return same_graph(found.get(key), expected.get(key))
    left, right = found["bindings"], expected["bindings"]
    if found.get("ordered") or expected.get("ordered"):
        return same_bag(numbered(left), numbered(right))
    return same_bag(left, right)


def numbered(bindings: Sequence[Binding]) -> list[Binding]:
    """Solutions that also say at which place they stand."""
    place = "place in the sequence"
    return [{**binding, place: {"type": "literal", "value": str(at)}} for at, binding in enumerate(bindings)]


def same_graph(found: str | None, expected: str | None) -> bool:
    """Equal up to the names of blank nodes."""
    if found is None or expected is None:
        return False
    return canonical(found) == canonical(expected)


def canonical(triples: str) -> list[str]:
    """N-Triples with blank nodes named by what is said of them, and doubles written in one way."""
    graph = ox.Dataset(
        ox.Quad(*map(_one_form, quad.triple), quad.graph_name) for quad in ox.parse(triples, ox.RdfFormat.N_QUADS)
    )
    graph.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return sorted(map(str, graph))


def _one_form(term: Any) -> Any:
    if isinstance(term, ox.Literal) and term.datatype.value in APPROXIMATE:
        return ox.Literal(f"{float(term.value):.9g}", datatype=term.datatype)
    return term


def same_bag(found: Sequence[Binding], expected: Sequence[Binding]) -> bool:
    """Equal as bags, under some one-to-one renaming of blank nodes."""
    if len(found) != len(expected):
        return False
    from_labels, to_labels = blank_labels(found), blank_labels(expected)
    if len(from_labels) != len(to_labels):
        return False
    if len(from_labels) > MOST_BLANK_NODES:
        raise ValueError("too many blank nodes in one report to compare by trying every renaming")
    right = [row_of(binding, {}) for binding in expected]
    return any(
        same_rows([row_of(binding, dict(zip(from_labels, labels, strict=True))) for binding in found], right)
        for labels in permutations(to_labels)
    )


def blank_labels(bindings: Sequence[Binding]) -> list[str]:
    """The labels of the blank nodes, each once."""
    terms = [part for binding in bindings for term in binding.values() for part in _parts(term)]
    return sorted({term["value"] for term in terms if term["type"] == "bnode"})


def _parts(term: Term) -> Iterator[Term]:
    """The terms of a triple term, also of one in it; any other term itself."""
    if term["type"] != "triple":
        yield term
        return
    for part in term["value"].values():
        yield from _parts(part)


def row_of(binding: Binding, renaming: Mapping[str, str]) -> Row:
    """A solution that can be compared and hashed."""
    return tuple((name, _flat(term, renaming)) for name, term in sorted(binding.items()))


def _flat(term: Term, renaming: Mapping[str, str]) -> tuple[str, ...]:
    if term["type"] == "bnode":
        return ("bnode", renaming.get(term["value"], term["value"]))
    if term["type"] == "uri":
        return ("uri", term["value"])
    if term["type"] == "triple":
        return ("triple", *(text for role in ROLES for text in _flat(term["value"][role], renaming)))
    tag = f"{term.get('xml:lang', '')} {term.get('its:dir', '')}"
    return ("literal", term["value"], tag, term.get("datatype", XSD + "string"))


def same_rows(found: list[Row], expected: list[Row]) -> bool:
    """Take out what is exactly equal; what is left must pair up approximately."""
    counted, wanted = Counter(found), Counter(expected)
    rest = list((wanted - counted).elements())
    for row in (counted - wanted).elements():
        partner = next((other for other in rest if close_rows(row, other)), None)
        if partner is None:
            return False
        rest.remove(partner)
    return not rest


def close_rows(left: Row, right: Row) -> bool:
    """The same variables with the same terms, doubles and floats by value."""
    return len(left) == len(right) and all(
        name == other_name and close_terms(term, other)
        for (name, term), (other_name, other) in zip(left, right, strict=True)
    )


def close_terms(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Equal, or two xsd:double (xsd:float) within 1e-9 of each other, relatively."""
    if left == right:
        return True
    if left[0] != "literal" or right[0] != "literal" or left[2:] != right[2:] or left[3] not in APPROXIMATE:
        return False
    first, second = float(left[1]), float(right[1])
    if isnan(first) or isnan(second) or isinf(first) or isinf(second):
        return str(first) == str(second)
    return isclose(first, second, rel_tol=1e-9)


def show_report(report: Mapping[str, Any]) -> str:
    """What a report puts out, on one line."""
    if "triples" in report or "quads" in report:
        return (
            "{ "
            + " ".join(report.get("triples", report.get("quads")).replace("http://example.org/", ":").split("\n"))
            + "}"
        )
    return show(report["bindings"], in_order=bool(report.get("ordered")))


def show(bindings: Sequence[Binding], *, in_order: bool = False) -> str:
    """Solutions on one line, terms short."""
    shown = bindings if in_order else sorted(bindings, key=lambda binding: json.dumps(binding, sort_keys=True))
    return (
        "["
        + " | ".join(
            " ".join(f"?{name}={_short(term)}" for name, term in sorted(binding.items())) or "(no bindings)"
            for binding in shown
        )
        + "]"
    )


def _short(term: Term) -> str:
    if term["type"] == "triple":
        return f"<<( {' '.join(_short(term['value'][role]) for role in ROLES)} )>>"
    if term["type"] == "uri":
        return term["value"].replace("http://example.org/", ":")
    if term["type"] == "bnode":
        return f"_:{term['value']}"
    if "its:dir" in term:
        return f"{json.dumps(term['value'])}@{term['xml:lang']}--{term['its:dir']}"
    tag = f"@{term['xml:lang']}" if "xml:lang" in term else term.get("datatype", "").replace(XSD, "^^")
    return json.dumps(term["value"]) + tag
