"""A batch of arrivals through a join in one call.

A call costs some microseconds whatever it does, most of them for taking arrays in and handing arrays out: more than the
work of a single element, and a good part of that of a thousand. So arrays come in plain tuples, which take half as long
to be recognised as named ones, and results go out in few arrays: a row each, with its time in the first column.

`plans` is LeafPlans; `tables` is the index of leaf rows (IndexArrays), LifeArrays, the index of rings and RingLinks,
one after another; `batch` is times, subjects, predicates, objects, offsets and numbers (see `gather_arrivals`), and
which elements are kept out of which leaf.
"""

import numpy as np

from freshet.kernels.alive import places_by_moment, result_deaths, results_born
from freshet.kernels.arrivals import LeafPlans, gather_arrivals
from freshet.kernels.index import IndexArrays
from freshet.kernels.jit import njit
from freshet.kernels.lives import OPEN, LifeArrays, RingLinks, let_in, let_out
from freshet.kernels.pointers import FREE, USED, PointerArrays, pointers_add, pointers_invalidate
from freshet.kernels.running import entries_of, running_distinct


@njit
def _unpacked(tables):
    index = IndexArrays(tables[0], tables[1], tables[2], tables[3], tables[4])
    life = LifeArrays(tables[5], tables[6], tables[7], tables[8], tables[9])
    ring_index = IndexArrays(tables[10], tables[11], tables[12], tables[13], tables[14])
    rings = RingLinks(tables[15], tables[16], tables[17])
    return index, life, ring_index, rings


@njit
def _gathered(plans, clocks, batch):
    leaf_plans = LeafPlans(plans[0], plans[1], plans[2], plans[3], plans[4], plans[5])
    times, subjects, predicates, objects, offsets, numbers, kept_out = batch
    return gather_arrivals(leaf_plans, clocks, times, subjects, predicates, objects, offsets, numbers, kept_out)


@njit
def _values(values, pointers, moments, first, instants, homes):
    """Results with their times, in order: a column for each row (leaf, column) of `homes`, 0 where no leaf has it."""
    places = places_by_moment(moments, first, instants.shape[0])
    rows = np.zeros((pointers.shape[0], 1 + homes.shape[0]), np.int64)
    for at in range(rows.shape[0]):
        rows[places[at], 0] = instants[moments[at] - first]
    for column in range(homes.shape[0]):  # one after another, so that the waits for its rows overlap
        leaf, place = homes[column, 0], 1 + homes[column, 1]
        if leaf >= 0:
            for at in range(rows.shape[0]):
                rows[places[at], 1 + column] = values[pointers[at, leaf], place]
    return rows


@njit
def pass_through(plans, clocks, batch, tables, orders, homes, first):
    """Let a batch of elements in, join what is born, let out what dies.

    Gives the results born, with their times, and how many instants there were.
    """
    index, life, ring_index, rings = _unpacked(tables)
    arrived = _gathered(plans, clocks, batch)
    lives = let_in(index, life, ring_index, rings, arrived, first)
    pointers, moments = results_born(ring_index, life.records, index.keys, lives, orders)
    let_out(index, life, ring_index, rings, lives)
    return _values(index.keys, pointers, moments, first, arrived.instants, homes), arrived.instants.shape[0]


@njit
def _ended(records, results, lives, born):
    """The results that ended in a batch, and those born in it that live on and found no room among those kept."""
    leaves = born.shape[1]
    if leaves == 1:
        return lives.dead.copy().reshape(-1, 1), born[:0].copy()
    deaths = result_deaths(records, born)
    living = born[deaths == OPEN]
    ended = born[deaths < OPEN] if living.shape[0] < born.shape[0] else born[:0].copy()
    for leaf in range(leaves):
        dead = lives.dead[lives.dead_ends[leaf] : lives.dead_ends[leaf + 1]]
        if dead.shape[0] > 0:
            ended = np.concatenate((pointers_invalidate(results, leaf, dead), ended))
    used = results.sizes[USED] - results.sizes[FREE]
    if records.shape[0] > results.heads.shape[1] or used + living.shape[0] > results.alive.shape[0]:
        return ended, living
    pointers_add(results, living)
    return ended, living[:0].copy()


@njit
def pass_through_kept(plans, clocks, batch, tables, kept, orders, homes, first):
    """As `pass_through`, where results are kept (`kept` is PointerArrays) to tell which of them end.

    Gives the results born and those that ended, with their times; those that are to be kept and found no room; and how
    many instants there were.
    """
    index, life, ring_index, rings = _unpacked(tables)
    results = PointerArrays(kept[0], kept[1], kept[2], kept[3], kept[4], kept[5], kept[6])
    arrived = _gathered(plans, clocks, batch)
    lives = let_in(index, life, ring_index, rings, arrived, first)
    born, births = results_born(ring_index, life.records, index.keys, lives, orders)
    ended, living = _ended(life.records, results, lives, born)
    deaths = result_deaths(life.records, ended)
    let_out(index, life, ring_index, rings, lives)
    came = _values(index.keys, born, births, first, arrived.instants, homes)
    went = _values(index.keys, ended, deaths, first, arrived.instants, homes)
    return came, went, living, arrived.instants.shape[0]


@njit
def _keys(index, entries, times):
    rows = np.empty((entries.shape[0], 1 + index.keys.shape[1]), np.int64)
    for at in range(rows.shape[0]):
        rows[at, 0] = times[at]
        rows[at, 1:] = index.keys[entries[at]]
    return rows


@njit
def distinct_through(counted, stamps, came, went):
    """`running_distinct` of rows with their times in front: those that appear, and those that vanish."""
    index = IndexArrays(counted[0], counted[1], counted[2], counted[3], counted[4])
    comes, goes = entries_of(index, came[:, 1:].copy()), entries_of(index, went[:, 1:].copy())
    appeared, at, vanished, until = running_distinct(index, stamps, comes, came[:, 0].copy(), goes, went[:, 0].copy())
    return _keys(index, appeared, at), _keys(index, vanished, until)
