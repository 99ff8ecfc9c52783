"""`freshet explain`: the tree and the JSON."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import get_args

import pytest

from freshet.algebra.printing import explain_json, explain_text
from freshet.algebra.rewrite.rules import rewrite
from freshet.algebra.window_text import KINDS, duration_text
from freshet.algebra.windows import WindowOperator
from freshet.syntax.parser import parse_query

CONTINUOUS = """
PREFIX : <http://ex/>
REGISTER ISTREAM <q1> AS
SELECT ?s (COUNT(?v) AS ?n)
FROM <http://ex/static>
FROM NAMED WINDOW <w1> ON :s [RANGE PT1M30S STEP PT0.5S]
WHERE {
  ?s a :Sensor .
  WINDOW <w1> { ?s :value ?v }
  { ?s :p 1 } UNION { ?s :p 2 } UNION { ?s :p 3 }
  FILTER(?v > 3 || NOT EXISTS { ?s :off true })
}
GROUP BY ?s HAVING (COUNT(?v) > 1) LIMIT 5
"""


def test_the_tree_of_a_continuous_query():
    expected = """\
        SELECT query <q1>, reporting what is new (ISTREAM)
        windows
          <w1> on :s: the last 1 min 30 s, every 500 ms
        from
          :static
        plan
          Slice limit 5
          Project ?s ?n
          Extend ?n = .agg0
          Filter .agg0 > 1
          Group by ?s
            .agg0 = COUNT(?v)
          Filter ?v > 3 || NOT EXISTS {...}
            {...} is BGP ?s :off true
          Join
          ├─ BGP ?s a :Sensor
          ├─ Window <w1>
          │  BGP ?s :value ?v
          └─ Union
             ├─ BGP ?s :p 1
             ├─ BGP ?s :p 2
             └─ BGP ?s :p 3
        prefixes
          : <http://ex/>"""
    assert explain_text(parse_query(CONTINUOUS)) == dedent(expected)


def test_the_tree_of_everything_else():
    text = """
    CONSTRUCT { ?s <p> _:b } FROM NAMED <g> WHERE {
      ?s <a>* ?o OPTIONAL { ?s <b> ?x FILTER(?x > 1) } MINUS { GRAPH ?g {} } BIND(1 AS ?y)
      SERVICE SILENT <e> { SELECT DISTINCT * { VALUES ?z { 1 2 3 4 5 6 7 } } ORDER BY DESC(?z) OFFSET 1 }
      { SELECT REDUCED (SUM(?q) AS ?sum) { ?q ?q ?q } }
    }"""
    expected = """\
        CONSTRUCT query
        from named
          <g>
        template
          ?s <p> _:b
        plan
          Join
          ├─ Extend ?y = 1
          │  Minus
          │  ├─ LeftJoin ?x > 1
          │  │  ├─ Path ?s <a>* ?o
          │  │  └─ BGP ?s <b> ?x
          │  └─ Graph ?g
          │     BGP (empty)
          ├─ Service SILENT <e>
          │  Slice offset 1
          │  Distinct
          │  Project ?z
          │  OrderBy DESC(?z)
          │  Values ?z
          │    1
          │    2
          │    3
          │    4
          │    5
          │    ... 2 more
          └─ Reduced
             Project ?sum
             Extend ?sum = .agg0
             Group of everything
               .agg0 = SUM(?q)
             BGP ?q ?q ?q"""
    assert explain_text(parse_query(text)) == dedent(expected)


def test_a_node_that_stands_twice_is_drawn_twice():
    expected = """\
        DESCRIBE query
        describe ?s <x>
        plan
          Union
          ├─ BGP (empty)
          └─ BGP (empty)"""
    assert explain_text(parse_query("DESCRIBE ?s <x> { {} UNION {} }")) == dedent(expected)


def test_both_plans():
    text = """
    PREFIX ex: <http://ex/>
    SELECT ?s {
      ?s ex:label ?name OPTIONAL { ?s ex:long ?x } ?s a ex:T
      FILTER(?name = "a"^^<http://www.w3.org/2001/XMLSchema#token> && BOUND(?x))
    }"""
    query = parse_query(text)
    expected = """\
        SELECT query
        plan
          Project ?s
          Filter ?name = "a"^^xsd:token && BOUND(?x)
          Join
          ├─ LeftJoin
          │  ├─ BGP ?s ex:label ?name
          │  └─ BGP ?s ex:long ?x
          └─ BGP ?s a ex:T
        plan after rewriting
          Project ?s
          Join
          ├─ Project ?s
          │  Filter BOUND(?x)
          │  LeftJoin
          │  ├─ Filter ?name = "a"^^xsd:token
          │  │  BGP ?s ex:label ?name
          │  └─ BGP ?s ex:long ?x
          └─ BGP ?s a ex:T
        prefixes
          ex: <http://ex/>
          xsd: <http://www.w3.org/2001/XMLSchema#>"""
    assert explain_text(query, rewrite(query)) == dedent(expected)
    assert explain_json(query, rewrite(query))["rewritten"]["node"] == "Project"


def test_triples_stand_in_columns():
    explained = explain_text(parse_query("ASK { ?s <p> ?o . ?long <predicate> 1 }"))
    assert explained.splitlines()[-2:] == ["    ?s    <p>         ?o", "    ?long <predicate> 1"]


def test_a_plan_that_no_rule_changes_is_not_shown_twice():
    query = parse_query("ASK { ?s <p> ?o }")
    assert explain_text(query, rewrite(query)).endswith("plan after rewriting\n  the same")


def test_json():
    query = parse_query(CONTINUOUS)
    explained = explain_json(query)
    assert json.loads(json.dumps(explained)) == explained
    assert explained["form"] == "select"
    assert explained["name"] == "q1"
    assert explained["output"] == "istream"
    assert explained["windows"] == [
        {"name": "w1", "stream": "http://ex/s", "width_ms": 90_000, "slide_ms": 500, "start_ms": 0, "ago_ms": 0}
    ]
    assert explained["default_graphs"] == ["http://ex/static"]
    node = explained["root"]
    path = []
    while "children" in node:
        path.append(node["node"])
        node = node["children"][0]
    assert path == ["Slice", "Project", "Extend", "Filter", "Group", "Filter", "Join", "Join"]
    assert node == {"node": "BGP", "patterns": ["?s a <http://ex/Sensor>"]}


def test_json_has_the_patterns_of_exists_apart():
    explained = explain_json(parse_query("ASK { ?s <a> ?o FILTER(1 = 1 && NOT EXISTS { ?s <b> ?o }) }"))
    assert explained["root"] == {
        "node": "Filter",
        "condition": "1 = 1 && NOT EXISTS {...}",
        "children": [{"node": "BGP", "patterns": ["?s <a> ?o"]}],
        "exists": [{"node": "BGP", "patterns": ["?s <b> ?o"]}],
    }
    assert explained["output"] is None


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "0 ms"), (250, "250 ms"), (1000, "1 s"), (5_400_000, "1 h 30 min"), (86_400_000, "1 d")],
)
def test_durations(milliseconds, text):
    assert duration_text(milliseconds) == text


def test_windows_of_every_kind():
    rspql = """PREFIX : <http://ex/> ASK FROM NAMED WINDOW <a> ON :s [COUNT 10 STEP 2]
        FROM NAMED WINDOW <b> ON :s [RANGE PT1H @:at] FROM NAMED WINDOW <c> ON :s [RANGE PT1H @:at STEP PT1M] { }"""
    expected = """\
        ASK query, reporting all answers (RSTREAM)
        windows
          <a> on :s: the last 10 elements, every 2
          <b> on :s: the last 1 h by :at, with every element
          <c> on :s: the last 1 h by :at, every 1 min
        plan
          BGP (empty)
        prefixes
          : <http://ex/>"""
    assert explain_text(parse_query(rspql)) == dedent(expected)
    cqels = """ASK { STREAM <s> [NOW] {} STREAM ?x [ALL] {} STREAM <s> [TRIPLES 1] {}
        STREAM <s> [RANGE 3s] {} STREAM <s> [RANGE 3s TUMBLING] {} }"""
    expected = """\
        ASK query, reporting what is new (ISTREAM)
        windows
          <window1> on <s>: the elements of each instant
          <window2> on ?x: all elements so far
          <window3> on <s>: the last 1 element at each instant
          <window4> on <s>: the last 3 s at each instant
          <window5> on <s>: the last 3 s at each instant, tumbling
        plan
          Join
          ├─ Window <window1>
          │  BGP (empty)
          ├─ Window <window2> of ?x
          │  BGP (empty)"""
    assert explain_text(parse_query(cqels)).startswith(dedent(expected))


def test_windows_that_are_merged():
    text = "REGISTER QUERY q COMPUTED EVERY 1m AS ASK FROM <g> FROM STREAM <s> [RANGE 10s STEP 1s] { ?s ?p ?o }"
    expected = """\
        ASK query <q>, reporting all answers (RSTREAM), every 1 min
        windows, merged with the default graph
          <window1> on <s>: the last 10 s, every 1 s
        from
          <g>
        plan
          BGP ?s ?p ?o"""
    assert explain_text(parse_query(text)) == dedent(expected)
    explained = explain_json(parse_query(text))
    assert (explained["merged"], explained["period_ms"]) == (True, 60_000)


def test_json_of_windows():
    text = "ASK { STREAM <s> [RANGE 3s] {} STREAM ?x [TRIPLES 3] {} }"
    assert explain_json(parse_query(text))["windows"] == [
        {"name": "window1", "kind": "range", "stream": "s", "width_ms": 3000, "tumbling": False},
        {"name": "window2", "kind": "triples", "stream": "?x", "count": 3},
    ]
    assert {*KINDS} == {*get_args(WindowOperator)}
