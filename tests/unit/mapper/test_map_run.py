"""Bounded runs, in this process and on Spark: the same bytes every time, joins, rejects, formats, targets."""

from __future__ import annotations

import gzip
import json

import pyoxigraph as ox
import pytest

from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from freshet.rdf.errors import InputError, UnsupportedError

HEAD = """
@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/ns#> . @base <http://example.org/base/> .
@prefix formats: <http://www.w3.org/ns/formats/> . @prefix rmls: <http://semweb.mmlab.be/ns/rmls#> .
"""
PEOPLE = """
<P> rml:logicalSource [ rml:source [ a rml:RelativePathSource ; rml:root rml:MappingDirectory ;
    rml:path "people.json" ] ; rml:referenceFormulation rml:JSONPath ; rml:iterator "$" ] ;
  rml:subjectMap [ rml:template "http://example.org/{id}" ; rml:class ex:Person ] ;
  rml:predicateObjectMap [ rml:predicate ex:page ; rml:objectMap [ rml:reference "$.page" ; rml:termType rml:IRI ] ] ,
    [ rml:predicate ex:lives ; rml:objectMap [ rml:parentTriplesMap <C> ;
      rml:joinCondition [ rml:child "city" ; rml:parent "name" ] ,
        [ rml:childMap [ rml:template "{land}" ] ; rml:parent "land" ] ] ] .
"""
CITIES = """
<C> rml:logicalSource [ rml:source "cities.csv" ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://example.org/city/{name}" ] .
"""
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/ns#Person>"


@pytest.fixture(params=["process", pytest.param("spark", marks=pytest.mark.spark)])
def mapper(request):
    """Runs a mapping."""
    if request.param == "process":
        return run_map_here
    from freshet.spark.map_run import run_map

    spark = request.getfixturevalue("spark")
    return lambda file, options: run_map(spark, file, options)


@pytest.fixture
def world(tmp_path):
    people = [
        {"id": number, "city": f"c{number % 5}", "land": "be" if number % 2 else "nl", "page": f"urn:p:{number}"}
        for number in range(200)
    ]
    lines = [json.dumps(person) for person in people]
    lines[7] = '{"id": 7, "page": "urn:p 7"}'
    lines[9] = '{"id": 9, broken'
    (tmp_path / "people.json").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "cities.csv").write_text("name,land\nc0,be\nc1,be\nc1,nl\nc2,nl\nc9,nl\n", encoding="utf-8")
    (tmp_path / "mapping.ttl").write_text(HEAD + PEOPLE + CITIES, encoding="utf-8")
    return tmp_path


def run(mapper, world, **given):
    options = MapOptions(world / "out.nq", rejects=world / "rejects", **given)
    done = mapper(world / "mapping.ttl", options)
    return done, (world / "out.nq").read_bytes()


def test_the_same_input_gives_the_same_bytes(mapper, world):
    done, first = run(mapper, world)
    assert run(mapper, world)[1] == first
    lands = {"c0": ["be"], "c1": ["be", "nl"], "c2": ["nl"]}
    kept = [number for number in range(200) if number not in (7, 9)]
    homes = [
        f"<http://example.org/{number}> <http://example.org/ns#lives> <http://example.org/city/c{number % 5}> ."
        for number in kept
        if ("be" if number % 2 else "nl") in lands.get(f"c{number % 5}", [])
    ]
    lines = first.decode().splitlines()
    assert sorted(line for line in lines if "lives" in line) == sorted(homes)
    assert [line for line in lines if TYPE in line] == [f"<http://example.org/{n}> {TYPE} ." for n in kept]
    assert (done.records, done.rejected) == (205, 2)


def test_rejects_are_kept_with_their_reasons(mapper, world):
    run(mapper, world)
    kept = [json.loads(line) for file in (world / "rejects").iterdir() for line in file.read_text().splitlines()]
    assert sorted(reject["record"] for reject in kept) == ['{"id": 7, "page": "urn:p 7"}', '{"id": 9, broken']
    assert {reject["reason"] for reject in kept} >= {"not an absolute IRI: urn:p 7"}
    assert all(reject["file"] == str(world / "people.json") for reject in kept)
    assert {reject["record"]: reject["line"] for reject in kept} == {
        '{"id": 7, "page": "urn:p 7"}': 8,
        '{"id": 9, broken': 10,
    }


def test_rejects_of_an_earlier_run_are_gone(mapper, world):
    run(mapper, world)
    (world / "rejects" / "notes.json").write_text("mine")
    (world / "people.json").write_text('{"id": 2, "page": "urn:a"}\n')
    done, _ = run(mapper, world)
    assert done.rejected == 0
    assert [file.name for file in (world / "rejects").iterdir()] == ["notes.json"]


def test_lines_of_csv_records_that_are_rejected(mapper, world):
    (world / "cities.csv").write_text('name,land\nc0,be\nc1\n"c\n2",nl\nc1\n' + "x" * 20_000 + "\nc9,nl\n")
    run(mapper, world)
    kept = [json.loads(line) for file in (world / "rejects").iterdir() for line in file.read_text().splitlines()]
    assert [each["line"] for each in kept if each["file"] == str(world / "cities.csv")] == [3, 6, 7]


def test_each_statement_once_and_sorted(mapper, world):
    file = world / "people.json"
    file.write_text('{"id": 2, "page": "urn:a"}\n{"id": 1, "page": "urn:a"}\n{"id": 2, "page": "urn:a"}\n')
    _, found = run(mapper, world, distinct=True)
    lines = found.decode().splitlines()
    assert lines == sorted(set(lines))
    assert len(lines) == 4


def test_a_statement_of_two_sources_is_there_once(mapper, world):
    second = PEOPLE.replace("people.json", "more.json").replace("<P>", "<More>")
    (world / "mapping.ttl").write_text(HEAD + PEOPLE + second + CITIES, encoding="utf-8")
    (world / "people.json").write_text('{"id": 2, "page": "urn:a"}\n{"id": 1, "page": "urn:a"}\n')
    (world / "more.json").write_text('{"id": 1, "page": "urn:a"}\n{"id": 3, "page": "urn:a"}\n')
    _, found = run(mapper, world, distinct=True)
    lines = found.decode().splitlines()
    assert lines == sorted(set(lines))
    assert len(lines) == 6


def test_turtle(mapper, world):
    (world / "people.json").write_text('{"id": 1, "page": "urn:a"}\n')
    _, found = run(mapper, world, format="ttl")
    assert (
        found.decode()
        == "<http://example.org/1> a <http://example.org/ns#Person> ;\n\t<http://example.org/ns#page> <urn:a> .\n"
    )


def test_named_graphs_need_a_format_that_holds_them(mapper, world):
    mapping = HEAD + PEOPLE.replace("rml:class", "rml:graph ex:g ; rml:class") + CITIES
    (world / "mapping.ttl").write_text(mapping, encoding="utf-8")
    with pytest.raises(InputError, match="named graphs"):
        run(mapper, world, format="ttl")


def test_what_has_a_target_goes_there(mapper, world, monkeypatch):
    monkeypatch.chdir(world)
    target = """<T> rml:target [ rml:path "dump.nq.gz" ; rml:root rml:MappingDirectory ] ;
      rml:serialization formats:N-Quads ; rml:compression rml:gzip ."""
    people = PEOPLE.replace('rml:reference "$.page"', 'rml:logicalTarget <T> ; rml:reference "$.page"')
    (world / "mapping.ttl").write_text(HEAD + people + CITIES + target, encoding="utf-8")
    _, found = run(mapper, world)
    dumped = gzip.decompress((world / "dump.nq.gz").read_bytes()).decode().splitlines()
    assert len(dumped) == 198
    assert all("ns#page" in line for line in dumped)
    assert "ns#page" not in found.decode()


def test_a_stream_is_no_bounded_input(mapper, world):
    source = 'rml:source [ a rmls:TCPSocketStream ; rmls:hostName "localhost" ; rmls:port "5005" ]'
    (world / "mapping.ttl").write_text(HEAD + CITIES.replace('rml:source "cities.csv"', source), encoding="utf-8")
    with pytest.raises(UnsupportedError, match="stream"):
        run(mapper, world)


def test_a_join_in_which_nothing_meets_is_told(mapper, world):
    (world / "cities.csv").write_text("name,land\nc0,BE\n", encoding="utf-8")
    done, _ = run(mapper, world)
    assert done.unjoined == ("people.json with cities.csv by city = name, an expression = land",)
    (world / "cities.csv").write_text("name,land\nc0,nl\n", encoding="utf-8")
    assert run(mapper, world)[0].unjoined == ()


NOT_THERE = {
    "a column": ("{name}", "{town}", "base/C cannot be mapped", "there is no column town"),
    "a column of a join": ('rml:parent "name"', 'rml:parent "town"', "base/P cannot be mapped", "no column town"),
    "a file": ('"cities.csv"', '"towns.csv"', "base/P cannot be mapped", "towns.csv: there is no such file"),
}


@pytest.mark.parametrize("name", NOT_THERE)
def test_what_a_source_does_not_have_is_told_before_anything_runs(mapper, world, name):
    before, after, who, what = NOT_THERE[name]
    mapping = world / "mapping.ttl"
    mapping.write_text(mapping.read_text().replace(before, after))
    with pytest.raises(InputError) as wrong:
        run(mapper, world)
    assert str(wrong.value).startswith(f"{mapping}: the triples map {who}: ")
    assert what in str(wrong.value)
    assert not (world / "out.nq").exists()
    assert not (world / "rejects").exists(), "records that another triples map rejects were not even looked at"


THREE = """
<A> rml:logicalSource [ rml:source "a.csv" ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap SUBJECT ;
  rml:predicateObjectMap [ rml:predicate ex:b ; rml:objectMap [ rml:parentTriplesMap <B> CONDITION ] ] .
<B> a rml:NonAssertedTriplesMap ; rml:logicalSource [ rml:source "b.csv" ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://example.org/b/{b}" ] .
<C> a rml:NonAssertedTriplesMap ; rml:logicalSource [ rml:source "c.csv" ; rml:referenceFormulation rml:CSV ] ;
  rml:subjectMap [ rml:template "http://example.org/c/{c}" ] ;
  rml:predicateObjectMap [ rml:predicate ex:n ; rml:objectMap [ rml:reference "n" ] ] .
"""
PLAIN = '[ rml:template "http://example.org/a/{k}" ]'
QUOTED = '[ rml:quotedTriplesMap <C> ; rml:joinCondition [ rml:child "k" ; rml:parent "c" ] ]'
BY_KEY = '; rml:joinCondition [ rml:child "k" ; rml:parent "k" ]'
TRIPLE = '<<( <http://example.org/c/{}> <http://example.org/ns#n> "{}" )>>'


def three(folder, subject, condition):
    (folder / "a.csv").write_text("k\n1\n2\n", encoding="utf-8")
    (folder / "b.csv").write_text("b,k\nx,1\ny,2\nz,1\n", encoding="utf-8")
    (folder / "c.csv").write_text("c,n\n1,one\n1,eins\n3,three\n", encoding="utf-8")
    text = THREE.replace("SUBJECT", subject).replace("CONDITION", condition)
    (folder / "mapping.ttl").write_text(HEAD + text, encoding="utf-8")


def test_without_a_condition_all_records_are_paired(mapper, tmp_path):
    three(tmp_path, PLAIN, "")
    done, found = run(mapper, tmp_path)
    pairs = [
        f"<http://example.org/a/{k}> <http://example.org/ns#b> <http://example.org/b/{b}> ."
        for k in "12"
        for b in "xyz"
    ]
    assert sorted(found.decode().splitlines()) == pairs
    assert done.crossed == (("a.csv with b.csv", 6),)


def test_three_sources_are_joined(mapper, tmp_path):
    """The subject is a triple of one source, the object a subject of another."""
    three(tmp_path, QUOTED, BY_KEY)
    _, found = run(mapper, tmp_path)
    lines = set(found.decode().splitlines())
    nodes = {line.split()[0] for line in lines}
    reified = {line.partition("reifies> ")[2] for line in lines if "reifies" in line}
    assert reified == {f"{TRIPLE.format(1, name)} ." for name in ("one", "eins")}
    objects = [f"{node} <http://example.org/ns#b> <http://example.org/b/{b}> ." for node in nodes for b in "xz"]
    assert sorted(line for line in lines if "reifies" not in line) == sorted(objects)


def test_quoted_triples_are_written_in_turtle(mapper, tmp_path):
    three(tmp_path, QUOTED, BY_KEY)
    run(mapper, tmp_path, format="ttl")
    quads = list(ox.parse(path=str(tmp_path / "out.nq"), format=ox.RdfFormat.TURTLE))
    assert len({quad for quad in quads if isinstance(quad.object, ox.Triple)}) == 2


def test_a_triples_map_that_quotes_itself_is_an_error(mapper, tmp_path):
    three(tmp_path, QUOTED.replace("<C>", "<A>"), BY_KEY)
    with pytest.raises(InputError, match="A quotes itself"):
        run(mapper, tmp_path)
