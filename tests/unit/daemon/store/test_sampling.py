import pytest

from groove_daemon.store.index import Index
from groove_daemon.store.sampling import fold
from support.store import make_document_draft, put


def test_share_of_each_phrase_is_estimated(index: Index) -> None:
    put(
        index,
        make_document_draft(
            "a.md", *[f"the common text {'rare' if number % 10 == 0 else ''}" for number in range(100)]
        ),
    )
    shares = index.reader().phrase_frequencies(["COMMON", "rare", "nowhere"])

    assert shares == {"COMMON": 1.0, "rare": pytest.approx(0.1), "nowhere": 0.0}


def test_sample_follows_the_index(index: Index) -> None:
    put(index, make_document_draft("a.md", "first"))
    before = index.reader().phrase_frequencies(["first", "second"])
    for number in range(200):
        put(index, make_document_draft(f"{number}.md", "second"))
    after = index.reader().phrase_frequencies(["first", "second"])

    assert before == {"first": 1.0, "second": 0.0}
    assert after["second"] > 0.9


def test_empty_index_has_no_shares(index: Index) -> None:
    assert index.reader().phrase_frequencies(["any"]) == {"any": 0.0}


def test_folding_ignores_case_and_marks_of_european_letters() -> None:
    assert fold("CAFÉ Šárka Ё") == "cafe sarka е"
    assert fold("が漢字") == "が漢字"
