import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.errors import ModelUnavailable
from groove_daemon.models.lanes import EmbedderLane, Turns, batches
from support.models import Gate, StandInEmbedder, SteppedClock


def started(work: object, *args: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=args)  # type: ignore[arg-type]
    thread.start()
    return thread


def wait_for_waiting_query(lane: EmbedderLane) -> None:
    turns: Turns = lane._turns
    with turns._changed:
        assert turns._changed.wait_for(lambda: turns._queries_waiting > 0, 10)


def test_batches_group_by_length_shortest_first() -> None:
    assert list(batches([5, 2, 9, 2, 3], limit=10)) == [[1, 3, 4], [0], [2]]


def test_batches_count_every_text_as_long_as_the_longest() -> None:
    assert list(batches([1, 1, 1, 4], limit=7)) == [[0, 1, 2], [3]]


def test_text_longer_than_the_limit_is_its_own_batch() -> None:
    assert list(batches([50, 3, 60], limit=10)) == [[1], [0], [2]]


def test_empty_texts_share_batches_that_are_bounded_all_the_same() -> None:
    assert [len(batch) for batch in batches([0] * 25, limit=10)] == [10, 10, 5]


@given(lengths=st.lists(st.integers(0, 300), max_size=60), limit=st.integers(1, 500))
def test_batches_hold_every_text_once_within_the_limit(lengths: list[int], limit: int) -> None:
    groups = list(batches(lengths, limit=limit))

    assert sorted(number for group in groups for number in group) == list(range(len(lengths)))
    assert all(len(group) == 1 or len(group) * max(lengths[n] for n in group) <= limit for group in groups)


def test_passages_come_back_in_their_order() -> None:
    lane = EmbedderLane(StandInEmbedder(), batch_tokens=4)

    rows = lane.embed_passages(["aaa bbb aaa", "b", "a", "bbb", "aa bb"])

    np.testing.assert_array_equal(rows, StandInEmbedder().embed_passages(["aaa bbb aaa", "b", "a", "bbb", "aa bb"]))


def test_no_passages_give_no_rows() -> None:
    assert EmbedderLane(StandInEmbedder(), batch_tokens=4).embed_passages([]).shape == (0, 2)


def test_query_waits_for_the_running_batch_and_goes_before_the_next() -> None:
    inner, gate = StandInEmbedder(), Gate()
    inner.before_batch = gate.pass_through
    lane = EmbedderLane(inner, batch_tokens=1)

    indexing = started(lane.embed_passages, ["one", "two", "six"])
    gate.wait_for_arrival()
    asking = started(lane.embed_query, "question")
    wait_for_waiting_query(lane)
    gate.open()
    indexing.join(10)
    asking.join(10)

    assert inner.texts == [("one",), "question", ("two",), ("six",)]


def test_two_queries_never_run_at_once_where_the_embedder_does_one_thing_at_a_time() -> None:
    inner, gate = StandInEmbedder(), Gate()
    inner.before_query = gate.pass_through
    lane = EmbedderLane(inner, batch_tokens=1)

    first = started(lane.embed_query, "first")
    gate.wait_for_arrival()
    second = started(lane.embed_query, "second")
    wait_for_waiting_query(lane)

    assert inner.texts == []
    gate.open()
    first.join(10)
    second.join(10)
    assert inner.texts == ["first", "second"]


def test_query_does_not_wait_where_the_embedder_serves_side_by_side() -> None:
    inner, gate = StandInEmbedder(side_by_side=True), Gate()
    inner.before_batch = gate.pass_through
    lane = EmbedderLane(inner, batch_tokens=100)

    indexing = started(lane.embed_passages, ["one", "two"])
    gate.wait_for_arrival()
    lane.embed_query("question")

    assert inner.texts == ["question"]
    gate.open()
    indexing.join(10)


def test_only_one_batch_runs_at_a_time_also_side_by_side() -> None:
    inner, gate = StandInEmbedder(side_by_side=True), Gate()
    inner.before_batch = gate.pass_through
    lane = EmbedderLane(inner, batch_tokens=100)
    running: list[int] = []

    first = started(lane.embed_passages, ["one"])
    gate.wait_for_arrival()
    inner.before_batch = lambda: running.append(len(inner.texts))
    second = started(lane.embed_passages, ["two"])
    gate.open()
    first.join(10)
    second.join(10)

    assert running == [1]


def test_failed_batch_frees_the_lane() -> None:
    inner = StandInEmbedder()
    lane = EmbedderLane(inner, batch_tokens=100)

    def fail() -> None:
        raise ModelUnavailable("gone")

    inner.before_batch = fail
    with pytest.raises(ModelUnavailable):
        lane.embed_passages(["one"])
    inner.before_batch = lambda: None

    lane.embed_passages(["two"])
    assert inner.texts == [("two",)]


def test_release_waits_for_the_running_batch() -> None:
    inner, gate = StandInEmbedder(), Gate()
    inner.before_batch = gate.pass_through
    lane = EmbedderLane(inner, batch_tokens=100)

    indexing = started(lane.embed_passages, ["one"])
    gate.wait_for_arrival()
    releasing = started(lane.release)

    assert inner.releases == 0
    gate.open()
    indexing.join(10)
    releasing.join(10)
    assert inner.releases == 1


def test_idle_time_counts_from_the_last_use() -> None:
    clock = SteppedClock()
    lane = EmbedderLane(StandInEmbedder(), batch_tokens=100, clock=clock)
    clock.step(30)
    lane.embed_query("a")
    clock.step(12)

    assert lane.idle_s == 12
