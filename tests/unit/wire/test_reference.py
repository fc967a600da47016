"""The reference page is what the code says."""

from pathlib import Path

import pytest

from groove_wire.codes import ErrorCode
from groove_wire.methods import METHODS, NOTIFICATIONS
from groove_wire.reference import render

PAGE = Path(__file__).parents[3] / "docs" / "protocol.md"


def test_reference_in_docs_is_fresh():
    assert PAGE.read_text() == render(), "run: python -m groove_wire.reference > docs/protocol.md"


def test_reference_names_every_method_notification_and_code():
    page = render()

    assert all(f"\n### {name}\n" in page for name in [*METHODS, *NOTIFICATIONS])
    assert all(f"| {int(code)} | `{code.name_on_wire}` |" in page for code in ErrorCode)


@pytest.mark.parametrize("word", ["None", "tuple[", "Mapping", "MISSING", "<class"])
def test_reference_speaks_no_python(word):
    assert word not in render()
