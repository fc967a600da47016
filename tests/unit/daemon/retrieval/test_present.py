"""Hits: one batched read, spans, lines, paths, expansion."""

from dataclasses import dataclass

from groove_daemon.config.settings import ParentSettings
from groove_daemon.domain.hit import ByteSpan, Expansion
from groove_daemon.retrieval.expand import Expander
from groove_daemon.retrieval.present import absolute_path, present
from groove_daemon.retrieval.spans import Segment
from support.retrieval import MemoryCorpus, ids, make_chunk, make_query, make_ranking, note

ROOTS = {"notes": "/home/me/notes"}


def test_present_keeps_order_scores_and_evidence_and_reads_once() -> None:
    corpus = MemoryCorpus(note("a", "an owl", "a gull"), note("b", "owls"))
    ranking = make_ranking((3, 0.9), (1, 0.5))

    hits = present(ranking, make_query("owl"), reader=corpus, roots=ROOTS)

    assert [hit.chunk.chunk_id for hit in hits] == ids(ranking)
    assert [hit.score for hit in hits] == [0.9, 0.5]
    assert [hit.evidence for hit in hits] == [candidate.evidence for candidate in ranking]
    assert corpus.calls == ["chunks"]


def test_present_shows_spans_lines_and_path() -> None:
    corpus = MemoryCorpus(note("birds", "a gull\nan owl"))

    (hit,) = present(make_ranking((1, 1.0)), make_query("owl"), reader=corpus, roots=ROOTS)

    assert hit.match_spans == (ByteSpan(10, 13),)
    assert hit.match_lines == (2,)
    assert (hit.line_start, hit.line_end) == (1, 2)
    assert hit.absolute_path == "/home/me/notes/birds.md"
    assert hit.expanded_from is None


def test_present_leaves_out_a_chunk_that_is_gone() -> None:
    corpus = MemoryCorpus(note("a", "an owl"))

    hits = present(make_ranking((7, 1.0), (1, 0.5)), make_query("owl"), reader=corpus, roots=ROOTS)

    assert [hit.chunk.chunk_id for hit in hits] == [1]


def test_present_leaves_out_a_collection_that_is_no_longer_configured() -> None:
    corpus = MemoryCorpus(note("a", "an owl"))

    assert present(make_ranking((1, 1.0)), make_query("owl"), reader=corpus, roots={"other": "/x"}) == ()


def test_present_computes_spans_on_expanded_content() -> None:
    @dataclass(frozen=True)
    class WholeDocument:
        content: str
        line_start: int
        line_end: int
        expansion: Expansion
        segments: tuple[Segment, ...]

    def expand(hit, siblings):
        content = "\n\n".join(chunk.content for chunk in siblings)
        return WholeDocument(
            content, 1, 9, Expansion("whole_document", 0, 1, len(siblings)), (Segment(0, 1), Segment(8, 7))
        )

    corpus = MemoryCorpus(note("a", "a gull", "an owl"))

    (hit,) = present(make_ranking((1, 1.0)), make_query("owl"), reader=corpus, roots=ROOTS, expand=expand)

    assert hit.content == "a gull\n\nan owl"
    assert hit.match_spans == (ByteSpan(11, 14),)
    assert hit.match_lines == (7,)
    assert (hit.line_start, hit.line_end) == (1, 9)
    assert hit.expanded_from == Expansion("whole_document", 0, 1, 2)


def test_present_reads_the_siblings_of_all_hits_at_once() -> None:
    corpus = MemoryCorpus(note("a", "an owl", "a gull"), note("b", "owls", "a hawk"))
    expand = Expander(ParentSettings(enabled=True))

    first, second, third = present(
        make_ranking((3, 0.9), (1, 0.5), (2, 0.1)), make_query("owl"), reader=corpus, roots=ROOTS, expand=expand
    )

    assert corpus.calls == ["chunks", "siblings"]
    assert (first.content, second.content) == ("owls\n\na hawk", "an owl\n\na gull")
    assert (first.match_spans, second.match_spans) == ((ByteSpan(0, 3),), (ByteSpan(3, 6),))
    # Two hits of one document that show the same of it.
    assert (third.content, third.match_spans, third.match_lines) == (second.content, second.match_spans, (1,))
    assert (second.chunk.chunk_id, third.chunk.chunk_id) == (1, 2)


def test_absolute_path_keeps_the_spelling_of_names_that_are_not_text() -> None:
    plain, spelled = make_chunk(path="a/b c.md"), make_chunk(path="bytes:caf%E9.md")

    assert absolute_path(plain.document, {"notes": "/n/"}) == "/n/a/b c.md"
    assert absolute_path(spelled.document, {"notes": "/my notes"}) == "bytes:/my%20notes/caf%E9.md"
