import pytest

from groove_daemon.errors import ModelUnavailable
from groove_daemon.models import requirements
from groove_daemon.models.requirements import installed_versions, require


def test_installed_packages_are_fine() -> None:
    require("torch", "sentence_transformers")


def test_missing_packages_are_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(ModelUnavailable, match="torch and sentence_transformers") as caught:
        require("torch", "sentence_transformers")

    assert caught.value.hint == "run: pip install torch sentence-transformers"


def test_versions_are_empty_for_what_is_not_installed() -> None:
    assert installed_versions("numpy", "no-such-distribution")["no-such-distribution"] == ""
    assert installed_versions("numpy")["numpy"]
