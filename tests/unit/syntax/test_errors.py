"""What is refused: where, and in which words."""

from __future__ import annotations

import pytest

from freshet.rdf.errors import QuerySyntaxError, UnsupportedError
from freshet.syntax.parser import parse_query

WINDOW = "FROM NAMED WINDOW <w> ON <s>"

# What is expected in places that come up more than once.
START = "a query (SELECT, CONSTRUCT, ASK or DESCRIBE), BASE, PREFIX or REGISTER"
PATTERN = "a graph pattern (OPTIONAL, FILTER, ...)"
AFTER_TRIPLE = f"{PATTERN}, ',', '.', ';' or '}}'"
MODIFIER = "a solution modifier (ORDER BY, LIMIT, ...)"
RELABELLED = "the blank node _:a is used in another group or basic graph pattern already"
OPERATORS = "DSTREAM, ISTREAM, QUERY, RSTREAM or STREAM"
MISPLACED = "an aggregate can only stand in SELECT, HAVING and ORDER BY"


def refused(text: str) -> QuerySyntaxError:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        # -- what the grammar refuses
        ("", (1, 1), f"expected {START}, but the query ends here"),
        ("SELECT *\n{ ?s ?p }", (2, 9), "expected an RDF term or a variable, but found '}'"),
        ("SELECT ?s\nWHRE { ?s ?p ?o }", (2, 1), "expected a variable, FROM, WHERE, '(' or '{', but found 'WHRE'"),
        ("ASK { ?s ?p ?o", (1, 15), f"expected {AFTER_TRIPLE}, but the query ends here"),
        ("ASK { ?s ?p ?o } }", (1, 18), f"expected {MODIFIER} or the end of the query, but found '}}'"),
        ("ASK { FILTER ?x }", (1, 14), "expected a function call, an IRI or '(', but found '?x'"),
        ("ASK { FILTER (?x ?y) }", (1, 18), "expected an operator or ')', but found '?y'"),
        ("ASK { <a b> ?p ?o }", (1, 7), "this IRI is not well formed"),
        ("SELECT ?x { } LIMIT -1", (1, 21), "expected a whole number, but found '-1'"),
        ("INSERT DATA { <a> <b> <c> }", (1, 1), f"expected {START}, but found 'INSERT'"),
        ("SELECT COUNT(*) {}", (1, 8), "expected a variable, DISTINCT, REDUCED, '(' or '*', but found 'COUNT'"),
        # -- characters and escapes
        ('ASK { ?s ?p "x }', (1, 13), "this string has no closing quotation mark"),
        ('ASK { ?s ?p """x" }', (1, 13), "this string has no closing quotation mark"),
        ("ASK\u00a0{}", (1, 4), "the character U+00A0 (no-break space) cannot stand here"),
        ("ASK { ? ?p ?o }", (1, 7), f"expected a triple pattern, {PATTERN}, SELECT or '}}', but found '?'"),
        ("ASK { ?s ?p \ud83d }", (1, 13), "U+D83D is half of a surrogate pair and no character"),
        (r'ASK { ?s ?p "a\qb" }', (1, 15), r"\q is no escape that a string can have"),
        (r'ASK { ?s ?p "a\u12" }', (1, 15), r"\u needs four hexadecimal digits"),
        (r'ASK { ?s ?p "a\uD800" }', (1, 15), r"\uD800 is no character"),
        (r'ASK { ?s ?p "a\U00110000" }', (1, 15), r"\U00110000 is no character"),
        (r"ASK { ?s ?p <a\u0020b> }", (1, 15), r"\u0020 cannot stand in an IRI"),
        (r"ASK { ?s ?p \u12 }", (1, 13), "a backslash cannot stand here"),
        (r"ASK { ?\u0061 \u003Fb ?c ?d }", (1, 26), f"expected {AFTER_TRIPLE}, but found '?d'"),
        ("ASK { FILTER(ISBLAN\u212a(?x)) }", (1, 20), "the character '\u212a' cannot stand here"),
        # -- names
        ("ASK { ex:a ?p ?o }", (1, 7), "the prefix ex: is not declared"),
        ("PREFIX ex:a <b> ASK {}", (1, 8), "expected a prefix such as ex:, but found 'ex:a'"),
        ("ASK { _:a ?p ?o OPTIONAL { _:a ?p ?o } }", (1, 28), RELABELLED),
        ("ASK { { _:a ?p ?o } UNION { _:a ?p ?o } }", (1, 29), RELABELLED),
        # -- functions and aggregates
        ("ASK { FILTER (STRLEN(?a, ?b) > 1) }", (1, 15), "STRLEN takes 1 argument, not 2"),
        ("ASK { FILTER (REGEX(?a)) }", (1, 15), "REGEX takes 2 to 3 arguments, not 1"),
        ("ASK { FILTER (AVERAGE(?a) > 1) }", (1, 15), "there is no function AVERAGE"),
        ("ASK { FILTER BOUND(1) }", (1, 19), "BOUND takes a variable"),
        ("ASK { ?s ?p ?o FILTER (COUNT(?s) > 1) }", (1, 24), MISPLACED),
        ("SELECT (SUM(COUNT(?s)) AS ?x) {}", (1, 13), "an aggregate cannot stand inside another aggregate"),
        ("SELECT (1 AS ?x) {} GROUP BY (COUNT(?s) AS ?y)", (1, 31), MISPLACED),
        # -- scope
        ("SELECT ?o { ?s ?p ?o } GROUP BY ?s", (1, 8), "?o is neither a key of GROUP BY nor aggregated"),
        ("SELECT (?o + COUNT(?s) AS ?x) { ?s ?p ?o }", (1, 9), "?o is neither a key of GROUP BY nor aggregated"),
        ("SELECT (?x AS ?y) (COUNT(?s) AS ?x) { ?s ?p ?o }", (1, 9), "?x is neither a key of GROUP BY nor aggregated"),
        ("SELECT * { ?s ?p ?o } GROUP BY ?s", (1, 8), "SELECT * cannot be used with GROUP BY or aggregates"),
        ("SELECT (1 AS ?s) { ?s ?p ?o }", (1, 14), "?s is in scope already and cannot be given by AS"),
        ("SELECT (1 AS ?x) (2 AS ?x) {}", (1, 24), "?x is selected already and cannot be given by AS"),
        ("SELECT (1 AS ?s) { ?s ?p ?o } GROUP BY ?s", (1, 14), "?s is in scope already and cannot be given by AS"),
        ("SELECT ?s { ?s ?p ?o } GROUP BY (1 AS ?s)", (1, 39), "?s is in scope already and cannot be given by AS"),
        ("ASK { ?s ?p ?o BIND (1 AS ?o) }", (1, 27), "?o is bound in this group already"),
        # -- inline data and templates
        ("ASK { VALUES (?a ?b) { (1 2) (1) } }", (1, 30), "values in this row: 1, variables: 2"),
        ("ASK { VALUES (?a ?a) { } }", (1, 18), "?a stands twice in VALUES"),
        ("CONSTRUCT { ?s <a>/<b> ?o } {}", (1, 16), "a template cannot have property paths"),
        ("CONSTRUCT WHERE { ?s <a>* ?o }", (1, 22), "a template cannot have property paths"),
        ("SELECT ?x {} LIMIT 99999999999999999999", (1, 20), "this number is too large"),
        ("SELECT ?x {} LIMIT " + "9" * 9999, (1, 20), "this number is too large"),
        # -- windows
        ("ASK { WINDOW <w> { } }", (1, 14), "the window <w> is not declared"),
        ("ASK { WINDOW ?w { } }", (1, 14), "the query declares no window"),
        (f"ASK {WINDOW} [RANGE PT1S]\n{WINDOW} [RANGE PT2S] {{}}", (2, 19), "the window <w> is declared already"),
        (f"ASK {WINDOW} [RANGE PT0S] {{}}", (1, 41), "RANGE must be longer than 0"),
        (f"ASK {WINDOW} [RANGE PT1S STEP PT0.0S] {{}}", (1, 51), "STEP must be longer than 0"),
        (f"ASK {WINDOW} [RANGE P1Y] {{}}", (1, 41), "P1Y counts years or months, whose length varies: give days"),
        (f"ASK {WINDOW} [RANGE PT9{'9' * 30}S] {{}}", (1, 41), f"PT9{'9' * 30}S is too long"),
        (f"ASK {WINDOW} [RANGE ten] {{}}", (1, 41), "expected a duration such as 10s, but found 'ten'"),
        (f"ASK {WINDOW} [RANGE -PT10S] {{}}", (1, 41), "expected a duration such as 10s, but found '-'"),
        (f"ASK {WINDOW} [RANGE 0] {{}}", (1, 41), "RANGE must be longer than 0"),
        ("SELECT ISTREAM ?s { ?s ?p ?o }", (1, 8), "ISTREAM is for continuous queries, and this one has no window"),
        (f"ASK {WINDOW} [RANGE PT10S PT5S] {{}}", (1, 47), "expected SLIDE, STEP or ']', but found 'PT5S'"),
        (f"ASK {WINDOW} [COUNT 0] {{}}", (1, 41), "COUNT must be more than 0"),
        (f"ASK {WINDOW} [COUNT 1.5] {{}}", (1, 41), "expected a whole number, but found '1.5'"),
        (f"ASK {WINDOW} [COUNT {'9' * 30}] {{}}", (1, 41), "this number is too large"),
        (f"ASK {WINDOW} [RANGE PT1S @ex:at] {{}}", (1, 47), "the prefix ex: is not declared"),
        (f"ASK {WINDOW} [RANGE PT1S @ex :at] {{}}", (1, 46), "expected a predicate such as @ex:time, without spaces"),
        ("REGISTER FSTREAM <q> AS ASK {}", (1, 10), f"expected {OPERATORS}, but found 'FSTREAM'"),
        ("REGISTER QUERY ?q AS ASK {}", (1, 16), "expected a name or an IRI, but found '?q'"),
        # -- windows of C-SPARQL
        ("ASK FROM poststream {}", (1, 10), "expected an IRI, NAMED or STREAM, but found 'poststream'"),
        ("ASK FROM STREAM <s> {}", (1, 21), "expected '[', but found '{'"),
        ("ASK FROM STREAM <s> [RANGE 10 10] {}", (1, 31), "expected SLIDE, STEP, TUMBLING or ']', but found '10'"),
        ("ASK FROM STREAM s [RANGE 1 eons] {}", (1, 26), "eons is no unit of time: there are ns, ms, s, m, h, d, w"),
        ("ASK FROM STREAM <s> [RANGE 0s] {}", (1, 28), "RANGE must be longer than 0"),
        ("ASK FROM STREAM <s> [RANGE 1s STEP 0.1ms] {}", (1, 36), "0.1ms is not a whole number of milliseconds"),
        (f"ASK FROM STREAM <s> [RANGE {'9' * 50}s] {{}}", (1, 28), f"{'9' * 20}... has too many digits"),
        ("ASK FROM STREAM <s> [RANGE TRIPLES 0] {}", (1, 36), "TRIPLES must be more than 0"),
        (
            "ASK FROM STREAM s [NOW] FROM <g> {}",
            (1, 20),
            "this window of FROM STREAM goes with STREAM s { ... } in the pattern",
        ),
        ("REGISTER QUERY q COMPUTED EVERY 0s AS ASK {}", (1, 33), "COMPUTED EVERY must be longer than 0"),
        # -- windows of CQELS-QL
        ("ASK { STREAM <s> { } }", (1, 14), "the stream <s> has no window"),
        ("ASK FROM STREAM at [NOW] FROM STREAM at [ALL] {STREAM at {}}", (1, 38), "the stream at is declared already"),
        ("ASK { STREAM <s> [LAST] { } }", (1, 19), "expected ADAPTIVE, ALL, NOW, RANGE or TRIPLES, but found 'LAST'"),
        ("ASK { STREAM <s> [RANGE ten] { } }", (1, 25), "expected a duration such as 10s, but found 'ten'"),
        ("ASK { STREAM <s> [RANGE 3s STEP] { } }", (1, 32), "expected a duration such as 10s, but found ']'"),
        ("ASK { STREAM ex:s [NOW] { } }", (1, 14), "the prefix ex: is not declared"),
    ],
)  # fmt: skip
def test_refused(text, place, message):
    error = refused(text)
    assert error.message == message
    assert (error.line, error.column) == place
    line, caret = error.excerpt.split("\n")
    assert caret.strip() == "^"
    assert len(caret) <= len(line) + 1


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("ASK FROM NAMED STREAM <s> [NOW SLIDE 1s] {}", 28, "a window of the present instant alone"),
        ("ASK { FILTER <f>(DISTINCT ?x) }", 18, "DISTINCT in the call of an extension function"),
    ],
)
def test_refused_by_name(text, column, message):
    with pytest.raises(UnsupportedError) as caught:
        parse_query(text, file="q.rq")
    assert message in caught.value.message
    assert str(caught.value).startswith(f"q.rq:1:{column}: ")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT ?a, ?b { }", "variables of SELECT stand without commas"),
        ("SELECT ?a { ?a ?b ?c } GROUP BY ?a, ?b", "keys of GROUP BY stand without commas"),
        ("SELECT ?a { ?a ?b ?c } ORDER BY ?a DESC LIMIT 2", "write DESC(?variable), ASC(?variable)"),
        ("SELECT ?s WHRE { ?s ?p ?o }", "did you mean WHERE?"),
        ("ASK { FILTER (AVERAGE(?a) > 1) }", "did you mean AVG?"),
        ("ASK { FILTER (STRLENGTH(?a) > 1) }", "did you mean STRLEN?"),
        ("ASK { ex:a ?p ?o }", "add PREFIX ex: <...> before the query"),
        ("SELECT COUNT(*) {}", "write (COUNT(...) AS ?name)"),
        (f"ASK {WINDOW} [RANGE ten] {{}}", "as 500ms, 10s, 5m, 1h, or as PT10S, or in milliseconds"),
        ("ASK { WINDOW <w> {} }", "FROM NAMED WINDOW <w> ON"),
        ("ASK { ?s ?p % }", "expected an RDF term or a variable"),
        ("ASK\u00a0{}", "expected FROM, WHERE or '{'"),
        ("%", "expected a query (SELECT, CONSTRUCT, ASK or DESCRIBE)"),
    ],
)
def test_hints(text, hint):
    assert hint in (refused(text).hint or "")


def test_the_excerpt_is_the_line_with_a_caret_below():
    error = refused("PREFIX : <http://ex/>\r\nSELECT *\r\n{\t?s ?p }\r\n")
    assert error.excerpt == "{\t?s ?p }\n \t      ^"
    assert (error.line, error.column) == (3, 9)


def test_the_excerpt_of_a_long_line_is_the_part_at_fault():
    error = refused("ASK { " + "?s ?p ?o . " * 100 + "! " + "?s ?p ?o . " * 100 + "}")
    line, caret = error.excerpt.split("\n")
    assert line[caret.index("^")] == "!"
    assert len(line) <= 100


def test_an_error_is_one_line_that_names_the_file():
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query("ASK {\n  ?s ?p \n}", file="queries/q.rq")
    assert str(caught.value) == "queries/q.rq:3:1: expected an RDF term or a variable, but found '}'"


def test_an_error_can_be_printed_whatever_the_text_holds():
    error = refused("ASK { ?s \ud800 \x00 }")
    assert f"{error} {error.excerpt}".encode()
