"""How much of the machine models may take: the number of threads, and the priority of background work."""

import os
import sys
import threading

_NICER_BY = 10


def worker_threads(setting: int) -> int:
    """Threads for indexing: the setting, or half of the cores that this process may use, one at least."""
    if setting > 0:
        return setting
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // 2)


def lower_this_thread() -> None:
    """Let everything else on the machine go first.  Only Linux has a priority for each thread; elsewhere a no-op."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        os.setpriority(os.PRIO_PROCESS, thread, min(19, os.getpriority(os.PRIO_PROCESS, thread) + _NICER_BY))
