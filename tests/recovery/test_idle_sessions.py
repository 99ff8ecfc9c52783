"""A stream that went on with the wall clock went just as far before a restart as after it."""

import pytest

import freshet
from freshet.rdf.errors import InputError

IRI = "http://e/s"
QUERY = """
PREFIX : <http://e/> REGISTER RSTREAM <q> AS SELECT ?s FROM NAMED WINDOW <w> ON :s [RANGE PT5S STEP PT5S]
WHERE { WINDOW <w> { ?s :p ?o } }
"""


def line(time_ms: int) -> str:
    return f"{time_ms}\t<http://e/{time_ms}> <http://e/p> <http://e/o> .\n"


class Life:
    """A session from its start to its end, with a clock of its own."""

    def __init__(self, folder, idle: object = "2s", lateness_ms: int = 0) -> None:
        self.clock = freshet.ManualClock()
        self.session = freshet.Session(checkpoint=folder, checkpoint_seconds=1e6, clock=self.clock)
        self.session.stream(IRI, idle=idle, lateness_ms=lateness_ms)
        self.query = self.session.register(QUERY)

    @property
    def state(self):
        return self.session.engine.streams[IRI]

    def push(self, *times: int) -> None:
        self.session.push(IRI, "".join(map(line, times)))

    def reports(self) -> list[tuple[int, list[str]]]:
        return [(each.time_ms, sorted(row["s"].value[9:] for row in each.bindings())) for each in self.query.take()]

    def kill(self) -> None:
        checkpoint = self.session._durable._checkpoint
        checkpoint._stop.set()
        checkpoint._thread.join()
        checkpoint.journal._close()
        checkpoint._lock_file.release()


@pytest.mark.parametrize("with_checkpoint", [False, True])
def test_replay_gives_the_same_reports(tmp_path, with_checkpoint):
    life = Life(tmp_path / "c")
    life.push(4000)
    life.clock.advance(10)
    life.push(4500, 14_100, 14_500)
    life.clock.advance(1)
    if with_checkpoint:
        life.session.checkpoint()
    watermark_ms, late = life.state.watermark_ms, life.state.late
    life.kill()
    again = Life(tmp_path / "c")
    assert (again.state.watermark_ms, again.state.late) == (watermark_ms, late) == (14_500, 1)
    assert again.reports() == [(5000, ["4000"])]
    again.clock.advance(3)
    assert again.reports() == [(15_000, ["14100", "14500"])]
    again.session.close()


def test_the_time_between_two_processes_is_no_silence(tmp_path):
    life = Life(tmp_path / "c")
    life.push(1000)
    life.clock.advance(1.9)
    life.kill()
    again = Life(tmp_path / "c")
    again.clock.advance(1.9)
    assert again.state.watermark_ms == 1000
    again.clock.advance(0.2)
    assert again.state.watermark_ms == 3100
    again.session.close()


def test_a_restart_may_change_the_idle_time_and_nothing_else(tmp_path):
    Life(tmp_path / "c", idle=None).session.close()
    life = Life(tmp_path / "c", idle="1s")
    life.push(1000)
    life.clock.advance(1)
    assert life.state.watermark_ms == 2000
    life.session.close()
    life = Life(tmp_path / "c", idle=None)
    life.clock.advance(100)
    assert life.state.watermark_ms == 2000
    life.session.close()
    session = freshet.Session(checkpoint=tmp_path / "c")
    with pytest.raises(InputError, match="declared otherwise"):
        session.stream(IRI, lateness_ms=10, idle="1s")
    session.close()


def test_a_full_disk_is_a_warning_and_no_end(tmp_path, monkeypatch):
    life = Life(tmp_path / "c")
    life.push(4000)
    with monkeypatch.context() as patched:
        patched.setattr("os.write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.warns(UserWarning, match="silent streams do not go on"):
            life.clock.advance(3)
    assert life.state.watermark_ms == 4000
    life.clock.advance(1)
    assert life.reports() == [(5000, ["4000"])]
    life.session.close()
