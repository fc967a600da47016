"""The token between the loop and a worker."""

from groove_daemon.rpc.cancel import CancelToken


def test_token_runs_its_callbacks_once_when_cancelled():
    token, calls = CancelToken(), []
    token.on_cancel(lambda: calls.append("a"))
    token.cancel()
    token.cancel()

    assert token.is_cancelled()
    assert calls == ["a"]


def test_token_runs_a_late_callback_at_once():
    token, calls = CancelToken(), []
    token.cancel()
    token.on_cancel(lambda: calls.append("a"))

    assert calls == ["a"]


def test_token_runs_nothing_after_the_work_has_ended():
    """Stopping a statement then would hit the next request of the thread."""
    token, calls = CancelToken(), []
    token.on_cancel(lambda: calls.append("a"))
    token.finish()
    token.cancel()
    token.on_cancel(lambda: calls.append("b"))

    assert calls == []
