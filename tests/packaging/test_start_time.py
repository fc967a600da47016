"""`groovectl search` as a whole process, measured against a console script that does nothing."""

import os
import subprocess
import sys

import pytest

from support.answers import make_answer, make_hit
from support.fake_daemon import FakeDaemon

pytestmark = pytest.mark.slow

ROUNDS = 15
# A real daemon takes some 10 ms to answer, half of what the empty script takes; with that the whole stays near twice.
MOST_TIMES_THE_EMPTY_SCRIPT = 1.6

# What pip writes for a console script; `re` is part of it.
_SCRIPT = """\
import re
import sys
{imports}
if __name__ == "__main__":
    sys.argv[0] = re.sub(r"(-script\\.pyw|\\.exe)?$", "", sys.argv[0])
    sys.exit({call})
"""


def _cpu_seconds(words: list[str], env: dict[str, str]) -> float:
    """What a process costs; its wall time would tell more about what else runs on the machine."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def test_search_costs_little_more_than_an_empty_script(tmp_path, socket_path):
    empty, search = tmp_path / "empty.py", tmp_path / "search.py"
    empty.write_text(_SCRIPT.format(imports="", call="0"))
    search.write_text(_SCRIPT.format(imports="from groove_client.cli import main", call="main()"))
    # An installed package comes with its bytecode; a checkout may be told not to write any.
    env = {"HOME": str(tmp_path), "GROOVE_SOCKET": socket_path, "PYTHONPYCACHEPREFIX": str(tmp_path / "bytecode")}
    hits = [make_hit(number) for number in range(1, 6)]
    with FakeDaemon(socket_path, {"search": make_answer(*hits)}):
        words = [sys.executable, os.fspath(search), "search", "rust", "async"]
        _cpu_seconds(words, env)
        pairs = [
            (_cpu_seconds([sys.executable, os.fspath(empty)], env), _cpu_seconds(words, env)) for _ in range(ROUNDS)
        ]

    floor, whole = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    assert whole < floor * MOST_TIMES_THE_EMPTY_SCRIPT, f"{whole * 1000:.1f} ms, empty script {floor * 1000:.1f} ms"
