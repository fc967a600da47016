"""How many cells of a terminal a text takes, and cutting text to a number of cells.

What always holds: for printable ASCII the answer is the length and no character table is loaded; cutting never
separates a base character from the marks that combine with it, and the result is never wider than asked for.
"""

_ZERO_WIDTH_JOINER = 0x200D
_EMOJI_PRESENTATION = 0xFE0F


def width(text: str) -> int:
    """Return the number of cells that `text` takes; control characters count as none."""
    if text.isascii():
        return len(text) if text.isprintable() else sum(char.isprintable() for char in text)
    return sum(cells for _, cells in clusters(text))


def clusters(text: str) -> list[tuple[str, int]]:
    """Split `text` into what a terminal shows as one character each, with its cells.

    Marks, joiners and what a zero-width joiner joins belong to the character before them; two regional indicators are
    one flag; a variation selector that asks for an emoji makes its character two cells wide.
    """
    import unicodedata

    found: list[tuple[str, int]] = []
    is_joined = False
    for char in text:
        code = ord(char)
        cells = _cells(code, unicodedata.category(char), unicodedata.east_asian_width(char))
        if found and (cells == 0 or is_joined or _completes_flag(code, found[-1][0])):
            base, base_cells = found[-1]
            wide = code == _EMOJI_PRESENTATION or _is_regional(code)
            found[-1] = (base + char, 2 if wide else base_cells)
        else:
            found.append((char, cells))
        is_joined = code == _ZERO_WIDTH_JOINER
    return found


def _cells(code: int, category: str, east_asian: str) -> int:
    if category in ("Mn", "Me", "Cf", "Cc", "Cs") or 0x1160 <= code <= 0x11FF:
        return 0 if code != 0xAD else 1
    return 2 if east_asian in ("W", "F") else 1


def _is_regional(code: int) -> bool:
    return 0x1F1E6 <= code <= 0x1F1FF


def _completes_flag(code: int, cluster: str) -> bool:
    return _is_regional(code) and len(cluster) == 1 and _is_regional(ord(cluster))


def prefix_length(text: str, cells: int) -> int:
    """Return how many characters of `text`, from its start, fit into `cells`."""
    if text.isascii() and text.isprintable():
        return min(len(text), max(cells, 0))
    taken = used = 0
    for cluster, its_cells in clusters(text):
        if used + its_cells > cells:
            break
        used += its_cells
        taken += len(cluster)
    return taken


def truncate(text: str, cells: int, *, ellipsis: str = "…") -> str:
    """Return `text`, cut to at most `cells` with `ellipsis` at its end when something was left out."""
    if width(text) <= cells:
        return text
    if cells <= len(ellipsis):
        return ellipsis[: max(cells, 0)]
    return text[: prefix_length(text, cells - len(ellipsis))].rstrip() + ellipsis


def pad(text: str, cells: int, *, right: bool = False) -> str:
    """Return `text` filled with blanks to `cells`; with `right` the blanks stand before it."""
    blanks = " " * max(cells - width(text), 0)
    return blanks + text if right else text + blanks
