"""`search`: the command whose start time everything else gives way to."""

from __future__ import annotations

from groove_client.syntax import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from groove_client.session import Session
    from groove_client.syntax import Arguments

_OUTPUTS = ("json", "jsonl", "paths", "vimgrep", "null")
_NOT_SENT = frozenset((*_OUTPUTS, "help", "version", "socket", "instance", "no_start", "timeout", "color"))


def _search(session: Session) -> int:
    arguments = session.arguments
    output = _output(arguments)
    if arguments.flag("stream"):
        return _stream(session, output)
    answer = session.send("search", search_params(arguments))
    # Loaded while the daemon works, on another core.
    from groove_client import last_search, render_search  # noqa: F401 (needed when the answer is out)

    result = answer()
    _write(session, result, output)
    for remark in render_search.remarks(result):
        session.screen.note(remark)
    session.close()
    _remember(session, result)
    return 0


def _stream(session: Session, output: str) -> int:
    """Write what comes as it comes: an object a line, each with its `stage`, the whole answer under `answer`."""
    if output != "jsonl":
        raise UsageError("--stream goes with --jsonl")
    from groove_client.jsontext import compact

    def write(stage: str, fields: dict[str, object]) -> None:
        line = compact({"stage": stage, **fields}) + "\n"
        session.screen.write_bytes(line.encode("utf-8", "backslashreplace"))

    def receive(method: str, fields: dict[str, object]) -> None:
        if method == "partial":
            write(str(fields.get("stage")), {"results": fields.get("results")})

    result = session.send("search", search_params(session.arguments), on_notification=receive)()
    write("answer", result)
    session.close()
    _remember(session, result)
    return 0


def search_params(arguments: Arguments) -> dict[str, object]:
    """Return the request that the arguments ask for; what was not given is left to the daemon."""
    # A byte that is no UTF-8 cannot match anything, and must not keep the rest from being searched.
    query = " ".join(arguments.operands).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    params: dict[str, object] = {"query": query}
    params.update((key, value) for key, value in arguments.values.items() if key not in _NOT_SENT)
    return params


def _output(arguments: Arguments) -> str:
    chosen = [name for name in _OUTPUTS if arguments.flag(name)]
    if "null" in chosen and "paths" in chosen:
        chosen.remove("paths")
    if len(chosen) > 1:
        names = " and ".join("-0" if name == "null" else f"--{name}" for name in chosen)
        raise UsageError(f"{names} do not go together")
    return chosen[0] if chosen else "people"


def _write(session: Session, result: dict[str, object], output: str) -> None:
    from groove_client.render_search import hits_of, paths, people, vimgrep

    screen = session.screen
    hits = hits_of(result)
    if output == "people":
        screen.write(people(result, screen, explain=session.arguments.flag("explain")))
    elif output == "vimgrep":
        screen.write_bytes(vimgrep(hits, is_terminal=screen.is_terminal))
    elif output in ("paths", "null"):
        end = b"\0" if output == "null" else b"\n"
        screen.write_bytes(paths(hits, end=end, is_terminal=screen.is_terminal))
    else:
        _write_json(session, result, is_lines=output == "jsonl")


def _write_json(session: Session, result: dict[str, object], *, is_lines: bool) -> None:
    from groove_client.jsontext import compact, indented
    from groove_client.render_search import hits_of

    rows = [compact(hit) for hit in hits_of(result)] if is_lines else [indented(result)]
    session.screen.write_bytes("".join(row + "\n" for row in rows).encode("utf-8", "backslashreplace"))


def _remember(session: Session, result: dict[str, object]) -> None:
    """Save where the hits are, last of all, so that the answer does not wait for it."""
    from groove_client.last_search import save
    from groove_client.render_search import hits_of, path_of, target_line

    try:
        save(session.state_dir, [(path_of(hit), target_line(hit)) for hit in hits_of(result)])
    except OSError as error:
        # The answer is out and whole; only `open` would miss the list, and says so itself.
        if session.screen.is_terminal:
            session.screen.note(f"cannot remember the hits for `groovectl open`: {error.strerror}")


RUNNERS = {"search": _search}
