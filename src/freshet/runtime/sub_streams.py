"""A stream of the pipeline file as the sub-streams that Spark runs: which source's records make which triples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from freshet.rdf.errors import FreshetError
from freshet.rdf.terms import Iri
from freshet.rdf.yaml_positions import KeyPath
from freshet.rml.functions import FUNCTIONS
from freshet.rml.mapping_slices import JoinSlice, MappingSlice, join_name, slice_mapping
from freshet.rml.model import Mapping, TriplesMap
from freshet.rml.reader import read_mapping
from freshet.rml.sources import (
    DatabaseSource,
    DerivedSource,
    FileSource,
    FolderSource,
    Formulation,
    LogicalSource,
    SocketSource,
    StreamSource,
    UnreadStream,
    source_name,
)
from freshet.rml.stream_inputs import RECORDS_PER_BATCH, StreamInput
from freshet.rml.user_functions import UserFunction, load_functions
from freshet.rml.views import ViewSource, read_source, with_read_source
from freshet.rml.windows import JoinWindow
from freshet.runtime.form_problems import did_you_mean
from freshet.runtime.pipeline_model import Stream
from freshet.runtime.source_sections import RDF_MESSAGES, TIMED, SourceSection
from freshet.runtime.text_file import read_text

if TYPE_CHECKING:
    from freshet.mapper.record_mapper import StreamMapping

_FORMATS = {"json": Formulation.JSON, "csv": Formulation.CSV, "xml": Formulation.XML}


class StreamProblem(FreshetError):
    """What is wrong with a stream; `path` says where below it in the pipeline file."""

    def __init__(self, path: KeyPath, message: str) -> None:
        super().__init__(message)
        self.path = path


class SubStream(NamedTuple):
    """One Spark query of a stream: its inputs (one, or child and parent of a join), and the window of a join."""

    mapping_slice: MappingSlice | JoinSlice | None
    inputs: tuple[StreamInput, ...]
    window: JoinWindow | None = None


def posted_mapping(stream: Stream) -> StreamMapping | None:
    """The mapping of records that are posted to a stream, if it has one."""
    if stream.mapping is None:
        return None
    from freshet.mapper.record_mapper import StreamMapping

    text, time = read_text(stream.mapping), stream.time
    if time is None or time.form == "arrival":
        return StreamMapping(text, file=str(stream.mapping))
    return StreamMapping(text, time.reference, time.form, file=str(stream.mapping))


def check_posted(stream: Stream) -> None:
    """Raise what is wrong with the mapping of records that are posted."""
    from freshet.mapper.record_mapper import RecordMapper

    if (declared := posted_mapping(stream)) is not None:
        RecordMapper(declared, "")


def user_functions(stream: Stream) -> dict[str, UserFunction]:
    """The functions that a stream's mapping may call beside Freshet's own."""
    return load_functions(stream.functions) if stream.functions is not None else {}


def split_stream(stream: Stream) -> list[SubStream]:
    """The sub-streams of a stream: none where clients post to it. A StreamProblem says what must change in the
    pipeline file."""
    if stream.post:
        return []
    if stream.mapping is None:
        assert stream.source is not None
        return [SubStream(None, (_input(stream.source, stream.source.stream_source(None), None, stream),))]
    own = {iri: function.declared for iri, function in user_functions(stream).items()}
    mapping = read_mapping(stream.mapping, functions={**FUNCTIONS, **own})
    _check_names(stream, mapping)
    _refuse_targets(mapping)
    sections: dict[LogicalSource, SourceSection | None] = {}
    maps = []
    for triples_map in mapping.triples_maps:
        section = _section(stream, triples_map)
        _refuse_joined_view(triples_map)
        live = _read_from(triples_map.source, _live(stream, triples_map, section))
        sections.setdefault(live, section)
        maps.append(replace(triples_map, source=live))
    inputs = {
        logical_source: _input(section, _stream(logical_source), logical_source, stream)
        for logical_source, section in sections.items()
    }
    return list(_sub_streams(stream, replace(mapping, triples_maps=tuple(maps)), inputs))


def carried_predicates(sub_streams: Sequence[SubStream]) -> frozenset[Iri] | None:
    """The predicates that a stream's triples can have; None where records say it, or clients do."""
    found: set[Iri] = set()
    if not sub_streams:
        return None
    for sub_stream in sub_streams:
        if sub_stream.mapping_slice is None:
            return None
        for statement in sub_stream.mapping_slice.triples:
            if not isinstance(statement.predicate.expression, Iri):
                return None
            found.add(statement.predicate.expression)
    return frozenset(found)


def _sub_streams(stream: Stream, mapping: Mapping, inputs: dict[LogicalSource, StreamInput]) -> Iterator[SubStream]:
    """Every source has a sub-stream of its own, if only to report records that cannot be read."""
    slices = slice_mapping(mapping)
    if stream.join is not None and not any(isinstance(each, JoinSlice) for each in slices):
        raise StreamProblem(("join",), "the mapping joins no records: none of its objects has a join condition")
    _refuse_other_joins(slices, inputs)
    mapped = {each.source for each in slices if isinstance(each, MappingSlice)}
    for logical_source, given in inputs.items():
        if logical_source not in mapped:
            yield SubStream(MappingSlice(logical_source, ()), (given,))
    for mapping_slice in slices:
        if isinstance(mapping_slice, MappingSlice):
            yield SubStream(mapping_slice, (inputs[mapping_slice.source],))
            continue
        window = mapping_slice.window or JoinWindow()
        try:
            window = stream.join.apply_to(window) if stream.join is not None else window
        except FreshetError as error:
            raise StreamProblem(("join",), error.message) from None
        yield SubStream(mapping_slice, (inputs[mapping_slice.child], inputs[mapping_slice.parent]), window)


def _input(
    section: SourceSection | None, source: StreamSource, logical_source: LogicalSource | None, stream: Stream
) -> StreamInput:
    time = (section.time if section is not None else None) or stream.time
    form = section.format if section is not None and section.format in RDF_MESSAGES else None
    if logical_source is not None and time is None:
        raise StreamProblem((), "'time' is missing: records need it (as: arrival takes the time at which they come)")
    return StreamInput(
        source,
        logical_source,
        time_reference=time.reference if time is not None else "",
        time_form=time.form if time is not None else "iso",
        files_per_batch=section.files_per_batch if section is not None else None,
        records_per_batch=_most_records(section, source),
        whole_files=section is not None and (section.whole_files or form is not None),
        rdf_format=form,
        time_predicate=time.predicate if time is not None else None,
    )


def _most_records(section: SourceSection | None, source: StreamSource) -> int | None:
    if isinstance(source, FolderSource):
        return None
    given = section.records_per_batch if section is not None else None
    return RECORDS_PER_BATCH if given is None else given


def _section(stream: Stream, triples_map: TriplesMap) -> SourceSection | None:
    """What the pipeline file says of a triples map's source, if anything."""
    for name in _names(triples_map):
        if name in stream.sources:
            return stream.sources[name]
    return stream.source


def _live(stream: Stream, triples_map: TriplesMap, section: SourceSection | None) -> StreamSource:
    read = read_source(triples_map.source)
    formulation, described = read.formulation, read.source
    if section is not None:
        if section.format is not None and _FORMATS.get(section.format) is not formulation:
            message = f"it is {section.format}, but the references of {triples_map.name} are {formulation.value}"
            path: KeyPath = ("source", "format") if section is stream.source else ("sources",)
            raise StreamProblem(path, message)
        return section.stream_source(formulation.value)
    if isinstance(described, UnreadStream):
        message = f"the mapping's source of {triples_map.name} cannot be read: {described.what}"
        raise StreamProblem((), f"{message}; say in 'source' or 'sources' where else it is")
    if isinstance(described, FileSource | DatabaseSource | DerivedSource):
        message = f"the mapping's source of {triples_map.name} is no stream: '{source_name(described)}'"
        raise StreamProblem((), f"{message}; say in 'source' or 'sources' where its records come from")
    if isinstance(described, SocketSource) and formulation is Formulation.CSV:
        return replace(described, delimiter="\n\n")  # each document has its header
    return described


def _read_from(logical_source: LogicalSource, live: StreamSource) -> LogicalSource:
    return with_read_source(logical_source, lambda read: replace(read, source=live))


def _stream(logical_source: LogicalSource) -> StreamSource:
    source = read_source(logical_source).source
    assert not isinstance(source, FileSource | DatabaseSource | DerivedSource)
    return source


def _check_names(stream: Stream, mapping: Mapping) -> None:
    known = [name for each in mapping.triples_maps for name in _names(each)]
    for name, section in stream.sources.items():
        if section.format == TIMED or section.format in RDF_MESSAGES:
            raise StreamProblem(("sources", name, "format"), f"{section.format} is RDF, and not mapped")
        if name not in known:
            message = f"no triples map and no source of the mapping is called '{name}'"
            raise StreamProblem(("sources", name), message + did_you_mean(name, list(dict.fromkeys(known))))


def _refuse_other_joins(slices: list[MappingSlice | JoinSlice], inputs: dict[LogicalSource, StreamInput]) -> None:
    """Streams are joined two by two, in windows, by keys."""
    for each in slices:
        if isinstance(each, JoinSlice) and not each.conditions:
            message = f"{join_name(each)}: records of two streams are not paired without a join condition"
            raise StreamProblem(("mapping",), message)
        if isinstance(each, MappingSlice) and each.source not in inputs:
            raise StreamProblem(("mapping",), f"{source_name(each.source.source)}: streams are joined two by two")


def _refuse_joined_view(triples_map: TriplesMap) -> None:
    """A view of a stream is of one stream."""
    source = triples_map.source
    while isinstance(view := source.source, ViewSource):
        if view.joins:
            message = f"the view {view.name} of {triples_map.name} joins records of several sources"
            raise StreamProblem(("mapping",), f"{message}; streams are joined by join conditions of objects")
        source = view.on


def _refuse_targets(mapping: Mapping) -> None:
    """What a stream makes goes to the queries, and nowhere else."""
    for triples_map in mapping.triples_maps:
        for target in (target for each in triples_map.terms for target in each.targets):
            message = f"{triples_map.name} has the logical target {Path(target.path).name}, and streams write to none"
            raise StreamProblem(("mapping",), f"{message}; write a query with a sink, or use `freshet map`")


def _names(triples_map: TriplesMap) -> list[str]:
    """What a triples map's source may be called in the pipeline file."""
    name = triples_map.name
    short = name.rpartition("/")[2].rpartition("#")[2]
    sources = triples_map.source, read_source(triples_map.source)
    return list(dict.fromkeys([name, short, *(source_name(each.source) for each in sources)]))
