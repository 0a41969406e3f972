"""What a sentence says of installing is right for the way in which the package was installed."""

import json

import pytest

from magic_pomdp.core import extras

REGISTRY = "pip install 'magic-pomdp[show]'"


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, REGISTRY),
        ({"url": "file://{}", "dir_info": {}}, "pip install '{}[show]'"),
        ({"url": "file://{}", "dir_info": {"editable": True}}, "pip install -e '{}[show]'"),
        ({"url": "file://{}/away", "dir_info": {"editable": True}}, REGISTRY),
        ({"url": "file://{}/one.whl", "archive_info": {}}, REGISTRY),
    ],
)
def test_extras_come_from_where_the_package_came_from(origin, command, monkeypatch, tmp_path):
    class Installed:
        def read_text(self, name):
            return None if origin is None else json.dumps(origin).replace("{}", str(tmp_path), 1)

    monkeypatch.setattr(extras.metadata, "distribution", lambda name: Installed())
    assert extras.install_command("show") == command.replace("{}", str(tmp_path))


def test_a_package_that_is_not_installed_is_in_a_registry(monkeypatch):
    def missing(name):
        raise extras.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(extras.metadata, "distribution", missing)
    assert extras.install_command("show") == REGISTRY
