"""The documents' code runs as it stands, and their names, commands and tables are those of the software."""

import contextlib
import io
import os
import re
import subprocess
import sys
from functools import reduce
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import magic_pomdp as mp
from magic_pomdp import cli
from magic_pomdp.testing.docs import functions_table, settings_table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DOCUMENTS = [
    *map(Path, ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")),
    *(path.relative_to(ROOT) for path in sorted(DOCS.rglob("*.md"))),
]


def blocks(document, language):
    text = (DOCS / document).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def run_commands(document):
    """All commands of a document, one after the other."""
    commands = [line.removeprefix("$ ") for block in blocks(document, "console") for line in block.splitlines()]
    assert len(commands) >= 4
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    for command in commands:
        result = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
        assert result.returncode == 0, (command, result.stdout, result.stderr)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Writes the file that a document builds; gives the blocks that come after it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def write(document, module):
        pieces = blocks(document, "python")
        first = next(i for i, piece in enumerate(pieces) if f"\nfrom {module} import" in piece)
        (tmp_path / f"{module}.py").write_text("\n".join(pieces[:first]))
        monkeypatch.delitem(sys.modules, module, raising=False)
        return pieces[first:]

    return write


@pytest.mark.slow
def test_the_tutorial_runs(written, capsys):
    """Its scripts and then its commands, which find compiled what the scripts have used."""
    names = {}
    for script in written("your-own-task.md", "charger"):
        exec(compile(script, "tutorial", "exec"), names)
    assert names["record"].outcome == "success"
    assert mp.testing.check_task(names["Charger"]) == []
    assert mp.testing.check_task(names["FreeCharger"]) == []
    assert "Expected" not in capsys.readouterr().out
    run_commands("your-own-task.md")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="learning needs torch")
def test_learning_runs(written):
    (script,) = written("learning.md", "archer")
    run_commands("learning.md")
    names = {"mp": mp, "np": np}
    exec(compile(script, "learning", "exec"), names)
    assert names["trained"].updates == 20
    shots = names["planner"].generate(names["belief"]).actions
    assert abs(shots - 0.3).min() < 0.3  # the handcrafted ones miss by 0.7


def run_blocks(document):
    """All of a document's scripts, one after the other; the names that they have made."""
    names = {}
    for script in blocks(document, "python"):
        exec(compile(script, document, "exec"), names)
    return names


def test_a_robot_is_connected(capsys):
    assert run_blocks("connect-a-robot.md")["robot"].latency().count == 9
    assert "Latency(" in capsys.readouterr().out


@pytest.mark.skipif(find_spec("gymnasium") is None, reason="the extra gym is not installed")
def test_gymnasium_runs():
    names = run_blocks("gymnasium.md")
    assert names["observations"]["context"].shape == (64, 5)


def test_one_starts_here(capsys):
    assert run_blocks("index.md")["record"].outcome == "success"
    assert "success" in capsys.readouterr().out


def test_planners_are_evaluated():
    assert run_blocks("evaluate.md")["result"].episodes == 8


def test_the_smallest_planner_listens():
    record = run_blocks("write-a-planner.md")["record"]
    assert (record.outcome, record.total_return) == ("unfinished", -record.steps)


def test_the_first_robot_runs(capsys):
    (script,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    timed = "mp.Budget(seconds=0.1)"
    assert timed in script
    # counted in steps, the episode is the same on every machine, however busy
    exec(compile(script.replace(timed, "mp.Budget(steps=1_000_000)"), "README", "exec"), {})
    assert "success" in capsys.readouterr().out


def test_the_citation_is_of_this_version():
    assert f"\nversion: {mp.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_what_is_shown_of_the_own_planner_stands_in_its_file():
    (shown,) = blocks("write-a-planner.md", "py")
    assert shown in (ROOT / "examples" / "random_shooter.py").read_text(encoding="utf-8")


def test_tables_are_those_of_the_code():
    assert functions_table() in (DOCS / "your-own-task.md").read_text(encoding="utf-8")
    planners = ("magic", "macro-despot", "despot", "pomcpow")
    assert settings_table(planners) in (DOCS / "planners.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_names_exist(document):
    check_names((ROOT / document).read_text(encoding="utf-8"))


def test_names_to_change_to_exist():
    rows = [
        row.split(" | ") for row in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines() if "`mp." in row
    ]
    check_names(" ".join(row[-1] for row in rows))


def check_names(text):
    for name in set(re.findall(r"\bmp((?:\.[A-Za-z_]\w*)+)", text)):
        reduce(getattr, name[1:].split("."), mp)


@pytest.mark.parametrize("document", [*DOCUMENTS, Path("CHANGELOG.md")], ids=str)
def test_links_lead_somewhere(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    for place, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
        target = (ROOT / document).parent / place if place else ROOT / document
        assert target.exists(), place
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE) if anchor else []
        known = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in known, f"{place}#{anchor}"


@pytest.fixture(scope="module")
def options():
    """Gives the options of a command, with a planner if it is told one."""
    known: dict[tuple[str, ...], set[str]] = {}

    def ask(*words):
        if words not in known:
            shown = io.StringIO()
            with mock.patch("sys.argv", ["magic-pomdp", *words, "--help"]), contextlib.redirect_stdout(shown):
                with pytest.raises(SystemExit) as end:
                    cli.main()
                assert not end.value.code
            known[words] = set(re.findall(r"--[a-z][a-z-]*", shown.getvalue()))
        return known[words]

    with contextlib.chdir(ROOT):
        yield ask


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_commands_have_such_options(document, options):
    text = (ROOT / document).read_text(encoding="utf-8")
    found = [
        *re.findall(r"`magic-pomdp ([^`]+)`", text),
        *re.findall(r"^(?:    |\$ )magic-pomdp (.+)$", text, re.MULTILINE),
    ]
    for words in (command.split() for command in found):
        given = {word for word in words if word.startswith("--")} - {"--help"}
        planner = ("--planner", words[words.index("--planner") + 1]) if "--planner" in given else ()
        assert given <= options(words[0], *planner), words
