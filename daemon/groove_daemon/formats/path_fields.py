"""What the path of a document says about it: category, topic, and a title where the document has none."""

from pathlib import PurePosixPath


def category_of(path: PurePosixPath) -> str | None:
    """The first folder of the path relative to the collection's root; None at the top."""
    return path.parts[0] if len(path.parts) > 1 else None


def topic_of(path: PurePosixPath) -> str | None:
    """The second folder of the path; None when there is none."""
    return path.parts[1] if len(path.parts) > 2 else None


def title_from_path(path: PurePosixPath) -> str:
    """The file's stem with `-` and `_` as spaces; the file's name when nothing is left of it."""
    return " ".join(path.stem.replace("-", " ").replace("_", " ").split()) or path.name
