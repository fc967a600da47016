"""The collections' folders at run time, by name.

What always holds: the set of folders changes as a whole, so any thread may look at it; a folder itself is changed by
the writer's thread alone.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from groove_daemon.config.settings import CollectionSettings, IndexSettings
from groove_daemon.domain.change import PathHint
from groove_daemon.domain.document import DocumentId, StoredDocument
from groove_daemon.indexing.folder import Folder, collection_name, root_of
from groove_daemon.indexing.paths import on_disk

FileState = Literal["changed", "missing", "unreachable"]


class Folders:
    """All folders.

    Args:
        collections: as configured.
        index: what is read and how.
        own_paths: files and folders of the daemon, never indexed.
    """

    def __init__(
        self, collections: Sequence[CollectionSettings], *, index: IndexSettings, own_paths: Sequence[Path]
    ) -> None:
        self._index = index
        self._own_paths = tuple(own_paths)
        self._by_name = self.made_of(collections)

    def made_of(self, collections: Sequence[CollectionSettings]) -> dict[str, Folder]:
        """New folders for these settings, by name; they take the place of the present ones with `replace`."""
        folders = (
            Folder(
                name=collection_name(settings),
                root=root_of(settings),
                settings=settings,
                index=self._index,
                own_paths=self._own_paths,
            )
            for settings in collections
        )
        return {folder.name: folder for folder in folders}

    def replace(self, folders: Mapping[str, Folder]) -> None:
        """From now on these are the folders."""
        self._by_name = dict(folders)

    def __iter__(self) -> Iterator[Folder]:
        return iter(list(self._by_name.values()))

    def __len__(self) -> int:
        return len(self._by_name)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of the configuration."""
        return tuple(self._by_name)

    def get(self, name: str) -> Folder | None:
        """The folder of a collection; None when there is no such collection."""
        return self._by_name.get(name)

    def lost(self) -> frozenset[str]:
        """Names of the collections whose roots cannot be trusted now."""
        return frozenset(folder.name for folder in self if folder.unavailable)

    def relevant(self, hints: Iterable[PathHint]) -> list[PathHint]:
        """The hints that can matter: not those for what the rules leave out, nor for unknown collections."""
        by_name = self._by_name
        return [hint for hint in hints if (folder := by_name.get(hint.collection)) and folder.is_relevant(hint)]

    def absolute_path(self, collection: str, path: str) -> bytes | None:
        """Where a document lies under the root as configured; None for an unknown collection."""
        folder = self.get(collection)
        return on_disk(folder.root, path) if folder else None

    def changed_files(self, documents: Iterable[StoredDocument]) -> dict[DocumentId, FileState]:
        """Which of these documents do not show their file as it is now, by size and time alone.

        `missing` is a file that is gone from a root that is there; `unreachable` one that cannot be looked at.
        """
        found: dict[DocumentId, FileState] = {}
        for document in documents:
            folder = self.get(document.collection)
            if state := _file_state(folder, document) if folder else "missing":
                found[document.document_id] = state
        return found


def _file_state(folder: Folder, document: StoredDocument) -> FileState | None:
    try:
        found = os.lstat(on_disk(folder.root, document.path))
    except (FileNotFoundError, NotADirectoryError):
        return "unreachable" if folder.unavailable or not os.path.isdir(folder.root) else "missing"
    except OSError:
        return "unreachable"
    is_same = (found.st_size, found.st_mtime_ns) == (document.stat.size_bytes, document.stat.mtime_ns)
    return None if is_same else "changed"
