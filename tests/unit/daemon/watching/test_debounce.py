from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.domain.change import PathHint
from groove_daemon.watching.debounce import Debouncer
from support.clock import FakeClock


def debouncer(clock: FakeClock, *, most: int = 1000) -> Debouncer:
    return Debouncer(quiet=0.2, longest_wait=2.0, clock=clock, most_paths=most)


def hint(clock: FakeClock, path: str, *, subtree: bool = False, collection: str = "notes") -> PathHint:
    return PathHint(collection, path, clock.monotonic(), subtree)


def test_debouncer_waits_until_a_path_is_quiet() -> None:
    clock = FakeClock()
    waiting = debouncer(clock)
    waiting.add([hint(clock, "a.md")])
    clock.advance(0.15)
    waiting.add([hint(clock, "a.md")])
    clock.advance(0.15)

    assert waiting.take_due() == []

    clock.advance(0.06)

    assert [one.path for one in waiting.take_due()] == ["a.md"]
    assert waiting.next_in() is None


def test_debouncer_lets_a_path_that_is_never_quiet_go_after_the_longest_wait() -> None:
    clock = FakeClock()
    waiting = debouncer(clock)
    taken = 0
    for _ in range(100):
        waiting.add([hint(clock, "log.md")])
        clock.advance(0.1)
        taken += len(waiting.take_due())

    assert taken == 5


def test_debouncer_holds_no_path_back_because_of_another() -> None:
    clock = FakeClock()
    waiting = debouncer(clock)
    waiting.add([hint(clock, "other.md"), hint(clock, "log.md")])
    for _ in range(3):
        clock.advance(0.1)
        waiting.add([hint(clock, "log.md")])

    assert [one.path for one in waiting.take_due()] == ["other.md"]


def test_debouncer_gives_everything_at_once_when_asked() -> None:
    clock = FakeClock()
    waiting = debouncer(clock)
    waiting.add([hint(clock, "a.md"), hint(clock, "b", subtree=True)])

    assert [(one.path, one.subtree) for one in waiting.take_all()] == [("a.md", False), ("b", True)]
    assert len(waiting) == 0


def test_debouncer_keeps_the_wider_of_two_hints() -> None:
    clock = FakeClock()
    waiting = debouncer(clock)
    waiting.add([hint(clock, "a", subtree=True), hint(clock, "a")])

    assert [one.subtree for one in waiting.take_all()] == [True]


def test_debouncer_says_when_the_next_is_due() -> None:
    clock = FakeClock()
    waiting = debouncer(clock)
    waiting.add([hint(clock, "a.md")])
    clock.advance(0.05)

    assert round(waiting.next_in() or 0, 6) == 0.15


def test_debouncer_turns_too_many_paths_into_their_root() -> None:
    clock = FakeClock()
    waiting = debouncer(clock, most=3)
    waiting.add([hint(clock, f"{number}.md") for number in range(4)])
    waiting.add([hint(clock, "z.md", collection="other")])

    assert {(one.collection, one.path, one.subtree) for one in waiting.take_all()} == {
        ("notes", "", True),
        ("other", "z.md", False),
    }


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from("abcdefgh"), st.booleans()),
        st.tuples(st.just("wait"), st.floats(0.0, 3.0), st.just(False)),
        st.tuples(st.sampled_from(["due", "all"]), st.just(""), st.just(False)),
    )
)


@given(STEPS, st.integers(1, 5))
def test_debouncer_never_loses_a_path(steps: list[tuple[str, object, bool]], most: int) -> None:
    clock = FakeClock()
    waiting = debouncer(clock, most=most)
    owed: dict[str, bool] = {}

    def settle(taken: list[PathHint]) -> None:
        for one in taken:
            if one.path == "" and one.subtree:
                owed.clear()
            elif not owed.get(one.path) or one.subtree:
                owed.pop(one.path, None)

    for kind, value, subtree in steps:
        if kind == "add":
            waiting.add([hint(clock, str(value), subtree=subtree)])
            owed[str(value)] = owed.get(str(value), False) or subtree
        elif kind == "wait":
            clock.advance(float(str(value)))
        else:
            settle(list(waiting.take_due() if kind == "due" else waiting.take_all()))
    clock.advance(3.0)
    settle(list(waiting.take_due()))

    assert not owed
    assert len(waiting) == 0
