"""Statements as N-Quads lines, on records made by hand: on Spark and on Arrow, which must agree."""

from __future__ import annotations

import pytest

from freshet.kernels import json_values
from freshet.mapper.arrow_columns import ArrowColumns
from freshet.mapper.arrow_lines import lines_of
from freshet.mapper.map_options import MapOptions
from freshet.mapper.map_run import run_map_here
from freshet.mapper.operations import FunctionTable, ReferenceShape
from freshet.mapper.record_shapes import shapes_of
from freshet.mapper.renderer import Renderer
from freshet.rdf.errors import FreshetError, InputError
from freshet.rml.functions import FUNCTIONS
from freshet.rml.mapping_slices import slice_mapping
from freshet.rml.reader import read_mapping, read_mapping_text
from freshet.rml.user_functions import load_functions
from freshet.sources.columns import FILE, LINE, REASON
from freshet.spark.nquads import LINES, with_lines
from freshet.spark.term_columns import SparkColumns

HEAD = """
@prefix rml: <http://w3id.org/rml/> . @prefix ex: <http://example.org/ns#> . @base <http://example.org/base/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix fn: <http://example.org/fn#> .
@prefix grel: <http://users.ugent.be/~bjdmeest/function/grel.ttl#> .
@prefix idlab: <https://w3id.org/imec/idlab/function#> .
<M> rml:logicalSource [ rml:source "x" ; rml:referenceFormulation rml:FORM ] ;
"""
SUBJECT = 'rml:subjectMap [ rml:template "http://example.org/{id}" ] ;'


def made(spark, tmp_path, maps, rows, *, form="CSV", many=frozenset(), users=None, compared=True):
    """The lines and the reason of each row: a dictionary of texts, or of pairs of text and kind.

    What is not compared is given of both, one after the other.
    """
    file = tmp_path / "mapping.ttl"
    file.write_text(HEAD.replace("FORM", form) + maps, encoding="utf-8")
    users = users or {}
    (mapping_slice,) = slice_mapping(
        read_mapping(file, functions={**FUNCTIONS, **{iri: user.declared for iri, user in users.items()}})
    )
    names = sorted({name for row in rows for name in row})
    kinded = form == "JSONPath"
    fields = [f"{name} STRING" for name in (REASON, FILE, LINE)]
    for name in names:
        array = name in many
        fields.append(f"`text of {name}` {'ARRAY<STRING>' if array else 'STRING'}")
        if kinded:
            fields.append(f"`kind of {name}` {'ARRAY<TINYINT>' if array else 'TINYINT'}")
    values = []
    for row in rows:
        value = [None, None, None]
        for name in names:
            found = row.get(name, (None, 0) if kinded else None)
            value += [*found] if kinded else [found]
        values.append(value)
    frame = spark.createDataFrame(values, ", ".join(fields))
    shapes = shapes_of(mapping_slice, ReferenceShape(frozenset(many)))
    functions = FunctionTable(users)
    renderer = Renderer(SparkColumns(functions), shapes, nquads=True)
    triples = mapping_slice.triples
    found = with_lines(frame, triples, set(triples), renderer).collect()
    by_spark = [(row[LINES].split("\n") if row[LINES] else [], row[REASON]) for row in found]
    (batch,) = frame.toArrow().combine_chunks().to_batches()
    here = lines_of(batch, triples, [set(triples)], Renderer(ArrowColumns(batch, functions), shapes, nquads=True))
    texts = iter(here.texts[0].to_pylist())
    reasons = here.reasons.to_pylist()
    by_arrow = [([] if reason else _lines(next(texts)), reason) for reason in reasons]
    if not compared:
        return by_spark + by_arrow
    assert by_spark == by_arrow
    return by_spark


def _lines(text):
    return text.removesuffix("\n").split("\n") if text else []


def pair(object_map, predicate="ex:p"):
    return f"rml:predicateObjectMap [ rml:predicate {predicate} ; rml:objectMap [ {object_map} ] ] ."


def test_literals_are_escaped(spark, tmp_path):
    maps = SUBJECT + pair('rml:reference "v"')
    found = made(spark, tmp_path, maps, [{"id": "1", "v": 'a "b"\n\\c'}, {"id": "2"}, {"v": "x"}])
    assert found[0][0] == ['<http://example.org/1> <http://example.org/ns#p> "a \\"b\\"\\n\\\\c" .']
    assert found[1:] == [([], None), ([], None)]


def test_values_have_their_natural_types(spark, tmp_path):
    maps = SUBJECT + pair('rml:reference "v"')
    one = ("1", json_values.INTEGER)
    rows = [
        {"id": one, "v": ("2", json_values.INTEGER)},
        {"id": one, "v": ("true", json_values.BOOLEAN)},
        {"id": one, "v": ("2.5E0", json_values.REAL)},
        {"id": one, "v": ('"', json_values.STRING)},
        {"id": one, "v": ("[1]", json_values.NESTED)},
    ]
    found = made(spark, tmp_path, maps, rows, form="JSONPath")
    objects = [lines[0].split(" ", 2)[2].removesuffix(" .") if lines else None for lines, _ in found]
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert objects == [f'"2"^^<{xsd}integer>', f'"true"^^<{xsd}boolean>', f'"2.5E0"^^<{xsd}double>', '"\\""', None]
    assert found[4][1] == "the value of v is an object or an array"


def test_several_values_make_each_with_each(spark, tmp_path):
    maps = SUBJECT + pair('rml:template "{a}-{b}" ; rml:termType rml:Literal')
    rows = [{"id": ["x y", "é"], "a": ["1", "2"], "b": "c"}, {"id": [], "a": ["1"], "b": "c"}]
    found = made(spark, tmp_path, maps, rows, many=frozenset({"id", "a"}))
    assert sorted(found[0][0]) == sorted(
        f'<http://example.org/{subject}> <http://example.org/ns#p> "{value}-c" .'
        for subject in ("x%20y", "é")
        for value in (1, 2)
    )
    assert found[1] == ([], None)


@pytest.mark.parametrize(
    ("kind", "value", "iri"),
    [
        ("IRI", "a b/é", "http://example.org/a%20b%2Fé"),
        ("URI", "a b/é", "http://example.org/a%20b%2F%C3%A9"),
        ("UnsafeIRI", "a b/é", "http://example.org/a b/é"),
    ],
)
def test_term_types_say_what_is_encoded(spark, tmp_path, kind, value, iri):
    maps = f'rml:subjectMap [ rml:template "http://example.org/{{id}}" ; rml:termType rml:{kind} ; rml:class ex:T ] .'
    ((lines, _),) = made(spark, tmp_path, maps, [{"id": value}])
    assert lines == [f"<{iri}> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/ns#T> ."]


def test_relative_iris_are_resolved_and_bad_ones_rejected(spark, tmp_path):
    maps = 'rml:subjectMap [ rml:reference "id" ; rml:class ex:T ] .'
    found = made(spark, tmp_path, maps, [{"id": "a"}, {"id": "urn:a"}, {"id": "a b"}])
    assert [lines[0].split()[0] for lines, _ in found[:2]] == ["<http://example.org/base/a>", "<urn:a>"]
    assert found[2] == ([], "not an absolute IRI: http://example.org/base/a b")


def test_graphs_languages_and_datatypes_of_the_record(spark, tmp_path):
    maps = """rml:subjectMap [ rml:constant ex:s ; rml:graphMap [ rml:template "http://example.org/g/{g}" ] ] ;
      rml:predicateObjectMap [ rml:predicate ex:p ; rml:graph rml:defaultGraph ;
        rml:objectMap [ rml:reference "v" ; rml:languageMap [ rml:reference "l" ] ] ,
          [ rml:reference "v" ; rml:datatypeMap [ rml:template "http://example.org/{t}" ] ] ] ."""
    rows = [{"g": "1", "v": "x", "l": "en-GB", "t": "T"}, {"g": "1", "v": "x", "l": "english", "t": "T"}]
    found = made(spark, tmp_path, maps, rows)
    s, g = "<http://example.org/ns#s> <http://example.org/ns#p>", "<http://example.org/g/1>"
    typed = '"x"^^<http://example.org/T>'
    assert sorted(found[0][0]) == sorted(
        [f'{s} "x"@en-GB .', f'{s} "x"@en-GB {g} .', f"{s} {typed} .", f"{s} {typed} {g} ."]
    )
    assert found[1] == ([], "no language tag: english")


FUNCTION_FILE = """
import pyarrow.compute as pc
from freshet.rml.user_functions import mapping_function

@mapping_function("http://example.org/fn#shout", ["http://example.org/fn#text"], "http://example.org/fn#out")
def shout(text):
    return pc.binary_join_element_wise(pc.utf8_upper(text), "!", "")
"""


def test_a_users_function_runs_on_batches(spark, tmp_path):
    (tmp_path / "functions.py").write_text(FUNCTION_FILE, encoding="utf-8")
    call = """rml:functionExecution [ rml:function fn:shout ;
      rml:input [ rml:parameter fn:text ; rml:inputValueMap [ rml:reference "v" ] ] ] ; rml:return fn:out"""
    rows = [{"id": "1", "v": "a"}, {"id": "2"}, {"id": "3", "v": "b"}]
    found = made(spark, tmp_path, SUBJECT + pair(call), rows, users=load_functions(tmp_path / "functions.py"))
    assert [[line.split()[2] for line in lines] for lines, _ in found] == [['"A!"'], [], ['"B!"']]


CALLS = {
    "toTitleCase": ({"valueParam": "red car"}, ["Red Car"]),
    "string_trim": ({"valueParam": " \t a b "}, ["a b"]),
    "string_substring": ({"valueParam": "Venus", "p_int_i_from": "1", "p_int_i_opt_to": "3"}, ["en"]),
    "string_replaceChars": ({"valueParam": "abcb", "param_find": "bc", "param_replace": "xy"}, ["axyx"]),
    "string_indexOf": ({"valueParam": "abcb", "p_string_sub": "b"}, ["1"]),
    "string_lastIndexOf": ({"valueParam": "abcb", "p_string_sub": "b"}, ["3"]),
    "string_endsWith": ({"valueParam": "abcb", "p_string_sub": "cb"}, ["true"]),
    "string_split": ({"valueParam": "a.b.c", "p_string_sep": "."}, ["a", "b", "c"]),
    "escape": ({"valueParam": "<a&b>", "modeParam": "html"}, ["&lt;a&amp;b&gt;"]),
    "math_round": ({"p_dec_n": "2.5"}, ["3"]),
    "math_floor": ({"p_dec_n": "-2.5"}, ["-3"]),
    "controls_if": ({"p_bool_b": "false", "p_any_true": "x", "p_any_false": "y"}, ["y"]),
    "boolean_not": ({"p_bool_b": "false"}, ["true"]),
    "string_reverse": ({"valueParam": "abc"}, ["cba"]),
    "boolean_and": ({"param_rep_b": "true"}, ["true"]),
    "string_md5": ({"valueParam": "a"}, ["0cc175b9c0f1b6a831c399e269772661"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(spark, tmp_path, name):
    given, wanted = CALLS[name]
    inputs = ", ".join(
        f'[ rml:parameter grel:{parameter} ; rml:inputValueMap [ rml:reference "{parameter}" ] ]' for parameter in given
    )
    call = f"rml:functionExecution [ rml:function grel:{name} ; rml:input {inputs} ]"
    ((lines, _),) = made(spark, tmp_path, SUBJECT + pair(call), [{"id": "1", **given}])
    assert [line.split(" ", 2)[2].split('"')[1] for line in lines] == wanted


def test_all_values_at_once(spark, tmp_path):
    call = """rml:functionExecution [ rml:function grel:array_join ;
      rml:input [ rml:parameter grel:p_array_a ; rml:inputValueMap [ rml:reference "v" ] ] ,
        [ rml:parameter grel:p_string_sep ; rml:inputValue "+" ] ]"""
    ((lines, _),) = made(spark, tmp_path, SUBJECT + pair(call), [{"id": "1", "v": ["a", "b"]}], many=frozenset({"v"}))
    assert lines == ['<http://example.org/1> <http://example.org/ns#p> "a+b" .']


def test_a_parameter_that_is_given_often(spark, tmp_path):
    def found(name, *values):
        inputs = ", ".join(f'[ rml:parameter grel:param_rep_b ; rml:inputValue "{each}" ]' for each in values)
        call = f"rml:functionExecution [ rml:function grel:{name} ; rml:input {inputs} ]"
        ((lines, _),) = made(spark, tmp_path, SUBJECT + pair(call), [{"id": "1"}])
        return [line.split('"')[1] for line in lines]

    assert found("boolean_and", "true", "true", "1") == ["true"]
    assert found("boolean_and", "true", "false", "TRUE") == ["false"]
    assert found("boolean_or", "false", "0", "true", "x") == ["true"]
    assert found("boolean_or", "false", "no") == ["false"]


def test_a_parameter_that_is_given_twice(tmp_path):
    given = "; rml:input ".join(f'[ rml:parameter grel:valueParameter ; rml:inputValue "{each}" ]' for each in "ab")
    call = f"rml:functionExecution [ rml:function grel:toUpperCase ; rml:input {given} ]"
    (tmp_path / "mapping.ttl").write_text(HEAD.replace("FORM", "CSV") + SUBJECT + pair(call), encoding="utf-8")
    with pytest.raises(FreshetError, match="toUpperCase> with several values of its parameter valueParam"):
        read_mapping(tmp_path / "mapping.ttl")


def test_functions_of_idlab(spark, tmp_path):
    def found(name, given, **more):
        inputs = ", ".join(
            f'[ rml:parameter idlab:_{each} ; rml:inputValueMap [ rml:reference "{each}" ] ]' for each in given
        )
        call = f"rml:functionExecution [ rml:function idlab:{name} ; rml:input {inputs} ]"
        ((lines, _),) = made(spark, tmp_path, SUBJECT + pair(call), [{"id": "1", **given}], **more)
        return [line.split('"')[1] for line in lines]

    assert found("stringContainsOtherString", {"str": "a|bc", "otherStr": "b"}) == ["true"]
    assert found("stringContainsOtherString", {"str": "a|bc", "otherStr": "b", "delimiter": "|"}) == ["false"]
    assert found("stringContainsOtherString", {"str": "a|bc", "otherStr": "bc", "delimiter": "|"}) == ["true"]
    for wanted, answer in (("b", ["true"]), ("c", ["false"])):
        assert found("listContainsElement", {"list": ["a", "b"], "str": wanted}, many=frozenset({"list"})) == answer
    assert found("inRange", {"test": "3", "from": "3", "to": "4"}) == ["true"]
    assert found("inRange", {"test": "4", "to": "4"}) == ["false"]
    assert found("inRange", {"test": "x"}) == ["false"]
    assert found("getMIMEType", {"str": "a.b.csv"}) == ["text/csv"]
    assert found("getMIMEType", {"str": "csv"}) == []


def lookup(name, *constants):
    given = zip(("inputFile", "fromColumn", "toColumn", "delimiter"), constants, strict=False)
    inputs = ", ".join(f'[ rml:parameter idlab:_{each} ; rml:inputValue "{value}" ]' for each, value in given)
    first = '[ rml:parameter idlab:str ; rml:inputValueMap [ rml:reference "v" ] ]'
    return f"rml:functionExecution [ rml:function idlab:{name} ; rml:input {first}, {inputs} ]"


def test_lookups_in_files(spark, tmp_path):
    (tmp_path / "codes.csv").write_text('code,meaning\n1,"poor, very"\n2,good\n2,better\n3\n', encoding="utf-8-sig")
    (tmp_path / "codes.txt").write_text("a;x;1\nb;y;2\n", encoding="utf-8")
    rows = [{"id": "1", "v": value} for value in ("1", "2", "3", "good", None)]

    def found(*given):
        return [
            [line.split('"')[1] for line in lines]
            for lines, _ in made(spark, tmp_path, SUBJECT + pair(lookup(*given)), rows)
        ]

    assert found("lookup", "codes.csv", 0, 1) == [["poor, very"], ["good"], [], [], []]
    assert found("lookup", "codes.csv", 1, 0) == [[], [], [], ["2"], []]
    assert found("lookupWithDelimiter", "codes.txt", 2, 0, ";") == [["a"], ["b"], [], [], []]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("lookup", "none.csv", 0, 1), "looks up in a file that is not there: .*none.csv"),
        (("lookup", "codes.csv", "a", 1), "the columns of a lookup are numbers from 0 on, not 'a' and '1'"),
        (("lookup", "codes.csv", -1, 1), "the columns of a lookup are numbers from 0 on"),
        (("lookupWithDelimiter", "codes.csv", 0, 1, ";;"), "the delimiter of a lookup is one character"),
    ],
)
def test_lookups_that_cannot_be(tmp_path, given, words):
    (tmp_path / "codes.csv").write_text("1,2\n", encoding="utf-8")
    (tmp_path / "data.csv").write_text("id,v\n1,1\n", encoding="utf-8")
    maps = HEAD.replace('"x"', '"data.csv"').replace("FORM", "CSV") + SUBJECT + pair(lookup(*given))
    (tmp_path / "mapping.ttl").write_text(maps, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        run_map_here(tmp_path / "mapping.ttl", MapOptions(output=tmp_path / "out.nq", rejects=tmp_path / "rejects"))


def test_a_lookup_in_a_file_that_the_record_names(tmp_path):
    call = lookup("lookup", "x", 0, 1).replace('rml:inputValue "x"', 'rml:inputValueMap [ rml:reference "v" ]')
    (tmp_path / "mapping.ttl").write_text(HEAD.replace("FORM", "CSV") + SUBJECT + pair(call), encoding="utf-8")
    with pytest.raises(FreshetError, match="a lookup whose inputFile is no constant"):
        read_mapping(tmp_path / "mapping.ttl")


def test_a_client_cannot_look_up_in_files_of_the_server(tmp_path):
    (tmp_path / "codes.csv").write_text("1,2\n", encoding="utf-8")
    text = HEAD.replace("FORM", "CSV") + SUBJECT + pair(lookup("lookup", tmp_path / "codes.csv", 0, 1))
    with pytest.raises(FreshetError, match="a lookup in a file of the server"):
        read_mapping_text(text, "mapping")


def test_random_is_another_one_for_each_record(spark, tmp_path):
    call = "rml:functionExecution [ rml:function grel:random ]"
    found = made(spark, tmp_path, SUBJECT + pair(call), [{"id": "1"}, {"id": "2"}], compared=False)
    values = {line.split('"')[1] for lines, _ in found for line in lines}
    assert len(values) == 4
    assert all(len(each) == 36 for each in values)


TEXTS = [
    "", " ", "a", "Abc dEF  ghi", "o'neil-x", "Straße ǆ", "ΑΣ İ ſ ﬁ", "東京", "😀 x", "1", "true", "TRUE", "-2.5",
    " 7 ", "1e3", "12345678.9", "0.00012", "1.5d", "NaN", "-Infinity", "9e30", ".5", "5.", "x", "1.0E10", "aXbXc", "X",
    "a\"b,c",
    "<a href='b'>&c</a>", "a\nb\r", "\u00a0a\u2003", "a\\b", "http://x.org/y z", "HTTPS://a", "*~._-/?", "\u0085", "é",
]  # fmt: skip
# Of lists, by chance, and in files.
NOT_COMPARED = {"array_join", "listContainsElement", "random", "lookup", "lookupWithDelimiter"}
SECOND = ["", "a", "X", "2", "-1", "1.7", "abc", "html", "url", "csv", "javascript", "true", "é", "\\"]


@pytest.mark.parametrize("name", sorted({each.name for each in FUNCTIONS.values()} - NOT_COMPARED))
def test_functions_are_the_same_on_both(spark, tmp_path, name):
    """Whatever texts they are given."""
    declared = next(each for each in FUNCTIONS.values() if each.name == name)
    iri = next(iri for iri, each in FUNCTIONS.items() if each is declared)
    given = declared.parameters
    namespace = iri[: -len(iri.rpartition("#" if "#" in iri else "/")[2])]
    inputs = ", ".join(
        f'[ rml:parameter <{namespace}{each}> ; rml:inputValueMap [ rml:reference "{each}" ] ]' for each in given
    )
    call = f"rml:functionExecution [ rml:function <{iri}> {'; rml:input ' + inputs if inputs else ''} ]"
    seconds = SECOND if len(given) > 1 else [""]
    thirds = ["", "x", "true", "3", "yz"] if len(given) > 2 else [""]
    rows = [
        dict(zip(given, (first, second, third), strict=False)) | {"id": "1"}
        for first in TEXTS
        for second in seconds
        for third in thirds
    ]
    rows += [{"id": "1"}, *({"id": "1", each: "a"} for each in given)]
    found = made(spark, tmp_path, SUBJECT + pair(call), rows)
    assert len(found) == len(rows)
