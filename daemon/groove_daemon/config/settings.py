"""Every option of the configuration file: the reference, from which documents and the example file are made.

A section of the file is a dataclass here, a key is a field.  `option(...)` carries the default, the document and the
limits, which `config/load.py` checks.  Parts of the program receive the section they need, never the whole.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

BUILT_IN_IGNORED_DIRS = (".git", ".svn", ".hg", "node_modules")
DEFAULT_EXCLUDED_DIRS = (
    ".obsidian",
    ".trash",
    ".stversions",
    ".stfolder",
    ".vscode",
    ".idea",
    ".venv",
    "__pycache__",
    "target",
)


def option(
    default: Any = None,
    *,
    doc: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    kind: str = "",
    factory: Callable[[], Any] | None = None,
) -> Any:
    """Describe one key: default, document, inclusive range, allowed values, and how its text is read.

    `kind` is `duration` (seconds, or text such as `"500ms"`, `"5m"`), `size` (bytes, or text such as `"50MiB"`),
    `path`, `name_or_path` (a path when it starts with `/`, `~`, `./` or `../`, else a name) or `glob`; empty for a
    plain value of the annotated type.
    """
    metadata = {"doc": doc, "low": low, "high": high, "choices": choices, "kind": kind}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class CollectionSettings:
    """A folder to watch: one `[[collections]]` table each."""

    path: str = option(
        "", kind="path", doc="The folder. `~` is your home; a relative path starts at this file's folder."
    )
    name: str = option(
        "",
        doc="The collection's name in filters and answers. Letters, digits, `.`, `_`, `-`; 64 at most. When not set: the folder's own name, with `-` for anything else.",
    )
    source: str = option(
        "workspace",
        doc="What kind of memory this is: `workspace`, `global`, `session`, or a name of your own. Used by the profile `memory`.",
    )
    weight: float = option(1.0, low=0.0, high=1000.0, doc="Multiplies the scores of the profile `memory`.")
    evergreen: bool | None = option(
        None, doc="No decay by age. When not set: true for `workspace` and `global`, false for other sources."
    )
    ignore: tuple[str, ...] = option(
        (), kind="glob", doc="More patterns to leave out, in the syntax of .gitignore, relative to the folder."
    )
    use_gitignore: bool = option(False, doc="Also leave out what `.gitignore` in the folder's root leaves out.")
    include_hidden: tuple[str, ...] = option((), doc="Hidden files or folders, by name, to index all the same.")
    formats: tuple[str, ...] = option((), doc="File formats to index in this folder; the ones of `[index]` when empty.")


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """What is read from the folders and how it is cut into chunks."""

    formats: tuple[str, ...] = option(("md", "txt"), doc="File formats to index.")
    exclude_dirs: tuple[str, ...] = option(
        DEFAULT_EXCLUDED_DIRS,
        doc="Folder names that are never entered, whatever their case. Setting it replaces the list; .git, .svn, .hg and node_modules are always left out.",
    )
    exclude_headings: tuple[str, ...] = option(
        (), doc="Sections whose heading contains one of these texts are not indexed."
    )
    max_file_size: int = option(
        50 * 1024 * 1024, kind="size", low=1024, high=1024**3, doc="Larger files are skipped and listed."
    )
    chunk_tokens: int = option(
        0, low=0, high=8192, doc="Longest chunk in tokens of the model; 0 takes what the model reads."
    )
    chunk_overlap: int = option(32, low=0, high=512, doc="Tokens that two pieces of one long section share.")
    min_chunk_bytes: int = option(
        50, low=0, high=4096, doc="A section shorter than this is joined to the one before it under the same parent."
    )
    context: str = option(
        "static",
        choices=("off", "static"),
        doc="`static` puts title and headings in front of each chunk for the embedder and in a column of its own for full text; `off` embeds the bare text.",
    )


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The embedding model, the reranker, and what they may cost."""

    embedder: str = option(
        "all-MiniLM-L6-v2",
        kind="name_or_path",
        doc="A model that ships with the program, a folder with a sentence-transformers model, or `hashing` (no model: a test double without meaning), or `none` (full text alone).",
    )
    reranker: str = option("none", kind="name_or_path", doc="A cross-encoder: `none`, a name that ships, or a folder.")
    runtime: str = option(
        "auto",
        choices=("auto", "onnx", "torch"),
        doc="`auto` exports the model to ONNX once and runs that; `torch` keeps sentence-transformers, in a process of its own.",
    )
    threads: int = option(
        0,
        low=0,
        high=256,
        doc="CPU threads for indexing; 0 takes half of the cores, one at least. Queries always use one.",
    )
    batch_tokens: int = option(
        4096, low=256, high=65536, doc="Tokens in one batch of indexing; a query waits for one batch at most."
    )
    query_cache: int = option(1024, low=0, high=100_000, doc="How many query vectors are remembered.")
    idle_release: float = option(
        0.0,
        kind="duration",
        low=0,
        high=86400 * 30,
        doc="Give the models' memory back after this long without use; 0 keeps them.",
    )


@dataclass(frozen=True, slots=True)
class VectorSettings:
    """How vectors are searched."""

    resident: bool = option(
        True,
        doc="Keep the vectors in memory (1.5 MB for 1,000 chunks of 384 numbers) and search there; false searches the index file, slower and smaller.",
    )


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """How changes are noticed."""

    enabled: bool = option(
        True, doc='Watch the folders. Off: changes are found by the rescan and by searches with `barrier = "sweep"`.'
    )
    debounce: float = option(
        0.2, kind="duration", low=0.0, high=60, doc="A file is read when it has been quiet for this long."
    )
    longest_wait: float = option(
        2.0,
        kind="duration",
        low=0.0,
        high=600,
        doc="A file that is written without pause is read this often all the same.",
    )
    barrier: str = option(
        "cookie",
        choices=("cookie", "sweep", "none"),
        doc="How a search makes sure that it sees what was saved before it: `cookie` writes a hidden file and waits for its event, `sweep` looks at every file's stat, `none` does not make sure.",
    )
    sync_deadline: float = option(
        0.5,
        kind="duration",
        low=0.0,
        high=60,
        doc="How long a search waits for that; then it answers with `fresh: false` and the reason.",
    )
    sync_embed: int = option(
        32,
        low=0,
        high=1024,
        doc="So many new chunks are embedded within that wait; more follow later, and the answer says so.",
    )
    rescan: float = option(
        900.0,
        kind="duration",
        low=10,
        high=86400 * 7,
        doc="Compare folders and index this often, whatever the watcher says.",
    )


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """Reciprocal rank fusion and the columns of full text."""

    rrf_k: float = option(60.0, low=1.0, high=1_000_000.0, doc="The constant of reciprocal rank fusion.")
    heading_weight: float = option(2.0, low=0.0, high=1_000_000.0, doc="Weight of the heading column in bm25.")
    context_weight: float = option(1.0, low=0.0, high=1_000_000.0, doc="Weight of the context column in bm25.")
    content_weight: float = option(1.0, low=0.0, high=1_000_000.0, doc="Weight of the content column in bm25.")


@dataclass(frozen=True, slots=True)
class MmrSettings:
    """Diversity by maximal marginal relevance."""

    enabled: bool = option(False, doc="Pick results that differ from each other.")
    lambda_: float = option(0.7, low=0.0, high=1.0, doc="1 is relevance alone, 0 is difference alone.")
    same_doc_penalty: float = option(
        0.0, low=0.0, high=1.0, doc="Taken off for a chunk of a document that was already picked."
    )


@dataclass(frozen=True, slots=True)
class ParentSettings:
    """More of a hit's document around it."""

    enabled: bool = option(False, doc="Show more of the document around each hit.")
    whole_doc_threshold_tokens: int = option(
        100, low=1, high=8191, doc="A hit shorter than this shows its whole document."
    )
    max_expanded_tokens: int = option(2000, low=2, high=8192, doc="Most tokens of an expanded hit.")


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """The profile `memory`: words and meaning joined by value, then weighed by age, source and use."""

    limit: int = option(6, low=0, high=1000, doc="How many hits when the request does not say.")
    text_weight: float = option(
        0.3, low=0.0, high=1.0, doc="Share of the text score where a chunk is found by words and by meaning."
    )
    vector_weight: float = option(0.7, low=0.0, high=1.0, doc="Share of the vector score.")
    decay: bool = option(True, doc="Let the scores of sources that are not evergreen fall with age.")
    half_life_days: float = option(
        30.0,
        low=-36500.0,
        high=36500.0,
        doc="After so many days a score is halved; 0 or less turns decay off, with a warning.",
    )
    access_weight: float = option(
        0.05, low=0.0, high=10.0, doc="How much a chunk gains that was returned before: times ln(1 + how often)."
    )
    min_score: float = option(
        0.7, low=0.0, high=1.0, doc="Hits with a lower score are left out when the request does not say."
    )
    mmr: bool = option(False, doc="Pick results that differ from each other in their words.")
    mmr_lambda: float = option(
        0.7,
        low=-1000.0,
        high=1000.0,
        doc="1 is relevance alone, 0 is difference alone; anything else is brought into that range.",
    )


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Defaults of a search; a request may override most of them."""

    limit: int = option(5, low=0, high=1000, doc="How many hits when the request does not say.")
    profile: str = option(
        "notes", doc="Which recipe when the request does not say: `notes`, `memory`, or one of `[profiles]`."
    )
    legs: str = option(
        "documents",
        choices=("documents", "chunks"),
        doc="`documents` adds legs over whole documents to the legs over chunks; `chunks` is trigrams and vectors over chunks alone.",
    )
    min_quality: float = option(0.3, low=0.0, high=1.0, doc="Chunks of a lower quality are left out; 0 keeps all.")
    min_confidence_ratio: float = option(
        1.5,
        low=0.0,
        high=1000.0,
        doc="Below this ratio of best to mean score the answer is marked `low_confidence`; 0 turns it off.",
    )
    drop_common_phrases: bool = option(
        True,
        doc="Leave phrases that stand in more than half of the chunks out of the ranking by trigrams when others remain; the trace says so.",
    )
    rerank_by_default: bool = option(True, doc="Rerank when a reranker is set and the request does not say.")
    merge_duplicates: bool = option(
        True, doc="Show a passage that stands in several notes once, and say where else it stands; for `notes`."
    )
    max_per_document: int = option(
        0,
        low=0,
        high=1000,
        doc="Most hits of one document when the request does not say; 0 for any number; for `notes`.",
    )
    fusion: FusionSettings = field(default_factory=FusionSettings)
    mmr: MmrSettings = field(default_factory=MmrSettings)
    parent_retriever: ParentSettings = field(default_factory=ParentSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    # Legs and their weights in place of `legs`.  No option: only a profile sets it.
    weights: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class BestPracticeSettings:
    """Notes that say how something is to be done, for `get_best_practice`."""

    templates: tuple[str, ...] = option(
        (),
        doc='Paths, relative to the collections, in which `{target}` stands for what is asked for, such as `"best-practices/{target}.md"`; the first that is in the index is taken.',
    )


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """A profile of the user's own: a built-in recipe, and the settings that are in force for it.

    `search.weights` are legs and weights that take the place of `search.legs`.
    """

    name: str
    base: str
    search: SearchSettings


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """What one daemon takes on."""

    readers: int = option(4, low=1, high=64, doc="Threads that answer requests.")
    connections: int = option(128, low=1, high=4096, doc="Open connections.")
    in_flight: int = option(64, low=1, high=1024, doc="Requests in flight on one connection.")
    request_timeout: float = option(
        30.0, kind="duration", low=1, high=3600, doc="A search that takes longer is stopped with an error."
    )


@dataclass(frozen=True, slots=True)
class MaintenanceSettings:
    """What the daemon does by itself."""

    optimize_every: float = option(
        6 * 3600.0, kind="duration", low=60, high=86400 * 30, doc="Optimise the full-text tables this often."
    )
    checkpoint_every: float = option(
        300.0, kind="duration", low=5, high=86400, doc="Fold the write-ahead file back this often."
    )
    snapshot_every: float = option(
        0.0, kind="duration", low=0, high=86400 * 365, doc="Copy the index this often; 0 never."
    )
    snapshots_kept: int = option(2, low=1, high=100, doc="How many copies are kept.")


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What is written to stderr."""

    level: str = option(
        "info",
        choices=("debug", "info", "warning", "error"),
        doc="Least level that is written. Texts of notes and queries appear at `debug` alone.",
    )
    format: str = option(
        "auto", choices=("auto", "console", "json"), doc="`auto` writes for people on a terminal and JSON elsewhere."
    )
    max_file_size: int = option(
        10 * 1024 * 1024,
        kind="size",
        low=64 * 1024,
        high=1024**3,
        doc="Where stderr is a file, it is set aside at this size and begun anew. A terminal, a pipe and the journal are not touched.",
    )
    files_kept: int = option(
        3, low=0, high=100, doc="How many of the files set aside are kept; older ones are deleted."
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole configuration."""

    collections: tuple[CollectionSettings, ...] = field(default=())
    index: IndexSettings = field(default_factory=IndexSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    vectors: VectorSettings = field(default_factory=VectorSettings)
    watch: WatchSettings = field(default_factory=WatchSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    profiles: tuple[ProfileSettings, ...] = field(default=())
    best_practice: BestPracticeSettings = field(default_factory=BestPracticeSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    maintenance: MaintenanceSettings = field(default_factory=MaintenanceSettings)
    log: LogSettings = field(default_factory=LogSettings)
