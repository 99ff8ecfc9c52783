"""SPARQL 1.1 Query and Update, RSP-QL, C-SPARQL, SPARQLstream and CQELS-QL: text to algebra."""

from __future__ import annotations

from lark.exceptions import UnexpectedInput

from freshet.algebra.nodes import Query
from freshet.algebra.updates import Modify, Update
from freshet.rdf.errors import FreshetError
from freshet.rdf.terms import TOO_NESTED
from freshet.syntax.dialects import dialect_named
from freshet.syntax.driver import driver
from freshet.syntax.errors import explain
from freshet.syntax.nesting import DEEPEST_ALGEBRA, depth, nested_triple_terms, too_deep
from freshet.syntax.source import Source
from freshet.syntax.tables import QUERY, UPDATE, parser
from freshet.syntax.transform_query import QueryTransformer
from freshet.syntax.transform_update import UpdateTransformer
from freshet.syntax.tree import Tree


def parse_query(text: str, *, file: str | None = None, dialect: str | None = None) -> Query:
    """The query that a text says, in the dialect that is named or that it gives away.

    What cannot be read is a QuerySyntaxError, what is understood and not done yet an UnsupportedError, both with
    line and column; `file` is only named in them.
    """
    asked = None if dialect is None else dialect_named(dialect)
    source = Source(text, file)
    tree = parse_tree(source)
    try:
        query = QueryTransformer(source, asked).query(tree)
    except RecursionError:
        raise source.error("the query is nested too deeply", 0) from None
    check_depth(query, source)
    return query


def parse_tree(source: Source) -> Tree:
    """The tree of a text, or a QuerySyntaxError."""
    source.check_characters()
    tree = driver().parse(source.decoded)
    if tree is None:
        raise _syntax_error(source)
    _check_nesting(tree, source, "query")
    return tree


def _check_nesting(tree: Tree, source: Source, what: str) -> None:
    if (at := too_deep(tree)) is not None:
        raise source.error(f"the {what} is nested too deeply here", at)
    if "<<(" in source.decoded and (at := nested_triple_terms(tree)) is not None:
        raise source.error(TOO_NESTED, at)


def check_depth(query: Query, source: Source) -> None:
    """Refuse algebra that is too deep to be walked."""
    if (found := depth(query.root)) > DEEPEST_ALGEBRA:
        raise source.error(f"the query is {found} operators deep; {DEEPEST_ALGEBRA} is the most", 0)


def parse_update(text: str, *, file: str | None = None, base: str | None = None) -> Update:
    """The update that a text says; what cannot be read is a QuerySyntaxError with line and column.

    Relative IRIs are resolved against `base` where the text has no BASE of its own.
    """
    source = Source(text, file)
    source.check_characters()
    tree = driver(UPDATE).parse(source.decoded)
    if tree is None:
        raise _syntax_error(source, UPDATE)
    _check_nesting(tree, source, "update")
    try:
        update = UpdateTransformer(source, base).update(tree)
    except RecursionError:
        raise source.error("the update is nested too deeply", 0) from None
    for operation in update.operations:
        if isinstance(operation, Modify) and (found := depth(operation.pattern)) > DEEPEST_ALGEBRA:
            raise source.error(f"a pattern is {found} operators deep; {DEEPEST_ALGEBRA} is the most", 0)
    return update


def _syntax_error(source: Source, start: str = QUERY) -> FreshetError:
    try:
        parser(start).parse(source.decoded)
    except UnexpectedInput as error:
        return explain(error, source, parser(start))
    return source.error("the query cannot be parsed", 0)  # unless the two disagree, which the tests look for
