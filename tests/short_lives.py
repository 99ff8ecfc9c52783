"""Sessions with a checkpoint that end without a word."""

from pathlib import Path

from freshet import Session

IRI = "http://e/s"
QUERY = """
PREFIX : <http://e/> REGISTER RSTREAM <q> AS SELECT ?s FROM NAMED WINDOW <w> ON :s [RANGE PT1S STEP PT1S]
WHERE { WINDOW <w> { ?s :p ?o } }
"""


def line(time_ms: int) -> str:
    return f'{time_ms}\t<http://e/{time_ms}> <http://e/p> "{time_ms}" .'


def begun(folder: Path, **options: int) -> Session:
    return Session(checkpoint=folder, checkpoint_seconds=1e6, **options)


def killed(session: Session) -> None:
    """As if the process had ended here: nothing is written any more, and the lock is gone."""
    checkpoint = session._durable._checkpoint
    checkpoint._stop.set()
    checkpoint.journal._close()  # the system does, and the tests of one process have files to spare
    checkpoint.release()
