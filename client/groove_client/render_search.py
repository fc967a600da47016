"""The answer of a search as text: for people, for editors, for pipes.

Takes the answer as it came over the wire and gives text back; writes nothing.  What always holds: a field that is
absent is left out; the order is that of the answer.
"""

from __future__ import annotations

import os

from groove_client.harmless import harmless
from groove_client.passages import Line, best_line, lines_of, snippet
from groove_client.places import below, current_folders, from_home, real_path
from groove_client.table import number_of, rows_of, table, text_of, texts_of
from groove_client.width import pad, truncate, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from groove_client.render import Screen

    Hit = dict[str, object]

_SNIPPET_ROWS = 3
_DOUBT = 0.5
_FEWEST_HEADING_CELLS = 12


def hits_of(result: dict[str, object]) -> list[Hit]:
    """Return the hits of an answer."""
    return rows_of(result, "results")


def _spans(value: object) -> list[tuple[int, int]]:
    if not isinstance(value, list):
        return []
    return [(span["start"], span["end"]) for span in value if isinstance(span, dict)]


def path_of(hit: Hit) -> str:
    """Return the path of the hit's file as the system knows it."""
    return real_path(text_of(hit, "absolute_path") or text_of(hit, "path"))


def hit_lines(hit: Hit) -> list[Line]:
    """Return the hit's content as lines with their matches."""
    return lines_of(text_of(hit, "content"), _spans(hit.get("match_spans")))


def file_line(hit: Hit, line: Line, lines: Sequence[Line]) -> int:
    """Return the line number in the file of a line of the content."""
    told = hit.get("match_lines")
    with_matches = [each.index for each in lines if each.spans]
    if isinstance(told, list) and len(told) == len(with_matches) and line.index in with_matches:
        number = told[with_matches.index(line.index)]
        if isinstance(number, int):
            return number
    return int(number_of(hit, "line_start") or 1) + line.index


def target_line(hit: Hit) -> int:
    """Return the line of the file to go to."""
    lines = hit_lines(hit)
    return file_line(hit, best_line(lines), lines)


def paths(hits: Sequence[Hit], *, end: bytes, is_terminal: bool) -> bytes:
    """Return the path of each document once, best first."""
    folders = current_folders()
    shown = dict.fromkeys(_raw(below(path_of(hit), folders), is_terminal) for hit in hits)
    return b"".join(path + end for path in shown)


def vimgrep(hits: Sequence[Hit], *, is_terminal: bool) -> bytes:
    """Return `path:line:column:text` of each hit; columns are bytes, counted from 1."""
    folders = current_folders()
    rows = []
    for hit in hits:
        lines = hit_lines(hit)
        line = best_line(lines)
        place = f"{below(path_of(hit), folders)}:{file_line(hit, line, lines)}:{line.column + 1}:"
        rows.append(_raw(place + line.text.rstrip("\r"), is_terminal) + b"\n")
    return b"".join(rows)


def _raw(text: str, is_terminal: bool) -> bytes:
    return os.fsencode(harmless(text, keep="\t") if is_terminal else text)


def people(result: dict[str, object], screen: Screen, *, explain: bool = False) -> str:
    """Return the hits with a few lines of each, and with `explain` what every stage did."""
    hits = hits_of(result)
    folders = current_folders()
    margin = len(str(len(hits))) + 2
    blocks = [
        _block(hit, rank, screen, margin=margin, folders=folders, explain=explain) for rank, hit in enumerate(hits, 1)
    ]
    if explain:
        blocks.append(_steps(result, screen))
    return "\n".join(block for block in blocks if block)


def _block(hit: Hit, rank: int, screen: Screen, *, margin: int, folders: tuple[str, ...], explain: bool) -> str:
    lines = hit_lines(hit)
    indent = " " * margin
    room = screen.columns - margin
    rows = [_title_row(hit, rank, screen, margin), indent + _place_row(hit, lines, screen, room=room, folders=folders)]
    if rest := _rest(hit):
        rows.append(indent + screen.style(truncate(rest, room, ellipsis=screen.ellipsis), "faint"))
    for line in snippet(lines, rows=_SNIPPET_ROWS, cells=room - 1, ellipsis=screen.ellipsis):
        rows.append(indent + _painted(line, screen))
    if explain:
        rows += [indent + screen.style(harmless(row), "faint") for row in _evidence(hit)]
    return "".join(row.rstrip() + "\n" for row in rows)


def _title_row(hit: Hit, rank: int, screen: Screen, margin: int) -> str:
    score = f"{number_of(hit, 'score'):.4f}"
    marks = "  file changed since" if hit.get("stale") is True else ""
    room = screen.columns - margin - len(score) - len(marks) - 3
    title = truncate(harmless(text_of(hit, "title") or text_of(hit, "path")), max(room, 8), ellipsis=screen.ellipsis)
    number = pad(str(rank), margin - 2, right=True)
    return f"{number}  {screen.style(title, 'title')}  {screen.style(score, 'faint')}{screen.style(marks, 'warn')}"


def _place_row(hit: Hit, lines: Sequence[Line], screen: Screen, *, room: int, folders: tuple[str, ...]) -> str:
    real = path_of(hit)
    near = below(real, folders)
    path = harmless(from_home(real) if near == real else near)
    place = f"{path}:{file_line(hit, best_line(lines), lines)}"
    shown = screen.link(screen.style(place, "path"), text_of(hit, "uri") or file_uri(real))
    headings = _headings(hit)
    left = room - width(place) - 2
    if not headings or left < _FEWEST_HEADING_CELLS:
        return shown
    return f"{shown}  {screen.style(truncate(headings, left, ellipsis=screen.ellipsis), 'faint')}"


def _rest(hit: Hit) -> str:
    """What of the passage and of its note is not shown."""
    others, more = int(number_of(hit, "also_in_count")), int(number_of(hit, "more_in_document"))
    parts = []
    if others:
        parts.append(f"also in {others} other {_kind(hit, others)}")
    if more:
        parts.append(f"+{more} more in this note")
    return ", ".join(parts)


def _kind(hit: Hit, others: int) -> str:
    """`note` or `notes` when each place is known to be a note of its own, else `place` or `places`."""
    own = (text_of(hit, "collection"), text_of(hit, "path"))
    notes = {(text_of(place, "collection"), text_of(place, "path")) for place in rows_of(hit, "also_in")} - {own}
    return ("note" if len(notes) == others else "place") + ("" if others == 1 else "s")


def _headings(hit: Hit) -> str:
    names = texts_of(hit, "heading_path")
    if names and names[0] == text_of(hit, "title"):
        names = names[1:]
    return harmless(" > ".join(" ".join(name.split()) for name in names))


def file_uri(path: str) -> str:
    """Return the `file:` address of an absolute path."""
    safe = b"/-._~ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    return "file://" + "".join(chr(byte) if byte in safe else f"%{byte:02X}" for byte in os.fsencode(path))


def _painted(line: Line, screen: Screen) -> str:
    if not screen.is_colored:
        return line.text
    parts: list[str] = []
    at = 0
    for start, end in line.spans:
        parts += (line.text[at:start], screen.style(line.text[start:end], "match"))
        at = end
    return "".join(parts) + line.text[at:]


def _evidence(hit: Hit) -> list[str]:
    found = rows_of(hit, "evidence")
    return [f"{text_of(each, 'stage')} #{number_of(each, 'rank'):.0f} {number_of(each, 'score'):.4g}" for each in found]


_STEP_COLUMNS = ("stage", "status", "ms", "in", "out", "reason")


def _steps(result: dict[str, object], screen: Screen) -> str:
    rows = [_step_row(step) for step in rows_of(result, "steps")]
    if not rows:
        return ""
    return table(_STEP_COLUMNS, rows, screen, right=(2, 3, 4)) + f"{number_of(result, 'took_ms'):.1f} ms in all\n"


def _step_row(step: dict[str, object]) -> tuple[str, ...]:
    counts = (f"{number_of(step, 'size_in'):.0f}", f"{number_of(step, 'size_out'):.0f}")
    named = (harmless(text_of(step, "stage")), harmless(text_of(step, "status")))
    return (*named, f"{number_of(step, 'took_ms'):.2f}", *counts, harmless(text_of(step, "reason")))


def remarks(result: dict[str, object]) -> list[str]:
    """Return what the user should know about the answer, one line each."""
    found = []
    if not hits_of(result):
        found.append("nothing found")
    if result.get("fresh") is False:
        found.append(f"not fresh: {text_of(result, 'stale_reason') or 'the index lags behind the files'}")
    applied = result.get("filter_applied")
    # The ratio of best to mean is under its default for most good answers: a remark only for whoever set a threshold.
    if result.get("low_confidence") is True and isinstance(applied, dict) and "min_confidence_ratio" in applied:
        found.append("low confidence: the best hits stand out little from the rest")
    confidence = result.get("confidence")
    if isinstance(confidence, float) and confidence < _DOUBT:
        found.append(f"confidence {confidence:.2f}: the notes may hold no answer to this")
    found += _degraded(result)
    pending = int(number_of(result, "pending_vectors"))
    # Why the answer is not fresh may be these passages, and begins with their number then.
    if pending and not text_of(result, "stale_reason").startswith(f"{pending} passages "):
        found.append(f"{pending} passages have no vector yet and are found by their words alone")
    found += texts_of(result, "warnings")
    return found


def _degraded(result: dict[str, object]) -> list[str]:
    stages: dict[str, list[str]] = {}
    for step in rows_of(result, "degraded"):
        stages.setdefault(text_of(step, "reason"), []).append(text_of(step, "stage"))
    lines = [f"without {', '.join(names)}: {reason}" for reason, names in stages.items()]
    if not lines and text_of(result, "mode") in ("fts_only", "embedding_fallback"):
        lines.append("found by words alone, without vectors")
    return lines
