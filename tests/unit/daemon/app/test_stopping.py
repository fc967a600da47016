import os
import signal
import socket
import threading

import pytest

from groove_daemon.app.stopping import Stopping
from groove_daemon.service.notify import Notifier


@pytest.fixture
def stopping():
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    made = Stopping()
    made.listen_to_signals()
    yield made
    made.close()
    for number, handler in before.items():
        signal.signal(number, handler)


def test_wait_ends_when_another_thread_asks(stopping):
    threading.Thread(target=lambda: stopping.request(exit_code=7)).start()

    stopping.wait(Notifier({}), reload=lambda: None)

    assert stopping.exit_code == 7


def test_the_first_exit_code_stays(stopping):
    stopping.request(exit_code=3)
    stopping.request()

    stopping.wait(Notifier({}), reload=lambda: None)

    assert stopping.exit_code == 3


def test_signals_before_the_wait_are_granted_in_order(stopping):
    granted = []
    os.kill(os.getpid(), signal.SIGHUP)
    os.kill(os.getpid(), signal.SIGTERM)

    stopping.wait(Notifier({}), reload=lambda: granted.append("reload"))

    assert granted == ["reload"]


def test_no_wish_of_many_is_lost(stopping):
    granted = []

    def ask() -> None:
        for _ in range(200):
            os.kill(os.getpid(), signal.SIGHUP)
            while len(granted) == count[0]:
                pass
            count[0] += 1
        stopping.request()

    count = [0]
    threading.Thread(target=ask).start()

    stopping.wait(Notifier({}), reload=lambda: granted.append("reload"))

    assert len(granted) == 200


def test_the_service_manager_hears_nothing_while_nobody_is_served(stopping, tmp_path):
    answers = iter([False, True, False])
    granted = []

    def is_serving() -> bool:
        answer = next(answers)
        granted.append(answer)
        os.kill(os.getpid(), signal.SIGHUP if len(granted) < 3 else signal.SIGTERM)
        return answer

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.setblocking(False)
        os.kill(os.getpid(), signal.SIGHUP)
        notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify")})
        stopping.wait(notifier, reload=lambda: None, is_serving=is_serving)
        heard = manager.recv(100)
        with pytest.raises(BlockingIOError):
            manager.recv(100)

    assert granted == [False, True, False]
    assert heard == b"WATCHDOG=1"
