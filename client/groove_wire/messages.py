"""Every request and response as a dataclass: the schema of the protocol, from which the reference is made.

What always holds: a request that exists is within its limits (`groove_wire.params.from_params` makes it); a field that
is None does not travel.  Public names of parameters and fields stand here and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from groove_wire.limits import MAX_LIMIT, MAX_QUERY_CHARS
from groove_wire.params import Message, param

MAX_PATH_BYTES = 16384
MAX_WAIT_MS = 600_000

EVENTS = ("index_changed", "progress")
MODES = ("hybrid", "fts_only", "embedding_fallback")


@dataclass(frozen=True, slots=True)
class HelloRequest(Message):
    """Who calls, and which protocol it speaks."""

    client: str = param("", doc="Name of the program that calls.")
    version: str = param("", doc="Its version.")
    protocol: tuple[int, ...] = param((), doc="Major and minor number of the protocol that it speaks.", low=0)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What this daemon offers: methods, optional features of requests, and events to subscribe to."""

    methods: tuple[str, ...]
    features: tuple[str, ...]
    events: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WireLimits:
    """The limits of the wire.  Sizes in bytes unless the name says characters."""

    frame_bytes: int
    outgoing_buffer_bytes: int
    connections: int
    in_flight: int
    query_chars: int
    list_entries: int
    list_entry_bytes: int
    limit: int


@dataclass(frozen=True, slots=True)
class HelloResponse:
    """Who answers.  `started_at` is ISO 8601 text in UTC, `protocol` is major and minor number."""

    server: str
    version: str
    protocol: tuple[int, int]
    pid: int
    instance: str
    started_at: str
    capabilities: Capabilities
    limits: WireLimits


@dataclass(frozen=True, slots=True)
class PingRequest(Message):
    """A sign of life."""

    payload: object = param(None, doc="Anything; it comes back.")


@dataclass(frozen=True, slots=True)
class PingResponse:
    """The sign of life, returned."""

    payload: object = None


@dataclass(frozen=True, slots=True)
class SearchRequest(Message):
    """A search.  What is left out is decided by the configuration."""

    NOT_OFFERED = ("overlay",)

    query: str = param(doc="What to look for; `-word` excludes, quotes keep words together.", max_chars=MAX_QUERY_CHARS)
    limit: int | None = param(None, doc="Most hits to return.", low=0, high=MAX_LIMIT)
    profile: str | None = param(None, doc="Which recipe of stages answers.")
    collections: tuple[str, ...] = param((), doc="Only documents of these collections.")
    category: str | None = param(None, doc="Only documents of this category.")
    topic: str | None = param(None, doc="Only documents of this topic.")
    path_globs: tuple[str, ...] = param(
        (), doc="Only documents whose path fits one of these patterns and none that starts with `!`."
    )
    tags_any: tuple[str, ...] = param((), doc="Only documents with at least one of these tags.")
    tags_all: tuple[str, ...] = param((), doc="Only documents with all of these tags.")
    date_from: str | None = param(
        None, doc="Only documents whose own date is this or later, compared as ISO 8601 text."
    )
    date_to: str | None = param(None, doc="Only documents whose own date is this or earlier.")
    modified_from: float | str | None = param(
        None, doc="Only files changed at this moment or later: seconds since the epoch, or ISO 8601 text in local time."
    )
    modified_to: float | str | None = param(
        None, doc="Only files changed at this moment or earlier; a date without time means its end."
    )
    formats: tuple[str, ...] = param((), doc="Only files of these formats.")
    min_quality: float | None = param(None, doc="Only chunks of at least this quality.", low=0, high=1)
    include_low_quality: bool = param(False, doc="Chunks of any quality.")
    min_confidence_ratio: float | None = param(
        None, doc="Mark the answer `low_confidence` below this ratio of best to mean score; 0 never.", low=0, high=1000
    )
    min_score: float | None = param(None, doc="Only hits with at least this score.", low=-1_000_000, high=1_000_000)
    rerank: bool | None = param(None, doc="Whether the cross-encoder reorders the candidates.")
    mmr: bool | None = param(None, doc="Whether results that resemble each other are thinned out.")
    mmr_lambda: float | None = param(None, doc="1 is relevance alone, 0 is difference alone.", low=0, high=1)
    mmr_same_doc_penalty: float | None = param(
        None, doc="Taken off for another chunk of a document that was picked.", low=0, high=1
    )
    parent_retriever: bool | None = param(None, doc="Whether more of the document is shown around a short hit.")
    max_per_document: int | None = param(
        None, doc="Most hits of one document; 0 for any number.", low=0, high=MAX_LIMIT
    )
    freshness: str = param(
        "sync", doc="`sync` waits for what was saved before the search; `none` answers at once.",
        choices=("sync", "none"),
    )  # fmt: skip
    within_ms: int | None = param(
        None, doc="Budget in milliseconds: stages are left out to keep it, and the answer says which.",
        low=1, high=MAX_WAIT_MS,
    )  # fmt: skip
    explain: bool = param(False, doc="Return every stage with its time, and the evidence of every hit.")
    stream: bool = param(False, doc="Send `partial` notifications with the hits so far on the way to the response.")


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of UTF-8 byte offsets into a hit's `content`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ExpandedFrom:
    """How a hit was widened: `kind` is `whole_document` or `siblings`; chunk positions from 0, both inclusive."""

    kind: str
    from_position: int
    to_position: int
    total_chunks: int


@dataclass(frozen=True, slots=True)
class StageEvidence:
    """One stage's opinion on a hit: rank from 1, and score."""

    stage: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class OtherPlace:
    """Where a hit's passage stands too: `path` is relative to the collection's folder, `line_start` counts from 1."""

    collection: str
    path: str
    line_start: int


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One hit.

    `id` names the chunk in `get_chunk` and `get_document`.  `path` is relative to the collection's folder.  Lines are
    1-based lines of the file as it is on disk, inclusive.  `stale` is there, and true, when the file changed since it
    was read for this answer.  `also_in` names other places of the same passage, the first 20 of `also_in_count`; both
    are there when there is one that passes the filters.  `more_in_document` counts candidates of the same document that
    the answer does not show; it is there when hits of one document are limited and there are any.
    """

    id: int
    score: float
    collection: str
    path: str
    absolute_path: str
    title: str
    tags: tuple[str, ...]
    format: str
    line_start: int
    line_end: int
    content: str
    uri: str
    heading_path: tuple[str, ...] = ()
    heading: str | None = None
    topic: str | None = None
    category: str | None = None
    date: str | None = None
    match_spans: tuple[Span, ...] | None = None
    match_lines: tuple[int, ...] | None = None
    expanded_from: ExpandedFrom | None = None
    stale: bool | None = None
    also_in: tuple[OtherPlace, ...] | None = None
    also_in_count: int | None = None
    more_in_document: int | None = None
    evidence: tuple[StageEvidence, ...] | None = None


@dataclass(frozen=True, slots=True)
class DegradedStage:
    """A stage that could not do its work, and why."""

    stage: str
    reason: str


@dataclass(frozen=True, slots=True)
class StageStep:
    """One stage of the search: `status` is `ran`, `skipped` or `failed`; sizes count candidates."""

    stage: str
    status: str
    took_ms: float
    size_in: int
    size_out: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """The answer, best hit first.

    `fresh` is true only when every change completed before the request is reflected; otherwise `stale_reason` says
    what is missing.  `filter_applied` holds what was asked for and had an effect.  `pending_vectors` counts passages
    that are found by words and not yet by meaning.  `steps` is there when the request asked to explain.
    `confidence`, 0 to 1, is how likely the notes hold an answer, by what `calibrate` has learned; it is not there when
    nothing was learned that holds for the index as it is, or when vectors took no part.
    """

    results: tuple[SearchHit, ...]
    low_confidence: bool
    filter_applied: Mapping[str, object]
    mode: str
    degraded: tuple[DegradedStage, ...]
    warnings: tuple[str, ...]
    generation: int
    fresh: bool
    pending_vectors: int
    profile: str
    took_ms: float
    stale_reason: str | None = None
    confidence: float | None = None
    steps: tuple[StageStep, ...] | None = None


@dataclass(frozen=True, slots=True)
class GetDocumentRequest(Message):
    """A document's text as indexed: by the id of one of its hits, or by its path."""

    id: int | None = param(None, doc="A hit's id; the document of that hit is returned.", low=0)
    path: str | None = param(
        None, doc="Path relative to the collection's folder, or an absolute path.", max_bytes=MAX_PATH_BYTES
    )
    collection: str | None = param(None, doc="The path's collection; needed when several have the path.")
    line_start: int | None = param(None, doc="First line to return.", low=1)
    line_end: int | None = param(None, doc="Last line to return.", low=1)


@dataclass(frozen=True, slots=True)
class DocumentFields:
    """What is known about a document.  `modified_at` and `indexed_at` are ISO 8601 text in UTC."""

    collection: str
    path: str
    absolute_path: str
    title: str
    tags: tuple[str, ...]
    format: str
    size_bytes: int
    modified_at: str
    indexed_at: str
    chunk_count: int
    uri: str
    topic: str | None = None
    category: str | None = None
    date: str | None = None


@dataclass(frozen=True, slots=True)
class GetDocumentResponse:
    """The document and its text.

    `content` covers lines `line_start` to `line_end` of the file; both are 0 for a document without text.
    """

    document: DocumentFields
    content: str
    line_start: int
    line_end: int
    generation: int


@dataclass(frozen=True, slots=True)
class GetChunkRequest(Message):
    """One chunk: by a hit's id, or the one that covers a line of a file."""

    id: int | None = param(None, doc="A hit's id.", low=0)
    path: str | None = param(
        None, doc="Path relative to the collection's folder, or an absolute path.", max_bytes=MAX_PATH_BYTES
    )
    collection: str | None = param(None, doc="The path's collection; needed when several have the path.")
    line: int | None = param(None, doc="A line of the file; the chunk that covers it, or the next one.", low=1)


@dataclass(frozen=True, slots=True)
class ChunkFields:
    """A chunk.  Lines are 1-based and inclusive, bytes are a half-open range of the file."""

    id: int
    position: int
    content: str
    line_start: int
    line_end: int
    byte_start: int
    byte_end: int
    quality: float
    has_vector: bool
    heading_path: tuple[str, ...] = ()
    heading: str | None = None
    level: int | None = None
    context: str | None = None
    token_count: int | None = None


@dataclass(frozen=True, slots=True)
class GetChunkResponse:
    """The chunk and its document."""

    chunk: ChunkFields
    document: DocumentFields
    generation: int


@dataclass(frozen=True, slots=True)
class SimilarRequest(Message):
    """What is near a document (its path), a chunk (a hit's id), or a text: exactly one of the three."""

    path: str | None = param(
        None, doc="Path relative to the collection's folder, or an absolute path.", max_bytes=MAX_PATH_BYTES
    )
    collection: str | None = param(None, doc="The path's collection; needed when several have the path.")
    id: int | None = param(None, doc="A hit's id.", low=0)
    text: str | None = param(None, doc="A text; it is embedded like a query.", max_chars=MAX_QUERY_CHARS)
    kind: str | None = param(
        None, doc="What to return; documents for a document, chunks for a chunk or a text, when it is left out.",
        choices=("documents", "chunks"),
    )  # fmt: skip
    limit: int = param(10, doc="Most documents or chunks to return.", low=0, high=MAX_LIMIT)
    collections: tuple[str, ...] = param((), doc="Only documents of these collections.")
    category: str | None = param(None, doc="Only documents of this category.")
    topic: str | None = param(None, doc="Only documents of this topic.")
    path_globs: tuple[str, ...] = param((), doc="Only paths that fit one of these patterns and none with `!`.")
    tags_any: tuple[str, ...] = param((), doc="Only documents with at least one of these tags.")
    tags_all: tuple[str, ...] = param((), doc="Only documents with all of these tags.")
    date_from: str | None = param(None, doc="Only documents whose own date is this or later.")
    date_to: str | None = param(None, doc="Only documents whose own date is this or earlier.")
    modified_from: float | str | None = param(None, doc="Only files changed at this moment or later.")
    modified_to: float | str | None = param(None, doc="Only files changed at this moment or earlier.")
    formats: tuple[str, ...] = param((), doc="Only these formats.")
    min_quality: float = param(0.0, doc="Only chunks of at least this quality.", low=0, high=1)


@dataclass(frozen=True, slots=True)
class SimilarDocument:
    """A document and its score: the cosine between means of vectors, -1 to 1."""

    score: float
    document: DocumentFields


@dataclass(frozen=True, slots=True)
class SimilarResponse:
    """What is near, best first; the list that was not asked for is empty.

    Scores of `chunks` are cosines too.  The source is never among them.  `without_vector` counts chunks that pass the
    filters and could not be compared, because they have no vector yet.
    """

    documents: tuple[SimilarDocument, ...]
    chunks: tuple[SearchHit, ...]
    without_vector: int
    generation: int


@dataclass(frozen=True, slots=True)
class GetBestPracticeRequest(Message):
    """The note that says how something is to be done, by the templates of the configuration."""

    target: str = param(doc="What it is about, for example a language: a name, without `/`.", max_bytes=255)
    category: str | None = param(None, doc="Only the section of this heading of the second level, whatever its case.")


@dataclass(frozen=True, slots=True)
class GetBestPracticeResponse:
    """The note, or its section with its heading; `sections` are all headings of the second level."""

    target: str
    title: str
    content: str
    sections: tuple[str, ...]
    generation: int


@dataclass(frozen=True, slots=True)
class ListDocumentsRequest(Message):
    """Documents in the index, by collection and path."""

    collections: tuple[str, ...] = param((), doc="Only these collections.")
    category: str | None = param(None, doc="Only this category.")
    topic: str | None = param(None, doc="Only this topic.")
    path_globs: tuple[str, ...] = param((), doc="Only paths that fit one of these patterns and none with `!`.")
    tags_any: tuple[str, ...] = param((), doc="Only documents with at least one of these tags.")
    tags_all: tuple[str, ...] = param((), doc="Only documents with all of these tags.")
    date_from: str | None = param(None, doc="Only documents whose own date is this or later.")
    date_to: str | None = param(None, doc="Only documents whose own date is this or earlier.")
    modified_from: float | str | None = param(None, doc="Only files changed at this moment or later.")
    modified_to: float | str | None = param(None, doc="Only files changed at this moment or earlier.")
    formats: tuple[str, ...] = param((), doc="Only these formats.")
    offset: int = param(0, doc="How many to pass over.", low=0, high=2**31)
    limit: int = param(100, doc="Most documents to return.", low=0, high=MAX_LIMIT)


@dataclass(frozen=True, slots=True)
class ListDocumentsResponse:
    """One page; `total` counts all that fit."""

    documents: tuple[DocumentFields, ...]
    total: int
    generation: int


@dataclass(frozen=True, slots=True)
class ListTopicsRequest(Message):
    """The topics of the index."""

    collections: tuple[str, ...] = param((), doc="Only these collections.")
    category: str | None = param(None, doc="Only this category.")
    path_globs: tuple[str, ...] = param((), doc="Only paths that fit one of these patterns and none with `!`.")
    tags_any: tuple[str, ...] = param((), doc="Only documents with at least one of these tags.")
    tags_all: tuple[str, ...] = param((), doc="Only documents with all of these tags.")
    offset: int = param(0, doc="How many to pass over.", low=0, high=2**31)
    limit: int = param(100, doc="Most topics to return.", low=0, high=MAX_LIMIT)


@dataclass(frozen=True, slots=True)
class TopicFields:
    """A topic: `last_modified` is ISO 8601 text in UTC, `titles` names some of its documents."""

    file_count: int
    titles: tuple[str, ...]
    category: str | None = None
    topic: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class ListTopicsResponse:
    """One page; `total` counts all topics that fit."""

    topics: tuple[TopicFields, ...]
    total: int
    generation: int


@dataclass(frozen=True, slots=True)
class StatusRequest(Message):
    """How the daemon is."""


@dataclass(frozen=True, slots=True)
class ModelFields:
    """A model: `role` is `embedder` or `reranker`, `state` is `off`, `loading`, `ready` or `failed`."""

    role: str
    name: str
    state: str
    reason: str | None = None
    runtime: str | None = None
    fingerprint: str | None = None
    dimension: int | None = None
    loaded_in_s: float | None = None
    next_try_in_s: float | None = None


@dataclass(frozen=True, slots=True)
class CollectionFields:
    """A collection and the state of its part of the index.

    `pending` counts known changes that are not indexed yet, `failed` files that could not be indexed, `skipped` files
    left out on purpose.  `problems` are lines for people: unwatched folders, a root that is not there.
    """

    name: str
    root: str
    source: str
    documents: int
    chunks: int
    pending: int
    failed: int
    skipped: int
    is_watched: bool
    unwatched_folders: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    last_reconcile_at: str | None = None


@dataclass(frozen=True, slots=True)
class ProgressFields:
    """What the indexer does: `phase` is a word such as `idle`, `scanning`, `indexing`, `embedding`."""

    phase: str
    done: int
    total: int
    rate_per_s: float | None = None
    eta_s: float | None = None
    collection: str | None = None


@dataclass(frozen=True, slots=True)
class LatencyFields:
    """Times of one stage or method since the start, in milliseconds."""

    count: int
    p50_ms: float
    p95_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class IndexFields:
    """What is in the index.  `pending_vectors` and `unembeddable` count passages without a vector."""

    path: str
    generation: int
    documents: int
    chunks: int
    vectors: int
    pending_vectors: int
    unembeddable: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class CalibrationFields:
    """What `calibrate` has learned about confidence, and from what.

    Without `is_usable` no answer has a `confidence`, and `reason` says why.  `model` is a fingerprint; `generation` and
    `chunks` are those of the index then.  `answerable` and `unanswerable` count questions; at a confidence of 0.5 a
    share of `false_accept` of the latter was taken for answered and a share of `false_reject` of the former was not.
    `separation` is the chance that a question with an answer comes out above one without.
    """

    is_usable: bool
    model: str
    generation: int
    chunks: int
    answerable: int
    unanswerable: int
    made_at: str
    reason: str | None = None
    false_accept: float | None = None
    false_reject: float | None = None
    separation: float | None = None


@dataclass(frozen=True, slots=True)
class StatusResponse:
    """How the daemon is: `state` is `starting`, `ready` or `stopping`, and `problems` are lines for people.

    `memory_bytes` is resident memory.  `counters` and `latency` count since the start.
    """

    state: str
    version: str
    pid: int
    instance: str
    started_at: str
    uptime_s: float
    index: IndexFields
    progress: ProgressFields
    collections: tuple[CollectionFields, ...]
    models: tuple[ModelFields, ...]
    connections: int
    counters: Mapping[str, int]
    latency: Mapping[str, LatencyFields]
    problems: tuple[str, ...] = ()
    calibration: CalibrationFields | None = None
    memory_bytes: int | None = None
    socket: str | None = None
    config_file: str | None = None


@dataclass(frozen=True, slots=True)
class FailuresRequest(Message):
    """Files that should be in the index and are not."""

    collections: tuple[str, ...] = param((), doc="Only these collections.")
    offset: int = param(0, doc="How many to pass over.", low=0, high=2**31)
    limit: int = param(100, doc="Most files to return.", low=0, high=MAX_LIMIT)


@dataclass(frozen=True, slots=True)
class FailureFields:
    """A file that failed.  Times are ISO 8601 text in UTC; without `next_try_at` only a change of the file helps."""

    collection: str
    path: str
    reason: str
    attempts: int
    first_at: str
    last_at: str
    next_try_at: str | None = None


@dataclass(frozen=True, slots=True)
class ProblemFields:
    """What could not be understood in a document that is in the index all the same, such as bad frontmatter."""

    collection: str
    path: str
    problem: str


@dataclass(frozen=True, slots=True)
class FailuresResponse:
    """One page; `total` counts all.  `problems` are of documents in the index, the first of them."""

    failures: tuple[FailureFields, ...]
    total: int
    problems: tuple[ProblemFields, ...] = ()


@dataclass(frozen=True, slots=True)
class ReindexRequest(Message):
    """Compare folders and index, or make the index anew."""

    collections: tuple[str, ...] = param((), doc="Only these collections; all when empty.")
    paths: tuple[str, ...] = param((), doc="Only these files or folders, relative or absolute.", max_bytes=4096)
    force: bool = param(False, doc="Also read and embed what has not changed.")
    wait: bool = param(True, doc="Answer when it is done, with progress on the way; false answers when it has begun.")


@dataclass(frozen=True, slots=True)
class ReindexResponse:
    """What was done; with `wait` false, `is_done` is false and the counts are those of the start."""

    is_done: bool
    indexed: int
    unchanged: int
    removed: int
    skipped: int
    failed: int
    pending_vectors: int
    took_ms: float


@dataclass(frozen=True, slots=True)
class CalibrateRequest(Message):
    """Learn how confident answers may be, from questions made of the notes and questions about other things."""

    questions: int = param(100, doc="Most questions to make of the notes.", low=20, high=1000)


@dataclass(frozen=True, slots=True)
class CalibrateResponse:
    """What was learned; it is kept in the index, in place of what was learned before."""

    calibration: CalibrationFields
    took_ms: float


@dataclass(frozen=True, slots=True)
class WaitFreshRequest(Message):
    """Wait until everything before this request is searchable."""

    collections: tuple[str, ...] = param((), doc="Only these collections; all when empty.")
    deadline_ms: int = param(10_000, doc="Longest wait in milliseconds.", low=1, high=MAX_WAIT_MS)
    vectors: bool = param(False, doc="Also wait until everything can be found by meaning.")


@dataclass(frozen=True, slots=True)
class WaitFreshResponse:
    """`reason` says what is missing when `fresh` is false."""

    fresh: bool
    generation: int
    pending_vectors: int
    took_ms: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SubscribeRequest(Message):
    """Ask for notifications on this connection."""

    events: tuple[str, ...] = param(EVENTS, doc="Which ones; all when left out.", choices=EVENTS)


@dataclass(frozen=True, slots=True)
class UnsubscribeRequest(Message):
    """End notifications on this connection."""

    events: tuple[str, ...] = param(EVENTS, doc="Which ones; all when left out.", choices=EVENTS)


@dataclass(frozen=True, slots=True)
class SubscriptionResponse:
    """What this connection is subscribed to now."""

    events: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfigRequest(Message):
    """The configuration in effect."""

    reload: bool = param(False, doc="Read the file again and apply what can be applied without a restart.")


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """One option: its value, and where it came from."""

    key: str
    value: object
    origin: str


@dataclass(frozen=True, slots=True)
class ConfigResponse:
    """All options; after a reload also which keys changed, and which of them take effect at the next start."""

    values: tuple[ConfigValue, ...]
    file: str | None = None
    changed: tuple[str, ...] | None = None
    needs_restart: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class CollectionsRequest(Message):
    """The collections."""


@dataclass(frozen=True, slots=True)
class CollectionsResponse:
    """All collections, in the order of the configuration."""

    collections: tuple[CollectionFields, ...]


@dataclass(frozen=True, slots=True)
class AddCollectionRequest(Message):
    """Watch one more folder and write it to the configuration."""

    path: str = param(doc="The folder, absolute.", max_bytes=4096)
    name: str | None = param(None, doc="Its name; the folder's own when left out.", max_bytes=64)
    source: str | None = param(None, doc="What kind of memory it is.", max_bytes=64)
    ignore: tuple[str, ...] = param((), doc="Patterns to leave out.")


@dataclass(frozen=True, slots=True)
class AddCollectionResponse:
    """The collection as it was added."""

    name: str
    root: str


@dataclass(frozen=True, slots=True)
class RemoveCollectionRequest(Message):
    """Stop watching a folder, take it out of the configuration, and forget its documents; the files stay."""

    name: str = param(doc="The collection's name.", max_bytes=64)


@dataclass(frozen=True, slots=True)
class RemoveCollectionResponse:
    """`documents_removed` counts what the index forgot."""

    name: str
    documents_removed: int


@dataclass(frozen=True, slots=True)
class ShutdownRequest(Message):
    """End the daemon in good order."""


@dataclass(frozen=True, slots=True)
class ShutdownResponse:
    """The daemon has begun to stop; the socket closes when it is done."""

    pid: int


@dataclass(frozen=True, slots=True)
class CancelNotification(Message):
    """Stop a request that is in flight on this connection; its response is `request.cancelled`."""

    msgid: int = param(doc="The request's id.", low=0, high=2**32 - 1)


@dataclass(frozen=True, slots=True)
class ErrorNotification:
    """A fault that no response can carry, for example a broken frame; the connection is closed after it."""

    code: int
    text: str


@dataclass(frozen=True, slots=True)
class IndexChangedNotification:
    """The index has a new generation."""

    generation: int


@dataclass(frozen=True, slots=True)
class PartialNotification:
    """Hits on the way to the response of a search with `stream`; `msgid` is that of the search.

    `stage` says how far the search is: `text` is full text alone, `fusion` has everything that proposes candidates,
    `rerank` the order of the reranker.  Each comes at most once and in this order; one without hits, or of a stage
    that is off, does not come.  A hit has the same `id` in all of them and in the response, which replaces them: stages
    after the one that is named may drop, add and reorder hits, and `expanded_from`, `also_in` and `evidence` are there
    in the response alone.
    """

    msgid: int
    stage: str
    results: tuple[SearchHit, ...]


@dataclass(frozen=True, slots=True)
class ProgressNotification:
    """What the indexer does; with `msgid` it belongs to that request."""

    phase: str
    done: int
    total: int
    rate_per_s: float | None = None
    eta_s: float | None = None
    collection: str | None = None
    msgid: int | None = None
