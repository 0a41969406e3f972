"""The paper's tables again: here a small one, of a toy task."""

import dataclasses
import importlib.util
import json
from contextlib import contextmanager
from pathlib import Path

import pytest
from small_results import a_record, an_evaluation

torch = pytest.importorskip("torch")
pytest.importorskip("matplotlib")

from magic_pomdp import Budget  # noqa: E402
from magic_pomdp.core import registry  # noqa: E402
from magic_pomdp.core.extras import install_command  # noqa: E402
from magic_pomdp.learning import TrainSettings  # noqa: E402
from magic_pomdp.reproducing import doing, tables  # noqa: E402
from magic_pomdp.reproducing.costs import Times, expected_seconds, time_words  # noqa: E402
from magic_pomdp.reproducing.doing import Watch, Workshop  # noqa: E402
from magic_pomdp.reproducing.efforts import EVENING, FULL, QUICK  # noqa: E402
from magic_pomdp.reproducing.episodes import EpisodeFile  # noqa: E402
from magic_pomdp.reproducing.measures import RETURN, SUCCESS, Number, standard_errors  # noqa: E402
from magic_pomdp.reproducing.plan import (  # noqa: E402
    Figure,
    Grid,
    LearningCurve,
    Line,
    Row,
    Table,
    Training,
    all_work,
)
from magic_pomdp.results.evaluation import Evaluation, Question  # noqa: E402
from magic_pomdp.results.files import read_as  # noqa: E402
from magic_pomdp.running.episode import EpisodeRecord  # noqa: E402
from magic_pomdp.show.reproduction import write_reproduction  # noqa: E402

TOY = Path(__file__).parents[1] / "learning" / "toy.py"
EPISODES = 21
SHORT = TrainSettings(
    minutes=None, updates=5, workers=0, plan_steps=1, warmup=20, batch=8, replay=500, particles=4, encoder_width=8,
    generator_width=16, critic_width=16, evaluation_episodes=2,
)  # fmt: skip
TRAINING = Training("short", "target", SHORT)
SET = Row("target", "macro-despot", EPISODES, 3_000, budget=Budget(steps=1))
LEARNED = dataclasses.replace(SET, planner="magic", training=TRAINING)
ELSEWHERE = dataclasses.replace(SET, transferred=True)


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    """The task has a name here."""
    spec = importlib.util.spec_from_file_location("toy", TOY)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "toy", module)
    spec.loader.exec_module(module)
    monkeypatch.setitem(registry._registered, "target", module.Target)


def table(*rows, name="toy", **about):
    lines = [Line(row.name, (Figure(row, RETURN, Number(1.0, 0.1)), None)) for row in rows]
    return Table(name, "A toy", (Grid("A toy", ("planner", "target", "none"), tuple(lines), "A note."),), **about)


WHOLE = table(SET, LEARNED, curves=(LearningCurve("target", TRAINING, (SET,)),))


class Said(Watch):
    """Remembers, and interrupts after some episodes."""

    def __init__(self, stop_after=None):
        self.sentences, self.records, self.stop_after = [], [], stop_after

    def say(self, sentence):
        self.sentences.append(sentence)

    @contextmanager
    def episodes(self, episodes):
        def advance(record):
            self.records.append(record.result.episode)
            if len(self.records) == self.stop_after:
                raise KeyboardInterrupt

        yield advance


def done(folder, plan, watch=None):
    shop = Workshop(folder, 0)
    found = shop.look([plan])
    return found, shop.work(found, watch)


@pytest.mark.slow
def test_a_table_is_made_and_found_again(tmp_path):
    found, well = done(tmp_path, WHOLE, watch := Said())
    assert well
    assert [sentence.split(" (")[0] for sentence in watch.sentences] == [
        *("1 of 3: training target_short", f"2 of 3: evaluating {SET.name}", f"3 of 3: evaluating {LEARNED.name}"),
    ]
    assert found.evaluations.keys() == {SET.name, LEARNED.name}
    assert found.evaluations[LEARNED.name].settings["model"].startswith("target_short/best ")
    again = Workshop(tmp_path, 0).look([WHOLE])
    assert (again.todo, again.missing) == ([], {})
    assert again.evaluations[SET.name] == read_as(tmp_path / "rows" / f"{SET.name}.json", Evaluation)
    assert len(again.curves["target_short"].curves[0].points) >= 1
    assert Workshop(tmp_path, 0).times().measured == 3
    assert not list((tmp_path / "rows").glob("*.episodes"))

    page, markdown = write_reproduction(tmp_path, [WHOLE], again, "toy")
    text = markdown.read_text()
    assert "▲ (1.0 ± 0.1) |  |" in text
    assert f"A note. target: {EPISODES} episodes of seed 3000, 1 steps a plan." in text
    assert "![target](toy-target.png)" in text
    assert (tmp_path / "toy-target.png").stat().st_size > 5_000
    assert text.count("| target_macro-despot_1steps |") == 1
    assert all(words in page.read_text() for words in ("▲", "Every evaluation", "A note.", "MAGIC, learned here"))

    (tmp_path / "trainings" / "target_short" / "best.safetensors").unlink()
    assert [piece.name for piece in Workshop(tmp_path, 0).look([WHOLE]).todo] == ["target_short", LEARNED.name]


def test_what_was_stopped_goes_on(tmp_path):
    whole, _ = done(tmp_path / "whole", table(SET))
    with pytest.raises(KeyboardInterrupt):
        done(tmp_path / "parts", table(SET), Said(stop_after=8))
    (unfinished,) = (tmp_path / "parts" / "rows").iterdir()
    content = unfinished.read_bytes()
    assert content.count(b"\n") == 8
    unfinished.write_bytes(content[:-20])  # a kill may leave half a line
    run = []

    class Counted(doing.EpisodeFile):
        @contextmanager
        def begin(self, known):
            run.append(len(known))
            with super().begin(known) as keep:
                yield keep

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doing, "EpisodeFile", Counted)
        parts, _ = done(tmp_path / "parts", table(SET), watch := Said())
    assert run == [7]
    assert watch.records == list(range(EPISODES))
    assert parts.evaluations[SET.name].records == whole.evaluations[SET.name].records


def test_episodes_of_another_question_are_not_taken(tmp_path):
    asked, other = (Question(task="tiger", planner="despot", budget=None, seed=seed, settings={}) for seed in (1, 2))
    mine, others = (EpisodeFile(tmp_path / "some.episodes", question, EPISODES) for question in (asked, other))
    record = EpisodeRecord(a_record(3, plans=0), (), (), (), (), 0, ())
    with mine.begin([record]):
        assert (mine.read(), others.read()) == ([record], [])


def test_an_episode_counts_once_and_only_if_it_is_as_it_was_written(tmp_path):
    asked = Question(task="tiger", planner="despot", budget=None, seed=1, settings={})
    file = EpisodeFile(tmp_path / "some.episodes", asked, 4)
    records = [EpisodeRecord(a_record(number, plans=0), (), (), (), (), 0, ()) for number in (0, 1, 2, 7)]
    first, second, third, not_asked = map(file.line, records)
    changed = second.replace(b'"return":5.0', b'"return":6.0')
    file.path.write_bytes(b"".join((b"no episode\n", third, changed, first, not_asked, third, second[:-9])))
    assert changed != second
    assert file.read() == [records[0], records[2]]


def test_what_ends_early_or_is_no_file_is_told(tmp_path):
    asked = Question(task="tiger", planner="despot", budget=None, seed=1, settings={})
    file = EpisodeFile(tmp_path / "some.episodes", asked, 4)
    file.path.write_bytes(b"\x1f\x8bpacked, and cut")
    assert file.read() == []
    file.path.unlink()
    file.path.mkdir()
    with pytest.raises(ValueError, match=r"Remove that file, or choose another folder\.$"):
        file.read()


def test_a_result_that_does_not_follow_from_its_episodes_is_made_again(tmp_path):
    done(tmp_path, table(SET))
    path = tmp_path / "rows" / f"{SET.name}.json"
    whole = json.loads(path.read_text())
    renumbered = [record | {"episode": record["episode"] + 1} for record in whole["records"]]
    for change in ({"return_mean": whole["return_mean"] + 1.0}, {"records": renumbered}, {"seed": 3001}):
        path.write_text(json.dumps(whole | change))
        assert [piece.name for piece in Workshop(tmp_path, 0).look([table(SET)]).todo] == [SET.name]
    path.write_text(json.dumps(whole))
    left = path.with_suffix(".episodes")
    left.touch()  # a kill between saving and tidying up
    found, _ = done(tmp_path, table(SET))
    assert found.todo == []
    assert not left.exists()


def test_what_other_code_has_made_is_made_again(tmp_path):
    done(tmp_path, table(SET))
    path = tmp_path / "rows" / f"{SET.name}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"code": "other"}))
    assert [piece.name for piece in Workshop(tmp_path, 0).look([table(SET)]).todo] == [SET.name]
    path.write_text("{")  # damaged
    assert [piece.name for piece in Workshop(tmp_path, 0).look([table(SET)]).todo] == [SET.name]


def test_what_cannot_be_done_is_told_and_the_rest_goes_on(tmp_path, monkeypatch):
    broken = dataclasses.replace(TRAINING, label="broken", settings=dataclasses.replace(SHORT, macro_length=7))
    lost = dataclasses.replace(LEARNED, training=broken)
    monkeypatch.setattr("magic_pomdp.learning.training.train", lambda *_: (_ for _ in ()).throw(ValueError("No luck.")))
    plan = table(ELSEWHERE, lost, SET)
    found, well = done(tmp_path, plan)
    assert not well
    assert found.evaluations.keys() == {SET.name}
    assert found.missing[broken.name] == found.missing[lost.name] == "No luck."
    assert "There is no other world for 'target'" in found.missing[ELSEWHERE.name]
    page, markdown = write_reproduction(tmp_path, [plan], found, "toy")
    assert "| missing (1.0 ± 0.1) |" in markdown.read_text()
    assert "No luck." in page.read_text()


def test_learning_without_torch_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(doing, "find_spec", lambda name: None)
    found = Workshop(tmp_path, 0).look([WHOLE])
    assert [piece.name for piece in found.todo] == [SET.name]
    assert set(found.missing.values()) == {f"Learning needs torch: {install_command('learn')}."}


# ----------------------------------------------------------------------------------------------------------- the plan


@pytest.mark.parametrize("effort", [QUICK, EVENING, FULL], ids=lambda effort: effort.name)
def test_the_paper_is_there(effort):
    known = tables.paper_tables(effort)
    assert list(known) == ["I", "II", "III", "IV", "V", "appendix", "curves", "pictures"]
    work = all_work(tuple(known.values()))
    names = [piece.name for piece in work]
    assert len(set(names)) == len(names)
    assert all(len(name) < 200 for name in names)
    rows = [piece for piece in work if isinstance(piece, Row)]
    assert all(row.seed >= 1000 for row in rows)
    cells = [line.figures for grid in known["appendix"].grids for line in grid.lines]
    assert (len(cells), {len(figures) for figures in cells}) == (42, {4})
    assert known["appendix"].grids[0].lines[-1].figures[0].paper == Number(54.1)
    (grid,) = known["I"].grids
    assert [figure.paper.mean for figure in grid.lines[0].figures] == [54.1, 87.9, 58.6]
    assert known["II"].grids[0].lines[0].figures[1].paper == Number(0.79)
    assert 0.0 < expected_seconds(work[0], 2) < expected_seconds(work[0], 1)
    for piece in work:
        if isinstance(piece, Training):
            assert names.index(piece.name) < min(
                names.index(row.name) for row in rows if row.training and row.training.name == piece.name
            )


def test_a_difference_is_marked_only_if_it_is_clear():
    assert standard_errors(Number(5.0, 0.3), Number(2.0, 0.4), 100) == pytest.approx(6.0)
    assert standard_errors(Number(5.0, 0.5), Number(2.0), 100) == pytest.approx(6.0)
    assert standard_errors(Number(5.0, 0.3), Number(2.0, 0.4), 19) is None
    assert standard_errors(Number(5.0), Number(2.0, 0.4), 100) is None


def test_a_share_of_few_episodes_is_never_certain():
    assert SUCCESS.of(an_evaluation(success_rate=1.0, failure_rate=0.0, unfinished_rate=0.0)).stderr > 0.1


def test_estimates_follow_what_was_measured(tmp_path):
    times = Times(tmp_path / "times.json", 2)
    first = times.estimate(SET)
    for seed in (1, 2):
        times.add(dataclasses.replace(SET, seed=seed), 2.0 * first)
    assert times.estimate(SET) == pytest.approx(2.0 * first)
    assert Times(tmp_path / "times.json", 2).estimate(SET) == pytest.approx(2.0 * first)
    for wrong in ({"expected": 0.0}, {"expected": 1e-300}, {"measured": -1.0}, {"measured": 1e99}):
        taken = {"kind": "some", "expected": 2.0, "measured": 2.0, **wrong}
        (tmp_path / "times.json").write_text(json.dumps({"some": taken}))
        assert Times(tmp_path / "times.json", 2).measured == 0
    (tmp_path / "times.json").write_text("{")
    assert Times(tmp_path / "times.json", 2).estimate(SET) == first
    assert [time_words(seconds) for seconds in (5.2, 600.0, 9000.0)] == ["5 s", "10 min", "2 h 30 min"]


# --------------------------------------------------------------------------------------------------------- the command


def test_a_dry_run_tells_what_is_missing(run, tmp_path):
    code, out, _ = run("reproduce", "--quick", "--dry-run", "i", "appendix")
    assert code == 0
    assert [line.split()[:3] for line in out.splitlines() if " 0 " in line] != []
    assert "pieces of work are missing; tables share some." in out
    assert "as it took on another machine" in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_command(run, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "paper_tables", lambda effort: {"toy": table(SET, name="toy")})
    code, out, err = run("reproduce", "toy", "--workers", 0, "--out", "made")
    assert (code, "Traceback" in err) == (0, False), err
    assert "Saved as" in out
    assert f"1 of 1: evaluating {SET.name} (about" in err
    assert {path.name for path in (tmp_path / "made").iterdir()} >= {
        *("reproduction.html", "reproduction.md", "rows", "times.json"),
    }
    code, out, _ = run("reproduce", "--dry-run", "--out", "made")
    assert (code, "0 pieces of work are missing" in out) == (0, True)
    monkeypatch.setattr(doing.Workshop, "work", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    code, out, err = run("reproduce", "--workers", 0, "--out", "made")
    assert (code, "and the same command goes on" in err, "Saved as" in out) == (130, True, True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("VI",), "There is no table 'VI'"),
        (("--quick", "--full"), "either --quick or --full"),
        (("--seed", 7), "must be 1000 or above, not 7"),
        (("--workers", -1), "must be at least 0, not -1"),
        (("--quick", "--out", "file"), "cannot be made"),
    ],
)
def test_bad_input_is_one_sentence(run, tmp_path, arguments, sentence):
    (tmp_path / "file").write_text("")
    code, _, err = run("reproduce", *arguments)
    assert code == 2
    assert sentence in " ".join(err.split())
    assert "Traceback" not in err
