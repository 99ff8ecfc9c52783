from freshet.runtime.sub_stream_watermarks import SubStreamWatermarks


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_the_part_that_is_least_far_says_how_far():
    marks = SubStreamWatermarks(["a", "b"], None)
    marks.advance("a", 50)
    assert marks.level() is None
    marks.advance("b", 10)
    assert marks.level() == 10
    marks.advance("b", 70)
    assert marks.level() == 50
    marks.advance("b", 20)
    marks.advance("a", 90)
    assert marks.level() == 70


def waiting(marks, clock, seconds, *ids):
    """Sub-streams that are seen to wait, again and again."""
    for _ in range(round(seconds * 10)):
        for sub_stream_id in ids:
            marks.note_waiting(sub_stream_id)
        clock.now += 0.1
    for sub_stream_id in ids:
        marks.note_waiting(sub_stream_id)


def test_a_silent_part_holds_back_for_a_while_only():
    clock = Clock()
    marks = SubStreamWatermarks(["a", "b"], 10_000, clock=clock)
    marks.advance("a", 50)
    waiting(marks, clock, 9.8, "b")
    marks.advance("a", 60)
    assert marks.level() is None
    waiting(marks, clock, 0.3, "b")
    assert marks.level() == 60
    marks.batch_enqueued("b")
    marks.advance("b", 40)
    marks.batch_done("b")
    assert marks.level() == 40
    waiting(marks, clock, 10.1, "a", "b")
    assert marks.level() == 60, "none is awaited: none holds back"


def test_a_part_that_has_not_looked_at_its_source_holds_back():
    clock = Clock()
    marks = SubStreamWatermarks(["a", "b"], 10_000, clock=clock)
    marks.advance("a", 50)
    clock.now += 600
    assert marks.level() is None, "its query has not started"
    marks.note_working("b")
    clock.now += 600
    assert marks.level() is None
    marks.batch_enqueued("b")
    clock.now += 600
    marks.advance("b", 10)
    marks.batch_done("b")
    assert marks.level() == 10


def test_time_at_work_is_no_silence():
    clock = Clock()
    marks = SubStreamWatermarks(["a", "b"], 10_000, clock=clock)
    for sub_stream_id, mark in (("a", 50), ("b", 10)):
        marks.advance(sub_stream_id, mark)
    waiting(marks, clock, 9, "b")
    marks.note_working("b")  # a batch, or its source is away
    clock.now += 60
    waiting(marks, clock, 9, "b")
    assert marks.level() == 10
    clock.now += 60  # without a look at the sources
    assert marks.level() == 10
    marks.batch_enqueued("b")  # an empty batch
    clock.now += 60
    assert marks.level() == 10
    marks.batch_done("b")
    waiting(marks, clock, 9, "b")
    assert marks.level() == 10
    waiting(marks, clock, 2, "b")
    assert marks.level() == 50


def test_a_part_that_has_ended_does_not_hold_back():
    marks = SubStreamWatermarks(["a", "b", "c"], None)
    marks.advance("a", 50)
    marks.batch_enqueued("b")
    marks.note_ended("b")
    marks.note_ended("c")
    assert marks.level() is None, "something is on its way"
    marks.advance("b", 20)
    assert marks.level() == 20
    marks.batch_done("b")
    assert marks.level() == 50
    marks.note_working("b")  # it has started again
    assert marks.level() == 20


def test_nothing_has_come_from_anybody():
    clock = Clock()
    marks = SubStreamWatermarks(["a"], 5, clock=clock)
    assert marks.level() is None
    waiting(marks, clock, 1, "a")
    assert marks.level() is None


def test_a_stream_goes_on_when_all_are_silent():
    clock = Clock()
    marks = SubStreamWatermarks(["a", "b"], 2_000, goes_on=True, clock=clock)
    marks.advance("a", 500)
    marks.advance("b", 900)
    waiting(marks, clock, 3, "a")
    assert marks.level() == 900  # b may still bring something
    waiting(marks, clock, 1.9, "a", "b")
    assert marks.level() == 900
    waiting(marks, clock, 0.2, "a", "b")
    assert marks.level() == 900 + 2_000  # since b was heard last, in whole seconds
    waiting(marks, clock, 3, "a", "b")
    assert marks.level() == 900 + 5_000
    marks.batch_enqueued("a")
    marks.advance("a", 6_000)
    marks.batch_done("a")
    assert marks.level() == 6_000


def test_what_has_ended_does_not_go_on():
    clock = Clock()
    marks = SubStreamWatermarks(["a", "b"], 2_000, goes_on=True, clock=clock)
    marks.advance("a", 500)
    waiting(marks, clock, 10, "a")
    marks.note_ended("b")
    assert marks.level() == 10_500
    marks.note_ended("a")
    assert marks.level() == 500


def test_a_source_that_works_or_cannot_be_reached_is_not_silent():
    clock = Clock()
    marks = SubStreamWatermarks(["a"], 2_000, goes_on=True, clock=clock)
    marks.advance("a", 500)
    waiting(marks, clock, 1, "a")
    marks.note_working("a")
    clock.now += 100
    waiting(marks, clock, 1.9, "a")
    assert marks.level() == 500


def test_a_stream_that_nothing_ever_came_from():
    clock = Clock()
    marks = SubStreamWatermarks(["a"], 2_000, goes_on=True, clock=clock)
    assert not marks.is_unheard()
    waiting(marks, clock, 2.1, "a")
    assert marks.is_unheard()
    assert marks.level() is None
    marks.advance("a", 500)
    assert not marks.is_unheard()
