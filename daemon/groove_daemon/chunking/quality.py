"""How much a chunk says for itself, from 0 to 1, by its length and form alone.  Pure.

It knows no language but a few placeholders in English and Japanese, and looks at nothing outside the chunk.
"""

EMPTY = 0.1
LEAST_OF_TEXT = 0.3
_FEW_CHARS = 30
_SHORT_LINE_CHARS = 80
_PLACEHOLDERS = frozenset(
    {
        "tbd",
        "todo",
        "wip",
        "n/a",
        "未定",
        "準備中",
        "(準備中)",
        "詳細は後述",
        "詳細は後述する",
        "ここに書く",
        "後で書く",
        "coming soon",
        "後述",
    }
)


def stored_quality(content: str, *, binary: bool) -> float:
    """The score that a chunk is stored with: `quality`, but at least 0.3 for text that is no mere placeholder.

    0.3 is the default threshold of a search.  Below it a one-line note would never be found by anybody who did not ask
    for low quality, and an index that hides a note because it is short is not true to the disk.
    """
    score = quality(content, binary=binary)
    return max(score, LEAST_OF_TEXT) if content.strip() and not _is_placeholder(content.strip()) else score


def quality(content: str, *, binary: bool) -> float:
    """Score of a chunk's content; lengths count characters of the trimmed content.

    Starts at 1; less 0.6 under 30 characters, less 0.5 for nothing but a placeholder, less 0.3 for one line under 80
    characters; never below 0, and 0.1 for empty content.  `binary` formats are exempt from the two penalties for
    length, because their pages and cells are short by nature.
    """
    trimmed = content.strip()
    if not trimmed:
        return EMPTY
    score = 1.0
    if not binary and len(trimmed) < _FEW_CHARS:
        score -= 0.6
    if _is_placeholder(trimmed):
        score -= 0.5
    if not binary and "\n" not in trimmed and len(trimmed) < _SHORT_LINE_CHARS:
        score -= 0.3
    # Rounded, because 1 - 0.6 - 0.3 in binary is a little more than the 0.1 that a threshold is compared with.
    return max(0.0, round(score, 6))


def _is_placeholder(trimmed: str) -> bool:
    return _ascii_lower(trimmed.rstrip(".。、, \t")) in _PLACEHOLDERS


def _ascii_lower(text: str) -> str:
    return text.lower() if text.isascii() else text
