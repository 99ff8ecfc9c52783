"""Lives of a session with a checkpoint, which end well or without a word; all receive the same in the end."""

import warnings
from pathlib import Path

from freshet import Session

IRI = "http://e/s"
QUERY = """
PREFIX : <http://e/> REGISTER ISTREAM <q> AS SELECT ?s ?name FROM NAMED WINDOW <w> ON :s [RANGE PT4S STEP PT1S]
WHERE { ?s :name ?name . WINDOW <w> { ?s :p ?o } }
"""
TRIPLES = "SELECT ?s ?p ?o { ?s ?p ?o }"


def batch(number: int) -> str:
    at = number * 500
    lines = [f'{at}\t<http://e/{number % 9}> <http://e/p> "{number}" .']
    if number % 4 == 0:
        lines.append(f'{at}\t<http://e/{number % 9}> <http://e/name> "name {number}" .')
        lines.append(f'{at}\t_:b{number % 3} <http://e/name> "blank {number}" .')
    return "\n".join(lines)


class Life:
    """A session from its start to its end, clean or not. Receives all reports."""

    def __init__(self, folder: Path | None, received: dict[int, list], *, seconds: float = 1e6) -> None:
        self.session = Session(checkpoint=folder, checkpoint_seconds=seconds)
        self.session.stream(IRI, lateness_ms=1000, absorb=["http://e/name"])
        self.received = received
        self.query = self.session.register(QUERY)

    def push(self, first: int, last: int) -> None:
        for number in range(first, last):
            self.session.push(IRI, batch(number))
            self.take()

    def take(self) -> None:
        for report in self.query:
            rows = sorted(sorted((k, str(v)) for k, v in row.items()) for row in self.session.bindings(report))
            assert self.received.setdefault(report.time_ms, rows) == rows  # what comes again is the same

    def triples(self) -> list[str]:
        return sorted(str(sorted(row.items())) for row in self.session.bindings(self.session.query(TRIPLES)))

    def kill(self) -> None:
        """As if the process had ended here: nothing is written any more, and the lock is gone."""
        checkpoint = self.session._durable._checkpoint
        checkpoint._stop.set()
        checkpoint._thread.join()  # it may be at work, and who opens the folder next would see that
        checkpoint.journal._close()
        checkpoint._lock_file.release()

    @property
    def taken(self) -> int:
        positions = self.session.positions()
        return positions[IRI].batches


def undisturbed(batches: int) -> tuple[dict[int, list], list[str]]:
    received: dict[int, list] = {}
    life = Life(None, received)
    life.push(0, batches)
    life.session.finish()
    life.take()
    return received, life.triples()


def finished(life: Life, whole) -> None:
    life.push(life.taken, 120)
    life.session.finish()
    life.take()
    assert life.received == whole[0]
    assert life.triples() == whole[1]
    life.session.close()


def lived(folder: Path, received: dict, *, until: int = 80) -> None:
    """A life that ends without a word, after some checkpoints."""
    life = Life(folder, received)
    life.push(0, 15)
    for number in range(15, until, 15):
        life.session.checkpoint()
        life.push(number, min(number + 15, until))
    assert int(newest(folder / "manifests", "*.json").stem) >= 2
    life.kill()


def newest(folder: Path, pattern: str) -> Path:
    return max(folder.glob(pattern))


def reopened(folder: Path, received: dict, *names: str) -> Life:
    """A new life, which says that these files are damaged, a line each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        life = Life(folder, received)
    # Others than ours may come at any moment, as of files that are let go of unclosed when garbage is collected.
    said = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    assert len(said) == len(names), said
    for line, name in zip(said, names, strict=True):
        assert name in line, said
        assert "\n" not in line
    return life
