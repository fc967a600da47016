"""Notes that say how something is to be done, found by the name of the thing: templates of paths, tried in order.

What always holds: only documents of the index are read, whatever the target; no template and no path of the
configuration goes to the client.
"""

from collections.abc import Sequence
from difflib import get_close_matches

from groove_daemon.domain.document import StoredDocument
from groove_daemon.errors import InvalidParams, NotIndexed
from groove_daemon.rpc.context import CollectionState, IndexReader
from groove_daemon.rpc.methods.base import Call
from groove_wire import messages as m

TARGET = "{target}"
_SECTION_LEVEL = 2
_MARKDOWN = "md"


def get_best_practice(call: Call, request: m.GetBestPracticeRequest) -> m.GetBestPracticeResponse:
    """Return the first note that a template names for the target, or one section of it."""
    templates = call.daemon.best_practice_templates()
    if not templates:
        raise InvalidParams(
            "get_best_practice: this daemon has no templates", hint="set best_practice.templates and reload"
        )
    if not request.target.strip() or any(mark in request.target for mark in "/\\\0"):
        raise InvalidParams("target: must be a name, without / and \\", field="target")
    reader, collections = call.reader(), call.daemon.collections()
    with reader.snapshot() as generation:
        document = _first(reader, collections, templates, request.target)
    text = call.daemon.document_text(document)
    sections = _sections(text) if document.format == _MARKDOWN else ()
    titles = tuple(dict.fromkeys(title for title, _ in sections))
    content = text if request.category is None else _section(sections, request.category)
    return m.GetBestPracticeResponse(request.target, document.title, content, titles, generation)


def _first(
    reader: IndexReader, collections: Sequence[CollectionState], templates: Sequence[str], target: str
) -> StoredDocument:
    """The document of the first template that has one, in the first collection that has it.

    Raises:
        NotIndexed: there is none.
    """
    for template in templates:
        for collection in collections:
            document = reader.document(collection.name, template.replace(TARGET, target))
            if document is not None:
                return document
    raise NotIndexed(f"there is no best practice for {target!a}", hint="its note has to be in the index")


def _sections(text: str) -> tuple[tuple[str, str], ...]:
    """Heading and text, the heading's line included, of each section of the second level."""
    # Here, because the first answer of a fresh process need not wait for what frontmatter is read with.
    from groove_daemon.formats.frontmatter import read_frontmatter
    from groove_daemon.formats.outline import outline

    headings = [
        heading for heading in outline(text, read_frontmatter(text).end).headings if heading.level <= _SECTION_LEVEL
    ]
    ends = [*(heading.start for heading in headings[1:]), len(text)]
    return tuple(
        (heading.text.strip(), text[heading.start : end])
        for heading, end in zip(headings, ends, strict=True)
        if heading.level == _SECTION_LEVEL
    )


def _section(sections: Sequence[tuple[str, str]], category: str) -> str:
    """The first section of that heading, whatever its case.

    Raises:
        InvalidParams: there is none; the error lists those that there are.
    """
    wanted = category.strip().casefold()
    for title, text in sections:
        if title.casefold() == wanted:
            return text
    titles = list(dict.fromkeys(title for title, _ in sections))
    listed = f"sections: {', '.join(titles)}" if titles else "the note has no sections"
    close = get_close_matches(category, titles, n=1)
    hint = f"did you mean {close[0]}? {listed}" if close else listed
    raise InvalidParams(f"category: there is no section {category!a}", hint=hint, field="category")
