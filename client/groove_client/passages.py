"""The lines of a hit that are worth showing, with the places that matched.

Contents and spans arrive as text and byte offsets; what leaves is text that is harmless for a terminal, with spans in
characters.  What always holds: spans are sorted, do not overlap and lie inside their line.
"""

from __future__ import annotations

from groove_client.harmless import harmless
from groove_client.width import prefix_length, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Span = tuple[int, int]

_TAB = "    "


class Line:
    """One line of a hit's content.

    `index` counts from the first line of the content, `column` is the byte offset of the first match in the line, and
    `spans` are offsets of characters in `text`.
    """

    __slots__ = ("column", "index", "spans", "text")

    def __init__(self, index: int, text: str, spans: list[Span], *, column: int = 0) -> None:
        self.index = index
        self.text = text
        self.spans = spans
        self.column = column

    @property
    def matched(self) -> frozenset[str]:
        """The different texts that matched in this line."""
        return frozenset(self.text[start:end].casefold() for start, end in self.spans)


def lines_of(content: str, byte_spans: Sequence[Sequence[int]]) -> list[Line]:
    """Cut `content` at line ends and hand each line the spans that lie in it."""
    texts = content.split("\n")
    if not byte_spans:
        return [Line(index, text, []) for index, text in enumerate(texts)]
    waiting = _merged(byte_spans)
    lines = []
    begin = 0
    for index, text in enumerate(texts):
        raw = text.encode("utf-8", "surrogatepass")
        end = begin + len(raw)
        inside = [
            (max(low, begin) - begin, min(high, end) - begin) for low, high in waiting if low < end and high > begin
        ]
        column = inside[0][0] if inside else 0
        lines.append(Line(index, text, _in_characters(text, raw, inside), column=column))
        begin = end + 1
    return lines


def _merged(spans: Sequence[Sequence[int]]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted((span[0], span[1]) for span in spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start >= 0:
            merged.append((start, end))
    return merged


def _in_characters(text: str, raw: bytes, spans: list[Span]) -> list[Span]:
    if len(raw) == len(text):
        return spans
    counted = [(_characters(raw[:start]), _characters(raw[:end])) for start, end in spans]
    return [(start, end) for start, end in counted if end > start]


def _characters(raw: bytes) -> int:
    return len(raw.decode("utf-8", "ignore"))


def best_line(lines: Sequence[Line]) -> Line:
    """Return the line with the most different matches, the first of them; without matches the first that has text."""
    found = max(lines, key=lambda line: (len(line.matched), len(line.spans)))
    if found.spans:
        return found
    return next((line for line in lines if line.text.strip()), lines[0])


def snippet(lines: Sequence[Line], *, rows: int, cells: int, ellipsis: str) -> list[Line]:
    """Return at most `rows` rows of at most `cells` around the best line.

    A best line that is longer than a row takes all rows; otherwise its neighbours with text are shown too, those with
    matches first.
    """
    best = best_line(lines)
    shown = _clean(best)
    if not shown.text.strip():
        return []
    if width(shown.text) > cells:
        return _wrapped(shown, rows=rows, cells=cells, ellipsis=ellipsis)
    chosen = _neighbours(lines, best, rows)
    return [_cut(_clean(line), cells, ellipsis) for line in chosen]


def _neighbours(lines: Sequence[Line], best: Line, rows: int) -> list[Line]:
    # A control character counts as a blank, and yet is shown: the best line may consist of nothing else.
    full = [line for line in lines if line is best or line.text.strip()]
    at = next(place for place, line in enumerate(full) if line is best)
    starts = range(max(at - rows + 1, 0), max(min(at, len(full) - rows), 0) + 1)
    # Without a difference the window begins at the best line, so that what follows it is seen.
    start = max(starts, key=lambda begin: (len(_texts(full[begin : begin + rows])), begin), default=at)
    return full[start : start + rows]


def _texts(lines: Sequence[Line]) -> frozenset[str]:
    return frozenset[str]().union(*(line.matched for line in lines))


def _clean(line: Line) -> Line:
    """The line without tabs, blanks around it, and what a terminal would obey."""
    if line.text.isprintable():
        return _stripped(line)
    parts: list[str] = []
    spans: list[Span] = []
    at = length = 0
    for start, end in [*line.spans, (len(line.text), len(line.text))]:
        before, inside = _harmless(line.text[at:start]), _harmless(line.text[start:end])
        parts += (before, inside)
        if inside:
            spans.append((length + len(before), length + len(before) + len(inside)))
        length += len(before) + len(inside)
        at = end
    return _stripped(Line(line.index, "".join(parts), spans))


def _harmless(text: str) -> str:
    return harmless(text.rstrip("\r").replace("\t", _TAB))


def _stripped(line: Line) -> Line:
    text = line.text.rstrip()
    lead = len(text) - len(text.lstrip())
    spans = [(max(start - lead, 0), min(end, len(text)) - lead) for start, end in line.spans]
    return Line(line.index, text[lead:], [(start, end) for start, end in spans if end > start])


def _part(line: Line, start: int, end: int, *, before: str = "", after: str = "") -> Line:
    """Characters `start` to `end` of the line, with something put in front and behind."""
    moved = len(before) - start
    spans = [
        (max(low, start) + moved, min(high, end) + moved) for low, high in line.spans if low < end and high > start
    ]
    return Line(line.index, before + line.text[start:end] + after, spans)


def _cut(line: Line, cells: int, ellipsis: str) -> Line:
    if width(line.text) <= cells:
        return line
    return _wrapped(line, rows=1, cells=cells, ellipsis=ellipsis)[0]


def _wrapped(line: Line, *, rows: int, cells: int, ellipsis: str) -> list[Line]:
    start = _first_shown(line, rows * cells)
    wrapped: list[Line] = []
    while start < len(line.text) and len(wrapped) < rows:
        before = ellipsis if start and not wrapped else ""
        is_last = len(wrapped) == rows - 1
        room = cells - len(before)
        end = _row_end(line.text, start, room)
        after = ""
        if is_last and end < len(line.text):
            end = start + prefix_length(line.text[start:], room - len(ellipsis))
            after = ellipsis
        wrapped.append(_part(line, start, max(end, start + 1), before=before, after=after))
        start = max(end, start + 1)
        while start < len(line.text) and line.text[start] == " ":
            start += 1
    return wrapped


def _first_shown(line: Line, cells: int) -> int:
    """Where the excerpt begins: at the start if the first match is seen then, else at a word some way before it."""
    if not line.spans:
        return 0
    first = line.spans[0][0]
    if width(line.text[: line.spans[0][1]]) <= cells * 2 // 3:
        return 0
    begin = first
    while begin > 0 and width(line.text[begin - 1 : first]) <= cells // 4:
        begin -= 1
    blank = line.text.find(" ", begin, first)
    return blank + 1 if blank >= 0 else begin


def _row_end(text: str, start: int, cells: int) -> int:
    end = start + prefix_length(text[start:], cells)
    if end >= len(text) or text[end] == " ":
        return end
    blank = text.rfind(" ", start + 1, end)
    return blank if blank > start else end
