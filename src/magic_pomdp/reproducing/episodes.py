"""The episodes of an evaluation that is not finished yet: a line for each, so that a stop costs no more than one."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec

from magic_pomdp.core.saving import naming, save_bytes
from magic_pomdp.results.evaluation import Question
from magic_pomdp.results.files import as_stored
from magic_pomdp.running.episode import EpisodeRecord


class _Asked(Question, frozen=True, kw_only=True, tag="question"):
    """What the first line tells."""


@dataclass(frozen=True)
class EpisodeFile:
    """A file of finished episodes. Its first line tells what is asked, so that others are not taken for these."""

    path: Path
    asked: Question

    def read(self) -> list[EpisodeRecord]:
        """The episodes that are in it; none of another question, and not those of a line that was cut off."""
        if not self.path.exists():
            return []
        first, *lines = self.path.read_bytes().split(b"\n")
        return [record for line in lines if (record := _record(line)) is not None] if first == self._first() else []

    @contextmanager
    def begin(self, known: list[EpisodeRecord]) -> "Iterator[_Writer]":
        """Write the episodes that are known, and then others as they come. At the end the file goes, unless something
        goes wrong."""
        save_bytes(self.path, b"".join(line + b"\n" for line in (self._first(), *map(msgspec.json.encode, known))))
        with naming(self.path), self.path.open("ab") as file:
            yield _Writer(self.path, file)
        self.path.unlink()

    def _first(self) -> bytes:
        about = {name: getattr(self.asked, name) for name in Question.__struct_fields__}
        return msgspec.json.encode(as_stored(_Asked(**about)))


@dataclass(frozen=True)
class _Writer:
    path: Path
    file: BinaryIO

    def __call__(self, record: EpisodeRecord) -> None:
        """Keep an episode."""
        with naming(self.path):
            self.file.write(msgspec.json.encode(record) + b"\n")
            self.file.flush()


def _record(line: bytes) -> EpisodeRecord | None:
    try:
        return msgspec.json.decode(line, type=EpisodeRecord)
    except msgspec.DecodeError:
        return None
