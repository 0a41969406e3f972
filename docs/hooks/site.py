"""What the documentation's site needs beside its pages: names and commands of the software, and files of the sources.

A page says `<!-- names: magic_pomdp.planners -->` where the names of a module belong, and `<!-- commands -->` where the
help of every command does. A link to a file outside of the documentation leads to a copy of it in the site.
"""

import ast
import contextlib
import io
import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
COPIES = "files"
"""The site's folder of files from outside of the documentation."""
_WIDTH = 88
"""Columns of a command's help."""
_LINK = re.compile(r"(!?\[[^\]]*\]\()(?!https?:|mailto:|#)([^)#\s]+)([^)]*\))")
_CODE = re.compile(r"^(```.*?^```$)", re.DOTALL | re.MULTILINE)
_UNFILLED = re.compile(r"\s`make docs` fills (in the names|it in)\.")
"""What a page says to who reads it in the sources."""
_SHOWN_AS = {".cff": "yaml", ".py": "python", ".toml": "toml"}
"""Files that become a page, and the language that they are in."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that pages link to, and those that these link to."""
    waiting = [(Path(file.abs_src_path), ROOT / "docs") for file in files.documentation_pages()]
    known: set[Path] = set()
    while waiting:
        page, _ = waiting.pop()
        for target in _outside(page):
            if target not in known:
                known.add(target)
                files.append(_copy(target, config))
                if target.suffix in _SHOWN_AS:
                    files.append(File.generated(config, _raw(target), abs_src_path=str(target)))
                if target.suffix == ".md":
                    waiting.append((target, ROOT))
    return files


def _outside(page: Path) -> Iterator[Path]:
    """The files outside of the documentation that a page links to."""
    for place in _links(page.read_text(encoding="utf-8")):
        target = _target(page.parent, place)
        if target.exists() and not target.is_relative_to(ROOT / "docs"):
            yield target


def _links(text: str) -> list[str]:
    return [found[1] for found in _LINK.findall(_CODE.sub("", text))]


def _target(folder: Path, place: str) -> Path:
    """What a link leads to; of a folder, the page about it."""
    target = Path(os.path.normpath(folder / place))
    return target / "README.md" if (target / "README.md").exists() else target


def _copy(target: Path, config: MkDocsConfig) -> File:
    place = _place(target)
    if target.suffix in _SHOWN_AS:
        text = target.read_text(encoding="utf-8")
        title = target.relative_to(ROOT).as_posix()
        load = f'<a href="{target.name}" download>Download it</a>'
        shown = f"# {title}\n\n{load}\n\n````{_SHOWN_AS[target.suffix]}\n{text}````\n"
        return File.generated(config, place, content=shown)
    return File.generated(config, place, abs_src_path=str(target))


def _raw(target: Path) -> str:
    """Where the site has a file as it is."""
    return f"{COPIES}/{target.relative_to(ROOT).as_posix()}"


def _place(target: Path) -> str:
    """Where the site has a file of the sources."""
    if target.is_relative_to(ROOT / "docs"):
        return target.relative_to(ROOT / "docs").as_posix()
    page = ".md" if target.suffix in _SHOWN_AS else ""
    return f"{_raw(target)}{page}"


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in names and commands, and let links lead to the copies."""
    markdown = _UNFILLED.sub("", markdown)
    markdown = re.sub(r"<!-- names: (\S+) -->", lambda found: _names(found[1]), markdown)
    markdown = re.sub("<!-- commands -->", lambda _: commands(), markdown)
    here = page.file.src_uri
    source = ROOT / (here.removeprefix(f"{COPIES}/") if here.startswith(f"{COPIES}/") else f"docs/{here}")

    def lead(found: re.Match[str]) -> str:
        target = _target(source.parent, found[2])
        if not target.exists() or not target.is_relative_to(ROOT):
            return found[0]  # mkdocs says that it leads nowhere
        return found[1] + posixpath.relpath(_place(target), posixpath.dirname(here) or ".") + found[3]

    parts = _CODE.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(lead, part) for part in parts)


# ---------------------------------------------------------------------------------------------------------- reference


def public_names(module: str) -> list[str]:
    """A module's `__all__`, without importing what the module needs."""
    place = SOURCES / module.replace(".", "/")
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    for line in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(line.value)]
    raise ValueError(f"{module} does not tell what is public.")


def _names(module: str) -> str:
    """Where mkdocstrings writes about every public name of a module."""
    return "\n\n".join(f"::: {module}.{name}" for name in public_names(module) if not _is_group(module, name))


def _is_group(module: str, name: str) -> bool:
    place = SOURCES / module.replace(".", "/") / name
    return name == "__version__" or place.is_dir() or place.with_suffix(".py").exists()


def commands() -> str:
    """Every command with its help, as `--help` shows it."""
    from magic_pomdp import cli

    return "\n".join(f"## magic-pomdp {name}\n\n````text\n{_help(name)}\n````\n" for name in cli._COMMANDS)


def _help(command: str) -> str:
    from magic_pomdp import cli

    shown = io.StringIO()
    environment = {**os.environ, "COLUMNS": str(_WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    with (
        mock.patch.dict(os.environ, environment),
        mock.patch("sys.argv", ["magic-pomdp", command, "--help"]),
        contextlib.redirect_stdout(shown),
        contextlib.suppress(SystemExit),
    ):
        cli.main()
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.getvalue()).strip()
