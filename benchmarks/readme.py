"""Write README.md's table of results from stored evaluations: `python benchmarks/readme.py`. `--check` only tells
whether it is what they say."""

import argparse
import sys
from pathlib import Path

from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.files import read_as
from magic_pomdp.show.published import published
from magic_pomdp.show.words import number_words

ROOT = Path(__file__).parents[1]
BEGIN, END = "<!-- results: python benchmarks/readme.py -->", "<!-- end of results -->"
"""The table stands between these lines."""
TASKS = {"light-dark": "Light-Dark", "puck-push": "Puck-Push", "crowd-driving": "Crowd-Driving"}
MAGIC = ("docs/lengths/light-dark_magic_0.1s_seed2001", "benchmarks/puck-push_magic_0.1s", "magic_0.5s")
OTHERS = {
    "Macro-DESPOT, the paper's handcrafted sets, here (in the paper)": ("macro-despot_0.1s", "macro-despot_0.5s"),
    "DESPOT, here (the paper's)": ("despot_0.1s", "despot_0.1s"),
    "POMCPOW, here (the paper's)": ("pomcpow_0.1s", "pomcpow_0.1s"),
}
"""How a line is called, and how its files end: of the first two tasks, and of Crowd-Driving."""


def files() -> dict[str, list[Path]]:
    """The evaluations of each line, in the order of the tasks."""
    crowd = "benchmarks/crowd-driving_reference_"
    names = {"**MAGIC, here**": [*MAGIC[:2], crowd + MAGIC[2]]}
    for line, (end, crowd_end) in OTHERS.items():
        names[line] = [f"benchmarks/light-dark_{end}", f"benchmarks/puck-push_{end}", crowd + crowd_end]
    return {line: [ROOT / f"{name}.json" for name in some] for line, some in names.items()}


def results_table() -> str:
    """The table as Markdown."""
    lines = []
    for name, paths in files().items():
        ones = [read_as(path, Evaluation) for path in paths]
        if name == "**MAGIC, here**":
            lines.append((name, [f"**{_ours(one)}**" for one in ones]))
            magic = [published(task, "magic") for task in TASKS]
            lines.append(("RMAG", [number_words(one.successor or 0.0, 1) for one in magic if one]))
            lines.append(("MAGIC, the paper's", [number_words(one.paper.mean, 1) for one in magic if one]))
        else:
            lines.append((name, [_beside_the_paper(one) for one in ones]))
    rows = ["|" + "---|" * 4, *(f"| {' | '.join([name, *cells])} |" for name, cells in lines)]
    return "\n".join([f"| | {' | '.join(TASKS.values())} |", *rows])


def _ours(one: Evaluation) -> str:
    error = one.return_stderr
    return f"{number_words(one.return_mean, 1)} ± {number_words(error, 1 if error >= 0.1 else 2)}"


def _beside_the_paper(one: Evaluation) -> str:
    known = published(one.task, one.planner)
    return _ours(one) if known is None else f"{_ours(one)} ({number_words(known.paper.mean, 1)})"


def written(text: str) -> str:
    """A text with the table between its marks; a ValueError if these are missing."""
    before, begin, rest = text.partition(f"{BEGIN}\n")
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"There are no lines {BEGIN} and {END} to write the table between.")
    return f"{before}{begin}\n{results_table()}\n\n{end}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the table is another")
    check = parser.parse_args().check
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    try:
        new = written(text)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if check:
        return int(new != text)
    path.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
