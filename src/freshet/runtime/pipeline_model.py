"""The pipeline file's form: one model a section, frozen, unknown keys refused.

The models say what may stand where. Whether files exist, queries parse and names agree is `pipeline_checks`' business.
Paths come out absolute; they are written relative to the pipeline file, whose folder is in the validation context.
"""

from __future__ import annotations

import re
from collections.abc import Sized
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, ValidationInfo, model_validator

from freshet.rdf.errors import InputError
from freshet.rdf.terms import is_absolute_iri
from freshet.runtime.join_section import JoinSection
from freshet.runtime.section import FilePath, Section, as_text, duration, memory, one_or_more
from freshet.runtime.services_section import Services, only_hosts
from freshet.runtime.source_sections import PLACES, EventTime, SourceSection
from freshet.runtime.source_sections import SECTIONS as SOURCE_SECTIONS

SizedValue = TypeVar("SizedValue", bound=Sized)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def _iri(text: str) -> str:
    if not is_absolute_iri(text):
        raise ValueError(f"'{text}' is not an absolute IRI, as http://example.org/traffic is")
    return text


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"'{text}' is not a name: letters, digits, - and _, a letter first")
    return text


def _absorb(value: object) -> object:
    if value in ("none", None):
        return ()
    if isinstance(value, str) and value not in ("all", "latest"):
        raise ValueError(f"'{value}' is not known here: write none, all, latest or a list of predicate IRIs")
    return value


def _absorb_kind(value: object) -> str:
    if isinstance(value, str):
        return "<all>"
    return "<latest>" if isinstance(value, dict | AbsorbSection) else "<predicates>"


def _graph_files(value: object) -> object:
    """FILE, {IRI: FILE or a list of them}, or a list of these."""
    if isinstance(value, list):
        return [file for each in value for file in _graph_files(each)]  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return [{"file": file, "iri": iri} for iri, files in value.items() for file in one_or_more(files)]  # type: ignore[attr-defined]
    return [value if isinstance(value, GraphFile) else {"file": value}]


def _sink(value: object) -> object:
    if value == "console":
        return {"console": True}
    if isinstance(value, str):
        raise ValueError(
            f"unknown sink '{value}'; write console, {{files: FOLDER}}, {{kafka: ...}} or {{ldes: FOLDER}}"
        )
    return value


def _checkpoint(value: object) -> object:
    if isinstance(value, str):
        return {"folder": value}
    if not isinstance(value, dict | CheckpointSection | None):
        raise ValueError("must be a folder, or a section with 'folder' and 'every'")
    return value


def _not_empty(value: SizedValue) -> SizedValue:
    """After the items: pydantic's own check would call a list empty whose items are all wrong."""
    if not value:
        raise ValueError("must not be empty")
    return value


Condition = Literal["close", "change", "non-empty"]
IriText = Annotated[str, AfterValidator(_iri)]
Name = Annotated[str, AfterValidator(_name)]


# Tags of unions cannot be keys of the file, so that they cannot be confused with keys in pydantic's paths.
class AbsorbSection(Section):
    """What is absorbed: all, some predicates, or values that replace others; and at what age it goes again."""

    latest: tuple[IriText, ...] | Literal[True] | None = None
    predicates: tuple[IriText, ...] | None = None
    keep: Annotated[int | None, BeforeValidator(duration)] = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if self.latest is not None and self.predicates is not None:
            raise ValueError("'latest' and 'predicates' exclude each other")
        if self.latest is None and self.predicates is None and self.keep is None:
            raise ValueError("write latest, predicates or keep")
        return self


Absorb = Annotated[
    Annotated[Literal["all", "latest"], Tag("<all>")]
    | Annotated[AbsorbSection, Tag("<latest>")]
    | Annotated[tuple[IriText, ...], Tag("<predicates>")],
    Discriminator(_absorb_kind),
    BeforeValidator(_absorb),
]


class GraphFile(Section):
    """An RDF file or graph directory of the stored default graph, or of a named one."""

    file: FilePath
    iri: IriText | None = None


class Stream(Section):
    """A named stream: source, mapping to RDF, event time, allowed lateness, and what the stored graph absorbs of it.

    A mapping may describe its sources itself; `source` stands for all of them, `sources` for some, by the name of a
    triples map, a topic or a file. `functions` is a Python file with functions that the mapping calls. `join` changes
    the windows of joins. Of several sources one that is silent for longer than `idle` (10 s where none is given) does
    not hold the others back; where all are, and `idle` is given, the stream goes on with the wall clock.
    `origins` says whether batches have the record that each element came from: where they are served, if not given.
    `graphs` says whether elements keep the graphs that their statements are in, where they come as RDF.
    With `post` it has no source: clients of `freshet serve` feed it.
    `description` is a VoCaLS file that says where the stream is; what `source` has beside that is kept.
    """

    iri: IriText
    source: SourceSection | None = None
    sources: dict[str, SourceSection] = Field(default_factory=dict)
    description: FilePath | None = None
    mapping: FilePath | None = None
    functions: FilePath | None = None
    time: EventTime | None = None
    lateness_ms: Annotated[int, BeforeValidator(duration)] = Field(default=0, alias="lateness")
    idle_ms: Annotated[int | None, BeforeValidator(duration)] = Field(default=None, alias="idle", gt=0)
    join: JoinSection | None = None
    absorb: Absorb = ()
    origins: bool | None = None
    graphs: bool = False
    post: bool = False

    @model_validator(mode="before")
    @classmethod
    def _described(cls, section: Any, info: ValidationInfo) -> Any:
        """The source that the description says, where the file says none."""
        written = section.get("description") if isinstance(section, dict) else None
        iri, source = (section.get("iri"), section.get("source") or {}) if written else (None, {})
        if not isinstance(written, str) or not isinstance(iri, str) or not isinstance(source, dict):
            return section
        from freshet.sources.stream_descriptions import read_endpoints, source_section

        path = (info.context["folder"] if info.context else Path()) / written
        try:
            endpoints = read_endpoints(path)
            if iri not in endpoints:
                raise InputError(
                    f"{written} describes no stream <{iri}>, but {', '.join(f'<{one}>' for one in endpoints)}"
                )
            found = source_section(iri, endpoints[iri], path.parent)
        except InputError as error:
            raise ValueError(str(error)) from None
        has_place = any(place in source for place in PLACES)
        return {**section, "source": source if has_place else {**found, **source}}


class ConsoleSinkSection(Section):
    """Reports shown on the terminal, or printed as lines."""

    console: Literal[True] = True


class FileSinkSection(Section):
    """Reports as NDJSON files in a folder."""

    folder: FilePath = Field(alias="files")


class KafkaTopic(Section):
    """A topic to write to; `options` go to Kafka's producer as they are."""

    brokers: Annotated[tuple[str, ...], BeforeValidator(one_or_more)]
    topic: str
    options: dict[str, Annotated[str, BeforeValidator(as_text)]] = Field(default_factory=dict)


class KafkaSinkSection(Section):
    """Reports as messages of a Kafka topic, each a JSON object."""

    kafka: KafkaTopic


class LdesFolder(Section):
    """A folder of pages with at most so many members each."""

    folder: FilePath
    members: int = Field(default=1_000, gt=0)


class LdesSinkSection(Section):
    """Reports as a linked data event stream, in a folder that a web server serves; the folder may stand alone."""

    ldes: Annotated[LdesFolder, BeforeValidator(lambda value: {"folder": value} if isinstance(value, str) else value)]


def _sink_kind(value: object) -> str:
    if isinstance(value, ConsoleSinkSection) or (isinstance(value, dict) and value.get("console") is True):
        return "<console>"
    for kind, section in (("kafka", KafkaSinkSection), ("ldes", LdesSinkSection)):
        if isinstance(value, section) or (isinstance(value, dict) and kind in value):
            return f"<{kind}>"
    return "<files>"


Sink = Annotated[
    Annotated[ConsoleSinkSection, Tag("<console>")]
    | Annotated[FileSinkSection, Tag("<files>")]
    | Annotated[KafkaSinkSection, Tag("<kafka>")]
    | Annotated[LdesSinkSection, Tag("<ldes>")],
    Discriminator(_sink_kind),
    BeforeValidator(_sink),
]


class QuerySection(Section):
    """A query to register, from a file or in place, when it reports, and where its reports go.

    `accuracy` and `latency` are asked of a query with SERVICE. `text` and `name`, under which it reports, are always
    there once read.
    """

    file: FilePath | None = None
    text: str | None = None
    name: Annotated[str | None, AfterValidator(_not_empty)] = None
    report: Annotated[tuple[Condition, ...], BeforeValidator(one_or_more)] = ()
    every_ms: Annotated[int | None, BeforeValidator(duration)] = Field(default=None, alias="every", gt=0)
    accuracy: float | None = Field(default=None, gt=0, le=1)
    latency_ms: Annotated[int | None, BeforeValidator(duration)] = Field(default=None, alias="latency", gt=0)
    sinks: Annotated[tuple[Sink, ...], AfterValidator(_not_empty)] = (ConsoleSinkSection(),)


class SparkSettings(Section):
    """Where Spark runs, and its settings, passed on as they are."""

    master: str = "local[*]"
    config: dict[str, Annotated[str, BeforeValidator(as_text)]] = Field(default_factory=dict)


class CheckpointSection(Section):
    """Where checkpoints are, and how often one is made; the folder may stand alone."""

    folder: FilePath
    every_ms: Annotated[int, BeforeValidator(duration)] = Field(default=10_000, alias="every", gt=0)


class ServerSection(Section):
    """Settings of `freshet serve`: where to listen, a file of tokens, TLS, names of the host, and sites of pages."""

    listen: str | None = None
    tokens: FilePath | None = None
    certificate: FilePath | None = None
    key: FilePath | None = None
    hosts: Annotated[tuple[str, ...], BeforeValidator(one_or_more)] = ()
    origins: Annotated[tuple[str, ...], BeforeValidator(one_or_more)] = ()


class Pipeline(Section):
    """A whole pipeline. Without `checkpoint` every run starts afresh. `services` says which hosts SERVICE may ask.
    `window_memory` is what windows of all queries may hold, half of the machine's memory where it is not given.
    `history` is how far back one-shot queries may ask for the stored data at a time. `from_files` is a folder of files,
    for the graphs that queries name in FROM and `graph` does not."""

    graph: Annotated[tuple[GraphFile, ...], BeforeValidator(_graph_files)] = ()
    from_files: FilePath | None = None
    streams: Annotated[dict[Name, Stream], AfterValidator(_not_empty)]
    queries: dict[Name, QuerySection] = Field(default_factory=dict)
    checkpoint: Annotated[CheckpointSection | None, BeforeValidator(_checkpoint)] = None
    rejects: FilePath = Field(default=Path("rejects"), validate_default=True)
    history_ms: Annotated[int, BeforeValidator(duration)] = Field(default=0, alias="history")
    services: Annotated[Services, BeforeValidator(only_hosts)] = Services()
    window_bytes: Annotated[int | None, BeforeValidator(memory)] = Field(default=None, alias="window_memory", gt=0)
    spark: SparkSettings = SparkSettings()
    server: ServerSection = ServerSection()


SECTIONS: dict[tuple[str, ...], type[Section]] = {
    (): Pipeline,
    ("streams", "*"): Stream,
    **{("streams", "*", "source", *path): section for path, section in SOURCE_SECTIONS.items()},
    **{("streams", "*", "sources", "*", *path): section for path, section in SOURCE_SECTIONS.items()},
    ("streams", "*", "time"): EventTime,
    ("streams", "*", "join"): JoinSection,
    ("streams", "*", "absorb"): AbsorbSection,
    ("queries", "*"): QuerySection,
    ("queries", "*", "sinks", "*"): FileSinkSection,
    ("queries", "*", "sinks", "*", "kafka"): KafkaTopic,
    ("queries", "*", "sinks", "*", "ldes"): LdesFolder,
    ("checkpoint",): CheckpointSection,
    ("services",): Services,
    ("spark",): SparkSettings,
    ("server",): ServerSection,
}
"""Which model stands at which path of the file; `*` is any name or number."""


def section_at(path: tuple[Any, ...]) -> type[Section] | None:
    """The model of the section at a path of the file."""
    for pattern, section in SECTIONS.items():
        if len(pattern) == len(path) and all(want in ("*", got) for want, got in zip(pattern, path, strict=True)):
            return section
    return None


def known_keys(section: type[Section]) -> list[str]:
    """The keys that a section may have, as they are written."""
    return [info.alias or name for name, info in section.model_fields.items()]
