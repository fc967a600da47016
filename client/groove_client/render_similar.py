"""The answer of `similar` as text: a row for each document, or hits as a search shows them.

What always holds: the order is that of the answer; the number in front of each is what `open` takes.
"""

from __future__ import annotations

from groove_client.harmless import harmless
from groove_client.places import below, current_folders, from_home, real_path
from groove_client.render_search import path_of, people, target_line
from groove_client.table import map_of, number_of, rows_of, table, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from groove_client.render import Screen

    Fields = dict[str, object]


def near(answer: Fields, screen: Screen) -> str:
    """Return what was found; one of the two kinds is empty."""
    return _documents(answer, screen) + people({"results": rows_of(answer, "chunks")}, screen)


def places(answer: Fields) -> list[tuple[str, int]]:
    """Return the path and the line of each, in order; a document begins at its first line."""
    documents = [(_path(map_of(each, "document")), 1) for each in rows_of(answer, "documents")]
    return documents or [(path_of(hit), target_line(hit)) for hit in rows_of(answer, "chunks")]


def _documents(answer: Fields, screen: Screen) -> str:
    folders = current_folders()
    rows = [
        (str(rank), f"{number_of(each, 'score'):.4f}", _shown(map_of(each, "document"), folders), _title(each))
        for rank, each in enumerate(rows_of(answer, "documents"), 1)
    ]
    return table(("", "score", "path", "title"), rows, screen, right=(0, 1)) if rows else ""


def _title(each: Fields) -> str:
    return harmless(text_of(map_of(each, "document"), "title"))


def _path(document: Fields) -> str:
    return real_path(text_of(document, "absolute_path") or text_of(document, "path"))


def _shown(document: Fields, folders: tuple[str, ...]) -> str:
    real = _path(document)
    close = below(real, folders)
    return harmless(from_home(real) if close == real else close)
