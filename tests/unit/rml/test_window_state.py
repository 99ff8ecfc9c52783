"""What waits in the window of a join: any batching, through bytes and back, against the naive twin."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import naive_joins
from counts import count
from freshet.kernels.join_windows import Ended
from freshet.rdf.errors import InputError
from freshet.rml.cold_records import HOT
from freshet.rml.join_clock import NEVER, Times
from freshet.rml.sizing import Floats, Sizes, load_policy, waits
from freshet.rml.window_bytes import state_of, values_of
from freshet.rml.window_state import KEY, TIE, TIME, Step, WindowState, empty_state, take
from freshet.rml.windows import FIXED, JoinWindow, WindowKind, default_window
from freshet_benchmarks.window_ticks import Blocks
from naive_joins import CHILD, PARENT, Found, Record, apart, cut, random_records

SMALL = {
    WindowKind.TUMBLING: JoinWindow(WindowKind.TUMBLING, size=40),
    WindowKind.SLIDING: JoinWindow(WindowKind.SLIDING, size=25),
    WindowKind.DYNAMIC: JoinWindow(size=16, lower=3, upper=60, idle_ms=150),
    WindowKind.DYNAMIC_COUNT: JoinWindow(WindowKind.DYNAMIC_COUNT, size=4, lower=2, upper=16, idle_ms=90),
    WindowKind.LOSSLESS: JoinWindow(WindowKind.LOSSLESS, size=10, lower=3, upper=25),
}
SCHEMA = pa.schema([(KEY, pa.string()), (TIME, pa.int64()), (TIE, pa.int64()), ("name", pa.string())])


def table(records: list[Record]) -> pa.Table:
    rows = [{KEY: each.key, TIME: each.time, TIE: int(each.name[1:]), "name": each.name} for each in records]
    return pa.Table.from_pylist(rows, SCHEMA)


def step(
    state: WindowState, batch: list[Record], window: JoinWindow, lateness: int, blocks: Blocks | None = None
) -> tuple[WindowState, Step]:
    sides = [table([record for record in batch if record.side == side]) for side in (CHILD, PARENT)]
    return take(state, sides[0], sides[1], newest_of(batch), window, lateness, blocks or Blocks())


def newest_of(batch: list[Record]) -> Times:
    times = [[record.time for record in batch if record.side == side] for side in (CHILD, PARENT)]
    return Times(*(max(each, default=NEVER) for each in times))


def pairs_of(gave: Step) -> Counter[tuple[str, str]]:
    return Counter(zip(gave.children["name"].to_pylist(), gave.parents["name"].to_pylist(), strict=True))


def through_state(batches: list[list[Record]], window: JoinWindow, lateness: int) -> tuple[Found, WindowState]:
    state = empty_state(SCHEMA, SCHEMA, window)
    pairs: Counter[tuple[str, str]] = Counter()
    late = 0
    blocks = Blocks()
    for batch in batches:
        state, gave = step(state_of(values_of(state)), batch, window, lateness, blocks)
        pairs += pairs_of(gave)
        late += gave.late
        referred = {
            (side, each) for side, table in enumerate((state.children, state.parents)) for each in refers(table)
        }
        assert set(blocks.tables) == referred
    return Found(pairs, late), state


def refers(records: pa.Table) -> set[int]:
    """The blocks that records are in."""
    return set(records["block"].to_pylist()) - {HOT} if "block" in records.column_names else set()


def as_taken(batches: list[list[Record]]) -> list[Record]:
    """In the order in which the records of a batch count as arrived."""
    return [
        record
        for batch in batches
        for record in sorted(batch, key=lambda each: (each.time, each.side, int(each.name[1:])))
    ]


@pytest.mark.parametrize("lateness", [0, 30])
@pytest.mark.parametrize("kind", SMALL)
def test_any_batches_give_what_the_twin_finds(kind: WindowKind, lateness: int) -> None:
    window = SMALL[kind]
    seen = late = 0
    for seed in range(40):
        random = Random(seed)
        records = random_records(random, disorder=random.choice([0, 20, 60]))
        batches = random.choice([cut, apart])(random, records)
        found, _ = through_state(batches, window, lateness)
        assert found == naive_joins.in_batches(batches, window, lateness)
        seen += found.pairs.total()
        late += found.late
    assert seen > 300
    assert late > 0


@pytest.mark.parametrize("kind", SMALL)
def test_batches_do_not_matter_to_streams_in_order(kind: WindowKind) -> None:
    for seed in range(count(20)):
        random = Random(seed)
        records = as_taken([random_records(random, disorder=0)])
        one, _ = through_state([records] if records else [], SMALL[kind], 0)
        many, _ = through_state(cut(random, records), SMALL[kind], 0)
        assert one == many


@pytest.mark.parametrize("kind", [kind for kind in SMALL if kind is not WindowKind.DYNAMIC_COUNT])
@pytest.mark.parametrize("silent_ms", [1, 10**9])
def test_it_does_not_matter_which_side_is_ahead(kind: WindowKind, silent_ms: int) -> None:
    """Sides that are in order, each as far as it likes: as if all had come in the order of their times.

    Each brings something until it has nothing more, so however little silence is waited for, none falls into it.
    """
    window, seen = replace(SMALL[kind], silent_ms=silent_ms), 0
    seeds = count(60)
    for seed in range(seeds):
        random = Random(seed)
        records = as_taken([random_records(random, disorder=0)])
        found, _ = through_state(apart(random, records), window, 0)
        assert found == naive_joins.naive(records, window, 0)
        assert found.late == 0
        seen += found.pairs.total()
    assert seen > 1_000 * seeds // 60


@pytest.mark.parametrize("kind", SMALL)
def test_a_backlog_of_which_one_side_has_fewer_records_loses_nothing(kind: WindowKind) -> None:
    """A child a second, ten parents a second, a hundred of each a batch: the children get far ahead at once."""
    window = default_window(kind)
    children = [Record(f"k{at}", 1_000 * at, CHILD, f"r{at}") for at in range(300)]
    parents = [
        Record(f"k{at // 10}" if at % 10 == 3 else "none", 100 * at, PARENT, f"r{10_000 + at}") for at in range(3_000)
    ]
    batches = [children[at : at + 100] + parents[at : at + 100] for at in range(0, 3_000, 100)]
    found, _ = through_state(batches, window, 0)
    assert found == Found(Counter({(f"r{at}", f"r{10_003 + 10 * at}"): 1 for at in range(300)}), 0)


@pytest.mark.parametrize("kind", SMALL)
def test_nothing_is_kept_of_what_has_fallen_silent(kind: WindowKind) -> None:
    records = [record for record in random_records(Random(3), disorder=10) if record.side == CHILD]
    state, blocks, was_cold = empty_state(SCHEMA, SCHEMA, SMALL[kind]), Blocks(), False
    for first in range(0, len(records), 10):
        state, _ = step(state, records[first : first + 10], SMALL[kind], 0, blocks)
        was_cold |= bool(blocks.tables)
    assert state.records > 0
    assert was_cold == (kind is WindowKind.LOSSLESS)
    later = Times(records[-1].time + 30_000, NEVER)
    state, _ = take(state, table([]), table([]), later, SMALL[kind], 0, blocks)
    assert (state.records, len(state.keys), len(blocks.tables)) == (0, 0, 0)


def test_a_stream_of_one_side_does_not_pile_up() -> None:
    for window in map(default_window, WindowKind):
        state = empty_state(SCHEMA, SCHEMA, window)
        held = []
        blocks = Blocks()
        for second in range(40):
            batch = [Record(f"k{at}", 1_000 * second + at, CHILD, f"r{at}") for at in range(100)]
            state, _ = step(state, batch, window, 0, blocks)
            held.append((state.records, len(state.keys), state.children.nbytes))
        assert max(held[20:]) <= max(held[:20])


LONGEST_SECONDS = {kind: 2 if kind in FIXED else 5 for kind in WindowKind}


@pytest.mark.parametrize("silent", [CHILD, PARENT])
@pytest.mark.parametrize("kind", WindowKind)
def test_a_side_that_falls_silent_is_waited_for_but_not_for_ever(kind: WindowKind, silent: int) -> None:
    window = default_window(kind)
    state, blocks = empty_state(SCHEMA, SCHEMA, window), Blocks()
    held, watermarks = [], []
    for second in range(60):
        batch = [Record(f"k{at}", 1_000 * second + at, 1 - silent, f"r{at}") for at in range(50)]
        if second < 10 or second == 40:
            batch.append(Record("k1", 1_000 * second + 900, silent, "r99"))
        state, gave = step(state, batch, window, 0, blocks)
        assert gave.late == 0
        held.append(state.records)
        watermarks.append(state.clock.watermark(0))
    limit, longest = window.silent_limit_ms // 1_000, LONGEST_SECONDS[kind]
    assert watermarks[9 + limit] <= 9_900
    assert watermarks[9 + limit + 2] == 1_000 * (9 + limit + 2) + 49
    assert max(held) <= 50 * (longest + limit + 2)
    assert max(held[25:40]) <= 50 * (longest + 1)  # what the window holds, as if nothing was waited for


def test_a_side_that_comes_back_with_old_times_does_not_hold_the_other() -> None:
    """It is late: it would meet nothing, and what waits would grow as long as it goes on."""
    window = JoinWindow(WindowKind.SLIDING, size=1_000, silent_ms=5_000)
    state = empty_state(SCHEMA, SCHEMA, window)
    late, held = 0, []
    for second in range(60):
        batch = [Record("k", 1_000 * second, CHILD, f"r{second}")]
        if second == 0 or second > 20:
            batch.append(Record("k", second, PARENT, f"r{second}"))
        state, gave = step(state, batch, window, 0)
        late += gave.late
        held.append(state.records)
    assert late == 39
    assert max(held[10:]) == 2


@pytest.mark.parametrize("kind", WindowKind)
def test_what_waits_is_bounded_where_the_clock_of_a_side_stands(kind: WindowKind) -> None:
    """It goes on sending, in time, and so holds the other back; the oldest are given up, and counted."""
    window = replace(default_window(kind), most_waiting=300)
    state, blocks, given_up, came = empty_state(SCHEMA, SCHEMA, window), Blocks(), 0, 0
    for second in range(30):
        batch = [Record(f"k{second} {at}", 1_000 * second + at, CHILD, f"r{at}") for at in range(50)]
        batch.append(Record("other", 0, PARENT, f"r{second}"))
        state, gave = step(state, batch, window, 0, blocks)
        assert gave.late == 0
        given_up, came = given_up + gave.given_up, came + len(batch)
        assert state.records <= 300
        assert len(state.keys) <= 600
    assert state.records == 300
    assert given_up == came - 300, "what does not wait was counted"
    assert sum(map(len, blocks.tables.values())) <= 300
    newest = [Record(f"k29 {at}", 29_000 + at, PARENT, f"r{1_000 + at}") for at in range(50)]
    _, gave = step(state, newest, window, 0, blocks)
    assert len(gave.children) == 50, "the newest are there when the clock goes on"


def test_what_was_learned_of_keys_is_bounded_too() -> None:
    """By count subwindows end while the clock stands, so nothing is ever idle."""
    window = replace(default_window(WindowKind.DYNAMIC_COUNT), most_waiting=100)
    state, known = empty_state(SCHEMA, SCHEMA, window), []
    for batch_number in range(30):
        keys = [f"k{batch_number} {at}" for at in range(20)]
        many = [Record(key, 0, side, "r1") for key in keys for side in (CHILD, CHILD, CHILD, PARENT)]
        state, _ = step(state, many, window, 0)
        known.append(len(state.keys))
    assert max(known) <= 200
    assert known[-1] >= 100, "something is learned, or this shows nothing"


def test_a_lossless_window_holds_little_at_hand() -> None:
    """Pairs 20 ms apart, and one that is 900: found from a block; what is at hand is what a dynamic window holds."""
    lossless = JoinWindow(WindowKind.LOSSLESS, size=40, lower=10, upper=1_000)
    dynamic = JoinWindow(WindowKind.DYNAMIC, size=40, lower=10, upper=1_000)
    blocks, ends = Blocks(), []
    for window in (lossless, dynamic):
        state = empty_state(SCHEMA, SCHEMA, window)
        pairs: Counter[tuple[str, str]] = Counter()
        for number in range(200):
            now = 10 * number
            batch = [
                Record(f"k{number}", now, CHILD, f"r{number}"),
                Record(f"k{number - 2}", now, PARENT, f"r{number}"),
            ]
            if number == 150:
                batch.append(Record("k60", now, PARENT, "r9999"))
            state, gave = step(state, batch, window, 0, blocks)
            pairs += pairs_of(gave)
        ends.append((state, pairs))
    (cold, all_pairs), (warm, some_pairs) = ends
    assert all_pairs - some_pairs == Counter({("r60", "r9999"): 1})
    assert cold.records == 2 * 101 + 1  # times from 990 to 1990
    assert cold.records - cold.cold_records == warm.records < 12


def double(ended: Ended, window: JoinWindow, memory: Floats) -> Sizes:
    """A policy that a user could write: every window that ends is doubled; it counts how often it was asked."""
    asked = (memory[0] if len(memory) else 0) + 1
    return Sizes(window.size, 2 * ended.sizes, np.array([asked]))


def test_a_policy_of_the_user_sizes_the_windows() -> None:
    window = JoinWindow(size=10, lower=1, upper=35, policy=f"{__name__}:double", idle_ms=10_000)
    assert load_policy(f"{__name__}:double") is double
    state = empty_state(SCHEMA, SCHEMA, window)
    sizes = []
    for moment in (0, 100, 200, 300):
        state, _ = step(state_of(values_of(state)), [Record("a", moment, CHILD, "r1")], window, 0)
        state, _ = take(state, table([]), table([]), Times(moment + 50, moment + 50), window, 0)
        sizes.append(state.keys["sizes"].to_pylist())
    assert sizes == [[20], [35], [35], [35]]
    assert state.memory.tolist() == [8]


def test_waits_are_learned_from_pairs() -> None:
    """Keys that come but once: their partner needs 300 ms, so new ones wait 330 in place of a second."""
    window = JoinWindow(policy="freshet.rml.sizing:waits")
    state = empty_state(SCHEMA, SCHEMA, window)
    assert state.first == 1_000
    found = 0
    for number in range(200):
        now = 100 * number
        batch = [Record(f"k{number}", now, CHILD, f"r{number}"), Record(f"k{number - 3}", now, PARENT, f"r{number}")]
        state, gave = step(state, batch, window, 0)
        found += len(gave.children)
    assert found == 197
    assert state.first == 330
    assert state.records < 12


def test_waits_grow_when_nothing_is_found() -> None:
    window = JoinWindow(policy="freshet.rml.sizing:waits")
    nothing = Ended(*(np.array([value] * 3, np.int64) for value in (0, 100, 1, 0, -1)))
    first, sizes, memory = waits(nothing, window, np.array([50.0, 100.0]))
    assert (first, sizes.tolist()) == (200, [200] * 3)
    assert waits(nothing, window, memory).first == 400


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nonsense", "MODULE:NAME"),
        ("no.such.module:waits", "cannot be imported"),
        ("freshet.rml.sizing:Nothing", "no function Nothing"),
    ],
)
def test_a_policy_that_is_not_there(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_policy(name)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"size": 0}, "at least 1"),
        ({"lower": 3_000}, "do not ascend"),
        ({"upper": 900}, "do not ascend"),
        ({"grow_below": 2.0}, "grows is above"),
        ({"list_size": 0.5}, "at least 1"),
        ({"kind": WindowKind.SLIDING, "policy": "a:b"}, "takes no sizing policy"),
    ],
)
def test_windows_that_make_no_sense(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        JoinWindow(**wrong)  # type: ignore[arg-type]
