"""The pipeline on a real index: full text, vectors of the hashing embedder, filters, exclusions, failures."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from groove_daemon.config.settings import SearchSettings
from groove_daemon.domain.hit import Hit
from groove_daemon.domain.query import Filters
from groove_daemon.errors import ModelUnavailable
from groove_daemon.models.hashing import HashingEmbedder
from groove_daemon.retrieval.compile import compile_query
from groove_daemon.retrieval.pipeline import Parts, build_pipeline
from groove_daemon.retrieval.present import present
from groove_daemon.retrieval.probe import Probe
from groove_daemon.retrieval.trace import Trace
from groove_daemon.store.index import Index
from groove_daemon.workers import Workers
from support.store import make_chunk, make_document_draft, open_index, put

EMBEDDER = HashingEmbedder(64)
ROOTS = {"notes": "/home/me/notes"}


class Library:
    """An index that is searched as the daemon does it."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.workers = Workers("legs", threads=2, max_waiting=8)
        self.trace = Trace()
        self.mode = ""

    def add(self, path: str, *contents: object, **fields: object) -> None:
        put(self.index, make_document_draft(path, *contents, **fields))

    def embed(self) -> None:
        waiting = self.index.writer.pending(100_000)
        self.index.writer.store_vectors(
            [one.embed_key for one in waiting], EMBEDDER.embed_passages([one.text for one in waiting])
        )

    def search(
        self,
        text: str,
        *,
        limit: int = 5,
        embedder=lambda: EMBEDDER,
        filters: Filters | None = None,
        **settings: object,
    ) -> list[Hit]:
        query = compile_query(text, limit=limit, filters=filters)
        reader = self.index.reader()
        self.trace = Trace()
        with reader.snapshot():
            probe = Probe(query, reader=reader, vectors=self.index.vectors, embedder=embedder)
            pipeline = build_pipeline("notes", Parts(replace(SearchSettings(), **settings), probe, self.workers))
            hits = present(pipeline.retrieve(query, self.trace), query, reader=reader, roots=ROOTS)
        self.mode = probe.mode
        return list(hits)

    def paths(self, text: str, **options: object) -> list[str]:
        return [hit.chunk.document.path for hit in self.search(text, **options)]

    def statuses(self) -> dict[str, str]:
        return {step.stage: step.status for step in self.trace.steps}


@pytest.fixture(params=[True, False], ids=["resident", "in the file"])
def library(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Library]:
    index = open_index(tmp_path / "index.db", resident=request.param, bind=False)
    index.writer.bind_vector_space(EMBEDDER.fingerprint, EMBEDDER.dimension)
    library = Library(index)
    yield library
    library.workers.close()
    index.close()


@pytest.mark.parametrize("legs", ["chunks", "documents"])
def test_a_chunk_found_by_both_legs_appears_once_and_first(library: Library, legs: str) -> None:
    library.add("owls.md", "owls hunt mice at night")
    library.add("gulls.md", "gulls find food at the shore")
    library.embed()

    hits = library.search("owls hunt mice", legs=legs)

    assert hits[0].chunk.document.path == "owls.md"
    assert len({hit.chunk.chunk_id for hit in hits}) == len(hits)
    assert library.mode == "hybrid"


@pytest.mark.parametrize("query", ["don't", "real-time", "2026-03-14", "docs/setup"])
def test_everyday_punctuation_finds_the_note(library: Library, query: str) -> None:
    library.add("a.md", "don't panic real-time 2026-03-14 docs/setup")
    library.add("b.md", "nothing of the kind")
    library.embed()

    assert library.paths(query)[0] == "a.md"
    assert "failed" not in library.statuses().values()


@pytest.mark.parametrize("text", ["@team", "k=60", "a&b", "x;y", "[br]", "<x>", "hi!"])
def test_literal_signs_find_their_note(library: Library, text: str) -> None:
    library.add("a.md", f"before {text} after")
    library.add("b.md", "a quiet day by the sea")
    library.embed()

    assert library.paths(text)[0] == "a.md"


@pytest.mark.parametrize("text", ['"', "--", "***", "???", '"""', "\0"])
def test_punctuation_alone_gives_no_error(library: Library, text: str) -> None:
    library.add("a.md", "some text")
    library.embed()

    library.search(text)


@pytest.mark.parametrize(
    ("text", "path"), [("观鸟记录", "zh.md"), ("観察記録", "ja.md"), ("탐조", "ko.md"), ("日本", "jp.md")]
)
def test_cjk_words_are_found_by_full_text_alone(library: Library, text: str, path: str) -> None:
    library.add("zh.md", "今天整理了观鸟记录和望远镜清单")
    library.add("ja.md", "今日は野鳥の観察記録を整理した")
    library.add("ko.md", "오늘 탐조를 정리했다")
    library.add("jp.md", "私は日本語を学ぶ")

    assert library.paths(text, embedder=lambda: None) == [path]
    assert library.mode == "fts_only"


@pytest.mark.parametrize(("text", "expected"), [("ok", "a.md"), ("Go", "c.md"), ("鸟类", "d.md"), ("quick ok", "a.md")])
def test_short_terms_find_their_notes(library: Library, text: str, expected: str) -> None:
    library.add("b.md", "quick only")
    library.add("a.md", "ok quick")
    library.add("c.md", "Go notes")
    library.add("d.md", "鸟类")

    assert library.paths(text, embedder=lambda: None)[0] == expected


def test_a_question_in_plain_words_reaches_full_text(library: Library) -> None:
    library.add("contract.md", "Notice period is three months.")
    library.add("other.md", "The contract of the cat sitter")
    library.embed()

    hits = library.search("how long is the notice period in my contract")

    stages = {evidence.stage for hit in hits if hit.chunk.document.path == "contract.md" for evidence in hit.evidence}
    assert {"chunk_words", "document_words"} <= stages


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize(
    ("term", "path"), [("2026.4.10", "a.md"), ("10.0.0.7", "b.md"), ("report.final.v2", "c.md"), ("2026.4.1", "d.md")]
)
def test_dotted_terms_find_their_own_note_first(library: Library, term: str, path: str, quoted: bool) -> None:
    for name, text in (
        ("e.md", "release 2026.4.11"),
        ("a.md", "release 2026.4.10"),
        ("d.md", "release 2026.4.1"),
        ("f.md", "host 10.0.0.70 and 7 more"),
        ("b.md", "host 10.0.0.7"),
        ("g.md", "report final of v2"),
        ("c.md", "file report.final.v2"),
    ):
        library.add(name, text)
    library.embed()

    assert library.paths(f'"{term}"' if quoted else term)[0] == path


@pytest.mark.parametrize("text", ["cafe", "ubersicht", "sarka", "CAFÉ", "cafe\u0301"])
def test_accents_and_case_do_not_matter_and_the_original_spelling_is_shown(library: Library, text: str) -> None:
    library.add("a.md", "Café Übersicht Šárka")
    library.add("b.md", "nothing")

    (hit,) = library.search(text, embedder=lambda: None)

    assert hit.content == "Café Übersicht Šárka"
    assert hit.match_spans


def test_a_part_of_a_word_is_found_among_many_notes(library: Library) -> None:
    for number in range(200):
        library.add(f"{number}.md", f"a bible, a biography and a library, number {number}")
    library.add("books.md", "the bibliography of the report")
    library.embed()

    assert library.paths("bibliogr")[0] == "books.md"


def test_a_filter_is_applied_before_the_nearest_are_cut(library: Library) -> None:
    for number in range(300):
        library.add(f"big/{number}.md", f"birds birds birds {number}")
    for number in range(3):
        library.add(f"small/{number}.md", f"a long walk to see some birds {number}")
    library.embed()

    found = library.paths("birds", filters=Filters(path_globs=("small/*",)))

    assert sorted(found) == ["small/0.md", "small/1.md", "small/2.md"]


def test_low_quality_is_left_out_of_every_leg(library: Library) -> None:
    library.add("a.md", make_chunk("owls", quality=0.1))
    library.add("b.md", make_chunk("owls and more owls", quality=0.9))
    library.embed()

    assert library.paths("owls", filters=Filters(min_quality=0.3)) == ["b.md"]


@pytest.mark.parametrize("legs", ["chunks", "documents"])
@pytest.mark.parametrize("text", ["owls -barn", "-barn owls", "xy -barn", '鸟类 -"barn owl"'])
def test_exclusions_hold_in_every_leg(library: Library, legs: str, text: str) -> None:
    library.add("a.md", "barn owls 鸟类 xy", "owls 鸟类 xy")
    library.add("barn owls.md", "the barn owl 鸟类 xy")
    library.embed()

    found = library.search(text, legs=legs)

    assert [hit.content for hit in found] == ["owls 鸟类 xy"]


def test_a_leg_whose_table_is_damaged_is_reported_and_the_others_answer(library: Library) -> None:
    library.add("a.md", "owls hunt at night")
    library.embed()
    library.index.writer.database.run("DROP TABLE chunks_trigram")

    assert library.paths("owls nigh") == ["a.md"]
    assert library.statuses()["trigram"] == "failed"
    assert library.statuses()["dense"] == "ran"


def test_words_answer_when_the_model_fails(library: Library) -> None:
    def broken():
        raise ModelUnavailable("the model is missing")

    library.add("a.md", "intro", "gulls find food")
    library.embed()

    (hit,) = library.search("gulls", embedder=broken)

    assert hit.content == "gulls find food"
    assert library.statuses()["dense"] == library.statuses()["title"] == "failed"
    assert library.mode == "fts_only"


def test_a_document_without_vectors_is_found_by_its_words(library: Library) -> None:
    library.add("old.md", "gulls find food")
    library.embed()
    library.add("new.md", "an owl", "owls find mice")

    assert "owls find mice" in [hit.content for hit in library.search("mice")]
    assert library.paths("owls mice", embedder=lambda: None)[0] == "new.md"


def test_another_dimension_fails_the_vector_legs_alone(library: Library) -> None:
    library.add("a.md", "gulls find food")
    library.embed()

    assert library.paths("gulls", embedder=lambda: HashingEmbedder(32)) == ["a.md"]
    assert library.statuses()["dense"] == "failed"


@pytest.mark.parametrize("with_vectors", [True, False])
def test_one_long_note_does_not_fill_the_answer(library: Library, with_vectors: bool) -> None:
    library.add("long.md", *(f"owls in the valley, part {number}: many owls" for number in range(14)))
    for number in range(5):
        library.add(f"short{number}.md", f"owls near house {number} at the river in the evening")
    library.embed()

    found = library.paths("owls", embedder=lambda: EMBEDDER if with_vectors else None)

    assert len(set(found)) >= 4


def test_a_note_is_found_by_its_title(library: Library) -> None:
    library.add("The Ideal Diet.md", make_chunk("bread, beans, apples", context="The Ideal Diet"))
    passing = "my cousin spoke of an ideal diet in passing, among many other things"
    library.add("other.md", make_chunk(passing, context="other"))
    library.embed()

    assert library.paths("the ideal diet")[0] == "The Ideal Diet.md"
    assert library.paths("the ideal diet", embedder=lambda: None)[0] == "The Ideal Diet.md"


def test_equal_scores_come_in_the_same_order_every_time(library: Library) -> None:
    for number in range(40):
        library.add(f"{number}.md", "the very same text about owls")
    library.embed()

    first = library.paths("owls", limit=20)

    assert all(library.paths("owls", limit=20) == first for _ in range(5))


def test_a_limit_of_thousand_is_served(library: Library) -> None:
    for number in range(30):
        library.add(f"{number}.md", f"owls number {number}")
    library.embed()

    assert len(library.search("owls", limit=1000)) == 30


def test_a_deleted_note_is_gone_from_all_legs(library: Library) -> None:
    library.add("a.md", "ghost crake")
    library.embed()
    known = library.index.writer.known_document("notes", "a.md")
    assert known is not None

    library.index.writer.delete_documents([known.document_id])

    assert library.search("ghost crake") == []


def test_hits_carry_lines_and_absolute_paths(library: Library) -> None:
    library.add("birds/owl.md", make_chunk("first\nowls here", line_start=7))
    library.embed()

    (hit,) = library.search("owls")

    assert hit.match_lines == (8,)
    assert hit.absolute_path == "/home/me/notes/birds/owl.md"
