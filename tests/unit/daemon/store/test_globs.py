import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.errors import InvalidParams
from groove_daemon.store.globs import compile_globs, fixed_starts


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("*", "a/b/c.md", True),
        ("*.md", "a/b/c.md", True),
        ("*.md", "a/b/c.txt", False),
        ("a/*", "a/b/c.md", True),
        ("a/*", "b/a/c.md", False),
        ("a/**", "a/b/c.md", True),
        ("**/c.md", "c.md", True),
        ("**/c.md", "a/b/c.md", True),
        ("**/c.md", "a/bc.md", False),
        ("a/**/c.md", "a/c.md", True),
        ("a/**/c.md", "a/b/b/c.md", True),
        ("?.md", "c.md", True),
        ("?.md", "cc.md", False),
        ("[ab].md", "b.md", True),
        ("[!ab].md", "b.md", False),
        ("[a-c].md", "b.md", True),
        ("[]].md", "].md", True),
        ("{a,b/c}.md", "b/c.md", True),
        ("{a,b/c}.md", "b.md", False),
        ("{a,b}{1,2}*", "b2x", True),
        ("C.md", "c.md", False),
        (r"\*.md", "*.md", True),
        (r"\*.md", "a.md", False),
        ("a.md", "aXmd", False),
        ("a*b*b", "axb", False),
        ("a*b*b", "axbb", True),
        ("日*.md", "日記/今日.md", True),
    ],
)
def test_glob_matches_whole_paths(glob: str, path: str, expected: bool) -> None:
    assert compile_globs([glob])(path) is expected


def test_globs_need_one_include_and_no_exclude() -> None:
    passes = compile_globs(["work/*", "home/*", "!*/draft*"])

    assert passes("work/a.md")
    assert not passes("work/draft-1.md")
    assert not passes("other/a.md")


def test_globs_with_excludes_alone_let_everything_else_pass() -> None:
    passes = compile_globs(["!big/*"])

    assert passes("small/a.md")
    assert not passes("big/a.md")


@pytest.mark.parametrize("glob", ["", "!", "[ab", "{a,b", "a\\", "[z-a]"])
def test_malformed_glob_is_refused(glob: str) -> None:
    with pytest.raises(InvalidParams, match="malformed path glob"):
        compile_globs([glob])


def test_too_many_alternatives_are_refused() -> None:
    with pytest.raises(InvalidParams, match="alternatives"):
        compile_globs(["{a,b}" * 12])


def test_many_stars_stay_quick() -> None:
    passes = compile_globs(["*a" * 200 + "b"])
    began = time.monotonic()

    assert not passes("a" * 4000)
    assert time.monotonic() - began < 1.0


@given(st.text(max_size=20))
def test_any_text_matches_itself_when_escaped(text: str) -> None:
    escaped = "".join(f"\\{character}" for character in text)

    if text:
        assert compile_globs([escaped])(text)


@given(st.text(alphabet="ab/*?[]{},!\\", max_size=12), st.text(alphabet="ab/", max_size=8))
def test_any_glob_compiles_or_is_refused(glob: str, path: str) -> None:
    try:
        passes = compile_globs([glob])
    except InvalidParams:
        return

    assert passes(path) in (True, False)


@pytest.mark.parametrize(
    ("globs", "starts"),
    [
        (["a/*"], ["a/"]),
        (["ab", "!x/*", "c?d"], ["ab", "c"]),
        (["a/*", "**/b"], []),
        (["!a/*"], []),
        (["x[ab]", "y{a,b}", r"z\*"], ["x", "y", "z"]),
    ],
)
def test_fixed_starts_end_at_the_first_special_sign(globs: list[str], starts: list[str]) -> None:
    assert fixed_starts(globs) == starts


@given(st.lists(st.text(alphabet="ab/*?[]{},!\\", max_size=8), max_size=3), st.text(alphabet="ab/", max_size=8))
def test_what_passes_begins_with_a_fixed_start(globs: list[str], path: str) -> None:
    starts = fixed_starts(globs)
    try:
        passes = compile_globs(globs)
    except InvalidParams:
        return

    if passes(path) and starts:
        assert path.startswith(tuple(starts))
