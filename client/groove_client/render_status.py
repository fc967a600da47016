"""The state of daemon and index as text for people.

Takes answers as they came over the wire and gives text back; writes nothing.  What always holds: a field that is absent
is left out, so that the answer of an older or newer daemon can be shown too.
"""

from __future__ import annotations

from groove_client.harmless import harmless
from groove_client.table import map_of, number_of, rows_of, table, text_of, texts_of
from groove_client.units import counted, duration, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from groove_client.render import Screen
    from groove_client.table import Fields


def status(answer: Fields, screen: Screen) -> str:
    """Return whether the index is up to date, its collections, the models, and how the daemon is."""
    index = map_of(answer, "index")
    parts = [
        _headline(answer, index, screen),
        collections(answer, screen),
        "".join(_labelled(name, value) for name, value in _facts(answer, index)),
        _problems(answer, screen),
    ]
    return "\n".join(part for part in parts if part)


def _headline(answer: Fields, index: Fields, screen: Screen) -> str:
    waiting = [*_waiting(answer, index), *_trouble(answer)]
    state = text_of(answer, "state") or "unknown"
    if state == "ready" and not waiting:
        return screen.style("up to date", "good") + "\n"
    shown = screen.style("up to date" if state == "ready" else state, "warn") if not waiting else state
    return f"{shown}: {', '.join(waiting)}\n" if waiting else f"{shown}\n"


def _waiting(answer: Fields, index: Fields) -> list[str]:
    found = []
    progress = map_of(answer, "progress")
    if text_of(progress, "phase") not in ("", "idle", text_of(answer, "state")):
        found.append(progress_line(progress))
    pending = sum(number_of(each, "pending") for each in rows_of(answer, "collections"))
    if pending:
        found.append(f"{counted(pending, 'change')} not indexed yet")
    vectors = number_of(index, "pending_vectors")
    if vectors:
        found.append(f"{counted(vectors, 'passage')} without a vector yet")
    return found


def _trouble(answer: Fields) -> list[str]:
    """What keeps notes from being found and does not pass by itself; the lines below tell more."""
    collections = rows_of(answer, "collections")
    failed = sum(number_of(each, "failed") for each in collections)
    problems = sum(len(texts_of(each, "problems")) for each in collections) + len(texts_of(answer, "problems"))
    found = [f"{counted(failed, 'file')} failed"] if failed else []
    return [*found, counted(problems, "problem")] if problems else found


def progress_line(progress: Fields) -> str:
    """Return one line about running work, for example `embedding 120/400, 32/s, 9 s left`."""
    total = number_of(progress, "total")
    parts = [harmless(text_of(progress, "phase"))]
    if total:
        parts[0] += f" {number_of(progress, 'done'):.0f}/{total:.0f}"
    rate = number_of(progress, "rate_per_s")
    if rate:
        parts.append(f"{rate:.0f}/s" if rate >= 1 else f"{rate:.2f}/s")
    left = number_of(progress, "eta_s")
    if left:
        parts.append(f"{duration(left)} left")
    return ", ".join(parts)


_COLLECTION_COLUMNS = ("collection", "documents", "chunks", "pending", "failed", "skipped", "unwatched", "folder")


def collections(answer: Fields, screen: Screen) -> str:
    """Return a row for each collection."""
    rows = [_collection_row(each) for each in rows_of(answer, "collections")]
    if not rows:
        return "no collections; `groovectl add FOLDER` watches one\n"
    shown = table(_COLLECTION_COLUMNS, rows, screen, right=range(1, 7))
    for each in rows_of(answer, "collections"):
        for problem in texts_of(each, "problems"):
            shown += screen.style(f"{harmless(text_of(each, 'name'))}: {harmless(problem)}", "warn") + "\n"
    return shown


def _collection_row(each: Fields) -> tuple[str, ...]:
    counts = [f"{number_of(each, key):.0f}" for key in ("documents", "chunks", "pending", "failed", "skipped")]
    unwatched = len(texts_of(each, "unwatched_folders"))
    watched = "all" if each.get("is_watched") is False else str(unwatched)
    return (harmless(text_of(each, "name")), *counts, watched, harmless(text_of(each, "root")))


def _facts(answer: Fields, index: Fields) -> list[tuple[str, str]]:
    facts = [(text_of(each, "role") or "model", _model(each)) for each in rows_of(answer, "models")]
    facts.append(("index", _index(index)))
    facts.append(("confidence", calibration(map_of(answer, "calibration"))))
    facts.append(("search times", _latency(map_of(map_of(answer, "latency"), "request.search"))))
    memory = number_of(answer, "memory_bytes")
    if memory:
        facts.append(("memory", size(memory)))
    facts.append(("daemon", _daemon(answer)))
    facts.append(("socket", text_of(answer, "socket")))
    facts.append(("configuration", text_of(answer, "config_file")))
    return [(name, value) for name, value in facts if value]


def _model(model: Fields) -> str:
    parts = [f"{text_of(model, 'name')} {text_of(model, 'state')}"]
    if text_of(model, "runtime"):
        parts.append(f"on {text_of(model, 'runtime')}")
    if number_of(model, "loaded_in_s"):
        parts.append(f"loaded in {duration(number_of(model, 'loaded_in_s'))}")
    if text_of(model, "reason"):
        parts.append(text_of(model, "reason"))
    if number_of(model, "next_try_in_s"):
        parts.append(f"next try in {duration(number_of(model, 'next_try_in_s'))}")
    return ", ".join(parts)


def calibration(learned: Fields) -> str:
    """Return one line about what was learned about confidence; empty when nothing was."""
    if not learned:
        return ""
    answerable, unanswerable = (f"{number_of(learned, key):.0f}" for key in ("answerable", "unanswerable"))
    asked = f"{answerable} questions with an answer and {unanswerable} without"
    if learned.get("is_usable") is not True:
        return f"not told: {harmless(text_of(learned, 'reason'))}; learned from {asked}"
    accepted, rejected = (f"{number_of(learned, key):.0%}" for key in ("false_accept", "false_reject"))
    return f"calibrated on {asked}; at 0.5, {accepted} falsely accepted and {rejected} falsely rejected"


def _index(index: Fields) -> str:
    if not index:
        return ""
    parts = [counted(number_of(index, "documents"), "document"), counted(number_of(index, "chunks"), "chunk")]
    parts += [counted(number_of(index, "vectors"), "vector"), f"generation {number_of(index, 'generation'):.0f}"]
    if number_of(index, "unembeddable"):
        parts.append(f"{counted(number_of(index, 'unembeddable'), 'passage')} that cannot have a vector")
    if number_of(index, "size_bytes"):
        parts.append(size(number_of(index, "size_bytes")))
    return ", ".join(parts)


def _latency(times: Fields) -> str:
    if not times:
        return ""
    parts = [f"{key[:-3]} {number_of(times, key):.1f} ms" for key in ("p50_ms", "p95_ms", "p99_ms") if key in times]
    return ", ".join([*parts, f"{number_of(times, 'count'):.0f} so far"])


def _daemon(answer: Fields) -> str:
    parts = [text_of(answer, "version")]
    if number_of(answer, "pid"):
        parts.append(f"pid {number_of(answer, 'pid'):.0f}")
    if text_of(answer, "instance") not in ("", "default"):
        parts.append(f"instance {text_of(answer, 'instance')}")
    if number_of(answer, "uptime_s"):
        parts.append(f"up {duration(number_of(answer, 'uptime_s'))}")
    if number_of(answer, "connections"):
        parts.append(counted(number_of(answer, "connections"), "connection"))
    return ", ".join(part for part in parts if part)


def _labelled(name: str, value: str) -> str:
    return f"{name:<14} {harmless(value)}\n"


def _problems(answer: Fields, screen: Screen) -> str:
    return "".join(screen.style(harmless(problem), "bad") + "\n" for problem in texts_of(answer, "problems"))


def failures(answer: Fields, screen: Screen) -> str:
    """Return a row for each file that is not in the index, then one for each that was not wholly understood."""
    head = ("collection", "path", "attempts", "next try", "reason")
    rows = [
        (
            harmless(text_of(each, "collection")),
            harmless(text_of(each, "path")),
            f"{number_of(each, 'attempts'):.0f}",
            harmless(text_of(each, "next_try_at") or "when it changes"),
            harmless(text_of(each, "reason")),
        )
        for each in rows_of(answer, "failures")
    ]
    failed = table(head, rows, screen, right=(2,)) if rows else ""
    odd = [
        (harmless(text_of(each, "collection")), harmless(text_of(each, "path")), harmless(text_of(each, "problem")))
        for each in rows_of(answer, "problems")
    ]
    if not odd:
        return failed
    return f"{failed}{chr(10) if failed else ''}in the index, but not wholly understood:\n" + table(
        ("collection", "path", "problem"), odd, screen
    )


def documents(answer: Fields, screen: Screen) -> str:
    """Return a row for each document."""
    head = ("collection", "path", "chunks", "modified", "title")
    rows = [
        (
            harmless(text_of(each, "collection")),
            harmless(text_of(each, "path")),
            f"{number_of(each, 'chunk_count'):.0f}",
            harmless(text_of(each, "modified_at")[:16].replace("T", " ")),
            harmless(text_of(each, "title")),
        )
        for each in rows_of(answer, "documents")
    ]
    return table(head, rows, screen, right=(2,)) if rows else ""


def topics(answer: Fields, screen: Screen) -> str:
    """Return a row for each topic."""
    head = ("category", "topic", "files", "modified", "titles")
    rows = [
        (
            harmless(text_of(each, "category")),
            harmless(text_of(each, "topic")),
            f"{number_of(each, 'file_count'):.0f}",
            harmless(text_of(each, "last_modified")[:16].replace("T", " ")),
            harmless(", ".join(texts_of(each, "titles"))),
        )
        for each in rows_of(answer, "topics")
    ]
    return table(head, rows, screen, right=(2,)) if rows else ""


def config(answer: Fields, *, origin: bool) -> str:
    """Return a line for each setting: its name, its value, and where that comes from."""
    from groove_client.jsontext import compact

    values = rows_of(answer, "values")
    names = [harmless(text_of(each, "key")) for each in values]
    longest = max((len(name) for name in names), default=0)
    lines = []
    for name, each in zip(names, values, strict=True):
        source = f"  # {harmless(text_of(each, 'origin'))}" if origin else ""
        lines.append(f"{name:<{longest}}  {compact(each.get('value'))}{source}\n")
    return "".join(lines)
