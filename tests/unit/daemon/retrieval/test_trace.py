"""What a trace records, and when it lets a stage begin."""

import time

import pytest

from groove_daemon.domain.document import ChunkId
from groove_daemon.domain.ranking import Candidate
from groove_daemon.errors import Cancelled, DeadlineExceeded
from groove_daemon.retrieval.costs import Costs
from groove_daemon.retrieval.trace import OUT_OF_BUDGET, OutOfBudget, StageFailed, StageSkipped, Step, Trace


def raising(error: Exception):
    def work() -> tuple[int, ...]:
        raise error

    return work


def outcome(step: Step) -> tuple[str, str, str, int, int]:
    return step.stage, step.status, step.reason, step.size_in, step.size_out


def test_every_stage_leaves_one_step_with_its_sizes() -> None:
    trace = Trace()

    assert trace.run("a", lambda: (1, 2), size_in=3, fallback=()) == (1, 2)
    assert trace.run("b", raising(StageSkipped("off")), size_in=2, fallback=(7,)) == (7,)
    assert trace.run("c", raising(StageFailed("broken")), size_in=2, fallback=()) == ()

    assert [outcome(step) for step in trace.steps] == [
        ("a", "ran", "", 3, 2),
        ("b", "skipped", "off", 2, 1),
        ("c", "failed", "broken", 2, 0),
    ]
    assert [step.is_missing for step in trace.steps] == [False, False, True]


def test_a_remark_becomes_the_reason_of_its_step_alone() -> None:
    trace = Trace()

    def work() -> tuple[int, ...]:
        trace.remark("a", "half of it")
        return ()

    trace.run("a", work, size_in=0, fallback=())
    trace.run("b", lambda: (), size_in=0, fallback=())

    assert [step.reason for step in trace.steps] == ["half of it", ""]


def test_a_query_that_may_not_go_on_stops_before_the_next_stage() -> None:
    with pytest.raises(Cancelled):
        Trace(is_cancelled=lambda: True).run("a", tuple, size_in=0, fallback=())
    with pytest.raises(DeadlineExceeded):
        Trace(deadline=time.monotonic() - 1).run("a", tuple, size_in=0, fallback=())


def test_a_stage_is_not_begun_when_its_estimate_is_more_than_what_is_left() -> None:
    costs = Costs()
    costs.observe("dense", 0, 10.0)
    trace = Trace(budget_end=time.monotonic() + 5.0, costs=costs)

    trace.afford("never seen")
    with pytest.raises(OutOfBudget):
        trace.afford("dense")


def test_nothing_is_begun_when_the_budget_is_spent_and_everything_when_there_is_none() -> None:
    costs = Costs()
    costs.observe("dense", 0, 1e9)

    with pytest.raises(OutOfBudget):
        Trace(budget_end=time.monotonic() - 0.001).afford("never seen")
    Trace(costs=costs).afford("dense")


def test_a_stage_that_ran_teaches_the_estimates() -> None:
    costs = Costs()

    Trace(costs=costs).run("a", lambda: time.sleep(0.01) or (), size_in=4, fallback=())
    Trace(costs=costs).run("b", raising(StageSkipped("off")), size_in=4, fallback=())

    assert costs.expect("a", 4) >= 0.01
    assert costs.expect("b", 4) == 0.0


def test_a_statement_stopped_at_the_end_of_the_budget_is_a_stage_left_out() -> None:
    trace = Trace(budget_end=time.monotonic() - 0.001)

    assert trace.run("trigram", raising(Cancelled("stopped")), size_in=0, fallback=()) == ()

    assert (trace.steps[0].status, trace.steps[0].reason) == ("skipped", OUT_OF_BUDGET)
    assert trace.steps[0].is_missing


def test_a_statement_stopped_for_another_reason_stops_the_query() -> None:
    with pytest.raises(Cancelled):
        Trace().run("trigram", raising(Cancelled("stopped")), size_in=0, fallback=())


def test_a_stage_given_up_is_recorded_once() -> None:
    trace = Trace()
    trace.record("title", "ran", "", 1.0)

    trace.give_up("dense")
    trace.give_up("title")
    trace.record("dense", "ran", "", 1.0)

    assert [(step.stage, step.status) for step in trace.steps] == [("title", "ran"), ("dense", "skipped")]


def test_estimates_are_running_means_by_magnitude_of_size() -> None:
    costs = Costs()
    costs.observe("rerank", 50, 1.0)
    costs.observe("rerank", 60, 2.0)

    assert costs.expect("rerank", 40) == pytest.approx(1.3)
    assert costs.expect("rerank", 5) == 0.0
    costs.fade("rerank", 40)
    assert costs.expect("rerank", 40) == pytest.approx(1.17)


def test_rankings_on_the_way_are_told_once_each_and_never_empty() -> None:
    told: list[tuple[str, int]] = []
    trace = Trace(on_ranking=lambda name, ranking: told.append((name, len(ranking))))
    some = (Candidate(ChunkId(1), 0.5, ()),)

    trace.show("text", ())
    trace.show("text", some)
    trace.show("text", some * 2)
    trace.show("fusion", some * 2)

    assert told == [("text", 1), ("fusion", 2)]
    assert trace.is_followed
    assert not Trace().is_followed


def test_rankings_on_the_way_cost_no_budget_that_is_spent() -> None:
    told: list[str] = []
    trace = Trace(on_ranking=lambda name, _ranking: told.append(name), budget_end=time.monotonic())
    trace.show("text", (Candidate(ChunkId(1), 0.5, ()),))

    assert told == []


def test_ranking_on_the_way_of_a_cancelled_query_ends_it() -> None:
    told: list[str] = []
    trace = Trace(on_ranking=lambda name, _ranking: told.append(name), is_cancelled=lambda: True)
    with pytest.raises(Cancelled):
        trace.show("text", (Candidate(ChunkId(1), 0.5, ()),))

    assert told == []
