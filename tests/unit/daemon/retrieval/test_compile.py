"""Compilation of queries: every rule by example, and what holds for any text."""

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.domain.query import Filters
from groove_daemon.errors import BadQuery, TooLarge
from groove_daemon.retrieval.compile import PHRASE_CAP, PHRASE_FLOOR, compile_query

FORTY_WORDS = " ".join(f"w{number:02}" for number in range(40))

POSITIVE = [
    ("再ランキングの評価について", ["再ランキング", "ランキング", "の評価", "について"]),
    ("retry budget の設定", ["retry", "budget", "の設定"]),
    ('"Foundry Local" の設定', ["Foundry Local", "の設定"]),
    ('"再ランキングの評価について"', ["再ランキングの評価について"]),
    ("E0382", ["E0382"]),
    ("暗号化", ["暗号化"]),
    ("評価は", ["評価は"]),
    ("システム化", ["システム化", "システム"]),
    ("再ランキング", ["再ランキング", "ランキング"]),
    ("再ランキング化", ["再ランキング化", "再ランキング", "ランキング"]),
    ("の再ランキング", ["の再ランキング", "ランキング"]),
    ("の評価は", ["の評価は", "の評価"]),
    ("ＡＢＣ検索", ["ＡＢＣ検索", "ＡＢＣ"]),
    ("abcｶﾀｶﾅ", ["abc", "ｶﾀｶﾅ"]),
    ("あ亜ア", ["あ亜ア"]),
    ("サーバー", ["サーバー"]),
    ("エラー", ["エラー"]),
    ("代々木", ["代々木"]),
    ("sqlite-vec", ["sqlite-vec"]),
    ("---", ["---"]),
    ("한국어 Привет", ["한국어", "Привет"]),
    ("評価・分析", ["評価・分析", "評価・"]),
    ("クロス・エンコーダ", ["クロス・エンコーダ"]),
    ("クロス･エンコーダ", ["クロス", "エンコーダ"]),
    ("評価･分析", ["評価･分析"]),
    ("再 ランキング", ["ランキング"]),
    ('再"ランキング"', ["ランキング"]),
    ('"ランキング"化', ["ランキング"]),
    ('"ab" テスト', ["テスト"]),
    ('"ab"', ['"ab"']),
    ('"say ""hi"""', ['say "hi"']),
    ('"ab""cd"', ['ab"cd']),
    ('abc "def', ["abc", "def"]),
    ('"" テスト', ["テスト"]),
    ('""""', ['""""']),
    ('"a\0bc"', []),
    ("abc abc def", ["abc", "def"]),
    ("ランキング 再ランキング", ["ランキング", "再ランキング"]),
    ('foo "bar" AND', ["foo", "bar", "AND"]),
    ("foo OR bar", ["foo", "bar"]),
    ("heading:foo", ["heading", "foo"]),
    ("AI と ML", ["AI と ML"]),
    ("AI について", ["について"]),
    ("ML pipelines", ["pipelines"]),
    ("ab", []),
    ("--", []),
    ("?!", []),
    ("!!! ??? 、。", ["!!! ??? 、。"]),
    ("𠮷野家", ["𠮷野家"]),
    ("𠮷野家具店", ["𠮷野家具店", "野家具店"]),
    (FORTY_WORDS, FORTY_WORDS.split()[:32]),
    ("sagashiro-embed-r4 の", ["sagashiro-embed-r4"]),
]

EXCLUDING = [
    ("rust -async", ["rust"], ["async"], "rust"),
    ("-async rust", ["rust"], ["async"], "rust"),
    ('rust tokio -async -"sync io"', ["rust", "tokio"], ["async", "sync io"], "rust tokio"),
    ("rust\u3000-async", ["rust"], ["async"], "rust"),
    ("検索 -再ランキング", [], ["再ランキング", "ランキング"], "検索"),
    ('検索エンジン -"再ランキング"', ["検索エンジン", "エンジン"], ["再ランキング"], "検索エンジン"),
    ("foo -ab", ["foo"], [], "foo"),
    ("a -b c", [], [], "a c"),
    ("a -b -c", [], [], "a"),
    ('foo -"bar baz" qux', ["foo", "qux"], ["bar baz"], "foo qux"),
    ("AI と ML -foo", ["AI と ML"], ["foo"], "AI と ML"),
    ("xy -abc z", [], ["abc"], "xy z"),
    ("foo-bar -baz", ["foo-bar"], ["baz"], "foo-bar"),
]

LITERAL_HYPHENS = [
    ("sqlite-vec", ["sqlite-vec"]),
    ("foo,-bar", ["foo", "-bar"]),
    ('"foo"-bar', ["foo", "-bar"]),
    ("---", ["---"]),
    ("--foo", ["--foo"]),
    ("- foo", ["foo"]),
    ("foo -", ["foo"]),
    ('"-foo"', ["-foo"]),
    ('-"abc', ["abc"]),
    ('rust "async -tokio', ["rust", "async", "-tokio"]),
]


@pytest.mark.parametrize(("text", "phrases"), POSITIVE)
def test_compile_query_cuts_text_into_phrases(text: str, phrases: list[str]) -> None:
    query = compile_query(text, limit=5)

    assert list(query.phrases) == phrases
    assert query.exclusions == ()
    assert query.positive_text == text


@pytest.mark.parametrize(("text", "phrases", "exclusions", "positive_text"), EXCLUDING)
def test_compile_query_takes_exclusions_out(
    text: str, phrases: list[str], exclusions: list[str], positive_text: str
) -> None:
    query = compile_query(text, limit=5)

    assert list(query.phrases) == phrases
    assert list(query.exclusions) == exclusions
    assert query.positive_text == positive_text


@pytest.mark.parametrize(("text", "phrases"), LITERAL_HYPHENS)
def test_compile_query_keeps_a_hyphen_literal_where_it_excludes_nothing(text: str, phrases: list[str]) -> None:
    query = compile_query(text, limit=5)

    assert list(query.phrases) == phrases
    assert query.exclusions == ()
    assert query.positive_text == text


@pytest.mark.parametrize("text", ["-foo", '-"ab"', "-a -b", "  -foo  "])
def test_compile_query_refuses_exclusions_alone(text: str) -> None:
    with pytest.raises(BadQuery) as failure:
        compile_query(text, limit=5)

    assert "add a term" in failure.value.hint
    assert "quotes" in failure.value.hint
    assert failure.value.data["position"] == text.index("-")
    assert f"character {text.index('-') + 1}" in failure.value.message


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000"])
def test_compile_query_refuses_blank_text(text: str) -> None:
    with pytest.raises(BadQuery, match="nothing to search for"):
        compile_query(text, limit=5)


def test_compile_query_refuses_text_over_the_limit() -> None:
    assert compile_query("a" * 4096, limit=5).phrases == ("a" * 4096,)

    with pytest.raises(TooLarge, match="4097"):
        compile_query("a" * 4097, limit=5)


def test_compile_query_counts_what_the_cap_drops_on_each_side() -> None:
    excluded = " ".join(f"-x{number:02}" for number in range(40))

    query = compile_query(f"{FORTY_WORDS} {excluded}", limit=5)

    assert len(query.phrases) == len(query.exclusions) == 32
    assert (query.dropped_phrases, query.dropped_exclusions) == (8, 8)


def test_compile_query_does_not_count_duplicates_as_dropped() -> None:
    assert compile_query(f"{FORTY_WORDS} {FORTY_WORDS}", limit=5).dropped_phrases == 8


def test_compile_query_drops_no_phrase_with_a_lone_surrogate_into_full_text() -> None:
    assert compile_query('"ab\ud800c" rest', limit=5).phrases == ("rest",)


def test_compile_query_keeps_decomposed_accents_inside_their_word() -> None:
    assert compile_query("cafe\u0301s हिन्दी", limit=5).phrases == ("cafe\u0301s", "हिन्दी")


def test_compile_query_carries_limit_and_filters() -> None:
    filters = Filters(topic="birds")

    query = compile_query("owl", limit=7, filters=filters)

    assert (query.limit, query.filters) == (7, filters)


def test_compile_query_gives_words_of_the_positive_text_alone() -> None:
    query = compile_query("Go ok -Rust -x", limit=5)

    assert query.words == ("go", "ok")
    assert query.excluded_words == ("rust",)


def test_compile_query_names_no_excluded_word_for_a_phrase_of_several() -> None:
    assert compile_query('owl -"barn owl"', limit=5).excluded_words == ()


def test_compile_query_finds_dotted_terms() -> None:
    query = compile_query('release "2026.4.10" on 10.0.0.7', limit=5)

    assert query.exact_terms == ("2026.4.10", "10.0.0.7")


def test_compile_query_finds_cjk_words_too_short_for_a_phrase() -> None:
    assert compile_query('鸟类 "日本" rust 再ランキング 탐조 ok', limit=5).short_terms == ("鸟类", "日本", "탐조")


def _is_accepted(text: str) -> bool:
    try:
        compile_query(text, limit=5)
    except BadQuery:
        return False
    return True


TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from('abcXYZ019-""  _.,:*^()\'\u3000再評価のはランキング・･한𠮷é\u0301\0\n'),
        st.characters(),
    ),
    max_size=60,
).filter(_is_accepted)


@given(TEXTS)
def test_compiled_phrases_stand_in_the_text(text: str) -> None:
    query = compile_query(text, limit=5)

    for phrase in (*query.phrases, *query.exclusions):
        assert phrase in text or phrase.replace('"', '""') in text
        assert len(phrase) >= PHRASE_FLOOR
    assert len(query.phrases) <= PHRASE_CAP
    assert len(query.exclusions) <= PHRASE_CAP


@given(TEXTS)
def test_compile_query_is_pure(text: str) -> None:
    assert compile_query(text, limit=5) == compile_query(text, limit=5)


@given(st.lists(st.sampled_from(["owl", "barn owl", "再ランキング", "x.y"]), min_size=1, max_size=5))
def test_exclusions_give_the_same_set_in_any_order(terms: list[str]) -> None:
    def excluded(order: list[str]) -> set[str]:
        return set(compile_query("bird " + " ".join(f'-"{term}"' for term in order), limit=5).exclusions)

    assert excluded(terms) == excluded(terms[::-1])


@pytest.fixture(scope="module")
def trigram_table() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE chunks USING fts5(heading, context, content, tokenize='trigram remove_diacritics 1')"
    )
    connection.execute("INSERT INTO chunks VALUES ('Owls', 'Birds > Owls', 'an owl is no asynchronous bird')")
    return connection


@given(text=TEXTS)
def test_full_text_accepts_every_compiled_query(trigram_table: apsw.Connection, text: str) -> None:
    query = compile_query(text, limit=5)
    if not query.phrases:
        return

    expression = _either(query.phrases)
    if query.exclusions:
        expression = f"({expression}) NOT ({_either(query.exclusions)})"

    assert trigram_table.execute("SELECT count(*) FROM chunks WHERE chunks MATCH ?", (expression,)).get is not None


def test_a_phrase_under_the_floor_matches_nothing_in_full_text(trigram_table: apsw.Connection) -> None:
    counts = [
        trigram_table.execute("SELECT count(*) FROM chunks WHERE chunks MATCH ?", (f'"{phrase}"',)).get
        for phrase in ("owl", "ow")
    ]

    assert counts == [1, 0]


def _either(phrases: tuple[str, ...]) -> str:
    return " OR ".join('"' + phrase.replace('"', '""') + '"' for phrase in phrases)
