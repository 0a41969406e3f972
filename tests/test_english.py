"""What people read is plain: short sentences, and a first screen of sixty lines."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
READ = sorted(
    [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *(ROOT / "docs").rglob("*.md")]
)
MOST_WORDS = 30
FIRST_SCREEN = 60
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCED = re.compile(r"^(```+).*?^\1\s*$", re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.jit_off


def blocks(text):
    """Paragraphs, points of lists and cells of tables, without code."""
    text = _FENCED.sub("\n\n", _COMMENT.sub("", text))
    for block in re.split(r"\n\s*\n", text):
        lines = block.split("\n")
        if all(line.startswith("    ") for line in lines if line):
            continue
        if lines[0].lstrip().startswith("|"):
            for line in lines:
                yield from re.split(r"(?<!\\)\|", line)
        else:
            yield from re.split(r"\n\s*(?:[-*+]|\d+\.) |\n#+ ", "\n" + block)


def sentences(text):
    """All sentences; a colon may begin a new one."""
    for block in blocks(text):
        plain = re.sub(r"`[^`]*`", "code", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", block))
        yield from re.split(r"(?<=[.!?…:])[\"”*_)]*\s+", " ".join(plain.split()))


def words(sentence):
    return re.findall(r"[\w’'-]*\w[\w’'-]*", sentence)


def test_long_sentences_would_be_found():
    first, second = sentences("One `a b c` two [three](four.md). Five " + "six " * 31)
    assert (len(words(first)), len(words(second))) == (4, 32)


@pytest.mark.parametrize("path", READ, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_sentences_are_short(path):
    long = [one for one in sentences(path.read_text(encoding="utf-8")) if len(words(one)) > MOST_WORDS]
    assert not long, f"{path.name} has sentences of more than {MOST_WORDS} words."


def test_the_readme_is_one_screen():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= FIRST_SCREEN
