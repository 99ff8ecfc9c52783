"""`RegisteredQuery.why`: what a row was derived from, for each form of query, and what is said where it is gone."""

from __future__ import annotations

import pytest

import freshet
from freshet import InputError, Iri, UnsupportedError, WhyGoneError

S, T = "http://e/s", "http://e/t"
WINDOW = f"FROM NAMED WINDOW <w> ON <{S}> [RANGE PT10S STEP PT10S]"
REMOTE = "<http://e/b> <http://e/r> <http://e/far> ."
ELEMENTS = """1000\t<http://e/a> <http://e/p> <http://e/b> .
2000\t<http://e/b> <http://e/q> <http://e/c> .

# a comment
3000\t<http://e/a2> <http://e/p> <http://e/b2> .
"""


def name(term: object) -> str:
    return term.value.rpartition("/")[2] if isinstance(term, Iri) else str(term)


def session_of(*texts: str, stored: str = "", tmp_path=None, **options) -> tuple[freshet.Session, list]:
    session = freshet.Session(**options)
    session.stream(S)
    session.stream(T)
    if stored:
        file = tmp_path / "stored.ttl"
        file.write_text(f"@prefix : <http://e/> . {stored}")
        session.load(file)
    return session, [session.register(text) for text in texts]


def asked(body: str, select: str = "SELECT *", tail: str = "", output: str = "RSTREAM") -> str:
    return f"PREFIX : <http://e/> REGISTER {output} <q> AS {select} {WINDOW} WHERE {{ {body} }} {tail}"


def rows_of(text: str, **options) -> list[freshet.Why]:
    """The explanations of all rows of the first report."""
    session, [query] = session_of(text, **options)
    session.push(S, ELEMENTS)
    session.finish()
    report = query.take()[0]
    return [query.why(report, row) for row in range(len(report.shown.rows))]


def by(whys: list[freshet.Why], variable: str, value: str) -> freshet.Why:
    [found] = [why for why in whys if name(why.row.get(variable, "")) == value]
    return found


def elements(why: freshet.Why) -> list[str]:
    return [" ".join(map(name, each.triple)) for each in why.elements]


def test_a_join_has_the_elements_and_their_records():
    [why] = rows_of(asked("WINDOW <w> { ?x :p ?y . ?y :q ?z }"))
    assert elements(why) == ["a p b", "b q c"]
    assert [each.time_ms for each in why.elements] == [1000, 2000]
    assert why.records == ("push:1/1", "push:1/2")
    assert {(each.stream, each.window) for each in why.elements} == {(S, "w")}
    assert why.total == 1
    assert why.time_ms == 10_000


def test_lines_without_a_statement_are_counted():
    why = by(rows_of(asked("WINDOW <w> { ?x :p ?y }")), "x", "a2")
    assert why.records == ("push:1/5",)


def test_optional_has_what_matched_or_says_that_nothing_did():
    whys = rows_of(asked("WINDOW <w> { ?x :p ?y OPTIONAL { ?y :q ?z } }"))
    assert elements(by(whys, "x", "a")) == ["a p b", "b q c"]
    assert by(whys, "x", "a").derivations[0].unmatched == ()
    assert elements(by(whys, "x", "a2")) == ["a2 p b2"]
    assert by(whys, "x", "a2").derivations[0].unmatched == ("OPTIONAL { ?y <http://e/q> ?z . }",)


@pytest.mark.parametrize(("form", "said"), [("MINUS", "MINUS"), ("FILTER NOT EXISTS", "NOT EXISTS")])
def test_negation_says_that_nothing_matched(form, said):
    [why] = rows_of(asked(f"WINDOW <w> {{ ?x :p ?y {form} {{ ?y :q ?z }} }}", "SELECT ?x"))
    assert elements(why) == ["a2 p b2"]
    assert why.derivations[0].absent == (f"{said} {{ ?y <http://e/q> ?z . }}",)


def test_exists_has_a_match():
    [why] = rows_of(asked("WINDOW <w> { ?x :p ?y FILTER EXISTS { ?y :q ?z } }"))
    assert elements(why) == ["a p b", "b q c"]


def test_union_says_which_branch():
    whys = rows_of(asked("WINDOW <w> { { ?x :p ?y } UNION { ?y :q ?x } }", "SELECT ?x"))
    assert by(whys, "x", "a").derivations[0].branches == ("branch 1 of UNION: { ?x <http://e/p> ?y . }",)
    assert by(whys, "x", "c").derivations[0].branches == ("branch 2 of UNION: { ?y <http://e/q> ?x . }",)
    assert elements(by(whys, "x", "c")) == ["b q c"]


def test_a_group_has_its_members():
    [why] = rows_of(asked("WINDOW <w> { ?x :p ?y }", "SELECT (COUNT(*) AS ?n)"))
    [members] = why.derivations[0].members
    assert (members.kind, members.total) == ("group", 2)
    assert sorted(elements(why)) == ["a p b", "a2 p b2"]


def test_members_are_bounded_with_their_number():
    session, [query] = session_of(asked("WINDOW <w> { ?x :p ?y }", "SELECT (COUNT(*) AS ?n)"))
    session.push(S, "".join(f"{at}\t<http://e/a> <http://e/p> <http://e/{at}> .\n" for at in range(500)))
    session.finish()
    report = query.take()[0]
    [members] = query.why(report, members=7).derivations[0].members
    assert (members.total, len(members.derivations)) == (500, 7)
    assert len(query.why(report).elements) == 100


def test_distinct_has_all_ways():
    whys = rows_of(asked("WINDOW <w> { ?x ?way ?y }", "SELECT DISTINCT ?way"))
    assert by(whys, "way", "p").total == 2
    assert elements(by(whys, "way", "p")) == ["a p b", "a2 p b2"]


def test_a_sub_select_is_seen_through():
    text = asked("WINDOW <w> { ?y :q ?z { SELECT ?y (COUNT(?x) AS ?n) { ?x :p ?y } GROUP BY ?y } }", "SELECT ?z ?n")
    [why] = rows_of(text)
    assert elements(why) == ["a p b", "b q c"]
    assert why.derivations[0].members[0].total == 1


def test_order_and_limit():
    [why] = rows_of(asked("WINDOW <w> { ?x :p ?y }", "SELECT ?x", "ORDER BY DESC(?x) LIMIT 1"))
    assert elements(why) == ["a2 p b2"]
    assert why.derivations[0].slices == ("LIMIT 1",)


def test_a_path_has_its_steps():
    whys = rows_of(asked("WINDOW <w> { :a (:p|:q)+ ?z }", "SELECT ?z"))
    assert elements(by(whys, "z", "c")) == ["a p b", "b q c"]
    assert elements(by(whys, "z", "b")) == ["a p b"]


def test_stored_triples_and_named_graphs(tmp_path):
    text = asked("WINDOW <w> { ?x :p ?y } ?y :r ?z GRAPH <http://e/g> { ?z :r ?n }", "SELECT ?x ?n")
    session, [query] = session_of(text, stored=":b :r :d .", tmp_path=tmp_path)
    (tmp_path / "g.nt").write_text("<http://e/d> <http://e/r> <http://e/n> .\n")
    session.load(tmp_path / "g.nt", graph="http://e/g")
    session.push(S, ELEMENTS)
    session.finish()
    why = query.why(query.take()[0])
    assert elements(why) == ["a p b"]
    assert [(each.graph, " ".join(map(name, each.triple))) for each in why.stored] == [
        (None, "b r d"),
        ("http://e/g", "d r n"),
    ]


def test_absorbed_triples_name_their_records_and_later_ones_are_not_seen():
    session = freshet.Session()
    session.stream(S)
    session.stream(T, absorb=True)
    query = session.register(asked("WINDOW <w> { ?x :p ?y } ?y :r ?z", "SELECT ?x ?y"))
    session.push(T, "500\t<http://e/b> <http://e/r> <http://e/d> .\n15000\t<http://e/b> <http://e/r> <http://e/late> .")
    session.push(S, ELEMENTS)
    session.finish()
    why = query.why(query.take()[0])
    assert why.total == 1
    assert [(" ".join(map(name, each.triple)), each.records) for each in why.stored] == [("b r d", ("push:1/1",))]


def test_a_triple_of_construct_goes_back_to_its_solution():
    select = "CONSTRUCT { ?x :made ?z . _:n :of ?x . _:n :by ?z }"
    for why in rows_of(asked("WINDOW <w> { ?x :p ?y . ?y :q ?z }", select)):
        assert elements(why) == ["a p b", "b q c"]
        assert set(why.row) == {"subject", "predicate", "object"}


def test_the_answers_of_a_query_are_named():
    made = asked("WINDOW <w> { ?x :p ?y }", "CONSTRUCT { ?x :made ?y }").replace("<q>", ":made")
    second = """PREFIX : <http://e/> REGISTER RSTREAM <second> AS SELECT ?x FROM NAMED WINDOW <w> ON :made
        [RANGE PT20S STEP PT20S] WHERE { WINDOW <w> { ?x :made :b } }"""
    session, [first, query] = session_of(made, second)
    session.push(S, ELEMENTS)
    session.finish()
    [element] = query.why(query.take()[0]).elements
    assert (element.query, element.stream, element.time_ms, element.record) == (
        "http://e/made",
        "http://e/made",
        10_000,
        None,
    )
    report = first.take()[0]
    rows = [tuple(row.values()) for row in report.bindings()]
    assert elements(first.why(report, rows.index(element.triple))) == ["a p b"]


def test_what_is_gone_from_the_answer_is_explained_as_of_before():
    session, [query] = session_of(asked("WINDOW <w> { ?x :p ?y }", "SELECT ?x", output="DSTREAM"))
    session.push(S, ELEMENTS)
    session.finish()
    [report] = query.take()
    why = query.why(report, 0)
    assert (report.time_ms, why.time_ms) == (20_000, 10_000)
    assert len(why.elements) == 1


def test_csparql_merges_windows_and_stored_data(tmp_path):
    text = f"""PREFIX : <http://e/> REGISTER QUERY c AS SELECT ?x ?z FROM STREAM <{S}> [RANGE 10s STEP 10s]
        WHERE {{ ?x :p ?y . ?y :r ?z }}"""
    session, [query] = session_of(text, stored=":b :r :d .", tmp_path=tmp_path)
    session.push(S, ELEMENTS)
    session.finish()
    why = query.why(query.take()[0])
    assert elements(why) == ["a p b"]
    assert len(why.stored) == 1


@pytest.mark.parametrize("window", ["RANGE 2s", "TRIPLES 2", "ALL", "NOW"])
def test_cqels_windows(window):
    session, [query] = session_of(
        f"PREFIX : <http://e/> SELECT ?x ?y WHERE {{ STREAM <{S}> [{window}] {{ ?x :p ?y }} }}"
    )
    session.push(S, ELEMENTS)
    session.finish()
    last = query.take()[-1]
    assert last.time_ms == 3000
    assert elements(query.why(last)) == ["a2 p b2"]


def test_the_time_of_a_predicate_has_the_records_of_the_base_stream():
    session, [query] = session_of(
        f"""PREFIX : <http://e/> REGISTER RSTREAM <q> AS SELECT ?x
        FROM NAMED WINDOW <w> ON <{S}> [RANGE PT10S @<http://e/at> STEP PT10S] WHERE {{ WINDOW <w> {{ ?x :p ?y }} }}"""
    )
    session.push(S, "<http://e/a> <http://e/p> 1 .\n<http://e/a> <http://e/at> 25000 .", time_ms=1)
    session.push(S, "50000\t<http://e/z> <http://e/q> <http://e/y> .")
    session.finish()
    report = query.take()[0]
    [element] = query.why(report).elements
    assert (report.time_ms, element.time_ms, element.record) == (30_000, 25_000, "push:1/1")


def test_a_triple_that_came_twice_is_there_twice():
    session, [query] = session_of(asked("WINDOW <w> { ?x :p ?y }"))
    for time_ms in (1000, 4000):
        session.push(S, f"{time_ms}\t<http://e/a> <http://e/p> <http://e/b> .")
    session.finish()
    why = query.why(query.take()[0])
    assert [(each.time_ms, each.record) for each in why.elements] == [(1000, "push:1/1"), (4000, "push:2/1")]
    assert why.total == 1


def test_late_elements_do_not_shift_the_lines():
    session, [query] = session_of(asked("WINDOW <w> { ?x :p ?y }", "SELECT ?y"))
    lines = [(20_000, "x"), (1000, "late"), (21_000, "y")]
    session.push(S, "".join(f"{time_ms}\t<http://e/a> <http://e/p> <http://e/{each}> .\n" for time_ms, each in lines))
    session.finish()
    report = query.take()[0]
    assert {query.why(report, row).records for row in range(2)} == {("push:1/1",), ("push:1/3",)}


def test_a_query_that_came_later_sees_nothing_from_before():
    session, [] = session_of()
    session.push(S, "1000\t<http://e/a> <http://e/p> <http://e/b> .")
    query = session.register(asked("WINDOW <w> { ?x :p ?y }", "SELECT (COUNT(*) AS ?n)"))
    session.push(S, "2000\t<http://e/a> <http://e/p> <http://e/c> .")
    session.finish()
    assert elements(query.why(query.take()[0])) == ["a p c"]


def test_a_key_names_the_records():
    session, [query] = session_of(asked("WINDOW <w> { ?x :p ?y . ?y :q ?z }"))
    session.push_text(S, ELEMENTS, key="k1", posted=True)
    session.finish()
    assert query.why(query.take()[0]).records == ("post:k1/1", "post:k1/2")


def test_json():
    [why] = rows_of(asked("WINDOW <w> { ?x :q ?y }"))
    assert why.json() == {
        "query": "q",
        "time": 10_000,
        "row": {"x": {"type": "uri", "value": "http://e/b"}, "y": {"type": "uri", "value": "http://e/c"}},
        "total": 1,
        "derivations": [
            {
                "elements": [
                    {
                        "stream": S,
                        "window": "w",
                        "time": 2000,
                        "subject": {"type": "uri", "value": "http://e/b"},
                        "predicate": {"type": "uri", "value": "http://e/q"},
                        "object": {"type": "uri", "value": "http://e/c"},
                        "record": "push:1/2",
                    }
                ],
                "stored": [],
            }
        ],
    }


# ---- what is refused


def test_what_is_gone_is_said():
    session, [query] = session_of(asked("WINDOW <w> { ?x :p ?y }"), why_elements=10)
    session.push(S, ELEMENTS)
    session.advance(S, 10_000)
    report = query.take()[0]
    assert query.why(report)
    for at in range(20):
        session.push(S, f"{20_000 + at}\t<http://e/a> <http://e/p> <http://e/b> .")
    with pytest.raises(WhyGoneError, match="the newest 10 of a stream are kept"):
        query.why(report)


def test_nothing_is_kept_if_nothing_is_to_be():
    session, [query] = session_of(asked("WINDOW <w> { ?x :p ?y }"), why_elements=0)
    session.push(S, ELEMENTS)
    session.finish()
    with pytest.raises(WhyGoneError, match="why_elements"):
        query.why(query.take()[0])


def test_a_report_of_another_query_and_a_row_that_is_not_there():
    session, [query] = session_of(asked("WINDOW <w> { ?x :p ?y }"))
    other = session.register(asked("WINDOW <w> { ?x :q ?y }").replace("<q>", "<other>"))
    session.push(S, ELEMENTS)
    session.finish()
    report = query.take()[0]
    with pytest.raises(InputError, match="one of the query q, not of other"):
        other.why(report)
    with pytest.raises(InputError, match="has 2 rows: there is no row 2"):
        query.why(report, 2)
    with pytest.raises(InputError, match="positive"):
        query.why(report, members=0)


def test_service_has_the_endpoint_and_its_row(endpoint):
    body = f"WINDOW <w> {{ ?x :p ?y }} SERVICE <{endpoint.url}> {{ ?y :r ?z OPTIONAL {{ ?y :none ?o }} }}"
    session, [query] = session_of(asked(body), services=[endpoint.host])
    session.push(S, ELEMENTS)
    session.finish()
    [report] = query.take()
    [why] = [query.why(report, row) for row in range(len(report.shown.rows))]
    assert elements(why) == ["a p b"]
    assert why.remote == (freshet.RemoteRow(endpoint.url, (("y", Iri("http://e/b")), ("z", Iri("http://e/far")))),)
    assert why.json()["derivations"][0]["remote"] == [
        {
            "endpoint": endpoint.url,
            "row": {"y": {"type": "uri", "value": "http://e/b"}, "z": {"type": "uri", "value": "http://e/far"}},
        }
    ]
    session.close()


def test_the_endpoint_of_a_variable_is_named(endpoint):
    body = f"WINDOW <w> {{ ?x :p ?y }} VALUES ?at {{ <{endpoint.url}> }} SERVICE ?at {{ ?y :r ?z }}"
    session, [query] = session_of(asked(body), services=[endpoint.host])
    session.push(S, ELEMENTS)
    session.finish()
    [report] = query.take()
    [remote] = query.why(report).remote
    assert (remote.endpoint, [name for name, _ in remote.row]) == (endpoint.url, ["y", "z"])
    session.close()


def test_service_in_a_group_and_one_that_failed():
    session, [query] = session_of(
        asked("WINDOW <w> { ?x :p ?y } SERVICE SILENT <http://127.0.0.1:1/> { ?y :r ?z }", "SELECT (COUNT(*) AS ?n)"),
        services=["127.0.0.1:1"],
    )
    session.push(S, ELEMENTS)
    session.finish()
    why = query.why(query.take()[0])
    assert why.derivations[0].members[0].total == 2
    assert why.remote == (freshet.RemoteRow("http://127.0.0.1:1/", ()),)
    session.close()


def test_an_endpoint_that_has_changed(endpoint):
    session, [query] = session_of(
        asked(f"WINDOW <w> {{ ?x :p ?y }} SERVICE <{endpoint.url}> {{ ?y :r ?z }}"), services=[endpoint.host]
    )
    session.push(S, ELEMENTS)
    session.finish()
    [report] = query.take()
    endpoint.update("DELETE WHERE { <http://e/b> ?p ?o }")
    with pytest.raises(WhyGoneError, match="what endpoints answer, may have changed"):
        query.why(report)
    endpoint.update("INSERT DATA { <http://e/b> <http://e/r> <http://e/far> }")
    session.close()


def test_a_live_query_is_refused():
    session = freshet.Session()
    session.stream(S, absorb=True)
    query = session.register("SELECT ?x { ?x <http://e/p> ?y }", name="live")
    session.push(S, ELEMENTS)
    with pytest.raises(UnsupportedError, match="the query live has no window"):
        query.why(query.take()[-1])


def test_a_negative_number_of_elements():
    with pytest.raises(InputError, match="why_elements"):
        freshet.Session(why_elements=-1)
