"""`grooved`: run the daemon, check its configuration, install it as a service.

What always holds: a mistake ends with one line for each fault on stderr and a documented exit code; nothing heavy is
imported before the command line was understood.
"""

import argparse
import gc
import os
import sys
from collections.abc import Sequence

from groove_daemon import logs
from groove_daemon.errors import ConfigError, GrooveError
from groove_wire.version import VERSION

EXIT_CODES = """exit codes:
  0  done
  1  could not do it; the reason is the last line on stderr
  2  wrong usage, or a mistake in the configuration
  3  no daemon runs (service status)
  5  another daemon already serves this instance"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = _parser().parse_args(argv)
    logs.hold()
    code = _do(arguments)
    if code and "GROOVE_SUPERVISOR" in os.environ:
        from groove_daemon.service.launchd import exit_code

        return exit_code(code, environment=os.environ)
    return code


def _do(arguments: argparse.Namespace) -> int:
    try:
        return int(_COMMANDS[arguments.command](arguments))
    except ConfigError as error:
        return _fail(list(error.problems), error.hint, code=getattr(error, "exit_code", 2))
    except GrooveError as error:
        return _fail([error.message], error.hint, code=getattr(error, "exit_code", 1))
    except KeyboardInterrupt:
        return 130


def _fail(problems: Sequence[str], hint: str, *, code: int) -> int:
    logs.configure(level="warning")
    for problem in problems:
        _say(f"grooved: {problem}", to_stderr=True)
    if hint:
        _say(f"grooved: hint: {hint}", to_stderr=True)
    return code


def _say(line: str, *, to_stderr: bool = False) -> None:
    stream = sys.stderr if to_stderr else sys.stdout
    stream.write(line.encode("ascii", "backslashreplace").decode() + "\n" if to_stderr else f"{line}\n")
    stream.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="grooved",
        description="The daemon behind groovectl: watches your notes and answers searches.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run in the foreground until told to stop", allow_abbrev=False)
    _add_places(run)
    _add_config(run)
    check = commands.add_parser(
        "check-config", help="print every value in force and where it came from", allow_abbrev=False
    )
    _add_config(check)
    service = commands.add_parser("service", help="install, remove or look at the service", allow_abbrev=False)
    actions = service.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, text in (
        ("install", "start the daemon at login, and now"),
        ("uninstall", "no longer start it"),
        ("status", "how the service stands"),
    ):
        action = actions.add_parser(name, help=text, allow_abbrev=False)
        action.add_argument("--instance", default="default", help="name of the instance")
        if name == "install":
            action.add_argument("--no-enable", action="store_true", help="write the files and start nothing")
            action.add_argument("--config", help="the configuration file, if it is not at its usual place")
    commands.add_parser("version", help="print the version")
    return parser


def _add_places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--instance", help="name of the instance, for several daemons beside each other")
    parser.add_argument("--socket", help="where to listen")


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", help="the configuration file")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="one value, for example search.limit=10"
    )


def _prepare_process() -> None:
    """What has to be said before NumPy is loaded and threads begin."""
    # One thread reads all vectors as fast as the memory gives them; starting more costs 60 ms and their stacks.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _run(arguments: argparse.Namespace) -> int:
    _prepare_process()
    # Nothing that is imported becomes garbage; `run` turns the search for it on again when the socket is served.
    gc.disable()
    from groove_daemon.app.places import find_places
    from groove_daemon.app.run import run
    from groove_daemon.config.load import flags_from

    places = find_places(instance=arguments.instance, config=arguments.config, socket=arguments.socket)
    return run(places, flags=flags_from(arguments.set))


def _check_config(arguments: argparse.Namespace) -> int:
    from groove_daemon.app.daemon import read_config_of
    from groove_daemon.app.places import find_places
    from groove_daemon.config.load import describe, flags_from

    places = find_places(config=arguments.config)
    loaded = read_config_of(places, os.environ, flags_from(arguments.set))
    logs.configure(level="warning")
    rows = describe(loaded)
    width = max(len(row.key) for row in rows)
    for row in rows:
        _say(f"{row.key:<{width}}  {row.text}  # {row.origin}")
    for warning in loaded.warnings:
        _say(f"grooved: warning: {warning}", to_stderr=True)
    return 0


def _service(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from groove_daemon.service import commands

    logs.configure(level="warning")
    if arguments.action == "install":
        config = Path(arguments.config) if arguments.config else None
        return commands.install(arguments.instance, _say, enable=not arguments.no_enable, config=config)
    if arguments.action == "uninstall":
        return commands.uninstall(arguments.instance, _say)
    return commands.status(arguments.instance, _say)


def _version(_arguments: argparse.Namespace) -> int:
    _say(f"grooved {VERSION}")
    return 0


_COMMANDS = {"run": _run, "check-config": _check_config, "service": _service, "version": _version}
