"""What a client means by a path: which collections, and where in them; and whether a folder may become a collection.

Looks at the disk, changes nothing.
"""

import os
from collections.abc import Callable, Sequence

from groove_daemon.config import roots
from groove_daemon.config.settings import CollectionSettings
from groove_daemon.errors import InvalidParams, NotIndexed, OutsideRoots
from groove_daemon.indexing.paths import MARKER, on_disk
from groove_daemon.rpc.methods.documents import places_of

IsKnown = Callable[[str, str], bool]


def rescan_targets(
    paths: Sequence[str], collections: Sequence[CollectionSettings], is_known: IsKnown
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The collections that these paths lie in, and the paths relative to their folders.

    Args:
        paths: absolute, or relative to the folder of any of the collections.
        collections: those that are asked for.
        is_known: whether a collection has a document at a path, which may be gone from the disk.

    Raises:
        OutsideRoots: an absolute path lies in none of them.
        NotIndexed: there is neither a file nor a document.
    """
    names: dict[str, None] = {}
    relative: dict[str, None] = {}
    for path in paths:
        for name, inside in _places(path, collections, is_known):
            names[name] = relative[inside] = None
    return tuple(names), tuple(relative)


def _places(path: str, collections: Sequence[CollectionSettings], is_known: IsKnown) -> list[tuple[str, str]]:
    folders = {collection.name: collection.path for collection in collections}
    if path.startswith(("/", f"{MARKER}/")):
        places = places_of(path, folders)
        if not places:
            raise OutsideRoots(f"{path!a} lies in no collection", hint="`groovectl collections` lists their folders")
    else:
        places = [(name, path.strip("/")) for name in folders]
    there = [
        (name, inside)
        for name, inside in places
        if os.path.lexists(on_disk(folders[name], inside)) or is_known(name, inside)
    ]
    if not there:
        raise NotIndexed(f"there is nothing at {path!a}")
    return there


def check_new_folder(path: str, collections: Sequence[CollectionSettings]) -> None:
    """Refuse a folder that cannot be a collection beside those that are there.

    The configuration is checked again when it is changed; this says it in the words of somebody who adds a folder.

    Raises:
        InvalidParams: it is no folder, or is, contains or lies within another collection's folder.
    """
    if not os.path.isdir(path):
        what = "is a file, not a folder" if os.path.lexists(path) else "is not there"
        raise InvalidParams(f"path: {path!a} {what}", field="path")
    for clash in roots.clashes([*(collection.path for collection in collections), path]):
        if clash.second == len(collections):
            other = collections[clash.first]
            relation = "is already" if clash.relation == "is the folder of" else clash.relation
            hint = "" if relation == "is already" else f"`groovectl remove {other.name}` first, or leave it as it is"
            raise InvalidParams(f"path: {path!a} {relation} the collection {other.name!a}", hint=hint, field="path")
