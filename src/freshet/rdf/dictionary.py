"""The dictionary: terms to ids and back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from freshet.kernels import dictionary as kernels
from freshet.kernels.direct_call import DirectCall
from freshet.kernels.hashing import hash_id
from freshet.kernels.pushed_columns import find_known
from freshet.rdf import ids
from freshet.rdf.arrow import key_ranges, large_strings, read_only
from freshet.rdf.pins import BegunSweep, Pin, Pins
from freshet.rdf.terms import Term, term_from_key, term_key

Ids = NDArray[np.int64]

_FIRST_SLOTS = 1 << 10
_FIRST_HEAP_BYTES = 1 << 15
_MOST_ENCODED = 1 << 14
_FEW_TERMS = 16
_AHEAD_BYTES = 1 << 28
_FRAMED_AT_ONCE = 1 << 12
_ENTER = DirectCall(kernels.enter_key)
_NO_BYTES = np.empty(0, np.uint8)
_NO_HASHES = read_only(np.empty(0, np.int64))


class Dictionary:
    """Gives each term an id, and gives the term back.

    Inline terms take no room here (see `freshet.rdf.ids`). One thread interns at a time; others may read while it
    does, since arrays that are too small are replaced, not changed, and every id stays valid as long as it is pinned or
    reachable. `generation` counts steps of sweeps: what is cached beside the dictionary is valid for one generation.

    `hash_bits` narrows the hash, so that tests can force collisions.
    """

    def __init__(self, hash_bits: int = 63) -> None:
        self._hash_mask = np.int64((1 << hash_bits) - 1)
        self._lock = threading.Lock()
        self.scopes = 0  # how many scopes for blank nodes have been given
        self.scope_prefix = ""  # of them, where their blank nodes are kept beside those of other dictionaries
        self.pinned = Pins()
        self.generation = 0
        self.values_beside: tuple[int, object] = (-1, None)  # those of its terms, in a generation: `freshet.rdf.values`
        self._begun: BegunSweep | None = None
        self._encoded: dict[Term, int] = {}  # terms encoded one by one lately
        self._base: Callable[[], kernels.DictionaryArrays] | None = None
        self._base_bytes = 0  # of the heap: their records are never swept
        self._arrays = kernels.DictionaryArrays(
            np.zeros(2 * _FIRST_SLOTS, np.int64), np.empty(_FIRST_HEAP_BYTES, np.uint8), np.zeros(2, np.int64)
        )

    def start_from(self, base: Callable[[], kernels.DictionaryArrays]) -> bool:
        """Have all terms of arrays that are there already, such as maps of files, besides those that are here.

        `base` gives them anew whenever it is called, to be written to. It is not done where a term that is here would
        get another id, or terms of other arrays have come before: then False, and everything is as it was.
        """
        with self._lock:
            if self._base is not None:
                return False
            old, new = self._arrays, base()
            base_bytes = int(new.sizes[1])
            known = 2 * np.flatnonzero(old.slots[::2])
            new, found = self._with_records(new, old.heap, old.slots[known + 1])
            if (found != old.slots[known]).any():
                return False
            self._arrays, self._base, self._base_bytes = new, base, base_bytes
            self._begun = None  # its records are elsewhere now
            self.generation += 1
            return True

    @property
    def pins(self) -> Pin:
        """A pin, to be held while ids are in use that nothing else holds yet: `with dictionary.pins:`."""
        return Pin(self.pinned)

    def fresh_scope(self) -> str:
        """A scope for blank nodes that no other caller has been given."""
        with self._lock:
            self.scopes += 1
            return f"f{self.scope_prefix}{self.scopes - 1}"

    def __len__(self) -> int:
        """How many terms it holds, those with inline ids not counted."""
        terms: int = self._arrays.sizes.item(0)
        return terms

    @property
    def nbytes(self) -> int:
        """The memory that the arrays take; of the heap what is in use."""
        return int(self._arrays.slots.nbytes + self._arrays.sizes[1])

    @property
    def arrays(self) -> kernels.DictionaryArrays:
        """The arrays as they are now, for kernels that read keys; ids that are known now stay in them."""
        return self._arrays

    def intern_keys(self, data: NDArray[np.uint8], starts: Ids, ends: Ids, hashes: Ids | None = None) -> Ids:
        """Ids of the keys data[starts[i]:ends[i]], new terms included; 0 where a start is -1.

        `hashes` are the ids that the keys ask for, as Spark's `xxhash64` gives them without the sign bit; where one is
        0 or less, it is computed. A term that can be inline is inline, whatever its hash.
        """
        result = np.empty(starts.size, np.int64)
        wanted = _NO_HASHES if hashes is None else read_only(hashes)
        data, starts, ends = read_only(data), read_only(starts), read_only(ends)
        with self._lock:
            row = 0
            while True:
                row = kernels.intern(self._arrays, data, starts, ends, wanted, self._hash_mask, row, result)
                if row == starts.size:
                    break
                self._grow(int(ends[row] - starts[row]))
            if self._begun is not None:
                self._begun.note(self._arrays, result)
            return result

    def run(self, kernel: Callable[[kernels.DictionaryArrays, np.int64], int], given: Callable[[], Ids]) -> int:
        """Run a kernel that enters terms, with the arrays and the mask of hashes, again and again until it stops.

        It says how long a key is that found no room, and is run again with more; a negative number is its last word.
        `given` has the ids that it has given out then, those of terms that it has entered or not.
        """
        with self._lock:
            while (stopped := int(kernel(self._arrays, self._hash_mask))) >= 0:
                self._grow(stopped)
            if self._begun is not None:
                self._begun.note(self._arrays, given())
            return stopped

    def intern_arrow(self, keys: pa.Array, hashes: Ids | None = None) -> Ids:
        """Ids of keys in an Arrow array of strings, new terms included; 0 for null."""
        return self.intern_keys(*key_ranges(keys), hashes)

    def find_known(self, data: NDArray[np.uint8], starts: Ids, ends: Ids, ids: Ids) -> int:
        """Put in the ids of terms as N-Triples writes them, as far as they are known by these very bytes; 0 for others,
        and for blank nodes. Gives how many these are.
        """
        return int(find_known(self._arrays, self._hash_mask, data, starts, ends, ids))

    def intern_texts(self, texts: pa.ChunkedArray, before: str, after: str) -> Ids:
        """Ids of the keys that are these texts between `before` and `after`, new terms included; 0 for null.

        The keys are put together for some thousand rows at a time, in memory that stays in the processor's cache.
        """
        result = np.empty(len(texts), np.int64)
        first_bytes, last_bytes = (read_only(np.frombuffer(text.encode(), np.uint8)) for text in (before, after))
        frame_size = first_bytes.size + last_bytes.size
        keys, done = _NO_BYTES, 0
        for chunk in texts.chunks:
            data, starts, ends = key_ranges(chunk)
            for first in range(0, len(chunk), _FRAMED_AT_ONCE):
                rows = slice(first, first + _FRAMED_AT_ONCE)
                size = kernels.framed_size(starts[rows], ends[rows], frame_size)
                keys = keys if keys.size >= size else np.empty(size, np.uint8)
                key_starts, key_ends = np.empty(starts[rows].size, np.int64), np.empty(starts[rows].size, np.int64)
                kernels.frame_keys(
                    read_only(data), starts[rows], ends[rows], first_bytes, last_bytes, keys, key_starts, key_ends
                )
                result[done : done + key_starts.size] = self.intern_keys(keys, key_starts, key_ends)
                done += key_starts.size
        return result

    def encode(self, term: Term) -> int:
        """The id of a term, which is entered where it is new."""
        encoded = self._encoded  # a sweep begins another
        known = encoded.get(term)
        if known is None:
            known = self.enter(term)
            if len(encoded) >= _MOST_ENCODED:
                encoded.clear()
            encoded[term] = known
        return known

    def enter(self, term: Term) -> int:
        """The same for a term that is hardly ever met again: nothing is remembered of it beside its id."""
        return ids.inline_id(term) or self.enter_key(term_key(term))

    def encode_many(self, terms: Sequence[Term]) -> Ids:
        """The ids of terms, which are entered where they are new."""
        if len(terms) <= _FEW_TERMS:
            return np.array([self.encode(term) for term in terms], np.int64)
        return self.intern_arrow(pa.array([term_key(term) for term in terms], pa.large_string()))

    def enter_key(self, text: str) -> int:
        """The id of a term that is not inline, by its key; it is entered where it is new."""
        key = np.frombuffer(text.encode(), np.uint8)
        with self._lock:
            while not (term_id := _ENTER.run(self._arrays, key, self._hash_mask)):
                self._grow(key.size)
            if self._begun is not None:
                self._begun.note(self._arrays, np.array([term_id], np.int64))
        return int(term_id)

    def lookup(self, term: Term) -> int:
        """The id of a term, or 0 where the term is unknown."""
        inline = ids.inline_id(term)
        if inline:
            return inline
        key = np.frombuffer(term_key(term).encode(), np.uint8)
        arrays = self._arrays
        wanted = kernels.narrow(hash_id(key, 0, key.size), self._hash_mask)
        term_id, slot = kernels.find_key(arrays, key, 0, key.size, wanted)
        if not arrays.slots[slot]:
            return ids.UNBOUND
        if self._begun is not None:
            self.note(np.array([term_id], np.int64))
        return int(term_id)

    def decode(self, term_id: int) -> Term:
        """The term of an id. KeyError where no term has it."""
        if term_id < 0:
            return ids.inline_term(term_id)
        if term_id == ids.UNBOUND:
            raise KeyError(term_id)
        return term_from_key(self.keys(np.array([term_id], np.int64))[0].as_py())

    def decode_many(self, term_ids: Ids | Sequence[int]) -> list[Term | None]:
        """The terms of ids, None for 0. Every distinct id is decoded once."""
        distinct, places = np.unique(np.asarray(term_ids, np.int64), return_inverse=True)
        terms = [None if key is None else term_from_key(key) for key in self.keys(distinct).to_pylist()]
        return [terms[place] for place in places]

    def keys(self, term_ids: Ids) -> pa.Array:
        """The keys of ids (large_string), inline ids included; null for 0. KeyError where no term has an id."""
        return large_strings(*self.key_bytes(term_ids), term_ids != ids.UNBOUND)

    def key_bytes(self, term_ids: Ids) -> tuple[NDArray[np.uint8], Ids]:
        """The same as bytes and the offsets of each key in them; that of 0 is empty."""
        arrays, wanted = self._arrays, read_only(term_ids)
        records = np.empty(wanted.size, np.int64)
        room = kernels.find_records(arrays, wanted, records)
        if room < 0:
            raise KeyError(int(wanted[-1 - room]))
        data = np.empty(room, np.uint8)
        offsets = np.empty(wanted.size + 1, np.int64)
        kernels.write_keys(arrays.heap, wanted, records, data, offsets)
        return data, offsets

    def note(self, *columns: Ids) -> None:
        """Ids enter what others can reach: a sweep that has begun keeps their terms."""
        if self._begun is not None:
            with self._lock:
                if self._begun is not None:
                    for ids in columns:
                        self._begun.note(self._arrays, ids)

    @property
    def is_sweeping(self) -> bool:
        """Whether a sweep has begun that waits for the end of pins."""
        return self._begun is not None

    def can_sweep(self) -> bool:
        """Whether the next step of a sweep need not wait for the end of pins."""
        begun = self._begun
        return begun is None or begun.pinned.isdisjoint(self.pinned.held())

    def sweep(self, held: Iterable[Ids]) -> int:
        """Drop all terms whose ids are not in the arrays; returns how many. One that is added again gets its id again.

        Where there are pins, nothing is dropped yet: the call after their end drops what neither call found in the
        arrays, and what was not handed out in between. `held` is gone through when it is known which pins there are, so
        that it has what their holders left behind. See `freshet.rdf.pins`.
        """
        with self._lock:
            pinned = self.pinned.held()
            if self._begun is not None and not self._begun.pinned.isdisjoint(pinned):
                return 0
            # First: those that pin the dictionary from here on do not find what is cached.
            self._encoded = {}
            self.generation += 1
            if begins := self._begun is None:
                self._begun = BegunSweep(self._arrays, self._hash_mask)
                pinned = self._begun.pinned = self.pinned.held()
            for some in held:
                self._begun.mark(self._arrays, some)
            if begins and pinned:
                return 0
            begun, self._begun = self._begun, None
            dropped = self._drop(begun)
            self.generation += 1  # what was looked up without the lock meanwhile may be gone
            return dropped

    def _drop(self, begun: BegunSweep) -> int:
        old = self._arrays
        kept = begun.kept_slots(old)
        kept = kept[old.slots[kept + 1] >= self._base_bytes]
        kept = kept[np.argsort(old.slots[kept + 1])]  # so that terms which came together stay together
        if self._base is not None:
            self._arrays, _ = self._with_records(self._base(), old.heap, old.slots[kept + 1])
            return int(old.sizes[0] - self._arrays.sizes[0])
        slots = max(_FIRST_SLOTS, 1 << (4 * kept.size).bit_length())
        new = kernels.DictionaryArrays(
            np.zeros(2 * slots, np.int64),
            np.empty(max(_FIRST_HEAP_BYTES, int(old.sizes[1])), np.uint8),
            np.zeros(2, np.int64),
        )
        kernels.move_records(old.heap, old.slots[kept], old.slots[kept + 1], new)
        self._arrays = new._replace(heap=new.heap[: max(_FIRST_HEAP_BYTES, 2 * int(new.sizes[1]))].copy())
        return int(old.sizes[0] - new.sizes[0])

    def _with_records(
        self, arrays: kernels.DictionaryArrays, heap: NDArray[np.uint8], records: Ids
    ) -> tuple[kernels.DictionaryArrays, Ids]:
        """Arrays with the keys of an old heap's records entered in them, and their ids there."""
        starts = records + kernels.LENGTH_BYTES
        ends = starts + _lengths(heap, records)
        result, data, row = np.empty(records.size, np.int64), read_only(heap), 0
        starts, ends = read_only(starts), read_only(ends)
        while True:
            row = kernels.intern(arrays, data, starts, ends, _NO_HASHES, self._hash_mask, row, result)
            if row == records.size:
                return arrays, result
            arrays = _larger(arrays, int(ends[row] - starts[row]))

    def _grow(self, length: int) -> None:
        self._arrays = _larger(self._arrays, length)


def _larger(arrays: kernels.DictionaryArrays, length: int) -> kernels.DictionaryArrays:
    """Makes room for one more key of this length, and at least doubles what was too small.

    To touch memory for the first time is what costs most. Of the heap only addresses are taken ahead, so that it is
    seldom copied.
    """
    slots, heap, sizes = arrays
    if 4 * sizes[0] >= slots.size:
        larger = np.zeros(2 * slots.size, np.int64)
        kernels.move_slots(slots, larger)
        slots = larger
    needed = int(sizes[1]) + kernels.LENGTH_BYTES + length
    if needed > heap.size:
        longer = np.empty(max(2 * heap.size, min(16 * heap.size, _AHEAD_BYTES), needed), np.uint8)
        longer[: sizes[1]] = heap[: sizes[1]]
        heap = longer
    return kernels.DictionaryArrays(slots, heap, sizes)


def _lengths(heap: NDArray[np.uint8], records: Ids) -> Ids:
    lengths = np.zeros(records.size, np.int64)
    for byte in range(kernels.LENGTH_BYTES):
        lengths |= heap[records + byte].astype(np.int64) << (8 * byte)
    return lengths & ~np.int64(kernels.CHECKED)
