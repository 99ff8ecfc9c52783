"""Reports to a topic: each once, whatever is in it already."""

import json

from declaring import register
from freshet.results.answers import AnswerBatch, joined
from freshet.runtime.kafka_sink import KafkaSink
from freshet.runtime.run_id import run_id
from freshet.runtime.session import Session
from freshet.spark.live.topics import Place, TopicToWrite


class Topic:
    """A topic in memory."""

    def __init__(self):
        self.written = []
        self.flushed = 0

    def newest(self, run, query):
        return max((place for *whose, place, _ in self.written if whose == [run, query]), default=None)

    def write(self, run, query, place, value):
        self.written.append((run, query, place, json.loads(value)["time"]))

    def flush(self):
        self.flushed = len(self.written)

    def close(self):
        assert self.flushed == len(self.written)


def batches_at(*times: int) -> list[AnswerBatch]:
    session, found = Session(), []
    register(
        session,
        "PREFIX : <http://e/> REGISTER RSTREAM <q> AS SELECT ?s FROM NAMED WINDOW <w> ON :s [RANGE PT1S STEP PT1S]"
        " WHERE { WINDOW <w> { ?s ?p ?o } }",
        on_batch=found.append,
    )
    for time in times:
        session.push("http://e/s", f"{time - 1}\t<http://e/a> <http://e/b> <http://e/c> .\n")
    session.finish()
    assert [time for batch in found for time in batch.times.tolist()] == list(times)
    return [batch.part(at, at + 1) for batch in found for at in range(len(batch))]


def test_a_run_that_goes_on_writes_what_is_not_there():
    first, second, third = batches_at(1000, 2000, 3000)
    topic = Topic()
    sink = KafkaSink(TopicToWrite("b", "t"), "q", run="r", resume=False)
    sink.open(topic)
    for batch in (first, second, second):
        sink.deliver(batch)
    sink.close()
    again = KafkaSink(TopicToWrite("b", "t"), "q", run="r", resume=True)
    again.open(topic)
    again.skip(first)
    again.deliver(joined([second, second]))
    again.deliver(joined([second, third]))
    again.close()
    places = [Place(1000, 0), Place(2000, 0), Place(2000, 1), Place(2000, 2), Place(3000, 0)]
    assert topic.written == [("r", "q", place, place.time_ms) for place in places]


def test_a_first_run_does_not_look():
    (batch,) = batches_at(1000)
    topic = Topic()
    topic.written.append(("r", "q", Place(9000, 0), 9000))
    sink = KafkaSink(TopicToWrite("b", "t"), "q", run="r", resume=False)
    sink.open(topic)
    sink.deliver(batch)
    sink.close()
    assert topic.written[1:] == [("r", "q", Place(1000, 0), 1000)]


def test_what_another_run_has_written_does_not_count():
    (batch,) = batches_at(1000)
    topic = Topic()
    topic.written.append(("older", "q", Place(9000, 0), 9000))
    sink = KafkaSink(TopicToWrite("b", "t"), "q", run="r", resume=True)
    sink.open(topic)
    sink.deliver(batch)
    sink.close()
    assert topic.written[1:] == [("r", "q", Place(1000, 0), 1000)]


def test_all_runs_of_a_checkpoint_have_one_name(tmp_path):
    first = run_id(tmp_path)
    assert run_id(tmp_path) == first
    (tmp_path / "other").mkdir()
    assert len({first, run_id(tmp_path / "other"), run_id(None), run_id(None)}) == 4
