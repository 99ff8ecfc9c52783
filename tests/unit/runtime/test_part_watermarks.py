from freshet.runtime.part_watermarks import PartWatermarks


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_the_part_that_is_least_far_says_how_far():
    marks = PartWatermarks(["a", "b"], None)
    marks.moved("a", 50)
    assert marks.level() is None
    marks.moved("b", 10)
    assert marks.level() == 10
    marks.moved("b", 70)
    assert marks.level() == 50
    marks.moved("b", 20)
    marks.moved("a", 90)
    assert marks.level() == 70


def test_a_silent_part_holds_back_for_a_while_only():
    clock = Clock()
    marks = PartWatermarks(["a", "b"], 10_000, clock=clock)
    marks.moved("a", 50)
    clock.now += 9.9
    marks.moved("a", 60)
    assert marks.level() is None
    clock.now += 0.1
    assert marks.level() == 60
    marks.moved("b", 40)
    assert marks.level() == 40
    clock.now += 10
    assert marks.level() == 60, "nobody is awaited: nobody holds back"


def test_nothing_has_come_from_anybody():
    clock = Clock()
    marks = PartWatermarks(["a"], 5, clock=clock)
    assert marks.level() is None
    clock.now += 1
    assert marks.level() is None
