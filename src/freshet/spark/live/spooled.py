"""A stream of documents that a receiver brings into a spool, as Spark reads it (a Python data source)."""

from __future__ import annotations

import os
import threading
import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from freshet.rdf.errors import InputError
from freshet.spark.live.spool import Document, Segment, Spool, read_documents

SPOOL, MOST_RECORDS = "spool", "recordsPerBatch"
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 0.1, 5.0
_STATUS = "status"
_STATUS_CHARACTERS = 400


class Receiver:
    """Brings documents into a spool, in its own thread, until it is stopped.

    `receive` goes on until the connection ends. When it raises an OSError the peer is tried again, later and later; the
    reason is in the spool's status, for a person to see.
    """

    def __init__(self, spool: Spool, folder: Path) -> None:
        self.spool = spool
        self._folder = folder
        self.stopped = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="freshet-receiver", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.stopped.set()
        self._thread.join(timeout=10)

    def check(self) -> None:
        """Raise what ended the receiver, if anything did."""
        if self._error is not None:
            raise self._error

    @abstractmethod
    def receive(self) -> None:
        """Connect and receive until the connection ends."""

    @abstractmethod
    def at_end(self) -> bool:
        """Whether everything that was to be had when this was asked first is in the spool."""

    def note_connected(self) -> None:
        """Say that the peer is there."""
        self._wait = _FIRST_WAIT_SECONDS
        self._say("")

    def keep(self, documents: list[Document]) -> None:
        """Put documents into the spool. Where that fails, as on a full disk, they are held and tried again, and nothing
        more is received until they are there."""
        wait = _FIRST_WAIT_SECONDS
        while True:
            try:
                self.spool.append(documents)
                break
            except OSError as error:
                with suppress(OSError):
                    self._write_status(f"what is received cannot be written: {error.strerror or error}; trying again")
            if self.stopped.wait(wait):
                raise OSError("the run was stopped before what was received could be written")
            wait = min(2 * wait, _LONGEST_WAIT_SECONDS)
        if wait > _FIRST_WAIT_SECONDS:
            with suppress(OSError):
                self._write_status("")

    def note(self, name: str, text: str) -> None:
        """Write a text beside the spool. Where that cannot be done nothing can be received either."""
        with self._ended_by_errors():
            (self._folder / name).write_text(text)

    def _say(self, text: str) -> None:
        """Say what is wrong, or that nothing is; as for `note`."""
        with self._ended_by_errors():
            self._write_status(text)

    def _write_status(self, text: str) -> None:
        """Overwrites the file: that needs no room on a full disk, and no reader finds the file empty meanwhile,
        which would mean that nothing is wrong."""
        said, file = text[:_STATUS_CHARACTERS].ljust(_STATUS_CHARACTERS), self._folder / _STATUS
        try:
            with file.open("r+") as opened:
                opened.write(said)
        except FileNotFoundError:
            first = file.with_suffix(".first")
            first.write_text(said)
            os.replace(first, file)

    @contextmanager
    def _ended_by_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = f"what is received cannot be written: {error.strerror or error}"
            self._error = InputError(reason, file=str(self._folder))
            self.stopped.set()

    def read_note(self, name: str) -> str:
        """What was written, empty where there is nothing."""
        try:
            return (self._folder / name).read_text()
        except OSError:
            return ""

    def _run(self) -> None:
        self._wait = _FIRST_WAIT_SECONDS
        while not self.stopped.is_set():
            try:
                self.receive()
            except OSError as error:
                self._say(f"{error.strerror or error}; trying again")
            except BaseException as error:
                self._error = error
                return
            self.stopped.wait(self._wait)
            self._wait = min(2 * self._wait, _LONGEST_WAIT_SECONDS)


def status(folder: Path) -> str:
    """What keeps a spool's receiver from receiving; empty where nothing does."""
    try:
        return (folder / _STATUS).read_text().strip()
    except OSError:
        return ""


class SpooledPartition(InputPartition):
    """Documents of a spool from one number up to another."""

    def __init__(self, segments: list[Segment], start: int, end: int) -> None:
        super().__init__((start, end))
        self.segments, self.start, self.end = segments, start, end


class SpooledReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are numbers of documents in the spool. The receiver starts with the first offset that is asked for."""

    def __init__(self, source: SpooledSource) -> None:
        self._source = source
        self._receiver: Receiver | None = None
        self._last: int | None = None  # with a trigger that takes what there is: up to here

    def initialOffset(self) -> dict[str, int]:
        return {"document": 0}

    def getDefaultReadLimit(self) -> ReadLimit:
        most = self._source.options.get(MOST_RECORDS)
        return ReadAllAvailable() if most is None else ReadMaxRows(int(most))

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        receiver = self._receiving()
        receiver.check()
        end = receiver.spool.end if self._last is None else self._last
        if isinstance(limit, ReadMaxRows):
            end = min(end, start["document"] + limit.max_rows)
        return {"document": max(end, start["document"])}

    def prepareForTriggerAvailableNow(self) -> None:
        receiver = self._receiving()
        while not receiver.at_end():
            receiver.check()
            time.sleep(0.01)
        self._last = receiver.spool.end

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        first, last = start["document"], end["document"]
        return [SpooledPartition(self._receiving().spool.between(first, last), first, last)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, SpooledPartition)
        return read_documents(partition.segments, partition.start, partition.end)

    def commit(self, end: dict[str, int]) -> None:
        self._receiving().spool.trim(end["document"])

    def stop(self) -> None:
        if self._receiver is not None:
            self._receiver.stop()
            self._receiver.spool.close()

    def _receiving(self) -> Receiver:
        if self._receiver is None:
            folder = Path(self._source.options[SPOOL])
            self._receiver = self._source.receiver(Spool(folder), folder)
            self._receiver.start()
        return self._receiver


class SpooledSource(DataSource):
    """A data source whose documents come through a spool. Its options are texts."""

    def schema(self) -> str:
        return "line STRING, file STRING, arrived BIGINT"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return SpooledReader(self)

    @abstractmethod
    def receiver(self, spool: Spool, folder: Path) -> Receiver:
        """What brings the documents."""
