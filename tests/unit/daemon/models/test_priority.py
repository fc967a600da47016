import os
import sys
import threading

import pytest

from groove_daemon.models.priority import lower_this_thread, worker_threads


def test_setting_decides_the_number_of_threads() -> None:
    assert worker_threads(7) == 7


def test_default_is_at_most_half_of_the_cores_and_one_at_least() -> None:
    threads = worker_threads(0)

    assert threads >= 1
    assert threads <= max(1, (os.cpu_count() or 1) // 2)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a priority for each thread")
def test_only_the_calling_thread_is_lowered() -> None:
    before = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    seen: list[int] = []

    def work() -> None:
        lower_this_thread()
        seen.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert seen == [min(19, before + 10)]
    assert os.getpriority(os.PRIO_PROCESS, threading.get_native_id()) == before
