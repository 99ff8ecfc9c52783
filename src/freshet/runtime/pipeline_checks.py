"""What must hold of a pipeline beyond its form: files are there, outputs stay apart, streams are complete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from freshet.rdf.errors import FreshetError, InputError
from freshet.rdf.yaml_positions import Document, KeyPath
from freshet.runtime.pipeline_model import FileSinkSection, LdesSinkSection, Pipeline, QuerySection, Stream
from freshet.runtime.source_sections import RDF_MESSAGES, TIMED, SourceSection, time_problems
from freshet.runtime.text_file import show_path


def check_files(document: Document, pipeline: Pipeline | None, streams: Mapping[str, Stream]) -> Iterator[InputError]:
    """Every file and folder to read is there. (A query's own file is read, and so checked, in `query_checks`.)"""
    for place, path in _graph_places(document, pipeline):
        if path.is_dir():
            yield from _no_graph(document, place, path)
        else:
            yield from _absent_file(document, place, path) or _unknown_format(document, place, path)
    if pipeline is not None and pipeline.from_files is not None and not pipeline.from_files.is_dir():
        hint = "it is a file" if pipeline.from_files.exists() else None
        yield document.value_error(("from_files",), f"there is no folder {show_path(pipeline.from_files)}", hint)
    for name, stream in streams.items():
        for place, folder in _folders(name, stream):
            if not folder.is_dir():
                hint = "it is a file" if folder.exists() else None
                yield document.value_error(place, f"there is no folder {show_path(folder)}", hint)
        if stream.mapping is not None:
            yield from _absent_file(document, ("streams", name, "mapping"), stream.mapping)
        if stream.functions is not None:
            yield from _absent_file(document, ("streams", name, "functions"), stream.functions)


def _graph_places(document: Document, pipeline: Pipeline | None) -> Iterator[tuple[KeyPath, Path]]:
    """The files of the stored graph, each with its place: in a list, under the name of its graph, or alone."""
    if pipeline is not None:
        written = document.data.get("graph") if isinstance(document.data, dict) else None
        for place, each in zip(_places(written, ("graph",)), pipeline.graph, strict=True):
            yield place, each.file


def _places(written: object, place: KeyPath) -> Iterator[KeyPath]:
    """Where single values stand, in the order in which they are written."""
    below = enumerate(written) if isinstance(written, list) else written.items() if isinstance(written, dict) else None
    if below is not None:
        for key, value in below:
            yield from _places(value, (*place, key))
    elif written is not None:
        yield place


def _sections(name: str, stream: Stream) -> Iterator[tuple[KeyPath, SourceSection]]:
    """What the file says of a stream's sources."""
    if stream.source is not None:
        yield ("streams", name, "source"), stream.source
    for source, section in stream.sources.items():
        yield ("streams", name, "sources", source), section


def _folders(name: str, stream: Stream) -> Iterator[tuple[KeyPath, Path]]:
    for place, section in _sections(name, stream):
        if section.folder is not None:
            yield (*place, "folder"), section.folder


def _absent_file(document: Document, place: KeyPath, path: Path) -> list[InputError]:
    if path.is_file():
        return []
    hint = "it is a folder" if path.is_dir() else None
    return [document.value_error(place, f"there is no file {show_path(path)}", hint)]


def _no_graph(document: Document, place: KeyPath, path: Path) -> list[InputError]:
    from freshet.store.graph_directory import GraphDirectory

    try:
        GraphDirectory(path)
    except InputError as error:
        return [document.value_error(place, f"{show_path(Path(error.place))}: {error.message}", error.hint)]
    return []


def _unknown_format(document: Document, place: KeyPath, path: Path) -> list[InputError]:
    from freshet.rdf.formats import rdf_format

    try:
        rdf_format(path)
    except InputError as error:
        return [document.value_error(place, error.message, error.hint)]
    return []


def check_outputs(
    document: Document,
    pipeline: Pipeline | None,
    streams: Mapping[str, Stream],
    queries: Mapping[str, QuerySection],
) -> Iterator[InputError]:
    """No two things write to one place, and nothing writes where a stream reads."""
    taken: dict[Path, str] = {}
    for place, folder, what in _outputs(document, pipeline, queries):
        if folder in taken:
            yield document.value_error(place, f"{what} goes to the same place as {taken[folder]}: {show_path(folder)}")
        elif folder.exists() and not folder.is_dir():
            yield document.value_error(place, f"{show_path(folder)} is a file, not a folder")
        taken.setdefault(folder, what)
        for name, stream in streams.items():
            if any(read in (folder, *folder.parents) for _, read in _folders(name, stream)):
                yield document.value_error(
                    place, f"{what} goes to where the stream '{name}' is read from: {show_path(folder)}"
                )


def _outputs(
    document: Document, pipeline: Pipeline | None, queries: Mapping[str, QuerySection]
) -> Iterator[tuple[KeyPath, Path, str]]:
    if pipeline is not None:
        if pipeline.checkpoint is not None:
            yield _checkpoint_place(document), pipeline.checkpoint.folder, "the checkpoint"
        yield ("rejects",), pipeline.rejects, "what is rejected"
    for name, query in queries.items():
        for number, sink in enumerate(query.sinks):
            if isinstance(sink, FileSinkSection):
                yield ("queries", name, "sinks", number, "files"), sink.folder, f"the query '{name}'"
            if isinstance(sink, LdesSinkSection):
                yield ("queries", name, "sinks", number, "ldes"), sink.ldes.folder, f"the query '{name}'"


def _checkpoint_place(document: Document) -> KeyPath:
    place: KeyPath = ("checkpoint", "folder")
    return place if place in document.values else place[:1]


def check_streams(document: Document, streams: Mapping[str, Stream], *, is_served: bool) -> Iterator[FreshetError]:
    """Each stream has its own IRI, and what its format needs to become timed triples."""
    first: dict[str, str] = {}
    for name, stream in streams.items():
        if stream.iri in first:
            yield document.value_error(
                ("streams", name, "iri"), f"the stream '{first[stream.iri]}' has this IRI already"
            )
        first.setdefault(stream.iri, name)
        if stream.post:
            problems = list(_check_posted(document, name, stream, is_served))
        else:
            problems = list(_check_sub_streams(document, name, stream))
        yield from problems
        files = [file for file in (stream.mapping, stream.functions) if file is not None]
        if not problems and stream.mapping is not None and all(file.is_file() for file in files):
            yield from _check_mapping(document, name, stream)


def _check_sub_streams(document: Document, name: str, stream: Stream) -> Iterator[InputError]:
    """What of a stream goes together, as far as is known without its mapping."""
    for place, section in _sections(name, stream):
        for key, message in section.problems():
            yield document.key_error(place if key is None else (*place, key), message)
    if stream.time is not None:
        for _, message in time_problems(stream.time):
            yield document.key_error(("streams", name, "time"), message)
    if stream.source is not None and stream.source.format == TIMED:
        for key in ("mapping", "functions", "time", "sources", "join"):
            if getattr(stream, key):
                message = f"timed-ntriples says all by itself: '{key}' does not belong here"
                yield document.key_error(("streams", name, key), message)
        return
    if stream.graphs and (stream.source is None or stream.source.format not in RDF_MESSAGES):
        message = "'graphs' is for streams of RDF: what a mapping makes is in the default graph"
        yield document.key_error(("streams", name, "graphs"), message)
    times = [stream.time, *(section.time for _, section in _sections(name, stream))]
    if stream.source is not None and stream.source.format in RDF_MESSAGES:
        yield from _check_messages(document, name, stream, stream.source)
        return
    if any(time is not None and time.predicate for time in times):
        yield document.key_error(("streams", name), f"'predicate' in 'time' of '{name}' is for documents of RDF")
    if stream.source is None and stream.mapping is None:
        yield document.key_error(("streams", name), f"'source' is missing in '{name}'")
    elif stream.source is not None and stream.source.format is None:
        yield document.key_error(("streams", name, "source"), "'format' is missing in 'source'")
    else:
        form = stream.source.format if stream.source is not None else "mapped"
        timed = [section.time for _, section in _sections(name, stream)]
        for key, value in (("mapping", stream.mapping), ("time", stream.time or (timed and all(timed)))):
            if not value:
                message = f"'{key}' is missing in '{name}': {form} records need it"
                yield document.key_error(("streams", name), message)


def _check_posted(document: Document, name: str, stream: Stream, is_served: bool) -> Iterator[InputError]:
    """What clients post says by itself what it is; records need a mapping, and may have a time."""
    if not is_served:
        message = "only `freshet serve` takes what clients post: run this file with it"
        yield document.key_error(("streams", name, "post"), message)
    for key in ("source", "sources", "description", "functions", "join", "origins"):
        if getattr(stream, key) not in (None, {}):
            message = f"the stream is fed by POST: '{key}' does not belong here"
            yield document.key_error(("streams", name, key), message)
    if stream.time is None:
        return
    if stream.mapping is None:
        yield document.key_error(("streams", name, "time"), "'time' is for records, which need a 'mapping'")
    elif stream.time.predicate:
        yield document.key_error(("streams", name, "time"), "'predicate' in 'time' is for documents of RDF")
    for _, message in time_problems(stream.time):
        yield document.key_error(("streams", name, "time"), message)


def _check_messages(document: Document, name: str, stream: Stream, source: SourceSection) -> Iterator[InputError]:
    """Documents of RDF need a time, and nothing else."""
    for key in ("mapping", "functions", "sources", "join"):
        if getattr(stream, key):
            yield document.key_error(("streams", name, key), f"{source.format} is RDF: '{key}' does not belong here")
    time = source.time or stream.time
    if time is None:
        message = f"'time' is missing in '{name}': {{predicate: IRI}} or {{as: arrival}}"
        yield document.key_error(("streams", name), message)
    elif time.reference:
        yield document.key_error(("streams", name), f"{source.format} is RDF: its time is {{predicate: IRI}}")


def _check_mapping(document: Document, name: str, stream: Stream) -> Iterator[FreshetError]:
    from freshet.runtime.sub_streams import StreamProblem, check_posted, split_stream

    try:
        check_posted(stream) if stream.post else split_stream(stream)
    except StreamProblem as problem:
        yield document.key_error(("streams", name, *problem.path), problem.message)
    except FreshetError as error:
        error.file = show_path(Path(error.file)) if error.file else error.file
        yield error


def check_purpose(document: Document, pipeline: Pipeline) -> Iterator[InputError]:
    """Something comes out: a query, or a stream that the stored graph absorbs."""
    if not pipeline.queries and not any(stream.absorb for stream in pipeline.streams.values()):
        place: KeyPath = ("queries",) if ("queries",) in document.values else ()
        yield document.key_error(place, "nothing to do: no query, and no stream is absorbed")
