"""A planner in one file of its own takes part in everything, without another file being touched."""

from pathlib import Path

import pytest

from magic_pomdp import Budget, cli, make
from magic_pomdp.core.settings import settings_of
from magic_pomdp.planners.registry import find_planner, planner_label, planner_names
from magic_pomdp.results.evaluation import Evaluation
from magic_pomdp.results.files import read_as
from magic_pomdp.results.recording import load_recording
from magic_pomdp.running.commands import ChangePlanner, Watchers
from magic_pomdp.running.factory import PlannerFactory
from magic_pomdp.running.session import Session

PLACE = f"{Path(__file__).parents[1] / 'examples' / 'random_shooter.py'}:RandomShooter"
NAME, LABEL = "random-shooter", "Random shooter"


def command(monkeypatch, capsys, *words):
    monkeypatch.setattr("sys.argv", ["magic-pomdp", *map(str, words)])
    try:
        code = cli.main()
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    return code or 0, " ".join(out.split()), err


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    return lambda *words: command(monkeypatch, capsys, *words)


def test_it_is_short():
    assert len(Path(PLACE.rpartition(":")[0]).read_text().splitlines()) < 60


def test_it_is_known_by_its_place_and_then_by_its_name():
    entry = find_planner(PLACE)
    assert (entry.name, entry.label) == (NAME, LABEL)
    assert find_planner(NAME) is entry
    assert NAME in planner_names()
    assert planner_label(NAME) == LABEL
    assert settings_of(entry.settings)["sequence_length"].tuned is not None


def test_check_tries_it(run):
    code, out, _ = run("check", "tiger", "--planner", PLACE)
    assert (code, "is fine" in out) == (0, True)


def test_evaluate_and_report_show_it(run, tmp_path):
    result = tmp_path / "result.json"
    options = ("--planner", PLACE, "--steps", 500, "--episodes", 2, "--sequence-length", 3, "--json", result)
    code, out, _ = run("evaluate", "tiger", *options)  # in worker processes, which must find it, too
    assert (code, LABEL in out) == (0, True)
    found = read_as(result, Evaluation)
    assert (found.planner, found.label, found.settings["sequence_length"]) == (NAME, LABEL, 3)
    code, _, _ = run("report", result, "--out", "report.html", "--no-open")
    assert (code, LABEL in Path("report.html").read_text(encoding="utf-8")) == (0, True)


def test_its_options_explain_themselves_and_are_checked(run):
    code, out, _ = run("evaluate", "tiger", "--planner", PLACE, "--help")
    assert code == 0
    assert "Actions of a sequence." in out
    code, _, err = run("evaluate", "tiger", "--planner", PLACE, "--sequence-length", 0)
    assert (code, "sequence_length must be a finite number of at least 1, not 0" in err) == (2, True)


def test_it_can_be_compared(run):
    pytest.importorskip("matplotlib")
    options = ("--planners", PLACE, "--planners", "despot", "--steps", 300, "--episodes", 2, "--workers", 0)
    code, out, _ = run("compare", "tiger", *options, "--folder", "compared")
    assert (code, LABEL in out) == (0, True)
    assert Path(f"compared/{NAME}_300steps.json").is_file()


def test_it_can_be_tuned(run):
    pytest.importorskip("optuna")
    options = ("--planner", PLACE, "--steps", 300, "--trials", 2, "--episodes", 2, "--workers", 0, "--file", "tuned")
    code, out, _ = run("tune", "tiger", *options)
    assert (code, "--sequence-length" in out) == (0, True)


def test_it_can_be_recorded_and_replayed(run):
    options = ("--planner", PLACE, "--steps", 300, "--episodes", 1, "--workers", 0, "--out", "one.record.gz")
    code, _, _ = run("record", "tiger", *options)
    assert code == 0
    assert load_recording(Path("one.record.gz")).planner.label == LABEL
    code, _, _ = run("replay", "one.record.gz", "--no-open")
    assert (code, Path("one.html").is_file()) == (0, True)


def test_it_acts_on_a_live_page():
    find_planner(PLACE)
    told = {}
    session = Session(make("tiger"), PlannerFactory("despot", Budget(seconds=0.005)), 0, told.__setitem__)
    session.obey([Watchers(1), ChangePlanner(NAME, 0.005, None)])
    assert told["trouble"] is None
    session.advance()
    assert (told["settings"].planner.label, told["plan"].depth) == (LABEL, 6)


def test_play_offers_it(run, monkeypatch):
    live = pytest.importorskip("magic_pomdp.show.live")
    served = []

    def look(server):
        served.append([one["name"] for one in server.board.get("about")["planners"]])

    monkeypatch.setattr(live.LiveServer, "run", look)
    code, _, _ = run("play", "tiger", "--planner", PLACE, "--seconds", 0.01, "--no-open", "--port", 0)
    assert (code, served[0][-1]) == (0, NAME)


OTHER = """
from dataclasses import dataclass
from magic_pomdp.planners import MacroDespot, PlannerSettings, register_planner, setting

@dataclass(frozen=True)
class OtherSettings(PlannerSettings):
    {setting}: int | None = setting(3, "Some number.")
    more: int = setting(3, "Another one.")

@register_planner("{setting}-planner", settings=OtherSettings)
class Other:
    def __init__(self, task, settings, budget):
        self.task, self.settings, self.plan = task, settings, MacroDespot(task, budget=budget).plan
"""


@pytest.mark.parametrize("setting", ["steps", "seed"])  # an option of all planners, and one of the command
def test_a_setting_with_the_name_of_an_option_is_told_of(run, tmp_path, setting):
    (tmp_path / f"own_{setting}.py").write_text(OTHER.format(setting=setting))
    code, _, err = run("evaluate", "tiger", "--planner", f"own_{setting}.py:Other")
    assert code == 2
    assert f"The setting {setting} of" in err
    assert "has the name of an option of the command: call it otherwise." in err


def test_settings_can_be_none_and_name_the_file(run, tmp_path):
    (tmp_path / "own_other.py").write_text(OTHER.format(setting="other_one"))
    options = ("--planner", "own_other.py:Other", "--steps", 50, "--episodes", 1, "--workers", 0)
    for given, part in (("--other-one", "other_oneNone"), ("--other_one", "other_oneNone"), ("--more", None)):
        code, _, err = run("evaluate", "tiger", *options, given, "None")
        if part is None:
            assert (code, "The setting more must be a whole number, not None." in err) == (2, True)
        else:
            (path,) = Path("results").glob(f"*{part}.json")
            assert read_as(path, Evaluation).settings["other_one"] is None
            path.unlink()
    for given in ("--other-one", "--more"):
        assert run("evaluate", "tiger", *options, given, 5)[0] == 0
    assert len(list(Path("results").iterdir())) == 2
