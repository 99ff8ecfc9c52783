"""The pipeline file: read, and checked whole, before anything starts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.yaml_positions import Document, read_yaml
from freshet.runtime.form_problems import form_problems
from freshet.runtime.pipeline_checks import check_files, check_outputs, check_purpose, check_streams
from freshet.runtime.pipeline_model import GraphFile, Pipeline, QuerySection, Stream
from freshet.runtime.query_checks import check_queries
from freshet.runtime.query_graphs import file_of_graph
from freshet.runtime.section import Section
from freshet.runtime.text_file import read_text
from freshet.syntax.parser import parse_query

AnySection = TypeVar("AnySection", bound=Section)


class PipelineErrors(FreshetError):
    """All that is wrong with a pipeline file; `errors` holds each with its place, and `str()` is one line each."""

    def __init__(self, errors: Iterable[FreshetError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(error.message for error in self.errors))

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


def read_pipeline(path: str | Path, *, is_served: bool = False) -> Pipeline:
    """Read and check a pipeline file. Raises PipelineErrors with everything that is wrong.

    Only one that `is_served` can have streams that clients post to.

    Paths in the result are absolute, and each query has its text, wherever it was written.
    """
    path = Path(path)
    try:
        document = read_yaml(read_text(path), str(path))
    except InputError as error:
        raise PipelineErrors([error]) from None
    context = {"folder": Path(os.path.abspath(path)).parent}
    problems: list[FreshetError] = list(document.problems)
    pipeline: Pipeline | None = None
    try:
        pipeline = Pipeline.model_validate(document.data, context=context)
        streams, queries = pipeline.streams, pipeline.queries
        problems += check_purpose(document, pipeline)
    except ValidationError as error:
        problems += form_problems(error, document)
        # What can be understood alone is still checked, so that one slip does not hide the rest.
        streams = _valid_sections(Stream, document, "streams", context)
        queries = _valid_sections(QuerySection, document, "queries", context)
    problems += check_files(document, pipeline, streams)
    problems += check_outputs(document, pipeline, streams, queries)
    problems += check_streams(document, streams, is_served=is_served)
    checked = check_queries(document, queries, streams if pipeline else None)
    problems += checked.problems
    if problems or pipeline is None:
        raise PipelineErrors(sorted(problems, key=_reading_order(document)))
    graph = (*pipeline.graph, *_files_of_graphs(pipeline, checked.queries))
    return pipeline.model_copy(update={"queries": checked.queries, "graph": graph})


def _files_of_graphs(pipeline: Pipeline, queries: Mapping[str, QuerySection]) -> Iterator[GraphFile]:
    """The files of a folder for the graphs that queries name in FROM; what has none is an error once all is loaded."""
    if pipeline.from_files is None:
        return
    parsed = (parse_query(query.text or "") for query in queries.values())
    named = dict.fromkeys(iri.value for query in parsed for iri in (*query.default_graphs, *query.named_graphs))
    loaded = {each.iri for each in pipeline.graph}
    for iri in named:
        if iri not in loaded and (file := file_of_graph(iri, pipeline.from_files)) is not None:
            yield GraphFile.model_construct(file=file, iri=iri)


def _valid_sections(
    model: type[AnySection], document: Document, key: str, context: dict[str, Any]
) -> dict[str, AnySection]:
    written = document.data.get(key) if isinstance(document.data, dict) else None
    valid = {}
    for name, data in written.items() if isinstance(written, dict) else ():
        try:
            valid[name] = model.model_validate(data, context=context)
        except ValidationError:
            continue
    return valid


def _reading_order(document: Document) -> Any:
    """Problems of the pipeline file first and in its order, then those of the files it names."""
    return lambda error: (error.file != document.file, error.file or "", error.line or 0, error.column or 0)
