"""The templates are found, and an installation without them says so."""

import pytest

from groove_daemon.errors import GrooveError
from groove_daemon.service.files import MARK
from groove_daemon.service.templates import read_template


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("systemd", "groove.service.in"),
        ("systemd", "groove.socket.in"),
        ("launchd", "dev.groove.grooved.plist.in"),
    ],
)
def test_template_is_found_and_carries_the_mark(folder: str, name: str) -> None:
    assert MARK in read_template(folder, name)


def test_missing_template_names_the_places() -> None:
    with pytest.raises(GrooveError, match=r"there is no x\.in in .*/share/groove/systemd.*; reinstall groove"):
        read_template("systemd", "x.in")
