from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groove_daemon.domain.query import Filters
from groove_daemon.store.index import Index
from groove_daemon.store.lexical import phrase_expression, word_expression
from support.store import allowed, found_paths, make_chunk, make_document_draft, put


def test_phrases_are_quoted_and_joined() -> None:
    assert phrase_expression(["retry", 'say "hi"']) == '"retry" OR "say ""hi"""'


def test_exclusions_stand_in_parentheses() -> None:
    assert phrase_expression(["aaa", "bbb"], ["ccc", "ddd"]) == '("aaa" OR "bbb") NOT ("ccc" OR "ddd")'


def test_one_phrase_with_an_exclusion_stands_in_parentheses_too() -> None:
    assert phrase_expression(["aaa"], ["ccc"]) == '("aaa") NOT ("ccc")'


def test_phrase_expression_leaves_out_what_cannot_match() -> None:
    assert phrase_expression(["ab", "a\x00bc", "a\ud800bc", "", "abc", "abc"], ["xy"]) == '"abc"'
    assert phrase_expression(["ab"]) is None


def test_word_expression_takes_short_words() -> None:
    assert word_expression(["ok", "go"], ["no"]) == '("ok" OR "go") NOT ("no")'


def test_punctuation_is_found_literally(index: Index) -> None:
    texts = ["@team", "k=60", "a&b", "x;y", "[br]", "<x>", "hi!", "don't panic", "real-time", "docs/setup", "10.0.0.7"]
    for number, text in enumerate(texts):
        put(index, make_document_draft(f"{number}.md", f"some words {text} and more"))

    for number, text in enumerate(texts):
        hits = index.reader().trigram([text], [], limit=5, allowed=allowed(index))
        assert found_paths(index, hits) == [f"{number}.md"]


def test_scripts_without_spaces_are_found(index: Index) -> None:
    put(index, make_document_draft("zh.md", "今天整理了观鸟记录和望远镜清单"))
    put(index, make_document_draft("ja.md", "今日は野鳥の観察記録を整理した"))
    reader = index.reader()

    assert found_paths(index, reader.trigram(["观鸟记录"], [], limit=5, allowed=allowed(index))) == ["zh.md"]
    assert found_paths(index, reader.trigram(["観察記録"], [], limit=5, allowed=allowed(index))) == ["ja.md"]


def test_diacritics_and_case_do_not_matter(index: Index) -> None:
    put(index, make_document_draft("a.md", "Café Übersicht Šárka"))
    reader = index.reader()

    for word in ("cafe", "ubersicht", "sarka", "CAFÉ"):
        assert found_paths(index, reader.trigram([word], [], limit=5, allowed=allowed(index))) == ["a.md"]
        assert found_paths(index, reader.chunk_words([word], [], limit=5, allowed=allowed(index))) == ["a.md"]
        assert len(reader.document_words([word], [], limit=5, allowed=allowed(index))) == 1


def test_known_words_stand_as_words_somewhere(index: Index) -> None:
    put(index, make_document_draft("a.md", "The barn-owl Café"))
    put(index, make_document_draft("b.md", "owlets, 3.14"))

    asked = ["owl", "owlet", "barn-owl", "owl-barn", "cafe", "CAFÉ", "3.14", "4.3", "", "a\x00b", 'say "owl"', "owl*"]

    assert index.reader().known_words(asked, allowed=allowed(index)) == {
        "owl",
        "barn-owl",
        "cafe",
        "CAFÉ",
        "3.14",
        "owl*",
    }


def test_known_words_stand_in_allowed_documents(index: Index) -> None:
    put(index, make_document_draft("a.md", "owls and gulls"))
    put(index, make_document_draft("b.md", "owlets and gulls"))
    only_b = allowed(index, Filters(path_globs=("b.md",)))

    assert index.reader().known_words(["owls", "gulls", "owlets"], allowed=only_b) == {"gulls", "owlets"}


def test_a_word_that_was_deleted_everywhere_is_not_known(index: Index) -> None:
    put(index, make_document_draft("a.md", "an owl"))
    (document_id,) = index.vectors.view().document_ids.tolist()
    index.writer.delete_documents([document_id])

    assert index.reader().known_words(["owl"], allowed=allowed(index)) == frozenset()


def test_short_words_are_found_by_words(index: Index) -> None:
    put(index, make_document_draft("both.md", "ok quick"))
    put(index, make_document_draft("one.md", "quick only"))
    hits = index.reader().chunk_words(["quick", "ok"], [], limit=5, allowed=allowed(index))

    assert found_paths(index, hits) == ["both.md", "one.md"]


def test_document_words_are_stemmed(index: Index) -> None:
    put(index, make_document_draft("a.md", "three months' notice"))

    assert len(index.reader().document_words(["notices", "month"], [], limit=5, allowed=allowed(index))) == 1


def test_document_words_cover_title_aliases_and_file_name(index: Index) -> None:
    put(index, make_document_draft("sub/zeppelin.md", title="Airships", aliases=["dirigible"]))
    reader = index.reader()

    for word in ("airship", "dirigible", "zeppelin"):
        assert len(reader.document_words([word], [], limit=5, allowed=allowed(index))) == 1


def test_exclusions_remove_chunks_from_full_text(index: Index) -> None:
    put(index, make_document_draft("sync.md", "rust without it"))
    put(index, make_document_draft("async.md", "rust with async"))
    reader = index.reader()

    assert found_paths(index, reader.trigram(["rust"], ["async"], limit=5, allowed=allowed(index))) == ["sync.md"]
    assert found_paths(index, reader.chunk_words(["rust"], ["async"], limit=5, allowed=allowed(index))) == ["sync.md"]


def test_excluded_chunks_judges_heading_and_context_too(index: Index) -> None:
    put(index, make_document_draft("a.md", make_chunk("text one", heading="Tokio runtime"), "text two"))
    found = index.reader().excluded_chunks(["tokio"])

    assert len(found) == 1
    assert index.reader().chunk(next(iter(found))).content == "text one"


def test_excluded_chunks_by_short_word(index: Index) -> None:
    put(index, make_document_draft("a.md", "go now", "gone now"))

    assert len(index.reader().excluded_chunks([], words=["go"])) == 1


def test_weights_prefer_the_heading(index: Index) -> None:
    put(index, make_document_draft("content.md", make_chunk("zebra text", heading="other thing")))
    put(index, make_document_draft("heading.md", make_chunk("other text", heading="zebra thing")))
    reader = index.reader()
    by_heading = reader.trigram(["zebra"], [], limit=5, allowed=allowed(index), weights=(5.0, 1.0, 1.0))
    by_content = reader.trigram(["zebra"], [], limit=5, allowed=allowed(index), weights=(1.0, 1.0, 5.0))

    assert found_paths(index, by_heading) == ["heading.md", "content.md"]
    assert found_paths(index, by_content) == ["content.md", "heading.md"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(st.lists(st.text(max_size=12), max_size=4), st.lists(st.text(max_size=12), max_size=4))
def test_any_text_is_accepted(index: Index, positive: list[str], negative: list[str]) -> None:
    reader = index.reader()
    everything = allowed(index)

    reader.trigram(positive, negative, limit=3, allowed=everything)
    reader.chunk_words(positive, negative, limit=3, allowed=everything)
    reader.document_words(positive, negative, limit=3, allowed=everything)
    reader.excluded_chunks(negative, words=positive)
    reader.phrase_frequencies([*positive, *negative])
    assert not index.full_text_is_damaged


def test_a_thousand_words_are_accepted(index: Index) -> None:
    put(index, make_document_draft("a.md", "w999"))
    words = [f"w{number}" for number in range(1000)]

    assert len(index.reader().chunk_words(words, words[:500], limit=3, allowed=allowed(index))) == 1
