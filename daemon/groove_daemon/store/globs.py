"""Path globs: `*` crosses `/`, matching is case-sensitive and covers the whole path.

`?` is one character, `[abc]`, `[a-z]` and `[!abc]` are one character of a set, `{a,b}` is either, `**/` is any number
of folders including none, and a backslash takes the special meaning away.  A pattern that starts with `!` excludes.
Matching takes time linear in the path for each star, whatever the pattern.
"""

import re
from collections.abc import Callable, Sequence

from groove_daemon.errors import InvalidParams

MAX_ALTERNATIVES = 256

_FIRST_SPECIAL = re.compile(r"[*?\[{\\]")
_STAR = None  # in a piece list: any text


def compile_globs(globs: Sequence[str]) -> Callable[[str], bool]:
    """Make the test for paths: true when (no including glob is given or one matches) and no excluding one matches.

    Raises:
        InvalidParams: a glob is malformed; the message names it.
    """
    includes = [_compile(glob) for glob in globs if not glob.startswith("!")]
    excludes = [_compile(glob[1:]) for glob in globs if glob.startswith("!")]

    def passes(path: str) -> bool:
        return (not includes or any(map_match(path) for map_match in includes)) and not any(
            map_match(path) for map_match in excludes
        )

    return passes


def fixed_starts(globs: Sequence[str]) -> list[str]:
    """Texts one of which every path that passes begins with; empty when nothing can be said."""
    starts = [_FIRST_SPECIAL.split(glob, maxsplit=1)[0] for glob in globs if not glob.startswith("!")]
    return starts if all(starts) else []


def _compile(glob: str) -> Callable[[str], object]:
    patterns = [_pattern(pieces) for pieces in _expand(_pieces(glob), glob)]
    return re.compile("|".join(patterns), re.DOTALL).fullmatch


Piece = str | None | tuple[list["Piece"], ...]


def _pieces(glob: str) -> list[Piece]:
    pieces, end = _parse(glob, 0, in_braces=False)
    if end != len(glob) or not glob:
        raise _malformed(glob)
    return pieces


def _parse(glob: str, at: int, *, in_braces: bool) -> tuple[list[Piece], int]:
    pieces: list[Piece] = []
    while at < len(glob) and not (in_braces and glob[at] in ",}"):
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] in "/{,"):
            pieces.append(([], [_STAR, "/"]))
            at += 3
        elif glob[at] == "*":
            pieces.append(_STAR)
            at += 1
        elif glob[at] == "{":
            choice, at = _alternatives(glob, at + 1)
            pieces.append(choice)
        else:
            piece, at = _single(glob, at)
            pieces.append(piece)
    return pieces, at


def _alternatives(glob: str, at: int) -> tuple[tuple[list[Piece], ...], int]:
    choices: list[list[Piece]] = []
    while True:
        choice, at = _parse(glob, at, in_braces=True)
        choices.append(choice)
        if at >= len(glob):
            raise _malformed(glob)
        at += 1
        if glob[at - 1] == "}":
            return tuple(choices), at


def _single(glob: str, at: int) -> tuple[str, int]:
    """One character of the path, as a regular expression."""
    if glob[at] == "?":
        return ".", at + 1
    if glob[at] == "[":
        return _character_set(glob, at)
    if glob[at] == "\\":
        if at + 1 == len(glob):
            raise _malformed(glob)
        at += 1
    return re.escape(glob[at]), at + 1


def _character_set(glob: str, at: int) -> tuple[str, int]:
    is_negated = glob[at + 1 : at + 2] in ("!", "^")
    first = at + 1 + is_negated
    # A bracket right at the start belongs to the set.
    end = glob.find("]", first + 1)
    if end < 0:
        raise _malformed(glob)
    body = re.sub(r"([\\\[\]^&~|])", r"\\\1", glob[first:end])
    expression = f"[{'^' if is_negated else ''}{body}]"
    try:
        re.compile(expression)
    except re.error as error:
        raise _malformed(glob) from error
    return expression, end + 1


def _expand(pieces: list[Piece], glob: str) -> list[list[str | None]]:
    """All ways through the alternatives; each is a list of single characters and stars."""
    expanded: list[list[str | None]] = [[]]
    for piece in pieces:
        if isinstance(piece, tuple):
            tails = [tail for choice in piece for tail in _expand(choice, glob)]
            expanded = [[*head, *tail] for head in expanded for tail in tails]
        else:
            for head in expanded:
                head.append(piece)
        if len(expanded) > MAX_ALTERNATIVES:
            raise InvalidParams(f"path glob has more than {MAX_ALTERNATIVES} alternatives: {glob[:80]}")
    return expanded


def _pattern(pieces: list[str | None]) -> str:
    """A regular expression that never backtracks past a star: the first place where a fixed part fits is as good."""
    parts: list[list[str]] = [[]]
    for piece in pieces:
        if piece is None:
            parts.append([])
        else:
            parts[-1].append(piece)
    fixed = ["".join(part) for part in parts]
    if len(fixed) == 1:
        return fixed[0]
    middle = "".join(f"(?>.*?{part})" for part in fixed[1:-1] if part)
    return f"{fixed[0]}{middle}.*{fixed[-1]}"


def _malformed(glob: str) -> InvalidParams:
    return InvalidParams(f"malformed path glob: {glob[:80]!r}", glob=glob)
