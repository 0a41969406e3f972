"""Write the tables of results into README.md and docs/results.md from what is stored: `python benchmarks/readme.py`.
`--check` only tells whether they are what is stored. A table stands where a document has its two marks."""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.files import read_as
from magic_pomdp.show.published import published
from magic_pomdp.show.words import number_words, score_words

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "docs/results.md")
END = "<!-- end of results -->"
TASKS = ("light-dark", "puck-push", "crowd-driving")


@dataclass(frozen=True)
class Line:
    """A line of a table: numbers of stored evaluations, in the order of the tasks."""

    name: str
    files: tuple[str, ...]
    """"" where there is none."""
    with_paper: bool = False
    """Whether the paper's number follows in brackets."""
    bold: bool = False

    def cells(self) -> list[str]:
        """Name and numbers."""
        cells = [self.name, *(self._words(name) if name else "" for name in self.files)]
        return [f"**{cell}**" for cell in cells] if self.bold else cells

    def _words(self, name: str) -> str:
        one = read_as(ROOT / f"{name}.json", Evaluation)
        words = score_words(one.return_mean, one.return_stderr)
        if one.failure_rate == 0.0:  # the error holds only what was seen
            words += f", no failure in {one.episodes}"
        known = published(one.task, one.planner) if self.with_paper else None
        return words if known is None else f"{words} ({number_words(known.paper.mean, 1)})"


@dataclass(frozen=True)
class Others:
    """A line of numbers that others have published of MAGIC's task: the paper's, or its successor's."""

    name: str
    successor: bool = False

    def cells(self) -> list[str]:
        """Name and numbers."""
        known = [one for task in TASKS if (one := published(task, "magic")) is not None]
        numbers = [one.successor if self.successor else one.paper.mean for one in known]
        return [self.name, *(number_words(number or 0.0, 1) for number in numbers)]


LATELY = "docs/lengths/"
"""Where evaluations of version 0.2.0 are."""


def _evaluated(*names: str) -> tuple[str, ...]:
    """The files of an evaluation of each task."""
    places = ("benchmarks/light-dark_", "benchmarks/puck-push_", "benchmarks/crowd-driving_reference_")
    return tuple(name if "/" in name else place + name for name, place in zip(names, places, strict=True))


MAGIC = _evaluated(f"{LATELY}light-dark_magic_0.1s_seed2001", f"{LATELY}puck-push_magic_0.1s_seed3000", "magic_0.5s")
BY_HAND = (f"{LATELY}light-dark_macro-despot_0.1s_seed2001", f"{LATELY}puck-push_macro-despot_0.1s_seed3000")
HANDCRAFTED = _evaluated("macro-despot_0.1s", "macro-despot_0.1s", "macro-despot_0.5s")
DESPOT = _evaluated("despot_0.1s", f"{LATELY}puck-push_despot_0.1s_seed3000", "despot_0.1s")
POMCPOW = _evaluated("pomcpow_0.1s", "pomcpow_0.1s", "pomcpow_0.1s")
TABLES: dict[str, tuple[tuple[str, ...], tuple[Line | Others, ...]]] = {
    "<!-- results: python benchmarks/readme.py -->": (
        ("Light-Dark", "Puck-Push", "Crowd-Driving"),
        (
            Line("MAGIC, here", MAGIC, bold=True),
            Others("RMAG", successor=True),
            Others("MAGIC, the paper's"),
            Line("Macro-DESPOT, the best sets made by hand, here", (*BY_HAND, "")),
            Line("Macro-DESPOT, the paper's handcrafted sets, here (in the paper)", HANDCRAFTED, with_paper=True),
            Line("DESPOT, here (the paper's)", DESPOT, with_paper=True),
            Line("POMCPOW, here (the paper's)", POMCPOW, with_paper=True),
        ),
    ),
    "<!-- results in short: python benchmarks/readme.py -->": (
        ("find the light", "push a puck", "drive in traffic"),
        (
            Line("learned moves (MAGIC), here", MAGIC, bold=True),
            Others("learned moves, [the paper](https://arxiv.org/abs/2011.03813)"),
            Line("moves made by hand, here", (*BY_HAND, HANDCRAFTED[-1])),
            Line("single steps (DESPOT), here", DESPOT),
        ),
    ),
}
"""What the tables hold, by the marks at which they begin."""


def results_table(mark: str) -> str:
    """The table of a mark, as Markdown."""
    heads, lines = TABLES[mark]
    rows = [_row("", *heads), "|" + "---|" * (1 + len(heads)), *(_row(*line.cells()) for line in lines)]
    return "\n".join(rows)


def _row(*cells: str) -> str:
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def written(text: str) -> str:
    """A text with the tables between their marks; a ValueError if an end is missing."""
    for mark in TABLES:
        before, begin, rest = text.partition(mark)
        if not begin:
            continue
        _, end, after = rest.partition(END)
        if not end:
            raise ValueError(f"There is no line {END} after {mark}.")
        text = f"{before}{mark}\n\n{results_table(mark)}\n\n{END}{after}"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a table is another")
    check = parser.parse_args().check
    code = 0
    for path in (ROOT / name for name in DOCUMENTS):
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        try:
            new = written(text)
        except ValueError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            return 2
        if new != text and check:
            code = 1
        elif new != text:
            path.write_text(new, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
