"""The disk against the index: from what was seen and what is known, the changes to make.

Pure: content is hashed through a function that comes in, and only for files that may have moved.  A document is
removed only where its absence was seen.  Reconciling what was just ingested gives no change.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from groove_daemon.domain.change import Change, ChangeKind
from groove_daemon.domain.document import FileStat, KnownDocument

RACY_NS = 2_000_000_000


def reconcile(
    collection: str,
    *,
    known: Mapping[str, KnownDocument],
    seen: Mapping[str, FileStat],
    is_covered: Callable[[str], bool],
    parse_key: Callable[[str], str],
    content_hash: Callable[[str], bytes | None],
) -> Sequence[Change]:
    """What to do so that the index shows the disk.

    Moves come first, then removals, then modified and added files together, newest first.

    Args:
        collection: name of the collection.
        known: the documents of the index, by path; those outside of what was looked at change nothing.
        seen: the files on the disk, by path.
        is_covered: whether a path would be in `seen` if the file were there.
        parse_key: the key that a path's document would get now; another stored key asks for parsing again.
        content_hash: hash of a file's content, None when it cannot be read now.
    """
    gone = [document for path, document in sorted(known.items()) if path not in seen and is_covered(path)]
    new = sorted(path for path in seen if path not in known)
    moves = _moves(gone, new, seen, content_hash)
    changes = [
        Change(collection, path, ChangeKind.MOVED, seen[path], source.content_hash, source.path)
        for path, source in moves.items()
    ]
    moved_away = {source.path for source in moves.values()}
    changes += [
        Change(collection, document.path, ChangeKind.REMOVED) for document in gone if document.path not in moved_away
    ]
    fresh = [Change(collection, path, ChangeKind.ADDED, seen[path]) for path in new if path not in moves]
    fresh += [
        Change(collection, path, ChangeKind.MODIFIED, stat)
        for path, stat in seen.items()
        if (document := known.get(path)) and (document.stat != stat or document.parse_key != parse_key(path))
    ]
    return changes + _newest_first(fresh)


def settled(stat: FileStat, *, read_at: float) -> FileStat:
    """The stat to store for content that was read at `read_at` (seconds since the epoch).

    A file written within two seconds before it was read can be written again without any field of its stat changing, as
    clocks of file systems tick coarsely.  Such a stat is stored without its inode and change time, which no file on
    the disk equals: the next reconcile hashes the content again.
    """
    youngest = max(stat.mtime_ns, stat.ctime_ns)
    if youngest + RACY_NS < int(read_at * 1e9):
        return stat
    return FileStat(stat.size_bytes, stat.mtime_ns)


def _moves(
    gone: Iterable[KnownDocument],
    new: Iterable[str],
    seen: Mapping[str, FileStat],
    content_hash: Callable[[str], bytes | None],
) -> dict[str, KnownDocument]:
    """New path to the document that moved there: same size, then same content; the first in path order wins."""
    by_size: dict[int, list[KnownDocument]] = {}
    for document in gone:
        by_size.setdefault(document.stat.size_bytes, []).append(document)
    moves: dict[str, KnownDocument] = {}
    for path in new:
        candidates = by_size.get(seen[path].size_bytes)
        if not candidates or (digest := content_hash(path)) is None:
            continue
        source = next((document for document in candidates if document.content_hash == digest), None)
        if source is not None:
            candidates.remove(source)
            moves[path] = source
    return moves


def _newest_first(changes: Iterable[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: (-(change.stat.mtime_ns if change.stat else 0), change.path))
