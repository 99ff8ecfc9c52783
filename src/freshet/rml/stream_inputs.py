"""Live sources as a stream reads them."""

from __future__ import annotations

from dataclasses import dataclass

from freshet.rml.sources import LogicalSource, StreamSource

ARRIVAL = "arrival"
RECORDS_PER_BATCH = 200_000  # the default: what the driver holds must not depend on how much waits


@dataclass(frozen=True, slots=True)
class StreamInput:
    """A live source: where it is, how its documents are cut into records, and when these happened.

    Without it the documents are timed N-Triples, or messages of RDF in an `rdf_format`, whose times a predicate has.
    `time_form` is iso, epoch_ms or epoch_s, or that of arrivals, which have no reference. `whole_files` says that a
    file of a folder is one document, not one a line.
    """

    source: StreamSource
    logical_source: LogicalSource | None = None
    time_reference: str = ""
    time_form: str = "iso"
    files_per_batch: int | None = None
    records_per_batch: int | None = None
    whole_files: bool = False
    rdf_format: str | None = None
    time_predicate: str | None = None
