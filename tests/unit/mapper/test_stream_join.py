"""A join in this process: the pairs of the naive twin, mapped; and what waits, through a snapshot and the journal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

import naive_joins
from counts import count
from freshet.mapper.compiled import compile_slice
from freshet.mapper.operations import FunctionTable
from freshet.mapper.stream_join import StreamJoin, snapshot_bytes, snapshot_of
from freshet.rml.join_counts import JoinCounts
from freshet.rml.mapping_slices import JoinSlice, slice_mapping
from freshet.rml.reader import read_mapping
from freshet.rml.windows import JoinWindow, WindowKind
from freshet.runtime.checkpoint import Checkpoint
from freshet.runtime.ingest import Ingest
from freshet.runtime.intake import StreamIntake
from freshet.runtime.join_snapshots import JoinSnapshots
from freshet.runtime.metrics import Metrics
from freshet.runtime.session import Session
from naive_joins import Found, Record, cut, random_records

MAPPING = """
@prefix rml: <http://w3id.org/rml/> . @prefix : <http://e/> .
<#C> rml:logicalSource [ rml:source "c" ; rml:referenceFormulation rml:JSONPath ] ;
  rml:subjectMap [ rml:template "http://e/{name}" ] ;
  rml:predicateObjectMap [ rml:predicate :met ; rml:objectMap [
    rml:parentTriplesMap <#P> ; rml:joinCondition [ rml:child "key" ; rml:parent "key" ] ] ] .
<#P> rml:logicalSource [ rml:source "p" ; rml:referenceFormulation rml:JSONPath ] ;
  rml:subjectMap [ rml:reference "name" ] .
"""
SIDES = ("child", "parent")


@pytest.fixture
def mapping(tmp_path: Path):
    (tmp_path / "m.ttl").write_text(MAPPING)
    (joined,) = (each for each in slice_mapping(read_mapping(tmp_path / "m.ttl")) if isinstance(each, JoinSlice))
    return compile_slice(joined, None, "", FunctionTable())


def inputs(records: list[Record], *, iri: str = "http://e/") -> pa.Table:
    rows = [
        {
            "side": each.side,
            "key": each.key,
            "time": each.time,
            "tie": int(each.name[1:]),
            "arrived": (each.time or 0) + each.side,
            "file": SIDES[each.side],
            "child text of name": each.name if each.side == 0 else None,
            "parent text of name": f"{iri}{each.name}" if each.side else None,
        }
        for each in records
    ]
    kinds = {"side": pa.int8(), "time": pa.int64(), "tie": pa.int64(), "arrived": pa.int64()}
    names = ("side", "key", "time", "tie", "arrived", "file", "child text of name", "parent text of name")
    return pa.Table.from_pylist(rows, pa.schema([(name, kinds.get(name, pa.string())) for name in names]))


def pairs_of(table: pa.Table) -> Counter[tuple[str, str]]:
    """What stands in the IRIs of the pairs after what they have in common."""
    subjects, objects = (table.column(f"text_{at}").to_pylist() for at in range(2))
    return Counter((one, other.removeprefix("http://e/")) for one, other in zip(subjects, objects, strict=True))


WINDOWS = [
    JoinWindow(WindowKind.TUMBLING, size=40),
    JoinWindow(WindowKind.SLIDING, size=25),
    JoinWindow(size=16, lower=3, upper=60, idle_ms=150),
    JoinWindow(WindowKind.LOSSLESS, size=10, lower=3, upper=25),
]


@pytest.mark.parametrize("window", WINDOWS, ids=lambda window: window.kind)
def test_pairs_are_those_of_the_twin_wherever_it_stops_and_goes_on(mapping, window: JoinWindow) -> None:
    seen = 0
    for seed in range(count(20)):
        random = Random(seed)
        batches = cut(random, random_records(random, disorder=random.choice([0, 20])))
        join, found, late = StreamJoin(mapping, window, 20), Counter(), 0
        for number, batch in enumerate(batches):
            if random.random() < 0.3 and join.snapshot is not None:
                before, join = join, StreamJoin(mapping, window, 20)
                join.restore(snapshot_of(snapshot_bytes(before.snapshot)))
            join.step(inputs(batch))  # one that is not kept changes nothing
            step = join.step(inputs(batch))
            step.sequence = number
            join.keep(step)
            found += pairs_of(step.pairs)
            late += step.counts.late
        assert Found(found, late) == naive_joins.in_batches(batches, window, 20)
        seen += found.total()
    assert seen > 0


def test_a_pair_has_the_later_time_and_both_files(mapping) -> None:
    join = StreamJoin(mapping, JoinWindow(), 0)
    (pair,) = join.step(inputs([Record("a", 3, 0, "r1"), Record("a", 7, 1, "r2")])).pairs.to_pylist()
    assert pair == {
        "time": 7,
        "arrived": 8,
        "file": "child parent",
        "line": None,
        "reason": None,
        "text_0": "r1",
        "text_1": "http://e/r2",
    }


def test_records_without_a_time_or_a_key_are_counted(mapping) -> None:
    join = StreamJoin(mapping, JoinWindow(), 0)
    records = [Record("a", 3, 0, "r1"), Record(None, 4, 0, "r2"), Record("a", None, 1, "r3"), Record("a", 9, 1, "r4")]
    kept = join.step(inputs(records))
    assert kept.counts == JoinCounts(1, 1, 1, 1, 1, 0, 0, kept.state.records)
    join.keep(kept)
    join.keep(join.step(inputs([])))
    assert join.take_counts().pairs == 1
    assert join.take_counts() is None


def test_a_pair_that_makes_no_iri_has_a_reason(mapping) -> None:
    join = StreamJoin(mapping, JoinWindow(), 0)
    found = join.step(inputs([Record("a", 3, 0, "r1"), Record("a", 7, 1, "r2")], iri="no iri "))
    assert found.pairs.column("reason").to_pylist() == ["not an absolute IRI: no iri r2"]


class Marked(Checkpoint):
    """Can be cut before every batch, however little time goes by."""

    def is_mark_due(self) -> bool:
        return True


class Run:
    """A run of a pipeline with one join, on a folder, without Spark."""

    def __init__(self, folder: Path, mapping) -> None:
        self.checkpoint = Marked(folder, every_seconds=1e6)
        self.session = Session(stored=self.checkpoint.dataset)
        self.durable = self.session.journal_to(self.checkpoint)
        self.durable.recover([])
        self.session.stream("http://e/s")
        self.ingest = Ingest(self.session.engine, Metrics(["s"]), self.durable)
        self.join = StreamJoin(mapping, JoinWindow(WindowKind.SLIDING, size=1_000), 0)
        self.ingest.open({"s": StreamIntake("s", "http://e/s", mapping.layout, "s", join=self.join)})

    def take(self, number: int) -> Counter[tuple[str, str]]:
        """A batch with one record of either side, and what pairs it gives."""
        at = 100 * number
        step = self.join.step(inputs([Record("a", at, 0, f"r{at}"), Record("a", at, 1, f"r{at + 1}")]))
        kept = step.pairs.drop_columns(["reason", "line", "file"])
        self.ingest.batch("s", number, kept, records=len(kept), rejected=0, seconds=0.0, joined=step)
        self.join.keep(step)
        return pairs_of(step.pairs)

    def stop(self) -> None:
        self.ingest.end_waits()
        self.session.close()
        self.ingest.close()


@pytest.mark.parametrize("makes_checkpoint", [False, True], ids=["the journal only", "a checkpoint"])
def test_a_restart_finds_the_pairs_of_a_run_without_one(tmp_path, mapping, makes_checkpoint: bool) -> None:
    whole = Run(tmp_path / "whole", mapping)
    wanted = [whole.take(number) for number in range(9)]
    whole.stop()
    found = []
    for first in range(0, 9, 3):
        run = Run(tmp_path / "parts", mapping)
        assert run.ingest.join_problems() == []
        assert run.ingest.last_batch("s") == first - 1
        found += [run.take(number) for number in range(first, first + 3)]
        if makes_checkpoint:
            run.stop()
            assert (tmp_path / "parts" / "joins" / "s.arrow").exists()
        else:
            abandon(run)
    assert found == wanted
    assert sum(map(Counter.total, wanted)) == 81


def abandon(run: Run) -> None:
    """End a run as a process that is killed would."""
    run.checkpoint.journal.close()
    run.checkpoint.release()


def test_a_damaged_snapshot_is_reported(tmp_path, mapping) -> None:
    run = Run(tmp_path, mapping)
    for number in range(3):
        run.take(number)
    run.stop()
    file = tmp_path / "joins" / "s.arrow"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    again = Run(tmp_path, mapping)
    (problem,) = again.ingest.join_problems()
    assert "s.arrow" in problem
    assert "meets nothing more" in problem
    again.stop()


def test_a_snapshot_beyond_the_journal_is_not_used(tmp_path, mapping) -> None:
    join = StreamJoin(mapping, JoinWindow(), 0)
    step = join.step(inputs([Record("a", 3, 0, "r1")]))
    step.sequence = 7
    join.keep(step)
    snapshots = JoinSnapshots(tmp_path)
    assert snapshots.restore({"s": join}, 8) == []
    snapshots.save()
    fresh = StreamJoin(mapping, JoinWindow(), 0)
    (problem,) = JoinSnapshots(tmp_path).restore({"s": fresh}, 7)
    assert "lost its end" in problem
    assert fresh.snapshot is None
