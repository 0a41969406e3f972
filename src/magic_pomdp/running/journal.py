"""The file that keeps a search for settings: lines of JSON that optuna writes and reads."""

from pathlib import Path
from typing import Any

from filelock import FileLock
from optuna.storages.journal import JournalFileBackend

from magic_pomdp.core.reading import Damaged, plain_json, read_content
from magic_pomdp.core.saving import naming

_BEGINNING = b'{"op_code"'
"""Of a line."""


class Journal(JournalFileBackend):
    """Optuna's own file, in which no half line stays if there is no room for a whole one. It is claimed by the lock."""

    def __init__(self, path: Path, lock: FileLock) -> None:
        # optuna's own lock would outlive a search that is killed, by half a minute; the system frees this one at once
        has_what_optuna_calls: Any = lock
        super().__init__(str(path), has_what_optuna_calls)
        self.path = path
        self.failure: OSError | None = None
        """Why the last line could not be written; optuna hides it."""

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        try:
            with naming(self.path):
                super().append_logs(logs)
        except OSError as error:
            cut_half_line(self.path)
            self.failure = error
            raise


def check_journal(path: Path) -> None:
    """A ValueError if a file is none that optuna has written, for it would be written into, or if a line is damaged.
    A last line may be half."""
    content = read_content(path) if path.exists() else b""
    if content and not content.startswith(_BEGINNING[: len(content)]):
        raise ValueError(f"{path} does not hold a search for settings: name another file.")
    for number, line in enumerate(content.split(b"\n")[:-1], start=1):
        entry = plain_json(line, f"Line {number} of {path}")
        if not isinstance(entry, dict) or not isinstance(entry.get("op_code"), int):
            raise Damaged(f"Line {number} of {path} is damaged: it is no entry of a search for settings.")


def cut_half_line(path: Path) -> bool:
    """Cut off a last line that was not finished; whether there was one."""
    content = path.read_bytes() if path.exists() else b""
    whole = content.rfind(b"\n") + 1
    if whole == len(content):
        return False
    with path.open("rb+") as file:
        file.truncate(whole)
    return True
