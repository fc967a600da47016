"""Paths of hits: bytes survive, and what is shown opens the file."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_client.places import below, current_folders, from_home, real_path, wire_path


@pytest.mark.parametrize(
    ("spelled", "raw"),
    [
        ("/notes/a.md", b"/notes/a.md"),
        ("/notes/bytes:caf%E9/b%25c.md", b"/notes/caf\xe9/b%c.md"),
        ("bytes:%FF", b"\xff"),
        ("/notes/kilobytes:5.md", b"/notes/kilobytes:5.md"),
        ("/notes/bytes:100%.md", b"/notes/100%.md"),
    ],
)
def test_real_path_undoes_the_spelling_of_bytes(spelled, raw):
    assert os.fsencode(real_path(spelled)) == raw


@given(st.binary(min_size=1).filter(lambda raw: b"\0" not in raw and b"bytes:" not in raw))
def test_wire_path_is_text_that_real_path_undoes(raw):
    path = os.path.normpath(b"/" + raw)
    spelled = wire_path(os.fsdecode(path))

    assert spelled.encode().isascii() or spelled.encode() == path.replace(b"//", b"/", 1)
    assert os.fsencode(real_path(spelled)) == os.fsencode(os.path.abspath(os.fsdecode(path)))


def test_wire_path_is_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert wire_path("sub/../a.md") == f"{tmp_path}/a.md"


@pytest.mark.parametrize(
    ("path", "shown"),
    [("/a/b/c.md", "b/c.md"), ("/ab/c.md", "/ab/c.md"), ("/a", "/a"), ("/a/", "/a/")],
)
def test_path_below_a_folder_is_relative(path, shown):
    assert below(path, ("/a",)) == shown


def test_current_folder_is_known_by_the_shells_name_too(tmp_path, monkeypatch):
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    monkeypatch.chdir(real)
    monkeypatch.setenv("PWD", str(tmp_path / "link"))

    assert current_folders() == (str(tmp_path / "link"), str(real))


def test_current_folder_of_another_place_in_pwd_is_not_believed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PWD", "/")

    assert current_folders() == (str(tmp_path),)


def test_home_is_shown_as_shells_write_it(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")

    assert from_home("/home/ada/n.md") == "~/n.md"
    assert from_home("/home/adam/n.md") == "/home/adam/n.md"
