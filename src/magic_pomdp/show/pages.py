"""The pages' frame: one file that holds its style, scripts and data, and fetches nothing else."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_FILES = Path(__file__).parent / "page"
_TEMPLATES = Environment(
    loader=FileSystemLoader(_FILES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def render_page(
    template: str, title: str, scripts: Sequence[str], data: str = "", server: bool = False, **content: Any
) -> str:
    """A page of a template, with scripts in the order in which they need each other.

    `data` is what the scripts read, as base64. The page connects to nothing, or only to the `server` it comes from.
    All other `content` is the template's own, and text in it stays text.
    """
    return _TEMPLATES.get_template(template).render(
        title=title,
        style=_own_file("page.css"),
        palette=json.loads(_own_file("palette.json")),
        scripts="\n".join(map(_own_file, scripts)),
        data=data,
        reaches="self" if server else "none",
        **content,
    )


@cache
def _own_file(name: str) -> str:
    """The text of one of the pages' own files."""
    return (_FILES / name).read_text(encoding="utf-8")
