"""Notes that say how something is done: templates in order, sections by heading."""

import pytest

from groove_daemon.errors import InvalidParams, NotIndexed
from groove_daemon.rpc.cancel import CancelToken
from groove_daemon.rpc.context import CollectionState
from groove_daemon.rpc.meter import Meter
from groove_daemon.rpc.methods.base import Call
from groove_daemon.rpc.methods.best_practice import get_best_practice
from groove_daemon.rpc.server import ServerLimits
from groove_daemon.rpc.session import Session
from groove_wire.messages import GetBestPracticeRequest, GetBestPracticeResponse
from support.rpc import StandInDaemon, make_chunk, make_document

TEXT = """\
---
title: Rust
---
# Rust

Intro.

## Errors

Use `thiserror`.

### Deeper

More.

```
## not a heading
```

## Tests ##

Write them.

# Appendix

## errors

Again.
"""


class Notes(StandInDaemon):
    """Documents at the given places, all with one text."""

    def __init__(self, *places: tuple[str, str], **fields: object) -> None:
        super().__init__(
            roots=(CollectionState("a", "/a"), CollectionState("b", "/b")),
            templates=("first/{target}.md", "second/{target}/best.md"),
        )
        self.store.chunks = [
            make_chunk(
                document=make_document(document_id=number, collection=collection, path=path, title=path, **fields)
            )
            for number, (collection, path) in enumerate(places)
        ]

    def document_text(self, _document: object, /) -> str:
        return TEXT


def ask(daemon: StandInDaemon, target: str, category: str | None = None) -> GetBestPracticeResponse:
    call = Call(
        daemon=daemon,
        session=Session(lambda _frame: None),
        msgid=1,
        token=CancelToken(),
        notify=lambda _name, _content: None,
        limits=ServerLimits().to_wire(),
        meter=Meter(),
        connections=1,
    )
    return get_best_practice(call, GetBestPracticeRequest(target, category))


def test_whole_note_comes_with_its_sections() -> None:
    found = ask(Notes(("b", "first/rust.md")), "rust")

    assert found.content == TEXT
    assert found.sections == ("Errors", "Tests", "errors")


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([("a", "second/rust/best.md"), ("b", "first/rust.md")], "first/rust.md"),
        ([("a", "second/rust/best.md")], "second/rust/best.md"),
    ],
)
def test_templates_are_tried_in_order_before_collections(places: list[tuple[str, str]], expected: str) -> None:
    assert ask(Notes(*places), "rust").title == expected


@pytest.mark.parametrize("category", ["Errors", "ERRORS", " errors "])
def test_section_reaches_to_the_next_of_its_level_or_above(category: str) -> None:
    content = ask(Notes(("a", "first/rust.md")), "rust", category).content

    assert content.startswith("## Errors\n\nUse `thiserror`.")
    assert content.endswith("## not a heading\n```\n\n")


def test_last_section_before_a_chapter_ends_there() -> None:
    assert ask(Notes(("a", "first/rust.md")), "rust", "tests").content == "## Tests ##\n\nWrite them.\n\n"


def test_unknown_section_lists_those_that_there_are() -> None:
    with pytest.raises(InvalidParams, match=r"no section 'Test'.*did you mean Tests\? sections: Errors, Tests, errors"):
        ask(Notes(("a", "first/rust.md")), "rust", "Test")


def test_text_of_another_format_has_no_sections() -> None:
    notes = Notes(("a", "first/rust.md"), format="txt")

    assert ask(notes, "rust").sections == ()
    with pytest.raises(InvalidParams, match="the note has no sections"):
        ask(notes, "rust", "Errors")


def test_absent_note_tells_no_template() -> None:
    with pytest.raises(NotIndexed) as caught:
        ask(Notes(("a", "first/rust.md")), "go")

    assert "go" in str(caught.value)
    assert "first" not in str(caught.value)


@pytest.mark.parametrize("target", ["", " ", "../secret", "a/b", "a\\b", "a\0b"])
def test_target_that_is_no_name_is_refused(target: str) -> None:
    with pytest.raises(InvalidParams, match=r"^target: must be a name"):
        ask(Notes(("a", "first/rust.md")), target)


def test_no_templates_is_an_error() -> None:
    notes = Notes(("a", "first/rust.md"))
    notes.templates = ()
    with pytest.raises(InvalidParams, match=r"has no templates.*best_practice\.templates"):
        ask(notes, "rust")
