"""SPARQL 1.1 Query, RSP-QL, C-SPARQL, SPARQLstream and CQELS-QL: text to algebra."""

from __future__ import annotations

from lark.exceptions import UnexpectedInput

from freshet.algebra.nodes import Query
from freshet.rdf.errors import QuerySyntaxError
from freshet.syntax.dialects import dialect_named
from freshet.syntax.driver import driver
from freshet.syntax.errors import explain
from freshet.syntax.nesting import DEEPEST_ALGEBRA, depth, too_deep
from freshet.syntax.source import Source
from freshet.syntax.tables import parser
from freshet.syntax.transform_query import QueryTransformer


def parse_query(text: str, *, file: str | None = None, dialect: str | None = None) -> Query:
    """The query that a text says, in the dialect that is named or that it gives away.

    What cannot be read is a QuerySyntaxError, what is understood and not done yet an UnsupportedError, both with
    line and column; `file` is only named in them.
    """
    asked = None if dialect is None else dialect_named(dialect)
    source = Source(text, file)
    source.check_characters()
    tree = driver().parse(source.decoded)
    if tree is None:
        raise _syntax_error(source)
    if (at := too_deep(tree)) is not None:
        raise source.error("the query is nested too deeply here", at)
    try:
        query = QueryTransformer(source, asked).query(tree)
    except RecursionError:
        raise source.error("the query is nested too deeply", 0) from None
    if (found := depth(query.root)) > DEEPEST_ALGEBRA:
        raise source.error(f"the query is {found} operators deep; {DEEPEST_ALGEBRA} is the most", 0)
    return query


def _syntax_error(source: Source) -> QuerySyntaxError:
    try:
        parser().parse(source.decoded)
    except UnexpectedInput as error:
        return explain(error, source, parser())
    return source.error("the query cannot be parsed", 0)  # unless the two disagree, which the tests look for
