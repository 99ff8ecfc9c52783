"""Which entries of a view are refreshed: by the names of settings, configured rates, what was learnt before."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from freshet.algebra.expressions import Variable
from freshet.algebra.nodes import BGP, TriplePattern
from freshet.federation import local_view
from freshet.federation.candidates import Candidates, one_to_one
from freshet.federation.client import ServiceClient
from freshet.federation.expected_gain import ExpectedGain
from freshet.federation.learnt import Learnt, LearntBefore
from freshet.federation.local_view import LocalView, Needed, Refreshed
from freshet.federation.local_views import LocalViews
from freshet.federation.refresh_policy import RefreshPolicy
from freshet.federation.service_query import ServiceQuery
from freshet.federation.settings import ServiceSettings
from freshet.rdf.dictionary import Dictionary
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri
from sparql_endpoint import EndpointProcess

EX = "http://example.org/"
PATTERN = ServiceQuery(BGP((TriplePattern(Variable("user"), Iri(f"{EX}followers"), Variable("n")),)))
SLIDE_MS = 1000
DATA = " ".join(f"<{EX}{name}> <{EX}followers> {count} ." for name, count in zip("abcd", (10, 20, 30, 40), strict=True))


@pytest.fixture(scope="module")
def endpoint_process() -> Iterator[EndpointProcess]:
    """One of its own, as tests here change what it has."""
    process = EndpointProcess(DATA)
    yield process
    process.stop()


class Clock:
    """The time of day, as tests want it."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(local_view, "now_ms", made)
    return made


class Views:
    """The local views of a session, and what is asked of the endpoint."""

    def __init__(self, endpoint: EndpointProcess, client: ServiceClient) -> None:
        self.endpoint = endpoint
        self.dictionary = Dictionary()
        self._views = LocalViews(client, self.dictionary)

    def view(self, slide_ms: int = SLIDE_MS) -> LocalView:
        view = self._views.view(self.endpoint.url, PATTERN, ("user",), slide_ms)
        assert isinstance(view, LocalView)
        return view

    def join(self, view: LocalView, uses: dict[str, int], accuracy: float | None = None) -> Refreshed:
        keys = np.array([[self.dictionary.encode(Iri(EX + name))] for name in uses], np.int64).reshape(-1, 1)
        needed = Needed(keys, np.ones(len(uses), np.int64), np.array([*uses.values()], np.int64), SLIDE_MS)
        return view.join(needed, seconds=None, accuracy=accuracy)[0]

    def asked(self, view: LocalView, uses: dict[str, int], accuracy: float | None = None) -> set[str]:
        """The entries that a join asks for."""
        before = len(self.endpoint.seen)
        self.join(view, uses, accuracy)
        texts = [seen["query"] for seen in self.endpoint.seen[before:]]
        return {name for text in texts for name in re.findall(rf"<{EX}(\w)>", text)}


@contextmanager
def views_of(endpoint: EndpointProcess, **settings: object) -> Iterator[Views]:
    client = ServiceClient(ServiceSettings(("127.0.0.1",), **settings))  # type: ignore[arg-type]
    yield Views(endpoint, client)
    client.close()


# ---- names


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"proposer": "all"}, "there is no proposer named 'all'"),
        ({"ranker": "WBM"}, "there is no ranker named 'WBM'"),
        ({"change_seconds": {"a.example": 0.0}}, "entries of a.example cannot change every 0.0 seconds"),
        ({"hosts": ("https://a.example",)}, "'https://a.example' is no host that SERVICE could ask"),
        ({"hosts": ("a.example/sparql",)}, "'a.example/sparql' is no host that SERVICE could ask"),
        ({"single_bindings": ("a b",)}, "'a b' is no host that SERVICE could ask"),
        ({"timeout_seconds": 0}, "'timeout_seconds' of SERVICE cannot be 0"),
        ({"connect_seconds": float("nan")}, "'connect_seconds' of SERVICE cannot be nan"),
        ({"backoff_seconds": -1}, "'backoff_seconds' of SERVICE cannot be -1"),
        ({"requests_at_once": 0}, "'requests_at_once' of SERVICE cannot be 0"),
        ({"batch": 0}, "'batch' of SERVICE cannot be 0"),
        ({"most_bindings": -1}, "'most_bindings' of SERVICE cannot be -1"),
        ({"aliases": {"urn:a": "http://u:p@a.example/"}}, "the URL of an endpoint has credentials in it"),
    ],
)
def test_wrong_settings_are_errors(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        ServiceSettings(**wrong)  # type: ignore[arg-type]


def known_entries() -> ExpectedGain:
    """Four entries: 0 and 1 are known to change always, 2 and 3 never; 1 and 3 were refreshed later."""
    known = ExpectedGain(4, 0, 10)
    for time_ms in range(10, 210, 10):
        known.record_refresh(np.arange(4), np.array([True, True, False, False]), time_ms)
    known.record_refresh(np.array([1, 3]), np.array([True, False]), 300)
    return known


def ordered(ranker: str, candidates: Candidates) -> list[int]:
    return RefreshPolicy("wsj", ranker).order(known_entries(), candidates).tolist()


def test_orders() -> None:
    candidates = one_to_one(320, 10, np.arange(4), np.array([1, 5, 5, 5]))
    by_age, by_gain, by_window = (ordered(name, candidates) for name in ("lru", "gain", "wbm"))
    assert set(by_age[:2]) == {0, 2}
    assert set(by_gain[:2]) == {0, 1}  # the others do not change
    assert by_window[:2] == [1, 0]  # stale both, the one that a refresh serves for longer first
    assert by_window[2:] == [2, 3]  # good for longer
    assert sorted(ordered("rnd", candidates)) == [0, 1, 2, 3]


def test_uses_are_counted_whatever_the_order() -> None:
    candidates = one_to_one(320, 10, np.array([2]), np.ones(1, np.int64))
    for ranker in ("gain", "wbm", "lru", "rnd"):
        known = known_entries()
        policy = RefreshPolicy("gnr", ranker)
        for _ in range(5):
            policy.order(known, policy.propose(candidates, 4))
        assert (known.use_chances(np.arange(4)) > 0.5).tolist() == [False, False, True, False]


def test_the_window_or_the_whole_view_may_be_refreshed(endpoint: EndpointProcess, clock: Clock) -> None:
    for proposer, expected in (("wsj", {"b"}), ("gnr", {"a", "b"})):
        with views_of(endpoint, proposer=proposer, ranker="lru") as views:
            view = views.view()
            views.join(view, {"a": 1})
            clock.now_ms += 10_000
            views.join(view, {"b": 1})
            clock.now_ms += 3_600_000
            assert views.asked(view, {"b": 1}) == expected


def test_the_ranker_is_the_one_that_was_chosen(endpoint: EndpointProcess, clock: Clock) -> None:
    for ranker, expected in (("gain", {"b"}), ("lru", {"a", "b"})):
        with views_of(endpoint, ranker=ranker) as views:
            view = views.view()
            views.join(view, {"a": 1})
            clock.now_ms += 10_000
            views.join(view, {"b": 1}, accuracy=0.01)
            clock.now_ms += 3_600_000
            assert views.asked(view, {"a": 1, "b": 100}, accuracy=0.5) == expected


# ---- configured rates


def test_how_often_data_change_may_be_said(endpoint: EndpointProcess, clock: Clock) -> None:
    for seconds, expected in ((1.0, {"a"}), (1e5, set())):
        with views_of(endpoint, change_seconds={"*": 1.0, "127.0.0.1": seconds}) as views:
            view = views.view()
            views.join(view, {"a": 1})
            clock.now_ms += 10_000
            assert views.asked(view, {"a": 1}, accuracy=0.9) == expected


def test_change_intervals_are_by_host() -> None:
    settings = ServiceSettings(change_seconds={"*": 1.0, "a.example": 2.0, "b.example:3030": 3.0})
    urls = ("http://a.example/sparql", "https://b.example:3030/x", "http://b.example/", "http://c.example/")
    assert [settings.usual_change_seconds(url) for url in urls] == [2.0, 3.0, 1.0, 1.0]
    assert ServiceSettings(change_seconds={"a.example": 2.0}).usual_change_seconds(urls[3]) is None


# ---- what was learnt before


def learn(views: Views, view: LocalView, clock: Clock) -> None:
    """The entry a changes all the time, b does not."""
    for count in range(20):
        views.endpoint.update(
            f"DELETE WHERE {{ <{EX}a> <{EX}followers> ?n }}; INSERT DATA {{ <{EX}a> <{EX}followers> {count} }}"
        )
        clock.now_ms += 2 * SLIDE_MS
        views.join(view, {"a": 1, "b": 1})


def test_a_view_that_is_made_again_knows_what_was_learnt(endpoint: EndpointProcess, clock: Clock) -> None:
    with views_of(endpoint) as views:
        view = views.view()
        learn(views, view, clock)
        rates = view.learnt.ranker.rates.rates(np.arange(2))
        assert rates[0] > 5 * rates[1]
        del view
        gc.collect()
        clock.now_ms += 3_600_000
        again = views.view()
        assert views.asked(again, {"b": 1, "a": 1, "c": 1}) == {"a", "b", "c"}  # rates are known, solutions are not
        assert again.learnt.ranker.rates.rates(np.arange(2)).tolist() == pytest.approx(rates.tolist(), rel=0.01)
        clock.now_ms += SLIDE_MS
        assert views.asked(again, {"a": 1, "b": 1}, accuracy=0.7) == {"a"}


def test_another_step_is_learnt_anew(endpoint: EndpointProcess, clock: Clock) -> None:
    """Rates are changes a step."""
    with views_of(endpoint) as views:
        view = views.view()
        learn(views, view, clock)
        del view
        gc.collect()
        assert len(views.view(slide_ms=5 * SLIDE_MS).learnt.key_rows) == 0


def test_the_whole_is_loaded_into_a_view_that_is_made_again(endpoint: EndpointProcess, clock: Clock) -> None:
    with views_of(endpoint, load_whole=True) as views:
        for _ in range(2):
            view = views.view()
            view.load()
            views.join(view, {})
            assert views.asked(view, {"a": 1, "b": 1, "c": 1, "d": 1}, accuracy=0.5) == set()
            del view
            gc.collect()


def of_entries(count: int) -> Learnt:
    return Learnt(np.zeros((count, 1), np.int64), ExpectedGain(count, 0, 1))


def test_what_is_kept_of_views_that_are_gone_is_bounded() -> None:
    before: LearntBefore[str] = LearntBefore(1000)
    alive = {"a", "e"}
    for name, count in (("a", 5000), ("b", 400), ("c", 300), ("d", 200), ("e", 10)):
        before.keep(name, of_entries(count), alive.__contains__)
    assert before.take("b") is None  # 200, 300 and 400, and some for each, are too many
    assert before.take("a") is not None
    assert before.take("d") is not None
    assert before.take("d") is None
    assert len(before) == 2


def test_many_small_views_are_bounded_too() -> None:
    before: LearntBefore[int] = LearntBefore(1000)
    for number in range(100):
        before.keep(number, of_entries(0), lambda each: False)
    assert len(before) == 10
