"""A search as every stage sees it: compiled once, then only read."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that exclude; all are ANDed and are applied by every leg before it ranks.

    Dates are ISO text compared as text, inclusive; a document without a date fails any date bound.
    `modified_*` bound the file's mtime, in seconds since the epoch, inclusive.  `path_globs` starting with `!`
    exclude; `*` crosses `/`.  `min_quality` is the effective threshold, 0 to 1.
    """

    collections: tuple[str, ...] = ()
    category: str | None = None
    topic: str | None = None
    path_globs: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    date_from: str | None = None
    date_to: str | None = None
    modified_from: float | None = None
    modified_to: float | None = None
    formats: tuple[str, ...] = ()
    min_quality: float = 0.0

    @property
    def restricts_documents(self) -> bool:
        """Whether any condition but the quality threshold is set."""
        return bool(
            self.collections
            or self.category is not None
            or self.topic is not None
            or self.path_globs
            or self.tags_any
            or self.tags_all
            or self.date_from is not None
            or self.date_to is not None
            or self.modified_from is not None
            or self.modified_to is not None
            or self.formats
        )


@dataclass(frozen=True, slots=True)
class Query:
    """A compiled query.

    `text` is what the user typed; `positive_text` is the same with the exclusions cut out: embedder, reranker and
    spans read that.  `phrases` and `exclusions` are literal texts for the trigram table, at most 32 each;
    `words` and `excluded_words` are lower-cased words for the words tables.  `exact_terms` are dotted terms (versions,
    addresses), which are also in `words`; `short_terms` are CJK words too short for a trigram.  `dropped_phrases` and
    `dropped_exclusions` count what the cap cut off.  `limit` is how many hits the caller wants, 0 to 1000.
    """

    text: str
    positive_text: str
    phrases: tuple[str, ...]
    exclusions: tuple[str, ...]
    limit: int
    words: tuple[str, ...] = ()
    excluded_words: tuple[str, ...] = ()
    exact_terms: tuple[str, ...] = ()
    short_terms: tuple[str, ...] = ()
    dropped_phrases: int = 0
    dropped_exclusions: int = 0
    filters: Filters = field(default_factory=Filters)
