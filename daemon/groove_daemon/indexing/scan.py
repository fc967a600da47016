"""The disk as it is now: a walk of a collection's folder, or a look at single paths in it.

Never follows a link, never opens a file, never stops because of one entry: what cannot be read is listed by name.
Names are bytes inside and spelled on the way out, so that any name survives.  Knows nothing of the index.
"""

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field

from groove_daemon.domain.document import FileStat
from groove_daemon.errors import DocumentError
from groove_daemon.indexing.ignore import COOKIE_PREFIX, IgnoreRules
from groove_daemon.indexing.paths import for_matching, lies_below, spell, unspell

Note = tuple[str, str]

_FOLDER_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


class RootUnavailable(DocumentError):
    """A collection's folder cannot be trusted to show what is there; nothing may be taken for deleted."""


@dataclass(frozen=True, slots=True)
class RootIdentity:
    """Which folder a root is: another device or inode means another folder under the same name."""

    device: int
    inode: int


@dataclass(slots=True)
class ScanResult:
    """What was seen.

    `files` are the regular files that the rules let in.  `skipped` and `unreadable` are pairs of path and reason.
    `everything_below` are the folders whose whole content is in `files`; `looked_at` the single paths that were looked
    for.  A known document in that scope which is not in `files` is gone, unless an unreadable path covers it.
    `is_bare` says that the root has no entry at all.  Paths in the two scopes are bytes.
    """

    files: dict[str, FileStat] = field(default_factory=dict)
    skipped: list[Note] = field(default_factory=list)
    unreadable: list[Note] = field(default_factory=list)
    everything_below: set[bytes] = field(default_factory=set)
    looked_at: set[bytes] = field(default_factory=set)
    folders: int = 0
    is_bare: bool = False

    @property
    def looked_for(self) -> list[str]:
        """The single paths, spelled."""
        return [spell(raw) for raw in self.looked_at]

    @property
    def is_whole(self) -> bool:
        """Whether the whole root was walked."""
        return b"" in self.everything_below

    def covers(self, path: str) -> bool:
        """Whether `path` would be in `files` if it were still there."""
        raw = unspell(path)
        if raw not in self.looked_at and not any(lies_below(raw, folder) for folder in self.everything_below):
            return False
        return not any(lies_below(raw, unspell(blind)) for blind, _ in self.unreadable)


def identify(root: str) -> RootIdentity:
    """The identity of the folder that `root` names, links resolved.

    Raises:
        RootUnavailable: it is missing, no folder, or cannot be looked at.
    """
    try:
        found = os.stat(root)
    except FileNotFoundError as error:
        raise RootUnavailable(f"the folder {root} is missing", hint="mount or restore it", root=root) from error
    except OSError as error:
        raise RootUnavailable(f"the folder {root} cannot be read: {error.strerror}", root=root) from error
    if not stat.S_ISDIR(found.st_mode):
        raise RootUnavailable(f"{root} is not a folder", root=root)
    return RootIdentity(found.st_dev, found.st_ino)


def scan(root: str, rules: IgnoreRules, *, subtree: str = "", max_size: int | None = None) -> ScanResult:
    """Walk the root, or the folder `subtree` below it.

    A `subtree` that is missing, ignored, a link or no folder gives a result without files under it, which covers it.

    Args:
        root: the collection's folder; the one link that is followed is the root itself.
        rules: what is left out.
        subtree: relative path of a folder, spelled.
        max_size: regular files over so many bytes are skipped with a reason.

    Raises:
        RootUnavailable: the root is missing, no folder, or unreadable.
    """
    identify(root)
    top = unspell(subtree)
    result = ScanResult(everything_below={top}, looked_at={top} if top else set())
    if top and not _is_plain_folder(root, rules, top, result):
        # A file may stand where a folder was, or be named as if it were one.
        _look_at(root, rules, top, result, max_size)
        return result
    pending = [top]
    while pending:
        _list_folder(root, pending.pop(), rules, pending, result, max_size)
    return result


def look(root: str, rules: IgnoreRules, paths: Iterable[str], *, max_size: int | None = None) -> ScanResult:
    """Look for single files by listing their folders, so that a name counts as there only in its exact spelling.

    Raises:
        RootUnavailable: the root is missing, no folder, or unreadable.
    """
    identify(root)
    result = ScanResult()
    by_folder: dict[bytes, set[bytes]] = {}
    for path in paths:
        folder, _, name = unspell(path).rpartition(b"/")
        by_folder.setdefault(folder, set()).add(name)
    for folder, names in by_folder.items():
        _look_in(root, rules, folder, names, result, max_size)
    return result


def _look_at(root: str, rules: IgnoreRules, path: bytes, result: ScanResult, max_size: int | None) -> None:
    folder, _, name = path.rpartition(b"/")
    _look_in(root, rules, folder, {name}, result, max_size)


def _look_in(
    root: str, rules: IgnoreRules, folder: bytes, names: set[bytes], result: ScanResult, max_size: int | None
) -> None:
    prefix = folder + b"/" if folder else b""
    result.looked_at.update(prefix + name for name in names)
    if not folder or _is_plain_folder(root, rules, folder, result):
        _list_folder(root, folder, rules, None, result, max_size, only=names)


def open_folder(root: str, folder: bytes) -> int:
    """A handle of a folder below the root that was reached through no link; the caller closes it.

    Raises:
        OSError: a part is missing, a link, or no folder.
    """
    handle = os.open(root, _FOLDER_FLAGS & ~os.O_NOFOLLOW)
    for part in filter(None, folder.split(b"/")):
        try:
            below = os.open(part, _FOLDER_FLAGS, dir_fd=handle)
        finally:
            os.close(handle)
        handle = below
    return handle


def _is_plain_folder(root: str, rules: IgnoreRules, folder: bytes, result: ScanResult) -> bool:
    """Whether a folder is there, let in, and reached without a link; what cannot be looked at is noted."""
    if rules.is_ignored(spell(folder), True):
        return False
    try:
        os.close(open_folder(root, folder))
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            result.unreadable.append((spell(folder), error.strerror or "cannot be opened"))
        return False
    return True


def _list_folder(
    root: str,
    folder: bytes,
    rules: IgnoreRules,
    pending: list[bytes] | None,
    result: ScanResult,
    max_size: int | None,
    only: set[bytes] | None = None,
) -> None:
    """Add one folder's files to `result` and, when `pending` is given, its folders to `pending`."""
    base = os.fsencode(root)
    try:
        with os.scandir(base + b"/" + folder if folder else base) as entries:
            listed = list(entries)
    except (FileNotFoundError, NotADirectoryError):
        # It went away after it was named: then nothing is below it, which is what the result says.
        identify(root)
        return
    except OSError as error:
        if not folder:
            raise RootUnavailable(f"the folder {root} cannot be read: {error.strerror}", root=root) from error
        result.unreadable.append((spell(folder), error.strerror or "cannot be listed"))
        return
    result.folders += 1
    if not folder:
        result.is_bare = all(entry.name.startswith(COOKIE_PREFIX.encode()) for entry in listed)
    prefix = folder + b"/" if folder else b""
    for entry in listed:
        if only is None or entry.name in only:
            _take_entry(entry, prefix + entry.name, rules, pending, result, max_size)


def _take_entry(
    entry: "os.DirEntry[bytes]",
    path: bytes,
    rules: IgnoreRules,
    pending: list[bytes] | None,
    result: ScanResult,
    max_size: int | None,
) -> None:
    try:
        is_dir = entry.is_dir(follow_symlinks=False)
        if rules.ignores_entry(for_matching(path), for_matching(entry.name), is_dir=is_dir):
            return
        if is_dir:
            if pending is not None:
                pending.append(path)
            return
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError as error:
        result.unreadable.append((spell(path), error.strerror or "cannot be looked at"))
        return
    if reason := refusal(found, max_size):
        result.skipped.append((spell(path), reason))
        return
    result.files[spell(path)] = file_stat(found)


def refusal(found: os.stat_result, max_size: int | None) -> str | None:
    """Why a file of this kind or size is not indexed; None when it is."""
    if stat.S_ISLNK(found.st_mode):
        return "a link; links are not followed"
    if not stat.S_ISREG(found.st_mode):
        return "not a regular file"
    if max_size is not None and found.st_size > max_size:
        return f"{found.st_size} bytes; the limit is {max_size}"
    return None


def file_stat(found: os.stat_result) -> FileStat:
    """The fields of a stat that tell whether a file changed."""
    return FileStat(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
