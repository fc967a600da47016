"""What is not indexed: the one predicate that the walk, the watcher's hints and reads share.

The layers are united: folders of version control and temporary files of editors are always out; then hidden names,
`exclude_dirs`, the daemon's own files, files of other formats, and the patterns of `.grooveignore`, of the
configuration and of `.gitignore`.  A negated pattern revives nothing that an ignored folder above it or another layer
leaves out.  The root itself is never ignored.  Rules are immutable; a changed `.grooveignore` asks for new ones.
"""

import errno
import os
import re
import stat
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from groove_daemon.config.settings import BUILT_IN_IGNORED_DIRS, CollectionSettings, IndexSettings
from groove_daemon.formats import PARSERS
from groove_daemon.indexing.paths import MARKER, for_matching, unspell

IGNORE_FILE = ".grooveignore"
GITIGNORE_FILE = ".gitignore"
COOKIE_PREFIX = ".groove-cookie-"

# What SQLite and the lock put beside the index under its name.
_SIDE_FILES = ("", "-wal", "-shm", "-journal", ".lock")
_LARGEST_IGNORE_FILE = 64 * 1024
_MOST_PATTERNS = 1000
_TEMPORARY = re.compile(r"~\$.*|\.~lock\..*#|.*\.sw[a-z]|.*~|\.#.*|#.*#|4913", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Pattern:
    origin: str
    line: int
    text: str


class _Patterns:
    """Compiled patterns of one case rule, with where each came from."""

    def __init__(self, patterns: Sequence[_Pattern], *, fold_case: bool) -> None:
        self._patterns = patterns
        self._fold_case = fold_case
        self._spec = GitIgnoreSpec.from_lines(self._folded(pattern.text) for pattern in patterns)

    def match(self, path: str, is_dir: bool) -> str | None:
        """The pattern that ignores this very path (its folders are not looked at), described."""
        if not self._patterns:
            return None
        result = self._spec.check_file(self._folded(path) + ("/" if is_dir else ""))
        if not result.include or result.index is None:
            return None
        found = self._patterns[result.index]
        return f"{found.origin} line {found.line}: {found.text}"

    def _folded(self, text: str) -> str:
        return text.lower() if self._fold_case else text


class IgnoreRules:
    """The rules of one collection.

    Args:
        root: the collection's folder; its `.grooveignore`, and `.gitignore` where asked for, are read once, here.
        index: formats and excluded folders.
        collection: patterns, formats and hidden names of this collection.
        own_paths: absolute paths of files and folders of the daemon: index, logs, socket.
    """

    def __init__(
        self, root: Path, index: IndexSettings, collection: CollectionSettings, *, own_paths: Sequence[Path] = ()
    ) -> None:
        self._let_in = frozenset(collection.include_hidden)
        self._excluded_dirs = frozenset(name.casefold() for name in index.exclude_dirs)
        self._suffixes = _suffixes(collection.formats or index.formats)
        self._own = _inside(root, own_paths)
        problems: list[str] = []
        mine = _read_patterns(root / IGNORE_FILE, problems)
        mine += _numbered("ignore", collection.ignore, problems)
        theirs = _read_patterns(root / GITIGNORE_FILE, problems) if collection.use_gitignore else []
        self._folded = _Patterns(mine, fold_case=True)
        self._exact = _Patterns(theirs, fold_case=False)
        self._watched_files = frozenset({IGNORE_FILE, GITIGNORE_FILE} if collection.use_gitignore else {IGNORE_FILE})
        self.problems = tuple(problems)

    def are_changed_by(self, path: str) -> bool:
        """Whether `path` is a file that these rules were read from."""
        return path in self._watched_files

    def is_ignored(self, path: str, is_dir: bool) -> str | None:
        """The rule that leaves `path` out, its folders above included; None when it is indexed.

        `path` is relative to the root, in the spelling of `indexing.paths`.
        """
        text = for_matching(unspell(path)) if path.startswith(MARKER) else path
        parts = text.split("/") if text else []
        for depth in range(1, len(parts)):
            if reason := self.ignores_entry("/".join(parts[:depth]), parts[depth - 1], is_dir=True):
                return reason
        return self.ignores_entry(text, parts[-1], is_dir=is_dir) if parts else None

    def ignores_entry(self, path: str, name: str, *, is_dir: bool) -> str | None:
        """As `is_ignored` for a path whose folders are known to be let in; `name` is its last part."""
        if reason := self._by_name(name, is_dir):
            return reason
        if self._own and (own := self._owner(path)):
            return f"file of the daemon: {own}"
        if not is_dir and (suffix := os.path.splitext(name)[1].lower()) not in self._suffixes:
            return f"format {suffix or 'without suffix'} is not indexed"
        return self._folded.match(path, is_dir) or self._exact.match(path, is_dir)

    def _by_name(self, name: str, is_dir: bool) -> str | None:
        if is_dir and name in BUILT_IN_IGNORED_DIRS:
            return f"folder that is always left out: {name}"
        if name.startswith(COOKIE_PREFIX):
            return "probe of the daemon's own watcher"
        if _TEMPORARY.fullmatch(name):
            return f"temporary file: {name}"
        if name in self._let_in:
            return None
        if name.startswith("."):
            return f"hidden name: {name}"
        if is_dir and name.casefold() in self._excluded_dirs:
            return f"exclude_dirs: {name}"
        return None

    def _owner(self, path: str) -> str | None:
        for own in self._own:
            if path.startswith(own) and (path[len(own) :] in _SIDE_FILES or path[len(own)] == "/"):
                return own
        return None


def _suffixes(formats: Iterable[str]) -> frozenset[str]:
    return frozenset(suffix for name in formats if name in PARSERS for suffix in PARSERS[name].suffixes)


def _inside(root: Path, own_paths: Sequence[Path]) -> tuple[str, ...]:
    top = os.path.realpath(root)
    relative = (os.path.relpath(os.path.realpath(path), top) for path in own_paths)
    return tuple(path for path in relative if path != "." and path != ".." and not path.startswith("../"))


def _read_patterns(path: Path, problems: list[str]) -> list[_Pattern]:
    """The patterns of an ignore file; a file that cannot be used adds a problem and gives none."""
    try:
        content = _read(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append(f"{path.name} is not used: {error.strerror}")
        return []
    if len(content) > _LARGEST_IGNORE_FILE:
        problems.append(f"{path.name} is not used: larger than {_LARGEST_IGNORE_FILE} bytes")
        return []
    return _numbered(path.name, _lines(path.name, content, problems), problems)


def _read(path: Path) -> bytes:
    """At most one byte more than is allowed; raises OSError, also for a link, a pipe or a folder."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return os.read(handle, _LARGEST_IGNORE_FILE + 1)
    finally:
        os.close(handle)


def _lines(origin: str, content: bytes, problems: list[str]) -> list[str]:
    lines = []
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            lines.append(raw.removesuffix(b"\r").decode("utf-8"))
        except UnicodeDecodeError:
            problems.append(f"{origin} line {number} is not UTF-8 and is not used")
            lines.append("")
    return lines


def _numbered(origin: str, lines: Iterable[str], problems: list[str]) -> list[_Pattern]:
    patterns: list[_Pattern] = []
    for number, text in enumerate(lines, start=1):
        if not text.strip() or text.startswith("#"):
            continue
        if len(patterns) == _MOST_PATTERNS:
            problems.append(f"{origin} has more than {_MOST_PATTERNS} patterns; those from line {number} are not used")
            break
        if fault := _fault(text):
            problems.append(f"{origin} line {number} is not used: {fault}")
        else:
            patterns.append(_Pattern(origin, number, text))
    return patterns


def _fault(text: str) -> str | None:
    """Why a pattern cannot be compiled, also after its case is folded; None when it can."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            GitIgnoreSpec.from_lines([text, text.lower()])
    except (ValueError, re.error) as error:
        return str(error)
    return None
