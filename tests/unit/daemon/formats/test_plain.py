from support.documents import parse


def test_plain_text_is_one_section_whatever_it_holds() -> None:
    document = parse("---\ntitle: x\n---\n# no heading\n", "a.txt")

    assert [(section.heading, section.start, section.end) for section in document.sections] == [(None, 0, 30)]
    assert document.metadata.title is None


def test_an_empty_file_has_no_section() -> None:
    assert parse("", "a.txt").sections == ()
