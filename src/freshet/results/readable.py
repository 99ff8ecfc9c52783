"""The ways to read an answer or a report: terms, Arrow, data frames, and a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from freshet.rdf.terms import Term
    from freshet.results.report import Answer, Report


class Readable:
    """What answers and reports have in common. An answer decodes its terms when one of these methods is called."""

    __slots__ = ()

    def bindings(self) -> Iterator[dict[str, Term]]:
        """The solutions as dictionaries of terms.

        A graph has a dictionary for each triple: subject, predicate, object.

        Yields:
            The terms of a solution by the names of its variables. Unbound variables are left out.

        Raises:
            InputError: For the answer to ASK.

        Example:
            >>> import freshet
            >>> answer = freshet.Session().query("SELECT ?x ?y { BIND (1 AS ?x) }")
            >>> [{name: str(term) for name, term in row.items()} for row in answer.bindings()]
            [{'x': '"1"^^<http://www.w3.org/2001/XMLSchema#integer>'}]
        """
        from freshet.results.terms import bindings

        return bindings(self._itself())

    def to_arrow(self) -> pa.RecordBatch:
        """The answer as Arrow, with typed columns.

        A column whose bound values all have one datatype has the Arrow type for it:

        | values | type |
        | --- | --- |
        | xsd:integer and the types derived from it | int64 |
        | xsd:decimal | decimal128, with the digits that the values need |
        | xsd:double, xsd:float | double, float |
        | xsd:boolean | bool |
        | xsd:dateTime | timestamp in UTC, or without a zone where no value has one |
        | xsd:date without a zone | date32 |
        | other literals of one datatype and language | their lexical forms, as strings |
        | IRIs | strings, without angle brackets |
        | blank nodes, and anything mixed | terms as N-Triples writes them, as strings |
        | nothing at all | null |

        Unbound values are null. A field's metadata has the `type` of its terms (uri, literal, bnode) and their
        `datatype` and `language`, where it is the same for all. Values that the type cannot hold exactly leave the
        column as lexical forms.

        Returns:
            One batch. A report's query, time and stream operator are in the metadata of the schema. A graph has the
            columns subject, predicate and object; the answer to ASK has one column, `boolean`.

        Example:
            >>> import freshet
            >>> answer = freshet.Session().query("SELECT ?n ?any { VALUES (?n ?any) { (1 true) (2 'x') } }")
            >>> answer.to_arrow().to_pydict()
            {'n': [1, 2], 'any': ['"true"^^<http://www.w3.org/2001/XMLSchema#boolean>', '"x"']}
        """
        from freshet.results.typed_arrow import typed_batch

        return typed_batch(self._itself())

    def to_pandas(self) -> pd.DataFrame:
        """The answer as a pandas DataFrame, with the columns of `to_arrow`.

        Returns:
            A frame with the dtypes Int64, Float64, Float32, boolean and string, which all have a missing value for
            unbound variables, datetime64, and Arrow's decimals and dates.

        Example:
            >>> import freshet
            >>> frame = freshet.Session().query("SELECT ?n { VALUES ?n { 1 2 UNDEF } }").to_pandas()
            >>> str(frame["n"].dtype), int(frame["n"].sum())
            ('Int64', 3)
        """
        from freshet.results.frames import pandas_frame

        return pandas_frame(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """The answer as a polars DataFrame, with the columns of `to_arrow`.

        Returns:
            A frame in which unbound variables are null.

        Raises:
            ImportError: Where polars is not installed. `pip install polars` installs it.
        """
        from freshet.results.frames import polars_frame

        return polars_frame(self.to_arrow())

    def __repr__(self) -> str:
        """The first rows as text."""
        from freshet.results.text import answer_text

        return answer_text(self._itself())

    def _repr_html_(self) -> str:
        """The answer as a table, as notebooks show it."""
        from freshet.results.html import answer_html

        return answer_html(self._itself())

    def _itself(self) -> Answer | Report:
        return cast("Answer | Report", self)
