"""One collection at run time: its folder, its rules, whether the folder can be trusted, and what was last seen there.

What always holds: a document is never reported as removed while its root is missing, unreadable, replaced by another
folder without a known document in it, or suddenly bare.  A folder is another one when its device or inode is; as both
may change when a folder is restored, copied or mounted anew, a single known document in it is enough to trust it.
Reads the disk and compares; writes nothing, knows no thread.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from groove_daemon.config.settings import CollectionSettings, IndexSettings
from groove_daemon.domain.change import Change, ChangeKind, PathHint
from groove_daemon.domain.document import FileStat, KnownDocument
from groove_daemon.indexing.ignore import IgnoreRules
from groove_daemon.indexing.paths import lies_below, unspell
from groove_daemon.indexing.reconcile import reconcile
from groove_daemon.indexing.scan import Note, RootIdentity, RootUnavailable, ScanResult, identify, look, scan

# One or two notes removed by hand leave a folder that looks like another one; fewer documents are soon read again.
_FEWEST_TO_DOUBT = 10


@dataclass(frozen=True, slots=True)
class Survey:
    """What a look at the disk led to.

    `files` are all files that were seen.  `kept` counts documents whose files were not found and which stay, because
    the root cannot be trusted.
    """

    changes: Sequence[Change]
    files: Mapping[str, FileStat]
    is_whole: bool
    kept: int


@dataclass(slots=True)
class Folder:
    """One collection's folder.

    `identity` is which folder the root was when all of it was last seen and trusted, in an earlier run too; None when
    that is not known.  `unavailable` is the reason why the root cannot be trusted now, empty when it can.  `skipped`
    and `unreadable` are as of the last whole scan, corrected by looks at single paths since.
    """

    name: str
    root: str
    settings: CollectionSettings
    index: IndexSettings
    own_paths: tuple[Path, ...] = ()
    rules: IgnoreRules = field(init=False)
    identity: RootIdentity | None = None
    unavailable: str = ""
    is_scanned: bool = False
    scanned_at: float | None = None
    folders: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    owed: set[PathHint] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.rules = self._load_rules()

    def is_relevant(self, hint: PathHint) -> bool:
        """Whether a hint can matter: not for what the rules leave out, always for the files that hold the rules."""
        if self.rules.are_changed_by(hint.path):
            return True
        return self.rules.is_ignored(hint.path, hint.subtree) is None

    def survey(
        self,
        hints: Iterable[PathHint],
        known: Callable[[ScanResult], Mapping[str, KnownDocument]],
        *,
        parse_key: Callable[[str], str],
        content_hash: Callable[[str], bytes | None],
        trust: bool = False,
    ) -> Survey:
        """Look where the hints point, the whole root for a hint on `""`, and say what changed.

        Hints that came while the root could not be trusted are kept and looked at when it can be again.

        Args:
            hints: where to look.
            known: loads the documents of this collection that were looked for, or all of them, by path.
            parse_key: see `reconcile`.
            content_hash: see `reconcile`.
            trust: take the root for what it is, even if it is bare or another folder than before.

        Raises:
            RootUnavailable: the root is missing or unreadable; its hints are kept.
        """
        wanted = {replace(hint, at=0.0) for hint in hints} | self.owed
        self.owed = set(wanted)
        before = self._identify()
        if self._asks_for_everything(wanted, before):
            self.rules = self._load_rules()
            wanted.add(PathHint(self.name, "", 0.0, subtree=True))
        seen = self._look(wanted)
        if self._identify() != before:
            raise self._lost(RootUnavailable(f"the folder {self.root} was replaced while it was read", root=self.root))
        documents = known(seen)
        changes = reconcile(
            self.name,
            known=documents,
            seen=seen.files,
            is_covered=seen.covers,
            parse_key=parse_key,
            content_hash=content_hash,
        )
        doubtful: set[str] = set()
        if seen.is_whole:
            is_another = self.identity != before
            # What was seen to go went from the folder of that time; in another one it proves nothing.
            unnamed = set(documents) if is_another else _not_named(documents, wanted)
            reason = "" if trust else self._doubt(seen, unnamed, before)
            doubtful = unnamed - seen.files.keys() if reason else set()
            self.unavailable = f"{reason}; its {len(doubtful)} documents are kept until it is back" if reason else ""
            # Documents of another folder would speak for it at the next look, so none is taken in.
            changes = [] if reason and is_another else changes
            self.identity = self.identity if reason else before
        self._remember(seen)
        self.owed = set()
        certain = [change for change in changes if change.kind is not ChangeKind.REMOVED or change.path not in doubtful]
        return Survey(certain, seen.files, seen.is_whole, len(doubtful))

    def _asks_for_everything(self, wanted: set[PathHint], identity: RootIdentity) -> bool:
        if self.identity not in (None, identity) or self.unavailable:
            return True
        return any(not hint.path or self.rules.are_changed_by(hint.path) for hint in wanted)

    def _look(self, wanted: set[PathHint]) -> ScanResult:
        size = self.index.max_file_size
        try:
            if any(not hint.path for hint in wanted):
                return scan(self.root, self.rules, max_size=size)
            result = look(self.root, self.rules, (hint.path for hint in wanted if not hint.subtree), max_size=size)
            for folder in _outermost(hint.path for hint in wanted if hint.subtree):
                _join(result, scan(self.root, self.rules, subtree=folder, max_size=size))
        except RootUnavailable as error:
            raise self._lost(error) from error
        return result

    def _doubt(self, seen: ScanResult, documents: set[str], identity: RootIdentity) -> str:
        """Why a whole scan of this root does not prove that these documents are gone; empty when it does.

        What was named one by one is not among `documents`: it was seen to go.
        """
        if not documents or (self.identity == identity and len(documents) < _FEWEST_TO_DOUBT):
            return ""
        if seen.is_bare:
            return f"the folder {self.root} is suddenly empty"
        are_many, is_known = len(documents) >= _FEWEST_TO_DOUBT, self.identity is not None
        is_another = self.identity != identity and not any(path in seen.files for path in documents)
        if is_another and (are_many or is_known):
            return f"the folder {self.root} holds none of its documents any more"
        return ""

    def _remember(self, seen: ScanResult) -> None:
        if seen.is_whole:
            self.skipped, self.unreadable = dict(seen.skipped), dict(seen.unreadable)
            self.folders = seen.folders
            return
        for notes, now in ((self.skipped, seen.skipped), (self.unreadable, seen.unreadable)):
            for path in [path for path in notes if seen.covers(path)]:
                del notes[path]
            notes.update(now)

    def _identify(self) -> RootIdentity:
        try:
            return identify(self.root)
        except RootUnavailable as error:
            raise self._lost(error) from error

    def _lost(self, error: RootUnavailable) -> RootUnavailable:
        self.unavailable = error.message
        return error

    def _load_rules(self) -> IgnoreRules:
        return IgnoreRules(Path(self.root), self.index, self.settings, own_paths=self.own_paths)


def collection_name(settings: CollectionSettings) -> str:
    """The collection's name: as set, else the folder's own."""
    return settings.name or Path(settings.path).name


def root_of(settings: CollectionSettings) -> str:
    """The collection's folder as an absolute path, links left as they are."""
    return os.path.abspath(os.path.expanduser(settings.path))


def _not_named(documents: Iterable[str], hints: Iterable[PathHint]) -> set[str]:
    """The documents that no hint points to, be it on themselves or on a folder below the root."""
    paths, folders = set(), []
    for hint in hints:
        if hint.subtree and hint.path:
            folders.append(unspell(hint.path))
        paths.add(hint.path)
    return {
        path
        for path in documents
        if path not in paths and not any(lies_below(unspell(path), folder) for folder in folders)
    }


def _outermost(folders: Iterable[str]) -> list[str]:
    """The folders that lie below no other one of them."""
    kept: list[str] = []
    for folder in sorted(set(folders), key=len):
        if not any(lies_below(unspell(folder), unspell(above)) for above in kept):
            kept.append(folder)
    return kept


def _join(result: ScanResult, other: ScanResult) -> None:
    result.files.update(other.files)
    result.skipped.extend(_new(other.skipped, result.skipped))
    result.unreadable.extend(_new(other.unreadable, result.unreadable))
    result.everything_below |= other.everything_below
    result.looked_at |= other.looked_at
    result.folders += other.folders


def _new(notes: Sequence[Note], among: Sequence[Note]) -> list[Note]:
    have = set(among)
    return [note for note in notes if note not in have]
