"""How to install the parts that only some need."""

import json
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

_NAME = "magic-pomdp"


def install_command(extra: str) -> str:
    """What installs an extra beside the package, from where the package itself came: a folder of sources, if it is
    still there, else a registry of packages."""
    sources, editable = _sources()
    if sources is None:
        return f"pip install '{_NAME}[{extra}]'"
    return f"pip install {'-e ' if editable else ''}'{sources}[{extra}]'"


def _sources() -> tuple[Path | None, bool]:
    """The folder that the package was installed from, None if there is none; and whether it still runs from there."""
    try:
        origin = json.loads(metadata.distribution(_NAME).read_text("direct_url.json") or "{}")
        folder = Path(url2pathname(urlsplit(origin["url"]).path))
        return (folder, bool(origin["dir_info"].get("editable"))) if folder.is_dir() else (None, False)
    except (metadata.PackageNotFoundError, KeyError, ValueError):  # it is not installed, or from elsewhere
        return None, False
