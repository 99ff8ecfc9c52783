"""Manifests: what a checkpoint is made of. The last two are kept, so that there is one before a damaged one."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from freshet.runtime.durable_files import DamagedError, StoredFile, checksum, make_folder, reading, write_whole, writing

KEPT = 2

State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Segment:
    """Triples of the stored graphs with their times, and the terms in them: two Parquet files.

    With `deletes`, what the segments before it have of these triples is deleted.
    """

    number: int
    rows: int
    triples: StoredFile
    terms: StoredFile
    deletes: bool = False

    @property
    def files(self) -> tuple[StoredFile, StoredFile]:
        return self.triples, self.terms

    @staticmethod
    def of(fields: State) -> Segment:
        triples, terms = StoredFile(**fields["triples"]), StoredFile(**fields["terms"])
        return Segment(fields["number"], fields["rows"], triples, terms, fields.get("deletes", False))


@dataclass(frozen=True, slots=True)
class Manifest:
    """A checkpoint: the graphs as they were before the journal's entry `cut`, and the state of everything else then.

    To recover is to take these up and to replay what the journal has from there on. It had the entries before `end`
    by then; all reports of the entries up to `delivered`, and at the moments up to `passed`, had been delivered.
    `counted` says how far windows had counted elements before those that the journal has still. `waiting` has the
    elements that had come before the cut and were to change the stored graph later: they do so again, each at its
    time, since what is replayed may come before them. `arrived` has those of an earlier `waiting` that have entered
    the graph and leave it at an age. The graphs of both are the names of streams.
    """

    number: int
    cut: int
    end: int
    delivered: int
    passed: dict[str, int]
    segments: tuple[Segment, ...]
    state: State
    counted: dict[str, list[list[int | str]]] = field(default_factory=dict)
    waiting: tuple[Segment, ...] = ()
    arrived: tuple[Segment, ...] = ()

    @property
    def all_segments(self) -> tuple[Segment, ...]:
        return self.segments + self.waiting + self.arrived


class Manifests:
    """The manifests of a folder; their segments are in another."""

    def __init__(self, folder: Path, graph_folder: Path) -> None:
        make_folder(folder)
        self._folder = folder
        self._graph_folder = graph_folder
        self.kept: list[Manifest] = []  # the oldest first; all of them were found whole
        self._damaged: list[Path] = []

    def recover(self) -> list[DamagedError]:
        """Find the manifests whose files are all as they were written; gives what is wrong with the others."""
        problems: list[DamagedError] = []
        checked: set[StoredFile] = set()
        for file in sorted(self._folder.glob("*.json")):
            try:
                self.kept.append(self._read(file, checked))
            except DamagedError as error:
                problems.append(error)
                self._damaged.append(file)
        return problems

    def used_instead(self) -> list[str]:
        """For each manifest that is damaged, what recovery uses."""
        if self.newest is None:
            return ["the journal, which has everything"] * len(self._damaged)
        newest = _name(self.newest.number)
        return [f"the checkpoint {'before' if newest < file.name else 'after'} it" for file in self._damaged]

    def set_damaged_aside(self) -> None:
        """Damaged manifests do not count from now on."""
        for file in self._damaged:
            with writing(file):
                file.rename(f"{file}.damaged")

    @property
    def newest(self) -> Manifest | None:
        return self.kept[-1] if self.kept else None

    def write(self, manifest: Manifest) -> None:
        """Make a checkpoint count. It does so wholly or not at all."""
        body = orjson.dumps(asdict(manifest))
        write_whole(self._folder, _name(manifest.number), checksum(body).encode() + b"\n" + body + b"\n")
        self.kept.append(manifest)
        for old in self.kept[:-KEPT]:
            (self._folder / _name(old.number)).unlink(missing_ok=True)
        del self.kept[:-KEPT]

    def _read(self, file: Path, checked: set[StoredFile]) -> Manifest:
        with reading(file):
            first, _, body = file.read_bytes().rstrip(b"\n").partition(b"\n")
        if first.decode(errors="replace") != checksum(body):
            raise DamagedError("a manifest of the checkpoint is damaged: its checksum is another", file=str(file))
        try:
            fields = orjson.loads(body)
            segments = tuple(Segment.of(each) for each in fields.pop("segments"))
            waiting, arrived = (tuple(map(Segment.of, fields.pop(name, ()))) for name in ("waiting", "arrived"))
            manifest = Manifest(segments=segments, waiting=waiting, arrived=arrived, **fields)
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedError("is not a manifest of this version of Freshet", file=str(file)) from error
        for segment in manifest.all_segments:
            for stored in set(segment.files) - checked:
                stored.check(self._graph_folder)
                checked.add(stored)
        return manifest


def _name(number: int) -> str:
    return f"{number:012d}.json"
