"""The documentation's site: it builds without a warning, and tells of every public name and every command."""

import ast
import importlib.util
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import msgspec
import pytest
from test_public_names import MODULES, PACKAGE

from magic_pomdp import cli
from magic_pomdp.results.evaluation import Evaluation

ROOT = Path(__file__).parents[1]
NEEDED = ("mkdocs", "material", "mkdocstrings_handlers")
MODULES_SHOWN = (*MODULES, "magic_pomdp.gym")

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDED), reason="the extra docs is not installed"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` does; a warning is an error there."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


def public(module):
    """A module's public names; what it needs, such as gymnasium, need not be there."""
    place = PACKAGE.parent / module.replace(".", "/")
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    (names,) = [
        ast.literal_eval(line.value)
        for line in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "__all__"
    ]
    return names


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site):
    pages = "".join(path.read_text(encoding="utf-8") for path in (site / "reference" / "api").glob("*.html"))
    shown = set(re.findall(r'id="(magic_pomdp\.[\w.]+)"', pages))
    groups = {module.removeprefix("magic_pomdp.") for module in MODULES_SHOWN} | {"__version__"}
    missing = [
        f"{module}.{name}"
        for module in MODULES_SHOWN
        for name in public(module)
        if not (module == "magic_pomdp" and name in groups) and f"{module}.{name}" not in shown
    ]
    assert not missing


@pytest.mark.slow
def test_every_field_of_a_result_is_in_the_reference(site):
    """Also those that say all by their name, and those that another class declares."""
    page = (site / "reference" / "api" / "results.html").read_text(encoding="utf-8")
    fields = [field.name for field in msgspec.structs.fields(Evaluation)]
    assert [name for name in fields if f'id="magic_pomdp.results.Evaluation.{name}"' not in page] == []


@pytest.mark.slow
def test_every_command_is_in_the_reference(site):
    page = unescape((site / "reference" / "commands.html").read_text(encoding="utf-8"))
    for name in cli._COMMANDS:
        assert f"usage: magic-pomdp {name}" in page
    assert "--second-look" in page


@pytest.mark.slow
def test_nothing_is_fetched_from_elsewhere(site):
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|iframe)[^>]*src="(https?:[^"]*)"', text), path
        assert not re.findall(r'<link[^>]*rel="stylesheet"[^>]*href="(https?:[^"]*)"', text), path
