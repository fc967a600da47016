import threading

import pytest

from groove_daemon.errors import ModelLoading, ModelUnavailable
from groove_daemon.models.loading import Loading, retry_pause
from support.models import Gate, SteppedClock


def nothing() -> None:
    """Load or release at once."""


def never(failures: int) -> float:
    """A pause that outlasts every test."""
    return 3600.0


def make(load: object, **changes: object) -> Loading:
    return Loading("tiny", load, **({"clock": SteppedClock(), "pause": never} | changes))  # type: ignore[arg-type]


def wait_for_state(loading: Loading, state: str) -> None:
    with loading._changed:
        assert loading._changed.wait_for(lambda: loading._state == state, 10)


def test_pauses_double_from_five_seconds_to_ten_minutes() -> None:
    assert [retry_pause(n) for n in (1, 2, 3, 7, 8, 1000)] == [5, 10, 20, 320, 600, 600]


def test_it_is_off_until_it_is_started() -> None:
    loading = make(nothing)

    assert loading.phase().state == "off"
    assert not loading.wait_ready(0)
    with pytest.raises(ModelUnavailable, match="tiny is off: not started"):
        loading.require()


def test_what_is_off_is_never_loaded_and_says_why() -> None:
    loads: list[int] = []
    loading = make(lambda: loads.append(1), off="none is set")

    loading.start()

    assert (loading.phase().state, loading.phase().reason, loads) == ("off", "none is set", [])


def test_loading_says_what_it_is_busy_with() -> None:
    gate = Gate()
    loading = make(gate.pass_through)
    loading.start()
    gate.wait_for_arrival()
    loading.say("exporting")

    assert (loading.phase().state, loading.phase().reason) == ("loading", "exporting")
    with pytest.raises(ModelLoading, match=r"tiny is being loaded \(exporting\)"):
        loading.require()
    gate.open()
    assert loading.wait_ready(10)


def test_ready_tells_how_long_it_took() -> None:
    clock = SteppedClock()
    loading = make(lambda: clock.step(1.5), clock=clock)

    loading.start()

    assert loading.wait_ready(10)
    assert loading.phase().loaded_in_s == 1.5
    assert loading.phase().reason == ""
    loading.require()


def test_failure_is_kept_with_its_hint_and_the_time_of_the_next_try() -> None:
    clock = SteppedClock()

    def fail() -> None:
        raise ModelUnavailable("the weights are missing", hint="install them")

    loading = make(fail, clock=clock, pause=lambda failures: 40.0 * failures)
    loading.start()
    wait_for_state(loading, "failed")
    deadline = threading.Event()
    while loading.phase().next_try_in_s is None:
        deadline.wait(0.001)
    clock.step(15)

    assert loading.phase().reason == "the weights are missing; install them"
    assert loading.phase().next_try_in_s == 25.0
    assert not loading.wait_ready(0)
    with pytest.raises(ModelUnavailable, match="the weights are missing") as caught:
        loading.require()
    assert caught.value.hint == "install them"
    loading.stop(nothing)


def test_it_is_tried_again_until_it_works() -> None:
    outcomes: list[ModelUnavailable] = [ModelUnavailable("first"), ModelUnavailable("second")]
    pauses: list[int] = []
    done = threading.Event()

    def load() -> None:
        if outcomes:
            raise outcomes.pop(0)

    def pause(failures: int) -> float:
        pauses.append(failures)
        return 0.0

    loading = make(load, pause=pause)
    loading.on_ready(done.set)
    loading.start()

    assert done.wait(10)
    assert pauses == [1, 2]
    assert loading.phase().next_try_in_s is None


def test_unexpected_error_ends_as_failed_and_is_not_hidden() -> None:
    seen: list[type[BaseException]] = []
    hook, threading.excepthook = threading.excepthook, lambda args: seen.append(args.exc_type)

    def fail() -> None:
        raise ZeroDivisionError("a defect")

    loading = make(fail)
    loading.start()
    wait_for_state(loading, "failed")
    loading.stop(nothing)
    threading.excepthook = hook

    assert seen == [ZeroDivisionError]


def test_callbacks_run_once_ready_and_at_once_when_it_is_already() -> None:
    called: list[str] = []
    gate, done = Gate(), threading.Event()
    loading = make(gate.pass_through)
    loading.on_ready(lambda: called.append("early"))
    loading.on_ready(done.set)
    loading.start()

    assert called == []
    gate.open()
    assert done.wait(10)
    loading.on_ready(lambda: called.append("late"))
    assert called == ["early", "late"]


def test_starting_twice_loads_once() -> None:
    loads: list[int] = []
    loading = make(lambda: loads.append(1))

    loading.start()
    loading.start()

    assert loading.wait_ready(10)
    assert loads == [1]


def test_stop_ends_the_wait_for_the_next_try() -> None:
    def fail() -> None:
        raise ModelUnavailable("no")

    loading = make(fail)
    loading.start()
    wait_for_state(loading, "failed")

    loading.stop(nothing)

    assert loading.phase().state == "off"
    assert loading._thread is not None
    assert not loading._thread.is_alive()


def test_stop_releases_what_is_being_loaded() -> None:
    gate = Gate()
    loading = make(gate.pass_through)
    loading.start()
    gate.wait_for_arrival()

    loading.stop(gate.open)

    assert loading.phase().state == "off"
    assert not loading.wait_ready(0)
