"""The keyword arguments of the client's methods, under the names that they have on the wire.

What is left out is decided by the daemon's configuration.  What each means is told at the request's dataclass in
`groove_wire.messages`, which has the same fields; a test holds the two together.
"""

from typing import Literal, TypedDict


class DocumentFilters(TypedDict, total=False):
    """Which documents."""

    collections: list[str]
    category: str
    topic: str
    path_globs: list[str]
    tags_any: list[str]
    tags_all: list[str]
    date_from: str
    date_to: str
    modified_from: float | str
    modified_to: float | str
    formats: list[str]


class SearchOptions(DocumentFilters, total=False):
    """How to search."""

    limit: int
    profile: str
    min_quality: float
    include_low_quality: bool
    min_confidence_ratio: float
    min_score: float
    rerank: bool
    mmr: bool
    mmr_lambda: float
    mmr_same_doc_penalty: float
    parent_retriever: bool
    max_per_document: int
    freshness: Literal["sync", "none"]
    within_ms: int
    explain: bool


class SimilarOptions(DocumentFilters, total=False):
    """Near what: a path, the id of a hit, or a text; and which of what is near."""

    path: str
    collection: str
    id: int
    text: str
    kind: Literal["documents", "chunks"]
    limit: int
    min_quality: float


class ListDocumentsOptions(DocumentFilters, total=False):
    """Which page of the documents."""

    offset: int
    limit: int


class ListTopicsOptions(TypedDict, total=False):
    """Which topics, and which page of them."""

    collections: list[str]
    category: str
    path_globs: list[str]
    tags_any: list[str]
    tags_all: list[str]
    offset: int
    limit: int


class GetDocumentOptions(TypedDict, total=False):
    """Which document: by the id of a hit, or by path; and which of its lines."""

    id: int
    path: str
    collection: str
    line_start: int
    line_end: int


class GetBestPracticeOptions(TypedDict, total=False):
    """Which section."""

    category: str


class GetChunkOptions(TypedDict, total=False):
    """Which chunk: by the id of a hit, or by path and line."""

    id: int
    path: str
    collection: str
    line: int


class FailuresOptions(TypedDict, total=False):
    """Which failures, and which page of them."""

    collections: list[str]
    offset: int
    limit: int


class ReindexOptions(TypedDict, total=False):
    """What to compare with the index."""

    collections: list[str]
    paths: list[str]
    force: bool
    wait: bool


class CalibrateOptions(TypedDict, total=False):
    """How many questions to ask."""

    questions: int


class WaitFreshOptions(TypedDict, total=False):
    """What to wait for, and for how long."""

    collections: list[str]
    deadline_ms: int
    vectors: bool


class AddCollectionOptions(TypedDict, total=False):
    """How to watch the folder."""

    name: str
    source: str
    ignore: list[str]
