"""The episodes of an evaluation that is not finished yet: a line for each, so that a stop costs no more than one.

Each line is under a seal, of which what is asked is a part. So nothing is taken of a line that is damaged, or of
another question; and the others are whole, whatever is wrong with one.
"""

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec

from magic_pomdp.core.reading import Damaged, convert, plain_json, read_content
from magic_pomdp.core.saving import naming, save_bytes
from magic_pomdp.results.evaluation import Question
from magic_pomdp.running.episode import EpisodeRecord

_SEAL_BYTES = 16


@dataclass(frozen=True)
class EpisodeFile:
    """A file of finished episodes."""

    path: Path
    asked: Question
    episodes: int
    """How many are asked for: 0 … episodes − 1."""

    def read(self) -> list[EpisodeRecord]:
        """The episodes that are in it and asked for, each once, by their numbers."""
        if not self.path.exists():
            return []
        try:
            lines = io.BytesIO(read_content(self.path))
        except Damaged:
            return []
        except ValueError as error:
            raise ValueError(f"{error} Remove that file, or choose another folder.") from None
        records = [record for line in lines if (record := self._record(line.rstrip(b"\n"))) is not None]
        by_number = {record.result.episode: record for record in records if record.result.episode < self.episodes}
        return [by_number[number] for number in sorted(by_number)]

    @contextmanager
    def begin(self, known: list[EpisodeRecord]) -> "Iterator[_Writer]":
        """Write the episodes that are known, and then others as they come. At the end the file goes, unless something
        goes wrong."""
        save_bytes(self.path, b"".join(map(self.line, known)))
        with naming(self.path), self.path.open("ab") as file:
            yield _Writer(self, file)
        self.path.unlink()

    def line(self, record: EpisodeRecord) -> bytes:
        """What is written of an episode."""
        content = msgspec.json.encode(record)
        return self.seal(content) + b" " + content + b"\n"

    def seal(self, content: bytes) -> bytes:
        """What stands before the content of a line."""
        question = hashlib.blake2b(msgspec.json.encode(self.asked)).digest()
        return hashlib.blake2b(content, key=question, digest_size=_SEAL_BYTES).hexdigest().encode()

    def _record(self, line: bytes) -> EpisodeRecord | None:
        """The episode that a line tells of; None if the line is not as it was written."""
        seal, _, content = line.partition(b" ")
        if seal != self.seal(content):
            return None
        try:
            return convert(plain_json(content, str(self.path)), EpisodeRecord, str(self.path))
        except ValueError:
            return None


@dataclass(frozen=True)
class _Writer:
    into: EpisodeFile
    file: BinaryIO

    def __call__(self, record: EpisodeRecord) -> None:
        """Keep an episode."""
        with naming(self.into.path):
            self.file.write(self.into.line(record))
            self.file.flush()
