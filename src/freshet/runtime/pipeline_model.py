"""The pipeline file's form: one model a section, frozen, unknown keys refused.

The models say what may stand where. Whether files exist, queries parse and names agree is `pipeline_checks`' business.
Paths come out absolute; they are written relative to the pipeline file, whose folder is in the validation context.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sized
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
)

from freshet.runtime.durations import setting_ms

_ABSOLUTE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+")
SizedValue = TypeVar("SizedValue", bound=Sized)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def _absolute(path: Path, info: ValidationInfo) -> Path:
    return Path(os.path.abspath(info.context["folder"] / path)) if info.context else path


def _iri(text: str) -> str:
    if not _ABSOLUTE_IRI.fullmatch(text):
        raise ValueError(f"'{text}' is not an absolute IRI, as http://example.org/traffic is")
    return text


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"'{text}' is not a name: letters, digits, - and _, a letter first")
    return text


def _duration(value: object) -> object:
    if isinstance(value, str):
        return setting_ms(value)
    if isinstance(value, int | float) and value != 0:
        raise ValueError(f"{value} has no unit: write {value}s, {value}ms, {value}m or {value}h")
    return value


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _absorb(value: object) -> object:
    if value in ("none", None):
        return ()
    if isinstance(value, str) and value != "all":
        raise ValueError(f"'{value}' is not known here: write none, all or a list of predicate IRIs")
    return value


def _sink(value: object) -> object:
    if value == "console":
        return {"console": True}
    if isinstance(value, str):
        raise ValueError(f"unknown sink '{value}'; write console or {{files: FOLDER}}")
    return value


def _not_empty(value: SizedValue) -> SizedValue:
    """After the items: pydantic's own check would call a list empty whose items are all wrong."""
    if not value:
        raise ValueError("must not be empty")
    return value


def _spark_value(value: object) -> object:
    """Spark takes text for every setting; YAML may have made it a number or a boolean."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


Condition = Literal["close", "change", "non-empty"]
FilePath = Annotated[Path, AfterValidator(_absolute)]
IriText = Annotated[str, AfterValidator(_iri)]
Name = Annotated[str, AfterValidator(_name)]


# Tags of unions cannot be keys of the file, so that they are told apart from keys in pydantic's paths.
Absorb = Annotated[
    Annotated[Literal["all"], Tag("<all>")] | Annotated[tuple[IriText, ...], Tag("<predicates>")],
    Discriminator(lambda value: "<all>" if value == "all" else "<predicates>"),
    BeforeValidator(_absorb),
]


class Section(BaseModel):
    """Any part of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FolderSource(Section):
    """A folder whose files are read as a stream, oldest first, each once.

    `pattern` picks files by name; `files_per_batch` bounds what one micro-batch takes.
    """

    folder: FilePath
    format: Literal["json", "csv", "timed-ntriples"]
    pattern: str | None = None
    files_per_batch: int | None = Field(default=None, gt=0)


class EventTime(Section):
    """Where a record says when it happened: a JSONPath or a CSV column, and how the time is written."""

    reference: str
    form: Literal["iso", "epoch_ms", "epoch_s"] = Field(default="iso", alias="as")


class Stream(Section):
    """A named stream: source, mapping to RDF, event time, allowed lateness, and what the stored graph absorbs of it."""

    iri: IriText
    source: FolderSource
    mapping: FilePath | None = None
    time: EventTime | None = None
    lateness_ms: Annotated[int, BeforeValidator(_duration)] = Field(default=0, alias="lateness")
    absorb: Absorb = ()


class ConsoleSink(Section):
    """Reports shown on the terminal, or printed as lines."""

    console: Literal[True] = True


class FilesSink(Section):
    """Reports as NDJSON files in a folder."""

    folder: FilePath = Field(alias="files")


Sink = Annotated[
    Annotated[ConsoleSink, Tag("<console>")] | Annotated[FilesSink, Tag("<files>")],
    Discriminator(lambda value: "<console>" if isinstance(value, dict) and value.get("console") is True else "<files>"),
    BeforeValidator(_sink),
]


class ContinuousQuery(Section):
    """A query to register, from a file or in place, when it reports, and where its reports go.

    `text` is always there once read.
    """

    file: FilePath | None = None
    text: str | None = None
    report: Annotated[tuple[Condition, ...], BeforeValidator(_one_or_more)] = ()
    every_ms: Annotated[int | None, BeforeValidator(_duration)] = Field(default=None, alias="every", gt=0)
    sinks: Annotated[tuple[Sink, ...], AfterValidator(_not_empty)] = (ConsoleSink(),)


class SparkSettings(Section):
    """Where Spark runs, and its settings, passed on as they are."""

    master: str = "local[*]"
    config: dict[str, Annotated[str, BeforeValidator(_spark_value)]] = Field(default_factory=dict)


class Pipeline(Section):
    """A whole pipeline. Without `checkpoint` every run starts afresh."""

    graph: Annotated[tuple[FilePath, ...], BeforeValidator(_one_or_more)] = ()
    streams: Annotated[dict[Name, Stream], AfterValidator(_not_empty)]
    queries: dict[Name, ContinuousQuery] = Field(default_factory=dict)
    checkpoint: FilePath | None = None
    rejects: FilePath = Field(default=Path("rejects"), validate_default=True)
    spark: SparkSettings = SparkSettings()


SECTIONS: dict[tuple[str, ...], type[Section]] = {
    (): Pipeline,
    ("streams", "*"): Stream,
    ("streams", "*", "source"): FolderSource,
    ("streams", "*", "time"): EventTime,
    ("queries", "*"): ContinuousQuery,
    ("queries", "*", "sinks", "*"): FilesSink,
    ("spark",): SparkSettings,
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
