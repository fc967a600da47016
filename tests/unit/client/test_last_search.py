"""The hits of the last search, remembered."""

import os
import stat

import pytest

from groove_client.last_search import load, save


def test_places_come_back_as_saved_bytes_included(tmp_path):
    places = [("/n/a.md", 7), (os.fsdecode(b"/n/\xff\n.md"), 1)]
    save(str(tmp_path / "new" / "state"), places)

    assert load(str(tmp_path / "new" / "state")) == places


def test_file_and_folder_are_for_the_owner_alone(tmp_path):
    folder = tmp_path / "state"
    save(str(folder), [("/n/a.md", 7)])

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [(file.name, stat.S_IMODE(file.stat().st_mode)) for file in folder.iterdir()] == [("last-search", 0o600)]


def test_later_search_replaces_the_earlier(tmp_path):
    save(str(tmp_path), [("/n/a.md", 7)])
    save(str(tmp_path), [])

    assert load(str(tmp_path)) == []


def test_no_search_yet_is_an_empty_list(tmp_path):
    assert load(str(tmp_path / "nothing")) == []


def test_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(OSError, match=r"."):
        save(str(tmp_path / "file" / "state"), [])
