"""Streams with a mapping: JSON, CSV and XML records that are posted become triples in this process."""

from __future__ import annotations

import os
import threading
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import orjson

from freshet.rdf.deadline import Deadline
from freshet.rdf.errors import InputError
from freshet.rml.sources import Formulation
from freshet.runtime.session import Session
from freshet.server.problems import Problem

if TYPE_CHECKING:
    from freshet.mapper.record_mapper import MappedRecords, RecordMapper, StreamMapping

LINES = "application/x-ndjson"
RECORD_FORMATS = {
    "application/json": Formulation.JSON,
    LINES: Formulation.JSON,
    "text/csv": Formulation.CSV,
    "application/xml": Formulation.XML,
    "text/xml": Formulation.XML,
}


class Posted(NamedTuple):
    """What became of a post of records."""

    elements: int
    mapped: MappedRecords


class StreamMappings:
    """The mappings of streams. With a checkpoint each is a file of its folder, so that it survives the process."""

    def __init__(self, session: Session, folder: Path | None) -> None:
        self._session = session
        self._folder = None if folder is None else folder / "mappings"
        self._lock = threading.Lock()
        self._mappers: dict[str, RecordMapper] = {}
        self._declared: dict[str, StreamMapping] = {}
        for file in sorted(self._folder.glob("*.json")) if self._folder is not None and self._folder.is_dir() else ():
            from freshet.mapper.record_mapper import StreamMapping

            kept = orjson.loads(file.read_bytes())
            iri = kept.pop("iri")
            self._declared[iri] = StreamMapping(**kept)

    def get(self, iri: str) -> RecordMapper | None:
        """What maps the records of a stream, if it has a mapping."""
        if iri not in self._mappers and iri in self._declared:  # the first time since a restart
            self._mappers[iri] = self._mapper(iri, self._declared[iri])
        return self._mappers.get(iri)

    def declare(self, iri: str, declared: StreamMapping | None) -> None:
        """Give a stream a mapping. The same again changes nothing; another one is refused."""
        with self._lock:
            known = self._declared.get(iri)
            if known is not None or declared is None:
                if known != declared:
                    raise Problem(409, f"the stream <{iri}> is declared with {'another' if declared else 'a'} mapping")
                return
            mapper = self._mapper(iri, declared)
            self._keep(iri, declared)
            self._declared[iri], self._mappers[iri] = declared, mapper

    def define(self, iri: str, declared: StreamMapping) -> None:
        """Give a stream the mapping that a pipeline file has for it, whatever it had before."""
        with self._lock:
            self._declared[iri], self._mappers[iri] = declared, self._mapper(iri, declared)

    def _mapper(self, iri: str, declared: StreamMapping) -> RecordMapper:
        from freshet.mapper.record_mapper import RecordMapper

        return RecordMapper(declared, self._session.blank_scope(iri))

    def _keep(self, iri: str, declared: StreamMapping) -> None:
        if self._folder is None:
            return
        self._folder.mkdir(exist_ok=True)
        file = self._folder / f"{blake2b(iri.encode(), digest_size=12).hexdigest()}.json"
        unfinished = file.with_suffix(".unfinished")
        kept = {
            "iri": iri,
            "text": declared.text,
            "time_reference": declared.time_reference,
            "time_form": declared.time_form,
        }
        with unfinished.open("wb") as out:
            out.write(orjson.dumps(kept))
            out.flush()
            os.fsync(out.fileno())
        os.replace(unfinished, file)

    def push(
        self,
        iri: str,
        body: bytes,
        media: str,
        *,
        arrived_ms: int,
        time_ms: int | None,
        key: str | None,
        deadline: Deadline,
    ) -> Posted:
        """Map records, by a deadline, and push what they make. Records that cannot be mapped are left out."""
        mapper, formulation = self.get(iri), RECORD_FORMATS[media]
        assert mapper is not None
        if formulation not in mapper.formulations:
            known = ", ".join(name for name, each in RECORD_FORMATS.items() if each in mapper.formulations)
            raise Problem(415, f"the mapping of the stream <{iri}> takes {known}")
        text = body.decode()
        documents = text.split("\n") if media == LINES else [text]
        with deadline.running():
            mapped = mapper.map(documents, formulation, arrived_ms, time_ms)
        if mapped.records and len(mapped.rejected) == mapped.records:
            raise RejectedError(mapped)
        digest = blake2b(b"%b %b" % (iri.encode(), body), digest_size=16).hexdigest()
        count = self._session.push_tables(iri, mapped.tables, key=None if key is None else (key, digest))
        return Posted(count, mapped)


def check_mapping(declared: StreamMapping) -> None:
    """Raise what is wrong with a mapping."""
    from freshet.mapper.record_mapper import RecordMapper

    RecordMapper(declared, "")


class RejectedError(InputError):
    """No record of a post could be mapped."""

    def __init__(self, mapped: MappedRecords) -> None:
        super().__init__(f"no record could be mapped: {mapped.rejected[0].reason}")
        self.mapped = mapped
