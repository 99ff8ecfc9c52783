"""XML files as tasks, one a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from freshet.rdf.errors import FreshetError
from freshet.rml.sources import FileSource, LogicalSource
from freshet.rml.xml_paths import xpath
from freshet.sources.columns import Plan, RecordShape
from freshet.sources.files import DAMAGED, codec_of, contents, files_of
from freshet.sources.xml_text import XmlReader

ROOT = "/*"  # the iterator where none is given


@dataclass(frozen=True, slots=True)
class XmlTask:
    reader: XmlReader
    source: FileSource
    file: Path

    def __call__(self) -> Iterator[pa.RecordBatch]:
        # A document says itself how it is encoded, unless the mapping says something else than the usual.
        encoding = None if codec_of(self.source) == "utf-8" else "utf-8"
        name = self.file.absolute().as_uri()
        try:
            for name, blocks in contents(self.file, self.source):
                yield from self.reader.batches(name, blocks, encoding)
        except (*DAMAGED, FreshetError) as error:
            yield self.reader.shape.reject(f"cannot be read: {error}", None, name)


def xml_tasks(source: LogicalSource, given: FileSource, plan: Plan) -> tuple[RecordShape, Sequence[XmlTask]]:
    """The columns and the tasks. Every reference may find several values."""
    reader = xml_reader(source, plan)
    return reader.shape, [XmlTask(reader, given, file) for file in files_of(given)]


def xml_reader(source: LogicalSource, plan: Plan, arrived: bool = False) -> XmlReader:
    iterator = source.iterator or ROOT
    for each in (iterator, *plan.references):
        xpath(each, source.namespaces)
    shape = RecordShape(plan.references, frozenset(plan.references), arrived=arrived)
    return XmlReader(shape, iterator, source.namespaces, source.nulls, plan.limits, plan.keep, plan.numbered)
