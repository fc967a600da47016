"""A program that stands for `grooved`: `install` puts it beside a `groovectl`, where that finds it.

It listens where the real one would, answers a few methods, and ends when it is asked to.
"""

import os
import stat
import sys
import textwrap
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]

_SERVING = """
    import os, sys, threading
    sys.path[:0] = {paths!r}
    from support.fake_daemon import HELLO, FakeDaemon
    from support.answers import make_answer, make_hit, make_status
    from groove_wire.paths import socket_path

    instance = sys.argv[sys.argv.index("--instance") + 1] if "--instance" in sys.argv else "default"
    ended = threading.Event()
    hello = HELLO | {{"pid": os.getpid(), "instance": instance}}
    answers = {{"hello": hello, "search": make_answer(make_hit(title=instance))}}
    answers["status"] = make_status(pid=os.getpid())
    answers["shutdown"] = lambda exchange: ended.set() or {{"pid": os.getpid()}}
    place = socket_path(instance)
    os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
    try:
        with FakeDaemon(place, answers):
            print("serving", os.getcwd(), os.getsid(0) == os.getpid(), flush=True)
            ended.wait(120)
    except OSError:
        sys.exit(5)
"""

_FAILING = """
    import sys
    print('{{"event": "config.loaded"}}', file=sys.stderr)
    print("grooved: config.toml: unknown key serach; did you mean search?", file=sys.stderr)
    print("grooved: hint: grooved check-config", file=sys.stderr)
    print('{{"event": "stopped"}}', file=sys.stderr)
    sys.exit({code})
"""


def _write_program(path: Path, body: str) -> None:
    path.write_text(f"#!{sys.executable}\n{textwrap.dedent(body)}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def install_groovectl(folder: Path) -> str:
    """Put a `groovectl` of this tree into the folder, without a daemon beside it; return its path."""
    folder.mkdir(exist_ok=True)
    program = folder / "groovectl"
    _write_program(
        program,
        f"""
        import sys
        sys.path.insert(0, {os.fspath(_ROOT / "client")!r})
        from groove_client.cli import main
        sys.exit(main())
        """,
    )
    return os.fspath(program)


def install_serving(folder: Path) -> None:
    """Put a daemon that works into the folder."""
    paths = [os.fspath(_ROOT / "client"), os.fspath(_ROOT / "tests")]
    _write_program(folder / "grooved", _SERVING.format(paths=paths))


def install_failing(folder: Path, code: int) -> None:
    """Put a daemon into the folder that complains and ends."""
    _write_program(folder / "grooved", _FAILING.format(code=code))
