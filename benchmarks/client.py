"""`groovectl search` as a whole process against an empty console script of the same environment.

Both are started the same way, in turns, with their output thrown away; the queries are all different, so that none is
answered from the cache of query vectors.
"""

import os
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.figures import in_turns, interval_of_ratio, ms, spread
from benchmarks.table import Report, Row, at_most
from benchmarks.world import BIN, Daemon, World, say, tempfile_folder

BAR = 2.2
RUNS_A_ROUND = 6
_EMPTY = "groove_bench_empty"


def measure(world: World, *, rounds: int) -> Report:
    """At least 21 runs of each, in turns."""
    runs = max(21, rounds * RUNS_A_ROUND)
    with world.daemon() as daemon, _empty_script() as empty:
        daemon.start()
        say("client: running ...")
        questions = iter(world.questions(5 * runs + 100, seed=11))
        _warm_up(daemon, questions)
        measures = {
            "empty": lambda: run([str(empty)], daemon.env),
            "search": lambda: run([str(BIN / "groovectl"), "search", next(questions)], daemon.env),
            "not fresh": lambda: run(
                [str(BIN / "groovectl"), "search", "--freshness", "none", next(questions)], daemon.env
            ),
            # Everything but the search itself: connection, both answers, the code that shows them.
            "no hits": lambda: run([str(BIN / "groovectl"), "search", "-n", "0", next(questions)], daemon.env),
            # How much of it is the start of the command: it finds no daemon, and says so.
            "no daemon": lambda: run(
                [str(BIN / "groovectl"), "--no-start", "search", next(questions)],
                {**daemon.env, "GROOVE_SOCKET": f"{daemon.socket}.none"},
                expected=3,
            ),
        }
        taken = in_turns(measures, rounds=runs, warm_up=3)
        inside = _inside(daemon, questions)
    ratio = median(taken["search"]) / median(taken["empty"])
    low, high = interval_of_ratio(taken["search"], taken["empty"])
    row = Row(
        "groovectl search, whole process, hybrid, 10,000 chunks / empty console script",
        f"{ratio:.2f}x ({ms(median(taken['search']))} / {ms(median(taken['empty']))})",
        f"<= {BAR}x",
        at_most(ratio, BAR),
    )
    details = (
        f"ratio {ratio:.2f} (95 % {low:.2f} to {high:.2f})",
        *(f"{name:<9} {spread(values)}" for name, values in taken.items()),
        f"inside the daemon, as told in the answer: {spread(inside)}",
    )
    return Report((row,), details, {"ratio": ratio, "interval": (low, high), "s": taken, "inside_s": inside})


def _warm_up(daemon: Daemon, questions: Iterator[str]) -> None:
    with daemon.client() as client:
        modes = {client.search(next(questions)).mode for _ in range(20)}
    if modes != {"hybrid"}:
        raise SystemExit(f"the daemon does not answer with both kinds of search: {modes}")


def _inside(daemon: Daemon, questions: Iterator[str]) -> list[float]:
    with daemon.client() as client:
        return [client.search(next(questions)).took_ms / 1000 for _ in range(40)]


def run(arguments: Sequence[str], env: Mapping[str, str], *, expected: int = 0) -> float:
    """Seconds from the start of a process to its end."""
    discard = [(os.POSIX_SPAWN_OPEN, number, "/dev/null", os.O_WRONLY, 0) for number in (1, 2)]
    began = time.perf_counter()
    pid = os.posix_spawn(arguments[0], list(arguments), env, file_actions=discard)
    _, status = os.waitpid(pid, 0)
    took = time.perf_counter() - began
    code = os.waitstatus_to_exitcode(status)
    if code != expected:
        raise SystemExit(f"{' '.join(arguments)} ended with {code}")
    return took


@contextmanager
def _empty_script() -> Iterator[Path]:
    """The script that pip made for `groovectl`, with the import of an empty module in its place.

    The module lies where installed packages lie, for as long as this lasts.
    """
    form = (BIN / "groovectl").read_text(encoding="utf-8")
    if "groove_client.cli" not in form:
        raise SystemExit(f"{BIN / 'groovectl'} does not look like a console script of pip")
    module = Path(sysconfig.get_path("purelib")) / f"{_EMPTY}.py"
    with tempfile_folder() as folder, _file(module, "def main():\n    return 0\n"):
        script = folder / "empty"
        script.write_text(form.replace("groove_client.cli", _EMPTY), encoding="utf-8")
        script.chmod(0o755)
        yield script


@contextmanager
def _file(path: Path, content: str) -> Iterator[None]:
    path.write_text(content, encoding="utf-8")
    try:
        yield
    finally:
        path.unlink()
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()
