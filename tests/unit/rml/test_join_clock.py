"""How far the time of a join has come: the slower side, a silent one, one that comes back."""

from __future__ import annotations

from freshet.rml.join_clock import NEVER, JoinClock, Times, advance_clock


def after(*batches: tuple[int, int], lateness: int = 0, silent: int = 100) -> JoinClock:
    clock = JoinClock()
    for batch in batches:
        clock = advance_clock(clock, Times(*batch), lateness, silent)
    return clock


def test_the_slower_side_says_how_far_it_is() -> None:
    clock = after((1_000, 10), (2_000, 20), lateness=5)
    assert (clock.reached, clock.front, clock.watermark(5)) == (20, 2_000, 15)


def test_before_anything_came_there_is_no_watermark() -> None:
    assert after().watermark(5) == NEVER
    assert after((NEVER, NEVER)) == JoinClock()


def test_a_side_that_has_never_come_is_waited_for_up_to_the_limit() -> None:
    assert after((50, NEVER), (150, NEVER)).reached == NEVER
    assert after((50, NEVER), (151, NEVER)).reached == 151
    assert after((NEVER, 50), (NEVER, 151)).reached == 151


def test_silence_begins_where_the_other_side_was() -> None:
    """The child is at 1,000 when the parent, long behind, goes on alone: it is waited for at 1,000 and 100 more."""
    assert after((1_000, 10), (NEVER, 500)).reached == 500
    assert after((1_000, 10), (NEVER, 500), (NEVER, 1_100)).reached == 1_000
    assert after((1_000, 10), (NEVER, 500), (NEVER, 1_101)).reached == 1_101


def test_a_side_that_comes_back_is_waited_for_again_if_it_is_not_late() -> None:
    silent = [(0, 0), (500, NEVER)]
    assert after(*silent).reached == 500
    assert after(*silent, (590, 510)).reached == 510
    assert after(*silent, (590, 499)).reached == 590
    assert after(*silent, (590, 499), lateness=5).reached == 500  # within the lateness; it never goes back


def test_it_never_goes_back() -> None:
    clock = after((100, 100))
    assert advance_clock(clock, Times(40, 50), 0, 100).reached == 100
